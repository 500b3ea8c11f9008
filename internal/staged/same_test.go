//go:build linux

package staged

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// An attribute that a file system cannot hold is not missing there; one that it
// could is.
func TestSameAttrs(t *testing.T) {
	open := func(name string) int {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return int(f.Fd())
	}
	dir := t.TempDir()
	for _, name := range []string{"with", "without"} {
		if err := os.WriteFile(dir+"/"+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Setxattr(dir+"/with", "user.x", []byte("1"), 0); err != nil {
		t.Skip(err)
	}
	with, without, cannot := open(dir+"/with"), open(dir+"/without"), open("/proc/version")
	for _, c := range []struct {
		a, b int
		want bool
	}{{with, with, true}, {with, without, false}, {without, with, false}, {with, cannot, true}, {cannot, with, false}} {
		if got := sameAttrs(c.a, c.b); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
