package bawn

import (
	"errors"
	"io/fs"
	"os/exec"
	"strconv"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// ErrUnavailable marks errors that mean no sandbox can be made on this
// machine; the text says why and what would change that. Nothing ran.
var ErrUnavailable = errors.New("no sandbox can be made here")

// RefusedError means that the rules forbid what was asked for. Nothing ran.
type RefusedError struct {
	What string // what was asked for, with its operand quoted
	Why  string // the rule, as a sentence
	Lift string // what would change the answer; may be empty
}

func (e *RefusedError) Error() string {
	s := "bawn: " + e.What + ": " + e.Why
	if e.Lift != "" {
		s += "; " + e.Lift
	}
	return s
}

// ExecError means that the sandbox was made but the command could not be
// executed in it. A command that was not found matches [exec.ErrNotFound] and
// [fs.ErrNotExist] under [errors.Is].
type ExecError struct {
	Code   int    // as a shell reports it: 127 not found, 126 not executable
	Reason string // holds the command's name, quoted
}

func (e *ExecError) Error() string { return "bawn: " + e.Reason }

// Is reports whether target is what a Code of 127 stands for.
func (e *ExecError) Is(target error) bool {
	return e.Code == codeNotFound && (target == exec.ErrNotFound || target == fs.ErrNotExist)
}

// Exit codes of commands that did not run (the same as a shell's).
const (
	codeNotExecutable = 126
	codeNotFound      = 127
)

// ExitError means that the command ran and did not succeed.
type ExitError struct {
	*ProcessState
	// Stderr is what the command wrote to its standard error, if it was
	// started by Cmd.Output and Cmd.Stderr was nil. Of long texts the middle
	// is left out: at most 32 KiB from each end are kept.
	Stderr []byte

	cause error
}

func (e *ExitError) Error() string {
	if e.cause != nil {
		return "bawn: " + e.cause.Error() + " (" + e.ProcessState.String() + ")"
	}
	return "bawn: " + e.ProcessState.String()
}

// Unwrap returns the context's error if it ended the command, else nil.
func (e *ExitError) Unwrap() error { return e.cause }

// ProcessState is how a command ended.
type ProcessState struct{ code int }

// ExitCode returns the command's exit status, from 0 to 255, or 128+n if
// signal n ended it. A nil state, of a command that has not ended, gives -1.
func (s *ProcessState) ExitCode() int {
	if s == nil {
		return -1
	}
	return s.code
}

// Success reports whether the command ended with status 0.
func (s *ProcessState) Success() bool { return s.ExitCode() == 0 }

func (s *ProcessState) String() string {
	if s == nil {
		return "<nil>"
	}
	return "exit status " + strconv.Itoa(s.code)
}

// public turns errors of the internal packages into this package's.
func public(err error) error {
	var refused *policy.RefusedError
	var unavailable *sandbox.Unavailable
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return &RefusedError{What: refused.What, Why: refused.Why, Lift: refused.Lift}
	case errors.As(err, &unavailable):
		return &unavailableError{unavailable.Error() + "; " + unavailableHint()}
	}
	return &plainError{err}
}

type unavailableError struct{ reason string }

func (e *unavailableError) Error() string { return "bawn: " + ErrUnavailable.Error() + ": " + e.reason }

func (e *unavailableError) Is(target error) bool { return target == ErrUnavailable }

// plainError names the package in front of an error once.
type plainError struct{ err error }

func (e *plainError) Error() string { return "bawn: " + e.err.Error() }
func (e *plainError) Unwrap() error { return e.err }
