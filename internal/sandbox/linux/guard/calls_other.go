//go:build linux && !amd64 && !arm64

package guard

import "golang.org/x/sys/unix"

func (w *worker) oldCall(uintptr, *[6]uint64) result { return failed(unix.ENOSYS) }
