//go:build linux

package linux

import (
	"net"
	"net/netip"
	"os"
	"testing"
)

func TestOwner(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p := &process{pid: os.Getpid()}
		peer := netip.MustParseAddrPort(c.LocalAddr().String())
		if pid, name := p.Owner(peer); pid != os.Getpid() || name == "" {
			t.Errorf("%s: %d %q", at, pid, name)
		}
		c.Close()
		if pid, _ := p.Owner(netip.AddrPortFrom(peer.Addr(), 1)); pid != 0 {
			t.Errorf("%s: nobody's port belongs to %d", at, pid)
		}
	}
}
