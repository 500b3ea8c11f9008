//go:build linux

package stage

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ignored are the signals that the Go runtime catches and that could so end
// pid 1 from inside. Those it leaves at their default (stop and continue)
// the kernel keeps from pid 1 itself.
var ignored = [...]unix.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGPIPE,
	unix.SIGVTALRM, unix.SIGIO, unix.SIGPWR, unix.SIGABRT,
	unix.SIGTRAP, unix.SIGSYS, unix.SIGXCPU, unix.SIGXFSZ, unix.SIGSTKFLT,
}

// ignoreSignals sets them to be ignored behind the Go runtime's back: os/signal
// would hand each over between threads, and the command would inherit the
// setting. The runtime still counts them as handled, so its fork gives the
// command their defaults; one ignored from the start (nohup) stays ignored.
func ignoreSignals() error {
	// struct sigaction of the kernel: handler, flags, restorer, mask.
	act := [4]uintptr{1} // SIG_IGN
	for _, s := range ignored {
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
		if errno != 0 {
			return fmt.Errorf("ignore signal %d: %w", int(s), errno)
		}
	}
	return nil
}
