package screen

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stopSelf stops this process, and its group if asked, as Ctrl+Z does; it
// returns when the process goes on. Go has no way back to a signal's default
// action, so that is set past it. Sent to this very thread, the signal stops
// the process before the call is back; where nobody could continue the
// process, the kernel ignores it.
func stopSelf(group bool) {
	type action struct {
		handler, flags, restorer uintptr
		mask                     uint64
	}
	set := func(now, old *action) {
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGTSTP), uintptr(unsafe.Pointer(now)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old action
	set(&action{handler: 1}, &old) // SIG_IGN: the rest of the group first
	if group {
		_ = unix.Kill(0, unix.SIGTSTP)
	}
	set(&action{}, nil) // SIG_DFL
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGTSTP)
	set(&old, nil)
}
