//go:build linux

package guard

import "golang.org/x/sys/unix"

var oldNames = []string{"open", "creat", "mkdir", "mknod", "symlink", "link", "rename"}

// oldCalls are those that only the older architecture has.
func oldCall(kind string, a, b, flags, mode uintptr) (uintptr, []uintptr) {
	switch kind {
	case "open":
		return unix.SYS_OPEN, []uintptr{a, flags | unix.O_NONBLOCK, mode}
	case "creat":
		return unix.SYS_CREAT, []uintptr{a, mode}
	case "mkdir":
		return unix.SYS_MKDIR, []uintptr{a, mode}
	case "mknod":
		return unix.SYS_MKNOD, []uintptr{a, mode, 0}
	case "symlink":
		return unix.SYS_SYMLINK, []uintptr{b, a}
	case "link":
		return unix.SYS_LINK, []uintptr{a, b}
	}
	return unix.SYS_RENAME, []uintptr{a, b}
}
