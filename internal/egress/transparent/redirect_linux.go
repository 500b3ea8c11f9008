package transparent

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func raw(c net.Conn) (syscall.RawConn, error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return s.SyscallConn()
}

// originalDestination is where the client of a redirected connection wanted
// to go, as the kernel knows it from tracking the connection.
func originalDestination(c net.Conn) (netip.AddrPort, error) {
	rc, err := raw(c)
	if err != nil {
		return netip.AddrPort{}, err
	}
	var sa unix.RawSockaddrInet4
	size := uint32(unsafe.Sizeof(sa))
	var errno unix.Errno
	err = rc.Control(func(fd uintptr) {
		_, _, errno = unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_IP, unix.SO_ORIGINAL_DST,
			uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size)), 0)
	})
	if err != nil {
		return netip.AddrPort{}, err
	}
	if errno != 0 {
		return netip.AddrPort{}, os.NewSyscallError("SO_ORIGINAL_DST", errno)
	}
	if sa.Family != unix.AF_INET {
		return netip.AddrPort{}, unix.EAFNOSUPPORT
	}
	port := (*[2]byte)(unsafe.Pointer(&sa.Port))
	return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(port[0])<<8|uint16(port[1])), nil
}

// waitEnd waits until the peer has closed its half of a connection or reset
// all of it, and waitReset for the latter alone. They take nothing from the
// connection, and are false when its read deadline comes first.
func waitEnd(c net.Conn) bool {
	return waitEvents(c, unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR)
}

func waitReset(c net.Conn) bool { return waitEvents(c, unix.POLLHUP|unix.POLLERR) }

func waitEvents(c net.Conn, events int16) bool {
	rc, err := raw(c)
	if err != nil {
		return false
	}
	// Whatever arrives wakes the reader, who looks whether it was this.
	err = rc.Read(func(fd uintptr) bool {
		p := []unix.PollFd{{Fd: int32(fd), Events: events}}
		n, err := unix.Poll(p, 0)
		return err == nil && n == 1 && p[0].Revents&events != 0
	})
	return err == nil
}
