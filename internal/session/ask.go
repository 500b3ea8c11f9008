//go:build unix

package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bawn/internal/approval"
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
	// lasting is how far an answer reaches: run or session; until how far a silence.
	lasting, until string
	// changed is told that the open questions are others, and late that a host
	// was allowed for which nobody waits any more. A question ends with the last
	// that waits if gone says so of its command; without it every one does.
	// changed and gone are called with mu held.
	changed func()
	late    func(*question)
	gone    func(task int) bool
	// waits is told that somebody waits for an answer; over, that this is over. It
	// may be nil.
	waits func(who func() source) (over func())

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	work   sync.WaitGroup
	turn   chan struct{} // holds a token for each question that may be shown

	mu      sync.Mutex
	others  int // questions of other processes so far
	last    int // the highest id
	open    map[subject]*question
	settled map[policy.Connect]policy.Decision // answers that last
	allowed []policy.HostRule
	denied  []policy.HostRule
	tooLate []*question  // late is to be told of, without mu
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
	then     func()          // done when the answer is yes, of what nobody waits for
	answered bool            // its end is on the way
	answer   approval.Answer // with which it ended, if a person gave one
	cancel   context.CancelFunc
	done     chan struct{} // closed when decided is set
	over     bool          // it is
	decided  policy.Decision
}

func newQuestions(a approval.Asker, save func(string) error, hold func(context.Context) (func(), error), note func(string)) *questions {
	if a == nil {
		return nil
	}
	q := &questions{asker: a, save: save, hold: hold, note: note, lasting: "run", until: "in this run"}
	q.init(1)
	return q
}

// newDesk makes the questions of a session.
func newDesk(save func(string) error, note func(string), changed func(), late func(*question), gone func(task int) bool) *questions {
	q := &questions{save: save, note: note, changed: changed, late: late, gone: gone, lasting: "session", until: "in this session until a command is typed in it"}
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
	if who != nil {
		who = sync.OnceValue(who) // takes a walk through processes
		if !isOpen {
			from = who()
		}
	}
	return q.wait(ctx, s, asked, from, who, func(one *question) { one.prompt, one.keeps = q.prompt(c, asked) })
}

// consent asks about anything but a host. Its answer is for this once.
func (q *questions) consent(ctx context.Context, kind QuestionKind, from source, p approval.Prompt) policy.Decision {
	asked := policy.Decision{Verdict: policy.Ask, Rule: p.Rule}
	if q == nil {
		return unasked(asked, "there is nobody to ask")
	}
	return q.wait(ctx, subject{kind: kind, task: from.task}, asked, from, nil, func(one *question) { one.prompt = p })
}

// offer asks about what nobody waits for: then is done after a yes, before the
// answer is taken.
func (q *questions) offer(kind QuestionKind, from source, p approval.Prompt, then func()) {
	asked := policy.Decision{Verdict: policy.Ask, Rule: p.Rule}
	s := subject{kind: kind, task: from.task}
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, known := q.known(s, asked); !known && q.open[s] == nil {
		_ = q.begin(s, asked, from, func(one *question) { one.prompt, one.then = p, then })
		q.tell()
	}
}

// begin opens a question; nil if there are too many. The caller holds mu.
func (q *questions) begin(s subject, asked policy.Decision, from source, word func(*question)) *question {
	if len(q.open) >= maxQuestions {
		return nil
	}
	q.last++
	one := &question{subject: s, id: q.last, from: from, asked: asked, deadline: time.Now().Add(approval.Patience), done: make(chan struct{})}
	word(one)
	var ctx context.Context
	ctx, one.cancel = context.WithDeadline(q.ctx, one.deadline)
	q.open[s] = one
	q.work.Go(func() { q.put(ctx, one) })
	return one
}

// wait opens the question, if it is not open yet, and waits for its answer; who
// is it that waits, if that need not be from.
func (q *questions) wait(ctx context.Context, s subject, asked policy.Decision, from source, who func() source, word func(*question)) policy.Decision {
	q.mu.Lock()
	if d, ok := q.known(s, asked); ok {
		q.mu.Unlock()
		return d
	}
	one := q.open[s]
	if one == nil {
		if one = q.begin(s, asked, from, word); one == nil {
			q.mu.Unlock()
			return unasked(asked, "too many questions wait for an answer")
		}
	}
	one.waiting++
	q.tell()
	q.mu.Unlock()
	if q.waits != nil {
		if who == nil {
			who = func() source { return from }
		}
		defer q.waits(who)()
	}
	select {
	case <-one.done:
		return one.decided
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	one.waiting--
	d := unasked(asked, "the client gave up before there was an answer")
	if one.waiting == 0 && (q.gone == nil || s.kind != AboutHost || q.gone(one.from.task)) {
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
		q.tooLate = append(q.tooLate, one)
	}
	close(one.done)
	one.cancel()
	q.tell()
}

// unlock lets go of mu where something may have been allowed.
func (q *questions) unlock() {
	list := q.tooLate
	q.tooLate = nil
	q.mu.Unlock()
	for _, one := range list {
		q.late(one)
	}
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
	q.conclude(ctx, one, answer, err)
}

// show waits for a person's answer. One to a question that others show does not
// come this way: see answer.
func (q *questions) show(ctx context.Context, one *question) (approval.Answer, error) {
	if q.asker != nil {
		giveBack, err := q.hold(ctx)
		if err != nil {
			return approval.Answer{}, err
		}
		defer giveBack()
		return q.asker.Ask(ctx, one.prompt), nil
	}
	<-ctx.Done()
	return approval.Answer{Reason: "the question was withdrawn"}, nil
}

// conclude acts on an answer, or the error in its place, unless another end of
// the question came first.
func (q *questions) conclude(ctx context.Context, one *question, answer approval.Answer, err error) {
	q.mu.Lock()
	late := one.over || one.answered && !answer.Given
	q.mu.Unlock()
	if late {
		return
	}
	line := ""
	if err == nil && answer.Scope == approval.Always && one.kind == AboutHost {
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
	then := one.then
	if one.decided.Verdict != policy.Allow {
		then = nil
	}
	q.unlock()
	if line != "" && q.note != nil {
		q.note(line)
	}
	if then != nil {
		then()
	}
}

// withdraw ends the questions about hosts that a command left behind. Where
// another waits too, or its own connection has not ended yet, see wait.
func (q *questions) withdraw(task int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range q.list() {
		if one.kind == AboutHost && one.from.task == task && one.waiting == 0 {
			q.finish(one, unasked(one.asked, "the command has ended"))
		}
	}
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
