package session

import (
	"net"
	"os"
	"testing"
)

// C5: who listens on the host's loopback is read, for both families; a port on
// which nobody does, or only on another address, is none.
func TestC5_ListensOnLoopback(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "127.8.8.8:0", "0.0.0.0:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		port := uint16(l.Addr().(*net.TCPAddr).Port)
		if !listensOnLoopback(port) {
			t.Errorf("%s: nobody listens on %d", at, port)
		}
		l.Close()
		if listensOnLoopback(port) {
			t.Errorf("%s: somebody listens on %d, which was closed", at, port)
		}
	}
	list := t.TempDir() + "/tcp"
	text := "  sl  local_address rem_address   st\n" +
		"   0: 0100000A:1F90 00000000:0000 0A 00000000:00000000\n" +
		"   1: 0100007F:1F90 0100007F:C000 01 00000000:00000000\n" +
		"   2: broken:1F90 00000000:0000 0A\n   3:\n"
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if listens(list, 8080) || listens(list+".none", 8080) {
		t.Error("an address of a network, a connection or a broken line counts")
	}
}
