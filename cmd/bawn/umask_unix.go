//go:build unix

package main

import (
	"fmt"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

// checkUmask refuses a umask that takes from the owner: what bawn makes in its
// state folder, such as the log, could not be opened again, now or by any later run.
func checkUmask() error {
	old := unix.Umask(0o077)
	unix.Umask(old)
	if old&0o700 == 0 {
		return nil
	}
	return &policy.RefusedError{
		What: "the umask", Why: fmt.Sprintf("it is %#03o, and takes bawn's own files away from their owner", old),
		Lift: "set another before: umask 022",
	}
}
