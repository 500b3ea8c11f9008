//go:build linux

package linux

import (
	"io"
	"os"
	"strings"
	"testing"

	"bawn/internal/sandbox"
)

// newKeeper makes one that ends with the test.
func newKeeper(t *testing.T) sandbox.Keeper {
	t.Helper()
	k, err := NewKeeper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func newNetwork(t *testing.T, k sandbox.Keeper) sandbox.Shared {
	t.Helper()
	s, err := k.Network(sandbox.Network{Proxy: true, Transparent: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// say runs shell text to its end and returns what it wrote.
func say(t *testing.T, b sandbox.Backend, text string) string {
	t.Helper()
	spec, in, out, stdio := shell(t, text)
	p, err := b.Start(spec, stdio)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	in.Close()
	stdio.Out.Close()
	if code := end(t, p); code != 0 {
		t.Errorf("exit code %d", code)
	}
	said, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(said), "\n")
}

func TestKeeperShares(t *testing.T) {
	k := newKeeper(t)
	s := newNetwork(t, k)
	say(t, s, "echo one >/tmp/kept; echo two >/var/tmp/kept")
	if got := say(t, s, "cat /tmp/kept /var/tmp/kept"); got != "one\ntwo" {
		t.Errorf("the next command reads %q", got)
	}
	_ = os.Stderr
}
