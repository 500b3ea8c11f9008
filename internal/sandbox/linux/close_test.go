//go:build linux

package linux

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// The numbers that a closed sandbox had are given out anew: here to a socket
// and a process that stand for somebody else's.
func TestCallsAfterCloseReachNobody(t *testing.T) {
	spec, in, _, stdio := shell(t, "read go")
	p, err := Backend{Launcher: Native}.Start(spec, stdio)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(int(unix.SIGWINCH)); err != nil {
		t.Errorf("while it lives: %v", err)
	}
	in.Close()
	end(t, p)
	q := p.(*process)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}

	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	q.control, q.pid = pair[0], other.Process.Pid

	for name, call := range map[string]func() error{
		"Signal":  func() error { return p.Signal(int(unix.SIGTERM)) },
		"Connect": func() error { return p.Connect(80) },
		"Ack":     p.Ack,
		"Next":    func() error { _, err := p.Next(); return err },
	} {
		if err := call(); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: %v, want that the process is done", name, err)
		}
	}
	weakerProcess{process: q}.Kill()
	if n, err := unix.Read(pair[1], make([]byte, 8)); err != unix.EAGAIN {
		t.Errorf("another's socket got %d bytes, or its end (%v)", n, err)
	}
	p.Kill()
	if err := p.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if err := unix.Close(pair[0]); err != nil {
		t.Errorf("another's socket: %v", err)
	}
	if err := other.Process.Signal(unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	// Killed by our signal, not by Kill, which would have come first.
	if st, err := other.Process.Wait(); err != nil || st.String() != "signal: user defined signal 1" {
		t.Errorf("another's process: %v, %v", st, err)
	}
}

// A call that waits for the stage ends with Close, and the command with it.
func TestCloseEndsWhoWaits(t *testing.T) {
	spec, _, _, stdio := shell(t, "sleep 1000")
	p, err := Backend{Launcher: Native}.Start(spec, stdio)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(); err != nil { // started
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		var err error
		for err == nil {
			_, err = p.Next()
		}
		got <- err
	}()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := <-got; err == nil {
		t.Error("Next: no error")
	}
}
