//go:build linux

package linux

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// When the command's end is told nothing of the sandbox runs any more: what it
// left behind has closed the pipe that it wrote to.
func TestExitedMeansThatTheRestIsDead(t *testing.T) {
	for _, l := range []Launcher{Native, Bwrap} {
		spec, _, out, stdio := shell(t, "trap '' HUP TERM; for i in $(seq 40); do sleep 1000 & done; exit 3")
		p, err := Backend{Launcher: l}.Start(spec, stdio)
		if err != nil {
			t.Fatal(err)
		}
		code := end(t, p)
		p.Wait()
		stdio.Out.Close()
		fd := int(out.Fd()) // once: it makes the pipe wait
		if err := unix.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
		if n, err := unix.Read(fd, make([]byte, 8)); err == nil && n != 0 || code != 3 {
			t.Errorf("%s: exit %d, %d bytes", l, code, n)
		} else if err != nil {
			t.Errorf("%s: somebody still has the pipe: %v", l, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The gate is asked once, and after its error the command has not run.
func TestGate(t *testing.T) {
	closed := errors.New("no record")
	for _, l := range []Launcher{Native, Bwrap, Auto} {
		for _, want := range []error{nil, closed} {
			spec, _, out, stdio := shell(t, "echo ran")
			asked := 0
			b := Backend{Launcher: l, Gate: func() error {
				if asked++; want != nil { // a command that did not wait would have run by then
					_, _ = unix.Poll([]unix.PollFd{{Fd: int32(out.Fd()), Events: unix.POLLIN}}, 300)
				}
				return want
			}}
			if l != Bwrap {
				b.Early = Prepare(false, stdio, 0, false)
			}
			p, err := b.Start(spec, stdio)
			if err != want || asked != 1 {
				t.Fatalf("%q: %v after %d questions, want %v", l, err, asked, want)
			}
			ran := ""
			if p != nil {
				end(t, p)
				if err := p.Close(); err != nil {
					t.Error(err)
				}
				ran = "ran\n"
			}
			stdio.Out.Close()
			text := make([]byte, 16)
			n, _ := out.Read(text) // to the end: no process of the sandbox has it either
			if got := string(text[:max(n, 0)]); got != ran {
				t.Errorf("%q: the command wrote %q, want %q", l, got, ran)
			}
		}
	}
}

// Where native cannot work, bwrap starts under the same answer of the gate.
func TestGateIsAskedOnceForBoth(t *testing.T) {
	spec, _, _, stdio := shell(t, "exit 5")
	asked := 0
	failing := make(chan forked, 1)
	failing <- forked{err: &sandbox.Unavailable{Mechanism: "native", Reason: "a test"}}
	p, err := Backend{Early: &Early{failing}, Gate: func() error { asked++; return nil }}.Start(spec, stdio)
	if err != nil {
		t.Fatal(err)
	}
	if code := end(t, p); code != 5 || asked != 1 {
		t.Errorf("exit %d after %d questions", code, asked)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
