//go:build unix

package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"bawn/internal/approval"
	"bawn/internal/hostname"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

const (
	// maxQuestions bounds what waits for answers (DECISIONS "Fixed limits").
	maxQuestions = 512
	// maxNo is how many questions in a row are answered with no before nothing
	// more is asked: a command that tries many hosts would wear a person down.
	maxNo = 10
)

// CanAsk reports whether a person can be asked while the command runs. Not if
// it can write to a terminal itself: it could draw over the question, so that
// another host is shown than the one that is asked about. A terminal that is
// relayed (tty) shows nothing of the command's meanwhile.
func CanAsk(s sandbox.Stdio, tty bool) bool {
	return tty || !IsTerminal(s.In) && !IsTerminal(s.Out) && !IsTerminal(s.Err)
}

// questions puts to a person what the policy leaves open, and keeps the
// answers of one run or session. A nil one has nobody to ask.
type questions struct {
	// asker shows one question at a time. Without one the questions are shown
	// by whoever lists them, all at once, and answered by answer.
	asker approval.Asker
	save  func(rule string) error // keeps a host for later sessions; nil offers no such answer
	// hold takes the screen from the command; the function gives it back. An
	// error says why that cannot be now.
	hold func(context.Context) (func(), error)
	note func(line string)
	// lasting is how far an answer and a silence reach: run or session.
	lasting string
	// changed is told that the open questions are others, and late that a host
	// was allowed for which nobody waits any more. Without late a question
	// ends with the last that waits. Both are called with mu held.
	changed func()
	late    func(*question)

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	work   sync.WaitGroup
	turn   chan struct{} // holds a token for each question that may be shown

	mu      sync.Mutex
	last    int // the highest id
	open    map[subject]*question
	settled map[policy.Connect]policy.Decision // answers that last
	allowed []policy.HostRule
	denied  []policy.HostRule
	inRow   int          // of no
	silent  *policy.Rule // why nothing is asked any more
}

// subject is what a question is about: those about the same are one.
type subject struct {
	kind    QuestionKind
	connect policy.Connect // AboutHost
	task    int            // all others
}

// source is whose command asks, and which process of it, as far as that is
// known.
type source struct {
	task         int
	command, dir string
	pid          int
	process      string // its name
}

// question is one that is open, with all that wait for it.
type question struct {
	subject
	id       int
	from     source
	prompt   approval.Prompt
	keeps    policy.HostRule // what the answer for good allows
	asked    policy.Decision
	deadline time.Time
	waiting  int
	said     chan approval.Answer // by answer, once
	answered bool
	cancel   context.CancelFunc
	done     chan struct{} // closed when decided is set
	over     bool          // it is
	decided  policy.Decision
}

func newQuestions(a approval.Asker, save func(string) error, hold func(context.Context) (func(), error), note func(string)) *questions {
	if a == nil {
		return nil
	}
	q := &questions{asker: a, save: save, hold: hold, note: note, lasting: "run"}
	q.init(1)
	return q
}

// newDesk makes the questions of a session.
func newDesk(save func(string) error, note func(string), changed func(), late func(*question)) *questions {
	q := &questions{save: save, note: note, changed: changed, late: late, lasting: "session"}
	q.init(maxQuestions)
	return q
}

func (q *questions) init(turns int) {
	q.open, q.settled = map[subject]*question{}, map[policy.Connect]policy.Decision{}
	q.turn = make(chan struct{}, turns)
	for range turns {
		q.turn <- struct{}{}
	}
	q.ctx, q.cancel = context.WithCancel(context.Background())
}

// decide answers for a connection that the policy leaves open (asked is its
// decision). It holds until a person has answered or ctx ends. who finds the
// source; it may be nil.
func (q *questions) decide(ctx context.Context, c policy.Connect, asked policy.Decision, who func() source) policy.Decision {
	if q == nil || asked.Verdict != policy.Ask {
		return asked
	}
	s := subject{kind: AboutHost, connect: c}
	q.mu.Lock()
	_, isOpen := q.open[s]
	d, known := q.known(s, asked)
	q.mu.Unlock()
	if known {
		return d
	}
	var from source
	if !isOpen && who != nil {
		from = who() // takes a walk through processes
	}
	return q.wait(ctx, s, asked, from, func(one *question) { one.prompt, one.keeps = q.prompt(c, asked) })
}

