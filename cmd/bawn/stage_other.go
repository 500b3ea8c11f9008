//go:build !linux

package main

import (
	"errors"
	"runtime"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// stagedRun is the staged run of one command; there are none here.
type stagedRun struct{}

func errNoStage() error {
	return &policy.RefusedError{What: "staged runs", Why: "they take an overlay of the Linux kernel, and this is " + runtime.GOOS, Lift: "leave out --stage"}
}

func (f *runFlags) checkStage(*settings) error {
	if f.stage {
		return errNoStage()
	}
	return nil
}

func (f *runFlags) beginStage(policy.Policy, sandbox.Host) (*stagedRun, error) { return nil, nil }

func (s *stagedRun) layers() sandbox.Staged { return sandbox.Staged{} }

func (s *stagedRun) abandon(err error) error { return err }

func (s *stagedRun) close() {}

func (s *stagedRun) end(*runFlags, int) {}

func keepElsewhere(command string, specs []flagSpec, args []string) int {
	if _, err := parseAround(args, specs, 1000); errors.Is(err, errHelp) {
		return helpCommand([]string{command})
	}
	return fail(errNoStage())
}

func keepCommand(args []string) int { return keepElsewhere("keep", new(keepFlags).specs(), args) }

func discardCommand(args []string) int {
	return keepElsewhere("discard", new(keepFlags).discardSpecs(), args)
}
