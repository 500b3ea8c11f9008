//go:build linux

package attach

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
)

// All sockets inside have room for so many clients together, and other
// terminals have theirs.
func TestGuestsShareTheirRoom(t *testing.T) {
	s, err := session.New(session.Setup{Settle: func(policy.Tier, session.Command) (policy.Policy, sandbox.Host, error) {
		return policy.Policy{}, sandbox.Host{}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir, err := makeFolder([]string{filepath.Join(t.TempDir(), stateRun)})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.close()
	outer := &Door{s: s, within: t.TempDir(), guests: make(chan struct{}, 1)}
	dial := func() net.Conn {
		t.Helper()
		path, _, end, err := outer.inner(dir, session.Sibling{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(end)
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	first := dial()
	w := &wire{c: first.(*net.UnixConn)}
	if err := w.send(msgWhere, []byte("/")); err != nil {
		t.Fatal(err)
	}
	if kind, _, _, err := w.receive(maxFrame, func(byte) int { return 0 }); err != nil || kind != msgOther {
		t.Fatalf("%q, %v", kind, err) // the twin; its room is free again when it is closed
	}
	if _, err := first.Read(make([]byte, 1)); err != io.EOF {
		t.Fatal(err)
	}
	outer.guests <- struct{}{}
	if n, err := dial().Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("served beyond the room: %v", err)
	}
}

// A working folder from inside is looked at without following a link.
func TestFolderFromInside(t *testing.T) {
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(ws, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"there": outside + "/../../../../.." + ws, "here": ws + "/sub"} {
		if err := os.Symlink(to, filepath.Join(ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	inner, attached := &Door{kind: session.Inner, within: ws}, &Door{kind: session.Attached, within: ws}
	for path, want := range map[string][2]bool{
		ws: {true, true}, ws + "/sub": {true, true}, ws + "/none": {false, false}, outside: {false, false}, "sub": {false, false}, "": {false, false},
		ws + "/here": {false, true}, ws + "/there": {false, true}, outside + "/../../../../.." + ws: {false, true}, ws + "/sub/..": {false, true},
	} {
		if real, ok := inner.folder(path); ok != want[0] || ok && real != path {
			t.Errorf("%s from inside: %s, %v", path, real, ok)
		}
		if real, ok := attached.folder(path); ok != want[1] || ok && !policy.Inside(real, ws) {
			t.Errorf("%s: %s, %v", path, real, ok)
		}
	}
}

// Who takes no message gets no more.
func TestSendTurnsAway(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	w, err := wireOf(fds[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := w.send(msgNotice, nil); err != nil {
		t.Fatal(err) // the twin
	}
	unix.Close(fds[1])
	if err := w.send(msgNotice, nil); err == nil {
		t.Fatal("sent to nobody")
	}
	if err := w.send(msgNotice, nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it is tried again: %v", err)
	}
}
