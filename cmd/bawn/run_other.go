//go:build !linux && !darwin

package main

import (
	"runtime"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
	"bawn/internal/session/launch"
)

func unavailableHint() string { return sandbox.NoBackendHint(runtime.GOOS) }

func guardWorks() bool { return false }

// decide says what becomes of the command, as runSandboxed does.
func (f *runFlags) decide(facts launch.Facts) (session.Outcome, *program) {
	if facts.Policy.Sandboxed() {
		err := sandbox.NoBackend(runtime.GOOS)
		return session.Outcome{Decision: policy.Decision{Rule: policy.Rule{ID: "sandbox:none", Text: err.Error(), Lift: unavailableHint()}}}, nil
	}
	return launch.Decide(f.command, facts), nil
}

// runSandboxed refuses (SPEC T10): without a backend the command would run
// unprotected.
func runSandboxed(*runFlags, *settings, []string) int {
	return fail(sandbox.NoBackend(runtime.GOOS))
}
