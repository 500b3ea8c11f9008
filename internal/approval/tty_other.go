//go:build !unix

package approval

import (
	"context"
	"errors"
)

// ErrNoTerminal says that nobody can be asked.
var ErrNoTerminal = errors.New("there is no terminal to ask on")

// TTY asks on a terminal; not on this system.
type TTY struct{}

// OpenTTY fails: there is no controlling terminal here.
func OpenTTY() (*TTY, error) { return nil, ErrNoTerminal }

// Ask says no.
func (t *TTY) Ask(context.Context, Prompt) Answer { return Answer{Reason: ErrNoTerminal.Error()} }

// Close does nothing.
func (t *TTY) Close() error { return nil }
