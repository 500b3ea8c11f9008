//go:build unix

package session

import (
	"context"

	"bawn/internal/approval"
	"bawn/internal/policy"
)

// Foreign is a question of another process of this user, which runs commands
// under a policy of its own.
type Foreign struct {
	Prompt       approval.Prompt
	Command, Dir string // whose question it is there
}

// Put asks the person of this session what the other process may not decide by
// itself. The answer is the other's to act on: it allows nothing here. It is no
// when ctx ends, and where this session asks nothing.
func (s *Session) Put(ctx context.Context, f Foreign) approval.Answer {
	if s.ask == nil {
		return approval.Answer{Reason: "the session asks nothing"}
	}
	return s.ask.foreign(ctx, f)
}

func (q *questions) foreign(ctx context.Context, f Foreign) approval.Answer {
	q.mu.Lock()
	q.others++
	s := subject{kind: AboutOther, task: -q.others} // two are never one
	q.mu.Unlock()
	asked := policy.Decision{Verdict: policy.Ask, Rule: f.Prompt.Rule}
	var mine *question
	d := q.wait(ctx, s, asked, source{command: f.Command, dir: f.Dir}, nil, func(one *question) {
		one.prompt = f.Prompt
		mine = one
	})
	q.mu.Lock()
	defer q.mu.Unlock()
	if mine == nil || !mine.answer.Given { // it was not shown, or withdrawn
		return approval.Answer{Reason: d.Rule.Text}
	}
	return mine.answer
}
