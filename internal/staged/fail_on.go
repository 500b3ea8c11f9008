//go:build linux && bawn_failpoint

package staged

import (
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

var passed atomic.Int64

// failpoint kills this process at the so many-th point that it passes, as
// BAWN_TEST_KILL says, and stops it at each point that BAWN_TEST_STOP names.
// Built for tests alone.
func failpoint(name string) {
	if name == os.Getenv("BAWN_TEST_STOP") {
		runtime.LockOSThread() // of all threads this one must not go on
		_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP)
		runtime.UnlockOSThread()
	}
	n, err := strconv.ParseInt(os.Getenv("BAWN_TEST_KILL"), 10, 64)
	if err == nil && passed.Add(1) == n {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}
