//go:build !linux && !darwin

package bawn

import (
	"runtime"

	"bawn/internal/sandbox"
)

func unavailableHint() string { return sandbox.NoBackendHint(runtime.GOOS) }

// guardSupported has nothing to add to that no sandbox is.
func guardSupported() error { return nil }

// startSandboxed refuses: there is no backend here, and running without one
// would be running unprotected.
func startSandboxed(job) (running, error) { return nil, public(sandbox.NoBackend(runtime.GOOS)) }
