package sandbox

import (
	"errors"
	"os"
)

// Backend starts what a Spec describes.
type Backend interface {
	// Start builds the sandbox and starts the command in it. An *Unavailable
	// error means that this mechanism cannot work here at all; nothing ran.
	Start(Spec, Stdio) (Process, error)
}

// Stdio are the command's standard streams. They are passed on as they are;
// with Spec.TTY they stay outside and the command gets a terminal instead.
type Stdio struct{ In, Out, Err *os.File }

// Process is a started sandbox, seen from outside.
type Process interface {
	// Next waits for the next thing to happen. After Exited or Failed there
	// is nothing more.
	Next() (Event, error)
	// Signal delivers a signal to the command's process group.
	Signal(sig int) error
	// Ack answers an EventTTY: size and modes of the terminal are set.
	Ack() error
	// Kill ends the sandbox and all in it at once.
	Kill()
	// Close waits for the launcher's own process and frees what it held.
	Close() error
}

// EventKind says what happened.
type EventKind uint8

const (
	EventStarted EventKind = iota + 1
	EventTTY               // TTY is the master of the command's terminal
	EventStopped           // by the signal in Code
	EventExited            // with the status in Code
	EventFailed            // the command did not run; Code is bawn's exit code
)

// Event is one thing that happened in a sandbox.
type Event struct {
	Kind   EventKind
	Code   int
	Reason string
	TTY    *os.File
}

// ErrUnavailable marks a mechanism that cannot work on this machine.
var ErrUnavailable = errors.New("sandbox mechanism unavailable")

// Unavailable says why a mechanism cannot work here.
type Unavailable struct {
	Mechanism string // native, bwrap
	Reason    string
}

func (e *Unavailable) Error() string { return e.Mechanism + ": " + e.Reason }

// Is makes every Unavailable match ErrUnavailable.
func (e *Unavailable) Is(target error) bool { return target == ErrUnavailable }
