//go:build unix

package session

import (
	"errors"
	"fmt"
	"slices"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/shell/plain"
)

func (t *task) blockedFiles() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.names.denied) > 0
}

// late is told that a host was allowed for which nobody waits any more: the
// command that gave up is offered again (SPEC N7).
func (s *Session) late(one *question) {
	s.mu.Lock()
	t := s.task(one.from.task)
	s.mu.Unlock()
	if t == nil || t.client != nil {
		return
	}
	t.mu.Lock()
	t.late = true
	t.mu.Unlock()
	if over, code := s.over(t); over && code != 0 {
		s.again(t)
	}
}

// over reports whether what a command leaves behind is being seen to, or has
// been, and its exit code.
func (s *Session) over(t *task) (bool, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.over, t.info.Code
}

// gone reports whether nobody would be offered the command again: nothing is
// asked for it any more when nobody waits. The questions are locked.
func (s *Session) gone(task int) bool {
	s.mu.Lock()
	t := s.task(task)
	s.mu.Unlock()
	if t == nil {
		return true // whose it is was not found out, or it is forgotten
	}
	over, code := s.over(t)
	return over && t.isOver(code)
}

// isOver reports whether a command that has ended so is not offered again.
func (t *task) isOver(code int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return code == 0 || t.terms > 0 || t.client != nil
}

// again offers to run a command that failed for want of a host.
func (s *Session) again(t *task) {
	t.mu.Lock()
	late := t.late
	t.late = false // once
	t.mu.Unlock()
	if !late {
		return
	}
	s.offer(t, AboutAgain, approval.Prompt{
		Title: "The command gave up before its host was allowed. Run it again?", Brief: "It gave up too early. Run it again?", Object: t.info.Command,
		Notes: []string{"folder:  " + plain.Quote([]string{t.info.Dir})}, Offers: []approval.Offer{{Scope: approval.Once, Text: "run it again"}},
	}, false)
}

// offerOutside offers to run a command that was refused a file outside the
// sandbox, this once (SPEC C5).
func (s *Session) offerOutside(t *task) {
	if _, _, err := s.setup.Settle(policy.Open, Command{}); err != nil {
		return // the requirements exclude it
	}
	const most = 8
	t.mu.Lock()
	denied := slices.Clone(t.names.denied)
	t.mu.Unlock()
	p := approval.Prompt{
		Title: "Run this command outside the sandbox, with your own permissions?", Brief: "Run it outside the sandbox?", Object: t.info.Command, Rule: denied[0].Rule,
		Offers: []approval.Offer{{Scope: approval.Once, Text: "run it outside, this once"}},
		Notes:  []string{"folder:  " + plain.Quote([]string{t.info.Dir})},
	}
	for i, d := range denied {
		if i == most {
			p.Notes = append(p.Notes, fmt.Sprintf("and %d more", len(denied)-most))
			break
		}
		p.Notes = append(p.Notes, "it was refused "+d.String())
	}
	s.offer(t, AboutOutside, p, true)
}

// offer asks whether a command that has ended is to run once more, while
// others run on.
func (s *Session) offer(t *task, kind QuestionKind, p approval.Prompt, outside bool) {
	s.ask.offer(kind, t.source(), p, func() {
		c := t.start
		c.outside = outside
		if c.Again != nil {
			c.Again(c)
			s.watchers.tell()
			return
		}
		if _, err := s.begin(c, nil); err != nil && !errors.Is(err, ErrClosed) {
			s.notice(fmt.Sprintf("%s: %v", t.info.Command, err))
		}
	})
}
