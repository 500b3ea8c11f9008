//go:build !linux

package main

import (
	"runtime"

	"bawn/internal/sandbox"
)

// A session's commands run in sandboxes, which there are none of here.
func sessionTerminal() bool { return false }

func sessionCommand([]string) int { return fail(sandbox.NoBackend(runtime.GOOS)) }

func (f *runFlags) wrapSpecs(*string) []flagSpec { return f.sessionSpecs() }

func wrapCommand([]string) int { return fail(sandbox.NoBackend(runtime.GOOS)) }
