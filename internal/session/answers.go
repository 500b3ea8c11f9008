//go:build unix

package session

import (
	"context"
	"fmt"
	"slices"

	"bawn/internal/approval"
	"bawn/internal/policy"
)

// refused is what a person has denied, whatever the policy says.
func (q *questions) refused(c policy.Connect) (policy.Decision, bool) {
	if q == nil {
		return policy.Decision{}, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.ContainsFunc(q.denied, func(r policy.HostRule) bool { return r.Covers(c) }) {
		return policy.Decision{}, false
	}
	return q.answered(approval.No, c.Host.String()), true
}

// known is what is decided without asking (again). The caller holds mu.
func (q *questions) known(s subject, asked policy.Decision) (policy.Decision, bool) {
	if s.kind == AboutHost {
		covers := func(r policy.HostRule) bool { return r.Covers(s.connect) }
		if slices.ContainsFunc(q.denied, covers) {
			return q.answered(approval.No, s.connect.Host.String()), true
		}
		if d, ok := q.settled[s.connect]; ok {
			return d, true
		}
		if slices.ContainsFunc(q.allowed, covers) {
			return q.answered(approval.Always, s.connect.Host.String()), true
		}
	}
	if q.silent != nil {
		d := policy.Decision{Rule: *q.silent}
		d.Rule.Lift = asked.Rule.Lift
		return d, true
	}
	return policy.Decision{}, false
}

// unasked is a refusal because no person decided.
func unasked(asked policy.Decision, why string) policy.Decision {
	r := asked.Rule
	r.Text += ", and " + why
	return policy.Decision{Rule: r}
}

func (q *questions) answered(s approval.Scope, what string) policy.Decision {
	d := policy.Decision{Rule: policy.Rule{ID: "answer:" + s.String(), Origin: policy.Origin{File: "an answer in this " + q.lasting}}}
	if s == approval.No {
		d.Rule.Text = what + " was denied when bawn asked"
		return d
	}
	d.Verdict, d.Rule.Text = policy.Allow, what+" was allowed when bawn asked"
	return d
}

// take remembers an answer as far as it reaches, and ends what it settles.
// line is what a person should be told besides. The caller holds mu.
func (q *questions) take(ctx context.Context, one *question, answer approval.Answer) (line string) {
	what, host := one.connect.Host.String(), one.kind == AboutHost
	if !host {
		what = "it"
	}
	d := q.answered(answer.Scope, what)
	one.answer = answer
	offer := one.kind == AboutOutside || one.kind == AboutAgain // nothing waits for those
	switch {
	case answer.Scope == approval.No && answer.Given:
		if host {
			q.settled[one.connect] = d
		}
		if !offer {
			line = q.no()
		}
	case answer.Scope == approval.No && ctx.Err() == context.DeadlineExceeded:
		d = unasked(one.asked, "nobody answered")
		if !offer {
			line = q.silence("nobody answered a question: nothing more is asked " + q.until)
		}
	case answer.Scope == approval.No:
		d = unasked(one.asked, answer.Reason)
	default:
		q.inRow = 0
		if host && answer.Scope == approval.Session {
			q.settled[one.connect] = d
		}
		if host && answer.Scope == approval.Always {
			q.allowed = append(q.allowed, one.keeps)
		}
	}
	q.finish(one, d)
	q.settle()
	return line
}

// no counts an answer. The caller holds mu.
func (q *questions) no() (line string) {
	if q.inRow++; q.inRow != maxNo {
		return ""
	}
	return q.silence(fmt.Sprintf("%d questions in a row were answered with no: nothing more is asked %s", maxNo, q.until))
}

// silence denies, from now on, what would be asked. The caller holds mu.
func (q *questions) silence(why string) string {
	if q.silent == nil {
		q.silent = &policy.Rule{ID: "host:silent", Text: why}
	}
	return why
}

// rouse ends a silence: a person is there again.
func (q *questions) rouse() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx.Err() == nil {
		q.silent, q.inRow = nil, 0
	}
}

// answer gives a person's answer to an open question, and returns when it
// holds; false if the question is gone, or the answer is none that it offers.
func (q *questions) answer(id int, s approval.Scope) bool {
	a := approval.Answer{Scope: s, Given: true}
	if s == approval.No {
		a.Reason = "the answer was no"
	}
	one := q.answering(id, s)
	if one != nil {
		q.conclude(context.Background(), one, a, nil)
	}
	return one != nil
}

func (q *questions) answering(id int, s approval.Scope) *question {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range q.open {
		if one.id != id {
			continue
		}
		if one.answered || s != approval.No && !slices.ContainsFunc(one.prompt.Offers, func(o approval.Offer) bool { return o.Scope == s }) {
			return nil
		}
		one.answered = true
		return one
	}
	return nil
}

// drop ends an open question without an answer.
func (q *questions) drop(id int, why string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range q.list() {
		if one.id == id && !one.answered {
			q.finish(one, unasked(one.asked, why))
		}
	}
}

// denyAll says no to all that is open, which is one answer.
func (q *questions) denyAll() {
	q.mu.Lock()
	for _, one := range q.list() {
		d := q.answered(approval.No, "it")
		if one.kind == AboutHost {
			d = q.answered(approval.No, one.connect.Host.String())
			q.settled[one.connect] = d
		}
		one.answer = approval.Answer{Given: true, Reason: "the answer was no"}
		q.finish(one, d)
	}
	line := q.no()
	q.mu.Unlock()
	if line != "" && q.note != nil {
		q.note(line)
	}
}

// allow and deny add a rule that a person gave without being asked.
func (q *questions) allow(r policy.HostRule) {
	q.mu.Lock()
	defer q.unlock()
	q.denied = slices.DeleteFunc(q.denied, func(d policy.HostRule) bool { return d.String() == r.String() })
	for c, d := range q.settled {
		if d.Verdict != policy.Allow && r.Covers(c) {
			delete(q.settled, c)
		}
	}
	q.allowed = append(q.allowed, r)
	q.settle()
}

func (q *questions) deny(r policy.HostRule) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.denied = append(q.denied, r)
	q.settle()
}

// rules are those about hosts by which more, or less, is allowed than the
// policy says.
func (q *questions) rules() (allow, deny []policy.HostRule) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.allowed), slices.Clone(q.denied)
}
