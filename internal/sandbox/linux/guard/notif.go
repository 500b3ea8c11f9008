//go:build linux

package guard

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel's interface (linux/seccomp.h).
type (
	seccompData struct {
		nr   int32
		arch uint32
		ip   uint64
		args [6]uint64
	}
	notification struct {
		id    uint64
		pid   uint32 // the thread, in this process's PID namespace
		flags uint32
		data  seccompData
	}
	response struct {
		id    uint64
		val   int64
		error int32
		flags uint32
	}
	addFD struct {
		id         uint64
		flags      uint32
		srcfd      uint32
		newfd      uint32
		newfdFlags uint32
	}
)

// The numbers hold the sizes: a kernel with other structures refuses them.
const (
	ioctlRecv     = 0xc0502100
	ioctlSend     = 0xc0182101
	ioctlValid    = 0x40082102
	ioctlAddFD    = 0x40182103
	ioctlSetFlags = 0x40082104

	flagSyncWakeUp = 1
)

func ioctl(fd int, request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	return errno
}

// burst is how long the next call of a burst is waited for in the way that
// keeps this thread its processor of Go's scheduler: to give it up and take it
// again wakes other threads each time. Whatever stops all threads, as garbage
// collection, waits that long at most.
const burst = 200 * time.Microsecond

// receive waits for a call. ENOENT: its caller was killed, or none is left.
func receive(fd int, n *notification) unix.Errno {
	*n = notification{}
	_ = ready(fd, unix.POLLIN, burst)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), ioctlRecv, uintptr(unsafe.Pointer(n)))
	return errno
}

// valid reports whether the caller still waits: if so, what was read about
// its thread number was read of that thread.
func valid(fd int, id uint64) bool {
	return ioctl(fd, ioctlValid, unsafe.Pointer(&id)) == 0
}

// respond ends the call with an error number, or with success if it is 0, or
// lets it go on. A caller that was killed meanwhile needs no answer.
func respond(fd int, id uint64, errno unix.Errno, proceed bool) {
	r := response{id: id, error: -int32(errno)}
	if proceed {
		r = response{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	}
	_ = ioctl(fd, ioctlSend, unsafe.Pointer(&r))
}

// respondFD ends the call with file, which it closes. The caller's table may be
// full: then the call has not ended.
//
// A file that may be written is closed here before the call ends: a caller that
// writes a program, closes it and runs it must not find it open for writing
// (ETXTBSY). The kernel's own reference goes with the first request's end.
func respondFD(fd int, id uint64, file, flags int) unix.Errno {
	a := addFD{id: id, srcfd: uint32(file), newfdFlags: uint32(flags & unix.O_CLOEXEC)}
	if flags&unix.O_ACCMODE == unix.O_RDONLY {
		a.flags = unix.SECCOMP_ADDFD_FLAG_SEND
	}
	// The caller itself takes it, whenever it runs again.
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), ioctlAddFD, uintptr(unsafe.Pointer(&a)))
	closeFD(file)
	if errno == 0 && a.flags == 0 {
		r := response{id: id, val: int64(n)}
		_ = ioctl(fd, ioctlSend, unsafe.Pointer(&r)) // fails if the caller was killed
	}
	return errno
}

// hangup reports whether nobody is left who could call.
func hangup(fd int) bool {
	return ready(fd, 0, 0)&unix.POLLHUP != 0
}

// queued reports whether another call waits to be received.
func queued(fd int) bool {
	return ready(fd, unix.POLLIN, 0)&unix.POLLIN != 0
}
