package mcp

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"bawn/internal/approval"
	"bawn/internal/frontend/mcp/protocol"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// grace is how much longer than its questions a parked call is kept.
const grace = 30 * time.Second

// maxRounds bounds how often one call asks: clients give up after ten.
const maxRounds = 8

// asks puts the session's questions to the person behind the client. No answer
// is for longer than the session.
type asks struct {
	mu     sync.Mutex
	client protocol.Client            // who is served, as the last request said
	shown  map[int]context.CancelFunc // questions that the client was asked
	parked map[string]*parked         // by request state
	closed bool
	stop   context.CancelFunc
	work   sync.WaitGroup

	elsewhere *Elsewhere // never changed
}

// forms reports whether a client is who is asked.
func (a *asks) forms(c protocol.Client) bool {
	return c.Elicits && (a.elsewhere == nil || !a.elsewhere.Always)
}

// present reports whether somebody can be asked now.
func (a *asks) present() bool {
	a.mu.Lock()
	c := a.client
	a.mu.Unlock()
	return a.forms(c) || a.elsewhere != nil && a.elsewhere.Open()
}

// parked is a call that waits for the client to come back with answers.
type parked struct {
	run  *run
	own  bool   // the run is this call's, and ends with it
	call string // its tool and arguments: the answers are for no other
	ids  map[string]int
	at   time.Time // since when
	gone *time.Timer
}

func (a *asks) set(c protocol.Client) {
	a.mu.Lock()
	a.client = c
	a.mu.Unlock()
}

func (a *asks) close() {
	a.mu.Lock()
	a.closed = true
	stop := a.stop
	for _, p := range a.parked {
		p.gone.Stop()
	}
	a.parked = nil
	a.mu.Unlock()
	if stop != nil {
		stop()
	}
	a.work.Wait()
}

// watch asks whenever the session has a question, where that needs no call.
func (a *asks) watch(s *session.Session) {
	ctx, stop := context.WithCancel(context.Background())
	a.mu.Lock()
	a.stop, a.shown, a.parked = stop, map[int]context.CancelFunc{}, map[string]*parked{}
	a.mu.Unlock()
	changes, end := s.Changes()
	a.work.Go(func() {
		defer end()
		for {
			a.look(ctx, s)
			select {
			case <-changes:
			case <-ctx.Done():
				return
			}
		}
	})
}

func (a *asks) look(ctx context.Context, s *session.Session) {
	open := s.State().Questions
	a.mu.Lock()
	defer a.mu.Unlock()
	still := map[int]bool{}
	for _, q := range open {
		still[q.ID] = true
		if _, known := a.shown[q.ID]; known {
			continue
		}
		switch {
		case !a.forms(a.client) && a.elsewhere != nil:
			one, cancel := context.WithDeadline(ctx, q.Deadline)
			a.shown[q.ID] = cancel
			a.work.Go(func() {
				defer cancel()
				a.askElsewhere(one, s, q)
			})
		case !a.client.Elicits:
			s.Withdraw(q.ID, "the client cannot ask a person")
		case a.client.Parks():
			// It is the next call's to ask. If none comes, that is no silence of
			// the person's, after which nothing more would be asked.
			one, cancel := context.WithDeadline(ctx, q.Deadline.Add(-5*time.Second))
			a.shown[q.ID] = cancel
			a.work.Go(func() {
				<-one.Done()
				if one.Err() == context.DeadlineExceeded {
					s.Withdraw(q.ID, "nobody answered in time")
				}
			})
		default:
			one, cancel := context.WithDeadline(ctx, q.Deadline)
			a.shown[q.ID] = cancel
			who := a.client
			a.work.Go(func() {
				defer cancel()
				res, err := who.Elicit(one, form(q))
				if err == nil {
					settle(s, q.ID, res)
				} else if one.Err() == nil {
					s.Withdraw(q.ID, "the client could not ask: "+err.Error())
				}
			})
		}
	}
	for id, cancel := range a.shown {
		if !still[id] {
			cancel()
			delete(a.shown, id)
		}
	}
}

// askElsewhere puts a question to the user's session. What a person says there
// counts as far as the question offers it.
func (a *asks) askElsewhere(ctx context.Context, s *session.Session, q session.Question) {
	said, err := a.elsewhere.Ask(ctx, q)
	switch {
	case err != nil && ctx.Err() != nil: // the question is over; the session sees to its time
	case err != nil:
		s.Withdraw(q.ID, err.Error())
	case !said.Given:
		s.Withdraw(q.ID, orElse(said.Reason, "the question was dismissed"))
	case !s.Answer(q.ID, said.Scope):
		s.Withdraw(q.ID, "the question was dismissed")
	}
}

