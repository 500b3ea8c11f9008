// Package listen makes servers for tests.
package listen

import (
	"net"
	"net/netip"
	"testing"
)

// On runs serve for each connection to a port of an address, and closes it then.
// The port is closed when the test ends.
func On(t testing.TB, ip string, serve func(net.Conn)) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go Each(l, serve)
	return netip.MustParseAddrPort(l.Addr().String())
}

// Each runs serve for each connection, and closes it then, until l is closed.
func Each(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			serve(c)
		}()
	}
}
