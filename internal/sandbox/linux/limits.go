//go:build linux

package linux

import (
	"fmt"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

// minFiles is what the supervisor and the stage need of the caller's limit on
// open files. Below it the Go runtime of either, which counts on a few, would
// end it with a trace instead of a reason.
const minFiles = 64

// CheckLimits refuses where the caller's limit leaves no room for a sandbox.
// One on processes is not judged: the runtime needs threads before anything
// can look, and ends by itself.
func CheckLimits() error {
	var r unix.Rlimit
	// The runtime has raised the soft limit to the hard one.
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err == nil && r.Cur < minFiles {
		return &policy.RefusedError{
			What: "the limit on open files", Why: fmt.Sprintf("it is %d, and a sandbox needs %d", r.Cur, minFiles),
			Lift: fmt.Sprintf("raise it before: ulimit -n %d", minFiles),
		}
	}
	return nil
}
