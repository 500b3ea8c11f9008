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

// resetSignals takes back the runtime's other handlers before the command
// runs: the kernel lets no signal from inside reach a pid 1 without a handler
// for it, not even a forged fault that the runtime would take for its own.
func resetSignals() {
	for sig := uintptr(1); sig <= 64; sig++ {
		if sig == uintptr(unix.SIGURG) {
			continue // the runtime's own, harmless from anyone else
		}
		var act [8]uintptr // room for any struct sigaction; the handler comes first
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&act)), 8, 0, 0)
		if errno == 0 && act[0] > sigIgn {
			act = [8]uintptr{}
			unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
		}
	}
}

const sigIgn = 1
