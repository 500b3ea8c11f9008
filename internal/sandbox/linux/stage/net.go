//go:build linux

package stage

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/stage/netns"
)

// network makes what the Spec asks for and hands the sockets to the
// supervisor: nothing here keeps one. It runs while this thread has its
// capabilities and before the file system changes.
func network(n sandbox.Network, capable bool) error {
	if capable && !n.Transparent {
		if err := loopbackUp(); err != nil {
			return fmt.Errorf("bring up loopback: %w", err)
		}
	}
	if !n.Proxy {
		return nil
	}
	set, err := netns.Setup(netns.Config{Capable: capable && n.Transparent, Ports: n.Local})
	if err != nil {
		return fmt.Errorf("make the network: %w", err)
	}
	defer set.Close()
	if !n.Transparent {
		set.Lacking = nil // nobody asked for more
	}
	kinds, fds := set.Message()
	msg := append([]byte{MsgNetwork, byte(len(fds))}, kinds...)
	msg = append(msg, strings.Join(set.Lacking, "\n")...)
	if err := unix.Sendmsg(ControlFD, msg, unix.UnixRights(fds...), nil, 0); err != nil {
		return fmt.Errorf("hand over the network: %w", err)
	}
	return nil
}

// loopbackUp switches on lo in the sandbox's own network namespace: tests
// that serve and call 127.0.0.1 work, and nothing else is there.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}
