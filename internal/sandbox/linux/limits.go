//go:build linux

package linux

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

// limits are those of the caller that may leave no room for a sandbox: below
// them the Go runtime of the supervisor or of the stage, which counts on more,
// would end it with a trace instead of a reason. Much below, it does so before
// anything can look.
var limits = [...]struct {
	which int
	what  string
	least uint64 // measured, with room
	kib   bool   // told in KiB, not as a number
	lift  string // some shells count the size of files in half KiB
}{
	{unix.RLIMIT_NOFILE, "open files", 64, false, "ulimit -n 64"},
	{unix.RLIMIT_NPROC, "processes", 32, false, "ulimit -u 32"},
	{unix.RLIMIT_AS, "virtual memory", 1 << 30, true, "ulimit -v 1048576"},
	{unix.RLIMIT_FSIZE, "the size of files", 64 << 10, true, "ulimit -f 128"},
}

// CheckLimits refuses where a limit of the caller leaves no room for a
// sandbox.
func CheckLimits() error {
	for _, l := range limits {
		var r unix.Rlimit
		// The runtime has raised the soft limit on files to the hard one. The
		// kernel counts no processes of root.
		if unix.Getrlimit(l.which, &r) != nil || r.Cur >= l.least || l.which == unix.RLIMIT_NPROC && os.Getuid() == 0 {
			continue
		}
		why := fmt.Sprintf("it is %d, and a sandbox needs %d", r.Cur, l.least)
		if l.kib {
			why = fmt.Sprintf("it is %d KiB, and a sandbox needs %d KiB", r.Cur>>10, l.least>>10)
		}
		return &policy.RefusedError{What: "the limit on " + l.what, Why: why, Lift: "raise it before: " + l.lift}
	}
	return nil
}

// unstartable is why this program cannot be started anew, where that is known.
func unstartable(err error) error {
	if errors.Is(err, unix.ENOENT) && noProc() {
		return &policy.RefusedError{What: "/proc", Why: "it is not mounted, and bawn starts itself from it", Lift: "mount it before: " + mountProc}
	}
	return err
}

// noProcess is the refusal where no process can be started although the limit
// is not small: others use it up.
func noProcess() error {
	why := "no more can be started now"
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &r) == nil && r.Cur != unix.RLIM_INFINITY {
		why = fmt.Sprintf("of the %d that you may have (ulimit -u) none is left", r.Cur)
	}
	return &policy.RefusedError{What: "processes", Why: why, Lift: "end some, or raise the limit before"}
}
