//go:build unix

package session

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"

	"bawn/internal/approval"
	"bawn/internal/hostname"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

const (
	// maxQuestions bounds what waits for answers (DECISIONS "Fixed limits").
	maxQuestions = 512
	// maxNo is how many questions in a row are answered with no before nothing
	// more is asked in the run: a command that tries many hosts would wear a
	// person down.
	maxNo = 10
)

// CanAsk reports whether a person can be asked while the command runs. Not if
// it can write to a terminal itself: it could draw over the question, so that
// another host is shown than the one that is asked about. A terminal that is
// relayed (tty) shows nothing of the command's meanwhile.
func CanAsk(s sandbox.Stdio, tty bool) bool {
	return tty || !IsTerminal(s.In) && !IsTerminal(s.Out) && !IsTerminal(s.Err)
}

// questions asks a person about the hosts of one run. A nil one has nobody to
// ask.
type questions struct {
	asker approval.Asker
	save  func(rule string) error // keeps a host for later sessions; nil offers no such answer
	// hold takes the screen from the command; the function gives it back. An
	// error says why that cannot be now.
	hold func(context.Context) (func(), error)
	note func(line string)

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	work   sync.WaitGroup
	turn   chan struct{} // holds one token: a question at a time

	mu      sync.Mutex
	open    map[policy.Connect]*question
	settled map[policy.Connect]policy.Decision // answers for the rest of the run
	saved   []policy.HostRule
	inRow   int          // of no
	silent  *policy.Rule // why nothing is asked any more
}

// question is one that is open, with all the connections that wait for it.
type question struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{} // closed when decision is set
	decided policy.Decision
}

