//go:build !linux

package main

import (
	"errors"
	"fmt"
	"runtime"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// checkLauncher takes the names that Linux has, so that one script serves
// everywhere; nothing is launched here.
func checkLauncher(v string) error {
	switch v {
	case "auto", "native", "bwrap":
		return nil
	}
	return fmt.Errorf("unknown launcher %q: it is auto, native or bwrap", v)
}

func unavailableHint() string { return sandbox.NoBackendHint(runtime.GOOS) }

func bwrapArgs(policy.Policy, sandbox.Host, []string) ([]string, error) {
	return nil, errors.New("bubblewrap is for Linux")
}

func guardWorks() bool { return false }

// runSandboxed refuses (SPEC T10): without a backend the command would run
// unprotected.
func runSandboxed(*runFlags, *settings, []string) int {
	return fail(sandbox.NoBackend(runtime.GOOS))
}