// consent asks about anything but a host. Its answer is for this once.
func (q *questions) consent(ctx context.Context, kind QuestionKind, from source, p approval.Prompt) policy.Decision {
	asked := policy.Decision{Verdict: policy.Ask, Rule: p.Rule}
	if q == nil {
		return unasked(asked, "there is nobody to ask")
	}
	return q.wait(ctx, subject{kind: kind, task: from.task}, asked, from, func(one *question) { one.prompt = p })
}

// wait opens the question, if it is not open yet, and waits for its answer.
func (q *questions) wait(ctx context.Context, s subject, asked policy.Decision, from source, word func(*question)) policy.Decision {
	q.mu.Lock()
	if d, ok := q.known(s, asked); ok {
		q.mu.Unlock()
		return d
	}
	one := q.open[s]
	if one == nil {
		if len(q.open) >= maxQuestions {
			q.mu.Unlock()
			return unasked(asked, "too many questions wait for an answer")
		}
		q.last++
		one = &question{
			subject: s, id: q.last, from: from, asked: asked, deadline: time.Now().Add(approval.Patience),
			said: make(chan approval.Answer, 1), done: make(chan struct{}),
		}
		word(one)
		var qctx context.Context
		qctx, one.cancel = context.WithDeadline(q.ctx, one.deadline)
		q.open[s] = one
		q.work.Go(func() { q.put(qctx, one) })
	}
	one.waiting++
	q.tell()
	q.mu.Unlock()
	select {
	case <-one.done:
		return one.decided
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	one.waiting--
	d := unasked(asked, "the client gave up before there was an answer")
	if one.waiting == 0 && (q.late == nil || s.kind != AboutHost) {
		q.finish(one, d)
	}
	q.tell()
	return d
}

// tell says that the open questions are others. The caller holds mu.
func (q *questions) tell() {
	if q.changed != nil {
		q.changed()
	}
}

// finish ends a question, once, and lets go of all that wait for it; who comes
// later asks anew. The caller holds mu.
func (q *questions) finish(one *question, d policy.Decision) {
	if one.over {
		return
	}
	one.over, one.decided = true, d
	delete(q.open, one.subject)
	if d.Verdict == policy.Allow && one.waiting == 0 && q.late != nil && one.kind == AboutHost {
		q.late(one)
	}
	close(one.done)
	one.cancel()
	q.tell()
}

// settle ends the questions that need no answer any more. The caller holds mu.
func (q *questions) settle() {
	for _, one := range q.list() {
		if d, ok := q.known(one.subject, one.asked); ok {
			q.finish(one, d)
		}
	}
}

// list are the open questions, oldest first. The caller holds mu.
func (q *questions) list() []*question {
	out := make([]*question, 0, len(q.open))
	for _, one := range q.open {
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b *question) int { return cmp.Compare(a.id, b.id) })
	return out
}

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

// put asks one question, when its turn comes, and acts on the answer.
func (q *questions) put(ctx context.Context, one *question) {
	select {
	case <-q.turn:
		defer func() { q.turn <- struct{}{} }()
	case <-ctx.Done(): // also when it was settled in the line
	}
	var answer approval.Answer
	err := ctx.Err()
	switch {
	case err == nil:
		answer, err = q.show(ctx, one)
	case errors.Is(err, context.DeadlineExceeded):
		err = errors.New("nobody answered")
	}
	line := ""
	if err == nil && answer.Scope == approval.Always {
		if err := q.save(one.keeps.String()); err != nil { // the yes holds as long as it can
			line = fmt.Sprintf("%v; %s is allowed in this %s only", err, one.keeps, q.lasting)
		}
	}
	q.mu.Lock()
	if one.over {
		q.mu.Unlock()
		return
	}
	if err != nil {
		q.finish(one, unasked(one.asked, err.Error()))
	} else if said := q.take(ctx, one, answer); said != "" {
		line = said
	}
	q.mu.Unlock()
	if line != "" && q.note != nil {
		q.note(line)
	}
}

