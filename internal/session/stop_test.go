//go:build unix

package session

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// signals is a sandbox that only notes what it is sent.
type signals struct {
	sandbox.Process
	sent []int
}

func (s *signals) Signal(n int) error {
	s.sent = append(s.sent, n)
	return nil
}

func equal(a []int, b ...int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// A stop is followed only once the sandbox has confirmed it, and not if this
// process was told to go on meanwhile: it would stay stopped for ever.
func TestStopOvertakenByContinue(t *testing.T) {
	p := &signals{}
	r := runner{p: p, o: Options{Foreground: true}, signals: make(chan os.Signal, 4)}
	if _, done, err := r.handle(sandbox.Event{Kind: sandbox.EventStopped, Code: int(unix.SIGTSTP)}); done || err != nil {
		t.Fatal(done, err)
	}
	if !equal(p.sent, 0) {
		t.Fatalf("sent %v, want the question 0", p.sent)
	}
	r.signals <- unix.SIGUSR1
	r.signals <- unix.SIGCONT
	if _, done, err := r.handle(sandbox.Event{Kind: sandbox.EventStopped}); done || err != nil {
		t.Fatal(done, err)
	}
	if !equal(p.sent, 0, int(unix.SIGUSR1), int(unix.SIGCONT)) {
		t.Errorf("sent %v", p.sent)
	}
}

// A run that does not stand for its process never stops it.
func TestStopInLibrary(t *testing.T) {
	p := &signals{}
	r := runner{p: p}
	for _, code := range []int{int(unix.SIGSTOP), 0} {
		if _, done, err := r.handle(sandbox.Event{Kind: sandbox.EventStopped, Code: code}); done || err != nil {
			t.Fatal(done, err)
		}
	}
	if len(p.sent) != 0 {
		t.Errorf("sent %v", p.sent)
	}
}
