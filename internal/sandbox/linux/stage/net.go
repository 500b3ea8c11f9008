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
	plan := openNetwork(n, capable)
	done := make(chan error, 1)
	go func() {
		set, err := makeNetwork(plan, n, capable)
		if err == nil && n.Proxy {
			err = handOver(ControlFD, set)
		}
		set.Close()
		done <- err
	}()
	return func() error { return <-done }
}

func openNetwork(n sandbox.Network, capable bool) netns.Plan {
	return netns.Open(netns.Config{Capable: capable && n.Transparent, Ports: n.Local})
}

func makeNetwork(plan netns.Plan, n sandbox.Network, capable bool) (netns.Set, error) {
	if capable && !n.Transparent {
		if err := netns.Loopback(); err != nil {
			return netns.Set{}, err
		}
	}
	if !n.Proxy {
		return netns.Set{}, nil
	}
	set, err := plan.Make()
	if err != nil {
		return netns.Set{}, fmt.Errorf("make the network: %w", err)
	}
	if !n.Transparent {
		set.Lacking = nil // nobody asked for more
	}
	return set, nil
}

func handOver(control int, set netns.Set) error {
	kinds, fds := set.Message()
	msg := append([]byte{MsgNetwork, byte(len(fds))}, kinds...)
	msg = append(msg, strings.Join(set.Lacking, "\n")...)
	if err := unix.Sendmsg(control, msg, unix.UnixRights(fds...), nil, 0); err != nil {
		return fmt.Errorf("hand over the network: %w", err)
	}
	return nil
}
