//go:build linux

package netns

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// As in package stage, calls go to the kernel without telling Go's scheduler,
// which would hand this thread's work to another and take it back.

var (
	loopback = [4]byte{127, 0, 0, 1}
	stub     = [4]byte{127, 0, 0, 53} // systemd-resolved's
)

func result(r uintptr, errno unix.Errno) (int, error) {
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

func closeFD(fd int) { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

func socket(family, kind, protocol int) (int, error) {
	r, _, e := unix.RawSyscall(unix.SYS_SOCKET, uintptr(family), uintptr(kind|unix.SOCK_CLOEXEC), uintptr(protocol))
	return result(r, e)
}

// bind makes a non-blocking IPv4 socket with an address of its own.
func bind(addr [4]byte, port uint16, kind int) (int, error) {
	fd, err := socket(unix.AF_INET, kind|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	sa := unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: addr}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&sa.Port))[:], port)
	if _, _, e := unix.RawSyscall(unix.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(&sa)), unsafe.Sizeof(sa)); e != 0 {
		closeFD(fd)
		return -1, e
	}
	return fd, nil
}

func listen(addr [4]byte, port uint16, backlog int) (int, error) {
	fd, err := bind(addr, port, unix.SOCK_STREAM)
	if err != nil {
		return -1, err
	}
	if _, _, e := unix.RawSyscall(unix.SYS_LISTEN, uintptr(fd), uintptr(backlog), 0); e != 0 {
		closeFD(fd)
		return -1, e
	}
	return fd, nil
}

// boundPort is the port that the kernel chose for an IPv4 socket.
func boundPort(fd int) (uint16, error) {
	var sa unix.RawSockaddrInet4
	size := uint32(unsafe.Sizeof(sa))
	if _, _, e := unix.RawSyscall(unix.SYS_GETSOCKNAME, uintptr(fd), uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size))); e != 0 {
		return 0, fmt.Errorf("find a socket's port: %w", e)
	}
	return binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&sa.Port))[:]), nil
}
