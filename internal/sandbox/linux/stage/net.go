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
		if err := netns.Loopback(); err != nil {
			return err
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
