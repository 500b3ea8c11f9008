//go:build unix

package session

import (
	"os"

	"bawn/internal/tty"
)

// HoldTerminal notes how the terminal f is before other processes use it. The
// function puts that back, if this process is in its foreground: line modes, and,
// with sequences, all that a program sets by escape sequences, the title too. A
// file that is no terminal is left alone.
func HoldTerminal(f *os.File, sequences bool) (giveBack func()) {
	fd := int(f.Fd())
	saved, err := getTermios(fd)
	if err != nil {
		return func() {}
	}
	titled := sequences && foreground(fd)
	if titled {
		titled = tty.WriteAll(fd, []byte(tty.KeepTitle)) == nil
	}
	return func() {
		if !foreground(fd) {
			return // it is another's now
		}
		_ = setTermios(fd, saved)
		undo := ""
		if sequences {
			undo = tty.UndoAll
			if os.Getenv("TERM") != "linux" {
				undo += tty.DefaultShape
			}
		}
		if titled {
			undo += tty.OldTitle
		}
		_ = tty.WriteAll(fd, []byte(undo))
	}
}
