//go:build unix

package session

import (
	"context"
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
// command that gave up is offered again (SPEC N7). The questions are locked.
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
	s.mu.Lock()
	ended, code := !t.info.Ended.IsZero(), t.info.Code
	s.mu.Unlock()
	if ended && code != 0 {
		s.goUnlessClosed(func() { s.again(t) })
	}
}

func (s *Session) goUnlessClosed(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Go(f)
	}
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
		Title: "The command gave up before its host was allowed. Run it again?", Object: t.info.Command,
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
		Title: "Run this command outside the sandbox, with your own permissions?", Object: t.info.Command, Rule: denied[0].Rule,
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
	s.goUnlessClosed(func() {
		if d := s.ask.consent(context.Background(), kind, t.source(), p); d.Verdict != policy.Allow {
			return
		}
		if _, err := s.begin(t.start, nil, outside); err != nil && !errors.Is(err, ErrClosed) {
			s.notice(fmt.Sprintf("%s: %v", t.info.Command, err))
		}
	})
}
