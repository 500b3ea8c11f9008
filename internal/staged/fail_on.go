//go:build linux && bawn_failpoint

package staged

import (
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
)

var passed atomic.Int64

// failpoint kills this process at the so many-th point that it passes, as
// BAWN_TEST_KILL says. Built for tests alone.
func failpoint(string) {
	n, err := strconv.ParseInt(os.Getenv("BAWN_TEST_KILL"), 10, 64)
	if err == nil && passed.Add(1) == n {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}
