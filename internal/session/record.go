//go:build unix

package session

import (
	"fmt"

	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Recorder keeps what one command of a session does, and what is decided about
// it. Its methods may be called at once. After an error of Start, or of Decided
// with an allow, the command does not run; after one of Connection the
// connection is refused.
type Recorder interface {
	// Decided is what became of the command itself.
	Decided(c Command, d policy.Decision) error
	// Start is told before it runs; place is sandbox, outside or open.
	Start(c Command, p policy.Policy, place string) error
	// Connection fits Egress.Record.
	Connection(e egress.Event) error
	Named(e sandbox.NameEvent)
	Seen(processes []sandbox.Ancestor)
	// End is told of a command that was started; denied counts what it was refused.
	End(code int, reason string, denied int)
}

// noRecord is for a session of which nothing is to be kept.
type noRecord struct{}

func (noRecord) Decided(Command, policy.Decision) error     { return nil }
func (noRecord) Start(Command, policy.Policy, string) error { return nil }
func (noRecord) Connection(egress.Event) error              { return nil }
func (noRecord) Named(sandbox.NameEvent)                    {}
func (noRecord) Seen([]sandbox.Ancestor)                    {}
func (noRecord) End(int, string, int)                       {}

// recorder begins the record of one more command.
func (s *Session) recorder() Recorder {
	if s.setup.Recorder == nil {
		return noRecord{}
	}
	return s.setup.Recorder()
}

// recordOf finds the record of the command that an event belongs to; what
// belongs to none is the session's own.
func (s *Session) recordOf(task int) Recorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.task(task); t != nil && t.rec != nil {
		return t.rec
	}
	return s.rec
}

// decided records what became of the command; a reason says why it must not
// run.
func (t *task) decided(d policy.Decision) (reason string) {
	if err := t.rec.Decided(t.command(), d); err != nil && d.Verdict == policy.Allow {
		return fmt.Sprint("not run: ", err)
	}
	if d.Verdict != policy.Allow {
		t.refuse = d.Rule
		return said(d)
	}
	return ""
}

// begins records that the command is about to run.
func (t *task) begins(p policy.Policy, place string) (reason string) {
	if err := t.rec.Start(t.command(), p, place); err != nil {
		return fmt.Sprint("not run: ", err)
	}
	t.began = true
	return ""
}
