//go:build linux

package stage

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below build the boundary, hundreds of short ones in a row. They
// go to the kernel without telling Go's scheduler: around an ordinary call it
// may hand this thread's work to another thread and take it back, which costs
// more than the call. None of them may block.

func result(r uintptr, errno unix.Errno) (int, error) {
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

func fdArg(fd int) uintptr { return uintptr(fd) } // AT_FDCWD is negative

func openat2(dir int, path string, how *unix.OpenHow) (int, error) {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	for {
		r, _, e := unix.RawSyscall6(unix.SYS_OPENAT2, fdArg(dir), uintptr(unsafe.Pointer(p)),
			uintptr(unsafe.Pointer(how)), unsafe.Sizeof(*how), 0, 0)
		if e != unix.EINTR && e != unix.EAGAIN {
			return result(r, e)
		}
	}
}

func openTree(dir int, path string, flags int) (int, error) {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	r, _, e := unix.RawSyscall(unix.SYS_OPEN_TREE, fdArg(dir), uintptr(unsafe.Pointer(p)), uintptr(flags))
	return result(r, e)
}

func moveMount(from, to int, name string, flags int) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	var empty byte
	_, _, e := unix.RawSyscall6(unix.SYS_MOVE_MOUNT, fdArg(from), uintptr(unsafe.Pointer(&empty)),
		fdArg(to), uintptr(unsafe.Pointer(p)), uintptr(flags|unix.MOVE_MOUNT_F_EMPTY_PATH), 0)
	_, err = result(0, e)
	return err
}

func mountSetattr(dir int, path string, flags int, attr unix.MountAttr) error {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	_, _, e := unix.RawSyscall6(unix.SYS_MOUNT_SETATTR, fdArg(dir), uintptr(unsafe.Pointer(p)), uintptr(flags),
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	_, err = result(0, e)
	return err
}

func fsopen(kind string) (int, error) {
	p, err := unix.BytePtrFromString(kind)
	if err != nil {
		return -1, err
	}
	r, _, e := unix.RawSyscall(unix.SYS_FSOPEN, uintptr(unsafe.Pointer(p)), unix.FSOPEN_CLOEXEC, 0)
	return result(r, e)
}

func fsconfigString(ctx int, key, value string) error {
	k, err := unix.BytePtrFromString(key)
	if err != nil {
		return err
	}
	v, err := unix.BytePtrFromString(value)
	if err != nil {
		return err
	}
	_, _, e := unix.RawSyscall6(unix.SYS_FSCONFIG, uintptr(ctx), unix.FSCONFIG_SET_STRING,
		uintptr(unsafe.Pointer(k)), uintptr(unsafe.Pointer(v)), 0, 0)
	_, err = result(0, e)
	return err
}

func fsconfigFlag(ctx int, key string) error {
	k, err := unix.BytePtrFromString(key)
	if err != nil {
		return err
	}
	_, _, e := unix.RawSyscall6(unix.SYS_FSCONFIG, uintptr(ctx), unix.FSCONFIG_SET_FLAG, uintptr(unsafe.Pointer(k)), 0, 0, 0)
	_, err = result(0, e)
	return err
}

func fsconfigCreate(ctx int) error {
	_, _, e := unix.RawSyscall6(unix.SYS_FSCONFIG, uintptr(ctx), unix.FSCONFIG_CMD_CREATE, 0, 0, 0, 0)
	_, err := result(0, e)
	return err
}

func fsmount(ctx, attr int) (int, error) {
	r, _, e := unix.RawSyscall(unix.SYS_FSMOUNT, uintptr(ctx), unix.FSMOUNT_CLOEXEC, uintptr(attr))
	return result(r, e)
}

func mkdirat(dir int, name string, mode uint32) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, e := unix.RawSyscall(unix.SYS_MKDIRAT, fdArg(dir), uintptr(unsafe.Pointer(p)), uintptr(mode))
	_, err = result(0, e)
	return err
}

// mkfile makes an empty regular file that was not there.
func mkfile(dir int, name string, mode uint32) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, e := unix.RawSyscall6(unix.SYS_MKNODAT, fdArg(dir), uintptr(unsafe.Pointer(p)), uintptr(unix.S_IFREG|mode), 0, 0, 0)
	_, err = result(0, e)
	return err
}

func symlinkat(text string, dir int, name string) error {
	t, err := unix.BytePtrFromString(text)
	if err != nil {
		return err
	}
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, e := unix.RawSyscall(unix.SYS_SYMLINKAT, uintptr(unsafe.Pointer(t)), fdArg(dir), uintptr(unsafe.Pointer(p)))
	_, err = result(0, e)
	return err
}

func closeFD(fd int) { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

func prctl(option int, arg uintptr) (int, error) {
	r, _, e := unix.RawSyscall6(unix.SYS_PRCTL, uintptr(option), arg, 0, 0, 0, 0)
	return result(r, e)
}
