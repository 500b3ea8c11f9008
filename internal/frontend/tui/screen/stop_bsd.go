//go:build unix && !linux

package screen

import (
	"os"

	"golang.org/x/sys/unix"
)

// stopSelf stops this process by a SIGTSTP that is not handled.
func stopSelf() { _ = unix.Kill(os.Getpid(), unix.SIGTSTP) }
