// Package screen is the terminal of a session: what a command writes passes
// through it at full speed, above a footer that stays on the last lines. A
// command that takes the alternate screen is drawn by an emulator, with the
// footer under it. The terminal is given back as it was.
//
// It knows nothing of sessions and policies.
package screen

import (
	"errors"

	uv "github.com/charmbracelet/ultraviolet"
)

// Options say what a Screen does with what is typed. The functions are called
// from one goroutine, one at a time, and must not wait for a page: while one
// runs, nothing typed goes anywhere. Nil ones do nothing.
type Options struct {
	// Plain is for terminals that know no escape sequences: there is no
	// footer, and nothing is written but what commands write and Print.
	Plain bool
	// Key is shown every key that is typed while a command is attached. One
	// that it handles does not go to the command.
	Key func(uv.KeyPressEvent) (handled bool)
	// Idle gets what is typed while no command is attached.
	Idle func(uv.KeyPressEvent)
	// Paste gets what is pasted then, at most 64 KiB at a time.
	Paste func(text string)
	// Resized is called when the terminal has another width.
	Resized func(cols int)
	// Hangup is called once, when the terminal is gone.
	Hangup func()
}

// Cursor is a place in the footer, from 0.
type Cursor struct{ Line, Col int }

// MaxFooter is the most lines that a footer has.
const MaxFooter = 3

var (
	// ErrNoTerminal is Open's for a file that is no terminal.
	ErrNoTerminal = errors.New("not a terminal")
	// ErrBusy is Attach's while another command is attached.
	ErrBusy = errors.New("another command has the screen")
	// ErrClosed is for a screen that has been closed, or whose terminal is gone.
	ErrClosed = errors.New("the screen is closed")
)
