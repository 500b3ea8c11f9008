//go:build linux

package stage

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// connectInside answers a MsgConnect on this control socket: what waits outside
// for a published port gets a socket of this network namespace, connected to
// the port on one of the two loopbacks.
func connectInside(control int, port uint16) {
	fd, err := dialLoopback(unix.AF_INET, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
	if err != nil {
		var err6 error
		fd, err6 = dialLoopback(unix.AF_INET6, &unix.SockaddrInet6{Port: int(port), Addr: [16]byte{15: 1}})
		if err6 != nil {
			refuse(control, port, err)
			return
		}
	}
	defer unix.Close(fd)
	// The command can exhaust what its user may have on the way
	// (ETOOMANYREFS). The supervisor counts answers: each request gets one.
	if err := unix.Sendmsg(control, []byte{MsgConnect}, unix.UnixRights(fd), nil, 0); err != nil {
		refuse(control, port, err)
	}
}

func refuse(control int, port uint16, err error) {
	_ = sendTo(control, MsgConnect, fmt.Appendf(nil, "port %d inside: %v", port, err)...)
}

// dialLoopback hardly waits: on loopback a connection is there, refused, or in
// the queue of a server that is busy, which is the caller's to wait for.
func dialLoopback(family int, to unix.Sockaddr) (int, error) {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if err = unix.Connect(fd, to); err == unix.EINPROGRESS {
		err = settled(fd)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// settled waits a moment for the answer: on a machine under load it comes later
// than connect(2) returns.
func settled(fd int) error {
	wait := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	if _, err := unix.Poll(wait, 50); err != nil && err != unix.EINTR {
		return err
	}
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = unix.Errno(errno)
	}
	return err
}
