package main

import (
	"crypto/rand"
	"fmt"
	"os"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/seatbelt"
	"bawn/internal/session"
	"bawn/internal/session/launch"
)

func unavailableHint() string { return seatbelt.Hint }

// guardWorks: the profile holds names whether they exist or not.
func guardWorks() bool { return true }

func canGuard(_ *runFlags, s *settings) bool { return s.config.Guard() }

// decide says what becomes of the command. Nothing leaves the sandbox here: a
// program cannot be held by descriptor until it runs.
func (f *runFlags) decide(facts launch.Facts) (session.Outcome, *program) {
	out := launch.Decide(f.command, facts)
	if out.Place == session.Outside {
		rule := out.Decision.Rule
		rule.Text = fmt.Sprintf("%q would run outside the sandbox, which this version does not do on macOS", out.Program.Program)
		rule.Lift = "--no-prompt runs it in the sandbox"
		return session.Outcome{Decision: policy.Decision{Rule: rule}}, nil
	}
	return out, nil
}

func runSandboxed(f *runFlags, s *settings, args []string) int {
	stdio := sandbox.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	tty := session.OneTerminal(stdio)
	stdio, err := session.Streams(stdio, tty, true)
	if err != nil {
		return fail(err)
	}
	d, err := f.decideRun(s, stdio, tty)
	if err != nil {
		return fail(err)
	}
	backend := func(gate func() error) sandbox.Backend {
		return gated{seatbelt.Backend{Policy: d.policy, Host: d.host}, gate}
	}
	return f.runInside(s, d, args, inside{stdio, tty, backend, func(e *session.Egress) { e.Secret = rand.Text() }})
}
