//go:build linux

package guard

import (
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below look things up, a dozen short ones for each call that is
// answered. They go to the kernel without telling Go's scheduler, which would
// hand this thread's work to others and back in between. What may wait for
// long (receive, and the caller's own operation) goes the ordinary way.

// raw keeps alive what its arguments point to.
//
//go:uintptrescapes
func raw(nr uintptr, a ...uintptr) (int, error) {
	var x [6]uintptr
	copy(x[:], a)
	for {
		r, _, e := unix.RawSyscall6(nr, x[0], x[1], x[2], x[3], x[4], x[5])
		switch e {
		case 0:
			return int(r), nil
		case unix.EINTR:
		default:
			return -1, e
		}
	}
}

// short is the length, with its NUL, of a path that makes no garbage.
const short = 256

// cString gives path to the kernel, in buf, all of it 0, if it fits. What the
// calls below are given by pointer stays where their callers have it.
func cString(buf *[short]byte, path string) (*byte, error) {
	if len(path) >= short || strings.IndexByte(path, 0) >= 0 {
		return unix.BytePtrFromString(path)
	}
	copy(buf[:], path)
	return &buf[0], nil
}

// lookup opens what a path leads to as an object, or a file about a process.
func lookup(dir int, path string, flags int) (int, error) {
	var buf [short]byte
	p, err := cString(&buf, path)
	if err != nil {
		return -1, err
	}
	for {
		r, _, e := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(flags|unix.O_CLOEXEC), 0, 0, 0)
		if e != unix.EINTR {
			return given(r, e)
		}
	}
}

// lookupStrict is lookup that follows no link of any kind.
func lookupStrict(dir int, path string, flags int) (int, error) {
	var buf [short]byte
	p, err := cString(&buf, path)
	if err != nil {
		return -1, err
	}
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		r, _, e := unix.RawSyscall6(unix.SYS_OPENAT2, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
		if e != unix.EINTR {
			return given(r, e)
		}
	}
}

func given(r uintptr, e unix.Errno) (int, error) {
	if e != 0 {
		return -1, e
	}
	return int(r), nil
}

func ended(e unix.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}

func closeFD(fd int) {
	if fd >= 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
	}
}

func fstat(fd int, st *unix.Stat_t) error {
	for {
		_, _, e := unix.RawSyscall(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(st)), 0)
		if e != unix.EINTR {
			return ended(e)
		}
	}
}

// lstatAt looks at a name in a directory, and follows no link.
func lstatAt(dir int, name string, st *unix.Stat_t) error {
	var buf [short]byte
	p, err := cString(&buf, name)
	if err != nil {
		return err
	}
	for {
		_, _, e := unix.RawSyscall6(unix.SYS_NEWFSTATAT, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
		if e != unix.EINTR {
			return ended(e)
		}
	}
}

func fstatfs(fd int, fs *unix.Statfs_t) error {
	for {
		_, _, e := unix.RawSyscall(unix.SYS_FSTATFS, uintptr(fd), uintptr(unsafe.Pointer(fs)), 0)
		if e != unix.EINTR {
			return ended(e)
		}
	}
}

// statx asks about what a descriptor is of.
func statx(fd int, mask int, st *unix.Statx_t) error {
	empty := [1]byte{}
	for {
		_, _, e := unix.RawSyscall6(unix.SYS_STATX, uintptr(fd), uintptr(unsafe.Pointer(&empty[0])), unix.AT_EMPTY_PATH, uintptr(mask), uintptr(unsafe.Pointer(st)), 0)
		if e != unix.EINTR {
			return ended(e)
		}
	}
}

func readlinkat(dir int, path string, buf []byte) (int, error) {
	var name [short]byte
	p, err := cString(&name, path)
	if err != nil {
		return -1, err
	}
	for {
		r, _, e := unix.RawSyscall6(unix.SYS_READLINKAT, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
		if e != unix.EINTR {
			return given(r, e)
		}
	}
}

func readFD(fd int, buf []byte) (int, error) {
	return raw(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
}

// readProcess reads another process's memory.
func readProcess(pid int, addr uint64, buf []byte) (int, error) {
	local := unix.Iovec{Base: &buf[0]}
	local.SetLen(len(buf))
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(buf)}
	for {
		r, _, e := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
		if e != unix.EINTR {
			return given(r, e)
		}
	}
}

// ready asks which of the wanted events a descriptor has, or gets in that time.
func ready(fd int, events int16, wait time.Duration) int16 {
	p := unix.PollFd{Fd: int32(fd), Events: events}
	limit := unix.NsecToTimespec(wait.Nanoseconds()) // the kernel writes there what is left
	for {
		n, _, e := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
		switch {
		case e == unix.EINTR:
		case e != 0 || n == 0:
			return 0
		default:
			return p.Revents
		}
	}
}
