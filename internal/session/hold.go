//go:build unix

package session

import (
	"os"

	"bawn/internal/tty"
)

// HoldTerminal notes how the terminal f is before other processes use it. The
// function puts that back, if this process is in its foreground: line modes, and,
// with sequences, all that a program sets by escape sequences. A file that is no
// terminal is left alone.
func HoldTerminal(f *os.File, sequences bool) (giveBack func()) {
	fd := int(f.Fd())
	saved, err := getTermios(fd)
	if err != nil {
		return func() {}
	}
	return func() {
		if !foreground(fd) {
			return // it is another's now
		}
		_ = setTermios(fd, saved)
		if sequences {
			_ = tty.WriteAll(fd, []byte(tty.UndoAll))
		}
	}
}
