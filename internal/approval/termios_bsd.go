//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package approval

import "golang.org/x/sys/unix"

func getTermios(fd int) (*unix.Termios, error) { return unix.IoctlGetTermios(fd, unix.TIOCGETA) }

// setTermios takes effect at once: to wait for the output would be for ever on
// a terminal that was stopped.
func setTermios(fd int, t *unix.Termios) error { return unix.IoctlSetTermios(fd, unix.TIOCSETA, t) }

// flushInput drops what was typed and not read (FREAD, 1 in sys/fcntl.h).
func flushInput(fd int) { _ = unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, 1) }