// form is a question as a form of one field.
func form(q session.Question) protocol.Form {
	var b strings.Builder
	line := func(s string) { b.WriteString(policy.Escape(s) + "\n") }
	line(q.Prompt.Title)
	line("    " + q.Prompt.Object)
	for _, n := range q.Prompt.Notes {
		line(n)
	}
	if q.Prompt.Rule.Text != "" {
		line("why: " + q.Prompt.Rule.Text)
	}
	if q.Kind == session.AboutHost && q.Command != "" {
		line("command: " + q.Command)
	}
	var words, titles []string
	for _, o := range q.Prompt.Offers {
		if o.Scope == approval.Once || o.Scope == approval.Session {
			words, titles = append(words, word(o.Scope)), append(titles, policy.Escape(o.Text))
		}
	}
	words, titles = append(words, "deny"), append(titles, "no")
	for i, w := range words {
		line(fmt.Sprintf("%s: %s", w, titles[i]))
	}
	return protocol.Form{Message: b.String(), Field: "answer", Title: "Allow it?", Words: words}
}

func word(s approval.Scope) string {
	if s == approval.Session {
		return "session"
	}
	return "once"
}

// settle gives the session an answer. Only the words of the form are a yes, and
// only where the question offers them.
func settle(s *session.Session, id int, res protocol.Answer) {
	said, _ := res.Content["answer"].(string)
	taken := false
	switch {
	case res.Action == "accept" && said == "once":
		taken = s.Answer(id, approval.Once)
	case res.Action == "accept" && said == "session":
		taken = s.Answer(id, approval.Session)
	case res.Action == "decline", res.Action == "accept" && said == "deny":
		taken = s.Answer(id, approval.No)
	}
	if !taken {
		s.Withdraw(id, "the question was dismissed")
	}
}

// pending are the questions of a run, if its client is asked by a result.
func (a *asks) pending(r *run) (out []session.Question) {
	for _, q := range r.sess.State().Questions {
		if q.Task == r.task || q.Task == 0 { // 0: it could not be told whose
			out = append(out, q)
		}
	}
	return out
}

// begin is a new call about a run, which may ask as often as any.
func (a *asks) begin(r *run) {
	a.mu.Lock()
	r.rounds = 0
	a.mu.Unlock()
}

// park keeps a call until its client comes back; own is whether the run ends with
// it. nil is a call that asks no more.
func (a *asks) park(r *run, call string, open []session.Question, own bool) *protocol.Result {
	a.mu.Lock()
	r.rounds++
	full := r.rounds > maxRounds
	a.mu.Unlock()
	if full {
		for _, q := range open {
			r.sess.Withdraw(q.ID, "one call asks no more than that")
		}
		return nil
	}
	p := &parked{run: r, own: own, call: call, ids: map[string]int{}, at: time.Now()}
	questions := map[string]protocol.Form{}
	until := time.Now()
	for _, q := range open {
		key := fmt.Sprintf("q%d", q.ID)
		p.ids[key], questions[key] = q.ID, form(q)
		if q.Deadline.After(until) {
			until = q.Deadline
		}
	}
	state := rand.Text() // names this call, in this process alone
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.parked[state] = p
	p.gone = time.AfterFunc(time.Until(until)+grace, func() {
		a.mu.Lock()
		_, waits := a.parked[state]
		delete(a.parked, state)
		a.mu.Unlock()
		if waits && own {
			r.kill() // nobody will take its result
			<-r.done
			r.dropped()
		}
	})
	return &protocol.Result{Questions: questions, State: state}
}

// resume takes a parked run, once, and gives its session the answers.
func (a *asks) resume(state, call string, answers map[string]protocol.Answer) (*run, error) {
	a.mu.Lock()
	p := a.parked[state]
	if p != nil && p.call == call {
		delete(a.parked, state)
	}
	a.mu.Unlock()
	if p == nil || p.call != call {
		return nil, fmt.Errorf("the question is over; call the tool again without requestState")
	}
	p.gone.Stop()
	if p.own { // else late counts
		p.run.waited.Add(int64(time.Since(p.at)))
	}
	for key, id := range p.ids {
		if res, ok := answers[key]; ok {
			settle(p.run.sess, id, res)
		} else {
			p.run.sess.Withdraw(id, "the client brought no answer")
		}
	}
	return p.run, nil
}