func newQuestions(a approval.Asker, save func(string) error, hold func(context.Context) (func(), error), note func(string)) *questions {
	if a == nil {
		return nil
	}
	q := &questions{
		asker: a, save: save, hold: hold, note: note, turn: make(chan struct{}, 1),
		open: map[policy.Connect]*question{}, settled: map[policy.Connect]policy.Decision{},
	}
	q.turn <- struct{}{}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// decide answers for a connection that the policy leaves open (asked is its
// decision). It holds until a person has answered or ctx ends.
func (q *questions) decide(ctx context.Context, c policy.Connect, asked policy.Decision) policy.Decision {
	if q == nil || asked.Verdict != policy.Ask {
		return asked
	}
	q.mu.Lock()
	if d, ok := q.known(c, asked); ok {
		q.mu.Unlock()
		return d
	}
	one := q.open[c]
	if one == nil {
		if len(q.open) >= maxQuestions {
			q.mu.Unlock()
			return unasked(asked, "too many questions wait for an answer")
		}
		one = &question{done: make(chan struct{})}
		var qctx context.Context
		qctx, one.cancel = context.WithTimeout(q.ctx, approval.Patience)
		q.open[c] = one
		q.work.Go(func() { q.put(qctx, one, c, asked) })
	}
	one.waiting++
	q.mu.Unlock()
	select {
	case <-one.done:
		return one.decided
	case <-ctx.Done():
	}
	q.mu.Lock()
	if one.waiting--; one.waiting == 0 { // nobody waits any more
		q.forget(c, one)
		one.cancel()
	}
	q.mu.Unlock()
	return unasked(asked, "the client gave up before there was an answer")
}

// forget takes a question from the open ones: who comes later asks anew. The
// caller holds mu.
func (q *questions) forget(c policy.Connect, one *question) {
	if q.open[c] == one {
		delete(q.open, c)
	}
}

// known is what is decided without asking (again). The caller holds mu.
func (q *questions) known(c policy.Connect, asked policy.Decision) (policy.Decision, bool) {
	if d, ok := q.settled[c]; ok {
		return d, true
	}
	for _, r := range q.saved {
		if r.Covers(c) {
			return answered(approval.Always, c), true
		}
	}
	if q.silent != nil && q.open[c] == nil {
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

func answered(s approval.Scope, c policy.Connect) policy.Decision {
	d := policy.Decision{Rule: policy.Rule{ID: "answer:" + s.String(), Origin: policy.Origin{File: "an answer in this run"}}}
	if s == approval.No {
		d.Rule.Text = c.Host.String() + " was denied when bawn asked"
		return d
	}
	d.Verdict, d.Rule.Text = policy.Allow, c.Host.String()+" was allowed when bawn asked"
	return d
}

// put asks one question, when its turn comes, and lets go of all that wait for
// it.
func (q *questions) put(ctx context.Context, one *question, c policy.Connect, asked policy.Decision) {
	defer one.cancel()
	d, line := policy.Decision{}, ""
	select {
	case <-q.turn:
		d, line = q.ask(ctx, one, c, asked)
		q.turn <- struct{}{}
	case <-ctx.Done():
		d = unasked(asked, "nobody answered")
	}
	q.mu.Lock()
	q.forget(c, one)
	one.decided = d
	close(one.done)
	q.mu.Unlock()
	if line != "" && q.note != nil {
		q.note(line)
	}
}

// ask shows one question and remembers the answer as far as it reaches. line
// is what a person should be told besides.
func (q *questions) ask(ctx context.Context, one *question, c policy.Connect, asked policy.Decision) (d policy.Decision, line string) {
	q.mu.Lock()
	q.forget(c, one)
	d, ok := q.known(c, asked) // by an answer since it was put in line
	if !ok {
		q.open[c] = one
	}
	q.mu.Unlock()
	if ok {
		return d, ""
	}
	giveBack, err := q.hold(ctx)
	if err != nil {
		return unasked(asked, err.Error()), ""
	}
	prompt, rule := q.prompt(c, asked)
	answer := q.asker.Ask(ctx, prompt)
	giveBack()
	if answer.Scope == approval.Always {
		if err := q.save(rule.String()); err != nil {
			line = fmt.Sprintf("%v; %s is allowed in this run only", err, rule) // the yes holds as long as it can
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	d = answered(answer.Scope, c)
	switch {
	case answer.Scope == approval.No && answer.Given:
		q.settled[c] = d
		if q.inRow++; q.inRow == maxNo {
			line = q.silence(fmt.Sprintf("%d questions in a row were answered with no: nothing more is asked in this run", maxNo))
		}
		return d, line
	case answer.Scope == approval.No && ctx.Err() == context.DeadlineExceeded:
		return unasked(asked, "nobody answered"), q.silence("nobody answered a question: nothing more is asked in this run")
	case answer.Scope == approval.No:
		return unasked(asked, answer.Reason), ""
	case answer.Scope == approval.Session:
		q.settled[c] = d
	case answer.Scope == approval.Always:
		q.saved = append(q.saved, rule)
	}
	q.inRow = 0
	return d, line
}

// silence denies, from now on, what would be asked. The caller holds mu.
func (q *questions) silence(why string) string {
	if q.silent == nil {
		q.silent = &policy.Rule{ID: "host:silent", Text: why}
	}
	return why
}

// prompt words the question. Nothing wider than the host and port is offered,
// and to be kept, than what a rule can say: the name with all below it.
func (q *questions) prompt(c policy.Connect, asked policy.Decision) (approval.Prompt, policy.HostRule) {
	host, warning := hostname.Display(c.Host)
	_, literal := c.Host.Addr()
	at := net.JoinHostPort(host, strconv.Itoa(int(c.Port)))
	p := approval.Prompt{
		Title: "The command wants to connect to a host that is not on the list. Allow it?", Object: at, Rule: asked.Rule,
		Offers: []approval.Offer{
			{Scope: approval.Once, Text: "this connection"},
			{Scope: approval.Session, Text: at + " until the command ends"},
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
	q.silence("the command has ended")
	q.mu.Unlock()
	q.cancel()
	q.work.Wait()
}
