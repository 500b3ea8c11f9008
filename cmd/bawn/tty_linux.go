package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardInput drops what was typed and not read yet.
func discardInput(tty *os.File) { _ = unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
