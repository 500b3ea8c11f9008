package screen

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// stopSelf stops this process by a SIGTSTP that is not handled, and returns
// when it goes on. Sent to this very thread, it stops before the call is back;
// where nobody could continue the process, the kernel ignores it.
func stopSelf() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGTSTP)
}