// show waits for a person's answer.
func (q *questions) show(ctx context.Context, one *question) (approval.Answer, error) {
	if q.asker != nil {
		giveBack, err := q.hold(ctx)
		if err != nil {
			return approval.Answer{}, err
		}
		defer giveBack()
		return q.asker.Ask(ctx, one.prompt), nil
	}
	select {
	case a := <-one.said:
		return a, nil
	case <-ctx.Done():
		return approval.Answer{Reason: "the question was withdrawn"}, nil
	}
}

// take remembers an answer as far as it reaches, and ends what it settles.
// line is what a person should be told besides. The caller holds mu.
func (q *questions) take(ctx context.Context, one *question, answer approval.Answer) (line string) {
	what, host := one.connect.Host.String(), one.kind == AboutHost
	if !host {
		what = "it"
	}
	d := q.answered(answer.Scope, what)
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
			line = q.silence("nobody answered a question: nothing more is asked in this " + q.lasting)
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
	return q.silence(fmt.Sprintf("%d questions in a row were answered with no: nothing more is asked in this %s", maxNo, q.lasting))
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

// answer gives a person's answer to an open question; false if it is gone, or
// the answer is none that it offers.
func (q *questions) answer(id int, s approval.Scope) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range q.open {
		if one.id != id {
			continue
		}
		if s != approval.No && !slices.ContainsFunc(one.prompt.Offers, func(o approval.Offer) bool { return o.Scope == s }) {
			return false
		}
		a := approval.Answer{Scope: s, Given: true}
		if s == approval.No {
			a.Reason = "the answer was no"
		}
		if one.answered {
			return false
		}
		one.answered = true
		one.said <- a
		return true
	}
	return false
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
	defer q.mu.Unlock()
	for _, one := range q.list() {
		d := q.answered(approval.No, "it")
		if one.kind == AboutHost {
			d = q.answered(approval.No, one.connect.Host.String())
			q.settled[one.connect] = d
		}
		q.finish(one, d)
	}
	_ = q.no()
}

// allow and deny add a rule that a person gave without being asked.
func (q *questions) allow(r policy.HostRule) {
	q.mu.Lock()
	defer q.mu.Unlock()
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

// withdraw ends the questions about hosts that a command left behind.
func (q *questions) withdraw(task int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range q.list() {
		if one.from.task == task && one.waiting == 0 {
			q.finish(one, unasked(one.asked, "the command has ended"))
		}
	}
}

// prompt words the question. Nothing wider than the host and port is offered,
// and to be kept, than what a rule can say: the name with all below it.
func (q *questions) prompt(c policy.Connect, asked policy.Decision) (approval.Prompt, policy.HostRule) {
	host, warning := hostname.Display(c.Host)
	_, literal := c.Host.Addr()
	at := net.JoinHostPort(host, strconv.Itoa(int(c.Port)))
	until := "the command ends"
	if q.asker == nil {
		until = "the session ends"
	}
	p := approval.Prompt{
		Title: "The command wants to connect to a host that is not on the list. Allow it?", Object: at, Rule: asked.Rule,
		Offers: []approval.Offer{
			{Scope: approval.Once, Text: "this connection"},
			{Scope: approval.Session, Text: at + " until " + until},
		},
	}
	if owner := hostname.Registrable(c.Host); !literal && owner != host {
		p.Notes = append(p.Notes, "it belongs to "+owner)
	}
	if warning != "" {
		p.Notes = append(p.Notes, "careful: it "+warning)
	}
	rule, err := hostname.ParseRule(at, policy.Origin{File: "answer"})
	if err != nil || hostname.CheckRule(rule) != nil || q.save == nil {
		return p, policy.HostRule{} // what many owners share is not for keeping
	}
	text := "always: " + rule.String()
	if !literal {
		text += " and all names below it"
	}
	p.Offers = append(p.Offers, approval.Offer{Scope: approval.Always, Text: text + " (saved in your settings)"})
	return p, rule
}

// close withdraws every question, and waits until the terminal is as it was.
func (q *questions) close() {
	if q == nil {
		return
	}
	q.mu.Lock()
	if q.asker != nil {
		q.silence("the command has ended")
	} else {
		q.silence("the session has ended")
	}
	q.settle()
	q.cancel()
	q.mu.Unlock()
	q.work.Wait()
}
