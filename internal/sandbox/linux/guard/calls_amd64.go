//go:build linux

package guard

import "golang.org/x/sys/unix"

// oldCall is a call that only the older architecture has.
func (w *worker) oldCall(nr uintptr, a *[6]uint64) result {
	const cwd = unix.AT_FDCWD
	switch nr {
	case unix.SYS_OPEN:
		return w.open(cwd, a[0], int(int32(a[1])), uint32(a[2]))
	case unix.SYS_CREAT:
		return w.open(cwd, a[0], unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, uint32(a[1]))
	case unix.SYS_MKDIR:
		return failed(w.make(cwd, a[0], Call{Op: Mkdir, Mode: uint32(a[1])}, 0))
	case unix.SYS_MKNOD:
		return failed(w.mknod(cwd, a[0], uint32(a[1]), uint32(a[2])))
	case unix.SYS_SYMLINK:
		return failed(w.symlink(a[0], cwd, a[1]))
	case unix.SYS_LINK:
		return failed(w.link(cwd, a[0], cwd, a[1], 0))
	case unix.SYS_UNLINK:
		return failed(w.remove(cwd, a[0], 0))
	case unix.SYS_RMDIR:
		return failed(w.remove(cwd, a[0], unix.AT_REMOVEDIR))
	case unix.SYS_RENAME:
		return failed(w.rename(cwd, a[0], cwd, a[1], 0))
	}
	return failed(unix.ENOSYS)
}
