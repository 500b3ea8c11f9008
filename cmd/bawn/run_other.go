//go:build !linux

package main

import (
	"errors"
	"fmt"
	"runtime"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
	"bawn/internal/session/launch"
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

// program is what would run outside a sandbox: there is none to leave.
type program struct{}

func (*program) close() {}

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
