//go:build unix && !linux

package screen

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// stopSelf stops this process, and its group if asked, as Ctrl+Z does.
func stopSelf(group bool) {
	if group {
		signal.Ignore(unix.SIGTSTP)
		_ = unix.Kill(0, unix.SIGTSTP)
	}
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
}
