//go:build linux

package stage

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// stageCaps are what the stage needs inside its own user namespace to map
// its ids and build the boundary; the command gets none. They are ambient
// because an exec by a user other than 0 would lose them.
var stageCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_PTRACE}

// LayerCaps are one more where there are layers: the kernel's overlay works with
// the rights of whoever mounts it, in folders of mode 0 that it makes. The
// guard's threads drop it like the rest.
func LayerCaps(layers bool) []uintptr {
	if layers {
		return []uintptr{unix.CAP_DAC_OVERRIDE}
	}
	return nil
}

// Cloned starts this program (/proc/self/exe) as pid 1 of new user, mount and
// pid namespaces and those of more, tied to the calling thread. It maps the
// ids itself, so that the clone can share memory until its exec: a copy of
// this process's page tables would cost more than the namespaces. It has caps
// besides the stage's.
func Cloned(more uintptr, caps ...uintptr) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | more,
		AmbientCaps: append(caps, stageCaps...),
		Setsid:      true,
		Pdeathsig:   syscall.SIGKILL,
	}
}

// NoNamespaces reports errors by which the system forbids to make them.
func NoNamespaces(err error) bool {
	switch err {
	case unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EUSERS, unix.EINVAL, unix.ENOSYS:
		return true
	}
	return false
}

// Apart are the namespaces that no command shares.
const Apart = unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Room is the number of descriptors that the stage's table is made for, where
// it holds so many folders beside its own. The kernel lets a process with
// threads enlarge it only when every CPU has passed by, which takes 10 ms; the
// child that calls exec has none yet. One number above 64 makes room for 128.
func Room(folders int) int {
	n := 65 + folders
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur < uint64(2*n) { // fork needs some above
		return 0
	}
	return n
}

// Widen makes a child's list of descriptors so long that its table has the
// room; last stands at the end, for the child to close.
func Widen(files []uintptr, room int, last uintptr) []uintptr {
	for len(files) < room-1 {
		files = append(files, noFile)
	}
	if len(files) < room {
		files = append(files, last)
	}
	return files
}

const noFile = ^uintptr(0)
