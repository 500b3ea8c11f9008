//go:build linux

package bawn_test

import (
	"net"
	"os"
	"testing"

	"bawn"
)

// A socket of the host is out of reach. One that lies in another user's
// private folder, which root may enter outside but not inside, must not keep
// root's commands from starting.
func TestHostSockets(t *testing.T) {
	root := hostDir(t)
	ws, open, private := mkdir(t, root, "ws"), mkdir(t, root, "open"), mkdir(t, root, "private")
	for _, dir := range []string{open, private} {
		l, err := net.Listen("unix", dir+"/s")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := os.Chmod(dir+"/s", 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(private, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(private, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	const text = `for s in open private; do python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' ../$s/s 2>/dev/null && echo $s; done; echo end`
	if out, err := sh(t, newPolicy(t, bawn.Open, ws), text); err != nil || out != "open\nprivate\nend\n" {
		t.Fatalf("without a sandbox: %q, %v", out, err)
	}
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		if out, err := sh(t, newPolicy(t, bawn.Guarded, ws, launcher), text); err != nil || out != "end\n" {
			t.Errorf("%q, %v", out, err)
		}
	})
}
