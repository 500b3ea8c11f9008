//go:build linux

package guard

import "golang.org/x/sys/unix"

// oldCall is a call that only the older architecture has.
func (w *worker) oldCall(uintptr, *[6]uint64) result { return failed(unix.ENOSYS) }
