//go:build linux

package linux

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

// minFiles and minProcesses are what the supervisor and the stage need of the
// caller's limits: below them the Go runtime, which counts on both, would end
// either with a trace instead of a reason.
const (
	minFiles     = 64
	minProcesses = 32
)

// CheckLimits refuses where the caller's resource limits leave no room for a
// sandbox. That other processes of the user fill the room shows only later.
func CheckLimits() error {
	for _, l := range []struct {
		resource  int
		need      uint64
		what, way string
	}{
		{unix.RLIMIT_NOFILE, minFiles, "open files", "ulimit -n"},
		{unix.RLIMIT_NPROC, minProcesses, "processes", "ulimit -u"},
	} {
		if l.resource == unix.RLIMIT_NPROC && os.Getuid() == 0 {
			continue // it does not count for root
		}
		var r unix.Rlimit
		// The runtime raises the soft limit on files to the hard one.
		if err := unix.Getrlimit(l.resource, &r); err == nil && r.Cur < l.need {
			return &policy.RefusedError{
				What: "the limit on " + l.what, Why: fmt.Sprintf("it is %d, and a sandbox needs %d", r.Cur, l.need),
				Lift: fmt.Sprintf("raise it before: %s %d", l.way, l.need),
			}
		}
	}
	return nil
}
