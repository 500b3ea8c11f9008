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
// supervisor: nothing here keeps one. It runs while the threads have their
// capabilities. What it needs of the file system it takes before it returns;
// the kernel's part, which waits for the other network namespaces of the
// machine, goes on beside the mounts until the result is asked for.
func network(n sandbox.Network, capable bool) (result func() error) {
	plan := netns.Open(netns.Config{Capable: capable && n.Transparent, Ports: n.Local})
	done := make(chan error, 1)
	go func() { done <- makeNetwork(plan, n, capable) }()
	return func() error { return <-done }
}

func makeNetwork(plan netns.Plan, n sandbox.Network, capable bool) error {
	if capable && !n.Transparent {
		if err := netns.Loopback(); err != nil {
			return err
		}
	}
	if !n.Proxy {
		return nil
	}
	set, err := plan.Make()
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
