//go:build unix

package session

import (
	"slices"
	"time"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session/hint"
)

// end is the last of a task. What it leaves to be asked about is open before it
// is seen to have ended: who shows it looks once.
func (t *task) end(code int, reason string) {
	s := t.s
	s.mu.Lock()
	t.over, t.info.Code, t.info.Reason = true, code, reason
	denied := t.info.Denied // without hints: they are no decisions
	s.mu.Unlock()
	if t.began && code != 0 && reason == "" {
		t.hinted() // whoever sees the end sees them
	}
	if t.began {
		t.report(code)
	}
	if s.ask != nil {
		t.leave(code)
	}
	s.mu.Lock()
	t.info.Ended = time.Now()
	s.forget()
	s.mu.Unlock()
	if t.began {
		t.rec.End(code, reason, denied)
	}
	if t.client != nil {
		ev := sandbox.Event{Kind: sandbox.EventExited, Code: code}
		if reason != "" {
			ev = sandbox.Event{Kind: sandbox.EventFailed, Code: code, Reason: reason}
		}
		end := Ended{Refused: t.refuse}
		end.Denials, end.More = t.denied.list()
		for _, e := range t.names.watched {
			end.Written = append(end.Written, e.Path)
		}
		t.client.Event(ev, end)
		// Megabytes that the client chose, and that nobody needs any more.
		t.start.Args, t.start.Text, t.client.Environ, t.client.Asking = nil, "", nil, nil
	}
	s.watchers.tell()
}

// exited withdraws the questions of a command before the last that it wrote is
// shown: the page of one of them may hold that up.
func (t *task) exited(code int) {
	s := t.s
	if s.ask == nil || !t.isOver(code) {
		return
	}
	s.mu.Lock()
	t.over, t.info.Code = true, code
	s.mu.Unlock()
	s.ask.withdraw(t.info.ID)
}

// leave withdraws the questions of a command that has ended, or offers to run it
// once more.
func (t *task) leave(code int) {
	s := t.s
	if t.isOver(code) {
		s.ask.withdraw(t.info.ID)
		return
	}
	s.again(t)
	if t.blockedFiles() && t.info.Tier == policy.Guarded && !t.start.NoEgress && t.staged == nil {
		s.offerOutside(t)
	}
}

// hinted notes what only the error text of the command tells of, where the
// session has that.
func (t *task) hinted() {
	var text []byte
	if t.start.Terminal == nil {
		text, _ = t.out.tail(hint.MaxText)
	} else {
		text = t.start.Terminal.Tail(t.info.ID)
	}
	if len(text) == 0 || !t.policy.Sandboxed() || t.start.outside {
		return
	}
	known, _ := t.denied.list()
	for _, d := range Hinted(text, t.s.answered(t.policy), t.s.ask != nil, known) {
		t.s.deny(t.info.ID, d)
	}
}

// forget lets go of the oldest commands that have ended. The caller holds mu.
func (s *Session) forget() {
	ended, kept := 0, 0
	for i := len(s.tasks) - 1; i >= 0; i-- {
		t := s.tasks[i]
		if t.info.Ended.IsZero() {
			continue
		}
		if t.out != nil {
			if kept++; kept > maxKept {
				t.out.Close()
			}
		}
		if ended++; ended > maxEnded {
			t.out.Close()
			s.tasks = slices.Delete(s.tasks, i, i+1)
		}
	}
}
