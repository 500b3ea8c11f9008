//go:build !linux

package main

import (
	"runtime"

	"bawn/internal/sandbox"
)

type mcpFlags struct{ runFlags }

func (f *mcpFlags) specs() []flagSpec { return f.sessionSpecs() }

// Its session's commands run in sandboxes, which there are none of here.
func mcpCommand([]string) int { return fail(sandbox.NoBackend(runtime.GOOS)) }
