//go:build unix

package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"bawn/internal/approval"
	"bawn/internal/hostname"
	"bawn/internal/policy"
)

// person answers prompts as a test says.
type person struct {
	mu     sync.Mutex
	asked  []string
	open   int
	answer func(context.Context, approval.Prompt) approval.Answer
}

func (p *person) Ask(ctx context.Context, q approval.Prompt) approval.Answer {
	p.mu.Lock()
	p.asked = append(p.asked, q.Object)
	p.open++
	if p.open > 1 {
		panic("two questions at once")
	}
	p.mu.Unlock()
	a := p.answer(ctx, q)
	p.mu.Lock()
	p.open--
	p.mu.Unlock()
	return a
}

func (p *person) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

func connect(t testing.TB, s string) policy.Connect {
	t.Helper()
	h, port, err := policy.SplitHostPort(s)
	if err != nil {
		t.Fatal(err)
	}
	return policy.Connect{Host: h, Port: port}
}

var unlisted = policy.Decision{Verdict: policy.Ask, Rule: policy.Rule{ID: "host:unlisted", Text: "it is not on the list", Lift: "the lift"}}

func noHold(context.Context) (func(), error) { return func() {}, nil }

func always(s approval.Scope) func(context.Context, approval.Prompt) approval.Answer {
	return func(context.Context, approval.Prompt) approval.Answer { return approval.Answer{Scope: s, Given: true} }
}

// Connections that wait for the same answer are one question.
func TestQuestionsAreMerged(t *testing.T) {
	shown, say := make(chan struct{}), make(chan approval.Answer)
	p := &person{answer: func(context.Context, approval.Prompt) approval.Answer {
		close(shown)
		return <-say
	}}
	q := newQuestions(p, nil, noHold, nil)
	defer q.close()
	c := connect(t, "a.test:443")
	out := make(chan policy.Decision, 5)
	for range 5 {
		go func() { out <- q.decide(t.Context(), c, unlisted, nil) }()
	}
	<-shown
	waitFor(t, q, func() bool {
		return q.open[subject{kind: AboutHost, connect: c}] != nil && q.open[subject{kind: AboutHost, connect: c}].waiting == 5
	})
	say <- approval.Answer{Scope: approval.Once, Given: true}
	for range 5 {
		if d := <-out; d.Verdict != policy.Allow || d.Rule.ID != "answer:once" {
			t.Errorf("%+v", d)
		}
	}
	if p.count() != 1 {
		t.Errorf("asked %q", p.asked)
	}
}

// waitFor gives way until a condition on the questions holds.
func waitFor(t *testing.T, q *questions, ok func() bool) {
	t.Helper()
	for {
		q.mu.Lock()
		done := ok()
		q.mu.Unlock()
		if done {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("not in time")
		default:
		}
	}
}

// Answers reach as far as they say, and no further; without an asker, and where
// the policy has decided, nothing changes.
func TestAnswersReach(t *testing.T) {
	for scope, want := range map[approval.Scope]map[string]int{ // how often each is asked about when it comes twice
		approval.Once:    {"a.test:443": 2, "a.test:80": 2, "b.a.test:443": 2, "b.test:443": 2},
		approval.Session: {"a.test:443": 1, "a.test:80": 1, "b.a.test:443": 1, "b.test:443": 1},
		approval.No:      {"a.test:443": 1, "a.test:80": 1, "b.a.test:443": 1, "b.test:443": 1},
		approval.Always:  {"a.test:443": 1, "a.test:80": 1, "b.a.test:443": 0, "b.test:443": 1},
	} {
		var saved []string
		p := &person{answer: always(scope)}
		q := newQuestions(p, func(r string) error { saved = append(saved, r); return nil }, noHold, nil)
		for _, s := range []string{"a.test:443", "a.test:80", "b.a.test:443", "b.test:443"} {
			before := p.count()
			for range 2 {
				d := q.decide(t.Context(), connect(t, s), unlisted, nil)
				if (d.Verdict == policy.Allow) != (scope != approval.No) {
					t.Errorf("%v, %s: %+v", scope, s, d)
				}
			}
			if n := p.count() - before; n != want[s] {
				t.Errorf("%v: asked about %s %d times, want %d", scope, s, n, want[s])
			}
		}
		if got := strings.Join(saved, " "); got != map[approval.Scope]string{approval.Always: "a.test:443 a.test:80 b.test:443"}[scope] {
			t.Errorf("%v: saved %q", scope, got)
		}
		for _, v := range []policy.Verdict{policy.Deny, policy.Allow} {
			if d := q.decide(t.Context(), connect(t, "a.test:443"), policy.Decision{Verdict: v}, nil); d.Verdict != v {
				t.Errorf("%v: %v became %v", scope, v, d.Verdict)
			}
		}
		q.close()
	}
	var none *questions
	if d := none.decide(t.Context(), connect(t, "a.test:443"), unlisted, nil); d.Verdict != policy.Ask {
		t.Errorf("%+v", d)
	}
}

// A136, A09: the question shows the name that decides, warns of one that looks
// like another, and never offers to keep more than a rule for that host.
func TestA136_A09_PromptShowsTheName(t *testing.T) {
	q := &questions{asker: &person{}, save: func(string) error { return nil }}
	alike, err := hostname.ToASCII("\u0430llowed.test")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ at, object, note, keeps string }{
		{"allowed.test:443", "allowed.test:443", "", "always: allowed.test:443 and all names below it (saved in your settings)"},
		{alike + ":443", alike + ":443", "looks like allowed.test", "always: " + alike + ":443 and all names below it (saved in your settings)"},
		{"allowed.test.long.evil.test:443", "allowed.test.long.evil.test:443", "it belongs to evil.test", "always: allowed.test.long.evil.test:443 and all names below it (saved in your settings)"},
		{"11.0.0.10:80", "11.0.0.10:80", "", "always: 11.0.0.10:80 (saved in your settings)"},
		{"[2600::1]:80", "[2600::1]:80", "", "always: [2600::1]:80 (saved in your settings)"},
		{"github.io:443", "github.io:443", "", ""}, {"com:443", "com:443", "", ""},
		{"me.github.io:443", "me.github.io:443", "", "always: me.github.io:443 and all names below it (saved in your settings)"},
	} {
		p, rule := q.prompt(connect(t, c.at), unlisted)
		if p.Object != c.object || c.note != "" && !strings.Contains(strings.Join(p.Notes, "\n"), c.note) {
			t.Errorf("%s: %+v", c.at, p)
		}
		last := p.Offers[len(p.Offers)-1]
		if (last.Scope == approval.Always) != (c.keeps != "") || c.keeps != "" && (last.Text != c.keeps || !rule.Covers(connect(t, c.at)) || rule.Covers(connect(t, "other.test:443"))) {
			t.Errorf("%s: keeps %+v by %v", c.at, last, rule)
		}
	}
	q.save = nil
	if p, _ := q.prompt(connect(t, "allowed.test:443"), unlisted); len(p.Offers) != 2 {
		t.Errorf("nobody keeps it: %+v", p)
	}
}

// Who gives up is not waited for: the question is withdrawn, and who comes
// later asks anew.
func TestQuestionOfNobodyIsWithdrawn(t *testing.T) {
	ended := make(chan struct{})
	shown := make(chan struct{}, 1)
	p := &person{answer: func(ctx context.Context, _ approval.Prompt) approval.Answer {
		shown <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return approval.Answer{Reason: "withdrawn"}
	}}
	q := newQuestions(p, nil, noHold, nil)
	defer q.close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-shown
		cancel()
	}()
	if d := q.decide(ctx, connect(t, "a.test:1"), unlisted, nil); d.Verdict != policy.Deny || d.Rule.Lift != "the lift" {
		t.Errorf("%+v", d)
	}
	<-ended
	p.answer = always(approval.Once)
	if d := q.decide(t.Context(), connect(t, "a.test:1"), unlisted, nil); d.Verdict != policy.Allow {
		t.Errorf("%+v", d)
	}
}

// A terminal that cannot be had is a no, which is not remembered.
func TestNoScreen(t *testing.T) {
	p := &person{answer: always(approval.Once)}
	q := newQuestions(p, nil, func(context.Context) (func(), error) { return nil, errors.New("in the background") }, nil)
	defer q.close()
	if d := q.decide(t.Context(), connect(t, "a.test:1"), unlisted, nil); d.Verdict != policy.Deny || !strings.Contains(d.Rule.Text, "in the background") || p.count() != 0 {
		t.Errorf("%+v, asked %q", d, p.asked)
	}
	q.hold = noHold
	if d := q.decide(t.Context(), connect(t, "a.test:1"), unlisted, nil); d.Verdict != policy.Allow {
		t.Errorf("%+v", d)
	}
}

// A command may connect before its terminal is relayed: the question waits, or
// the relay would change the terminal's modes under it.
func TestQuestionWaitsForTheRelay(t *testing.T) {
	r := runner{started: make(chan struct{})}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.hold(ended); err == nil {
		t.Error("the screen was had before the relay")
	}
	held := make(chan error)
	go func() {
		_, err := r.hold(t.Context())
		held <- err
	}()
	close(r.started)
	if err := <-held; err != nil {
		t.Error(err)
	}
}

// A save that fails leaves the yes for this run, and says so.
func TestSaveFails(t *testing.T) {
	var line string
	q := newQuestions(&person{answer: always(approval.Always)}, func(string) error { return errors.New("disk full") }, noHold, func(s string) { line = s })
	defer q.close()
	for range 2 {
		if d := q.decide(t.Context(), connect(t, "a.test:1"), unlisted, nil); d.Verdict != policy.Allow {
			t.Errorf("%+v", d)
		}
	}
	q.work.Wait()
	if line != "disk full; a.test:1 is allowed in this run only" {
		t.Errorf("told %q", line)
	}
}

// After ten times no, or one without an answer, nothing more is asked.
func TestSilence(t *testing.T) {
	var lines []string
	p := &person{answer: always(approval.No)}
	q := newQuestions(p, nil, noHold, func(s string) { lines = append(lines, s) })
	for i := range 30 {
		if d := q.decide(t.Context(), connect(t, fmt.Sprintf("x%d.test:1", i)), unlisted, nil); d.Verdict != policy.Deny {
			t.Errorf("%+v", d)
		}
	}
	q.close()
	if p.count() != maxNo || len(lines) != 1 {
		t.Errorf("asked %d times, told %q", p.count(), lines)
	}
}

// What waits is bounded: one more is denied at once.
func TestQuestionsAreBounded(t *testing.T) {
	hold := make(chan struct{})
	p := &person{answer: func(ctx context.Context, _ approval.Prompt) approval.Answer {
		<-hold
		return approval.Answer{Scope: approval.Once, Given: true}
	}}
	q := newQuestions(p, nil, noHold, nil)
	out := make(chan policy.Decision, maxQuestions)
	for i := range maxQuestions {
		go func() { out <- q.decide(t.Context(), connect(t, fmt.Sprintf("x%d.test:1", i)), unlisted, nil) }()
	}
	waitFor(t, q, func() bool { return len(q.open) == maxQuestions })
	if d := q.decide(t.Context(), connect(t, "more.test:1"), unlisted, nil); d.Verdict != policy.Deny {
		t.Errorf("%+v", d)
	}
	close(hold)
	for range maxQuestions {
		if d := <-out; d.Verdict != policy.Allow {
			t.Errorf("%+v", d)
		}
	}
	q.close()
}

// The end of a run ends every question, and nothing is asked after it.
func TestCloseWithdraws(t *testing.T) {
	shown := make(chan struct{})
	p := &person{answer: func(ctx context.Context, _ approval.Prompt) approval.Answer {
		close(shown)
		<-ctx.Done()
		return approval.Answer{}
	}}
	q := newQuestions(p, nil, noHold, nil)
	out := make(chan policy.Decision)
	go func() { out <- q.decide(context.Background(), connect(t, "a.test:1"), unlisted, nil) }()
	<-shown
	q.close()
	if d := <-out; d.Verdict != policy.Deny {
		t.Errorf("%+v", d)
	}
	if d := q.decide(context.Background(), connect(t, "b.test:1"), unlisted, nil); d.Verdict != policy.Deny || p.count() != 1 {
		t.Errorf("%+v", d)
	}
}

// Whatever is asked and answered in whatever order: a host is let in only by a
// yes that covers it, and a denial of the policy stays one.
func TestOnlyAYesAllows(t *testing.T) {
	hosts := []string{"a.test:1", "b.a.test:1", "a.test:2", "c.test:1"}
	rapid.Check(t, func(rt *rapid.T) {
		yes, no := map[string]bool{}, map[string]bool{} // a no to the very host and port stays one
		var rules []policy.HostRule
		next := approval.Answer{}
		p := &person{answer: func(context.Context, approval.Prompt) approval.Answer { return next }}
		q := newQuestions(p, func(string) error { return nil }, noHold, nil)
		defer q.close()
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			s := rapid.SampledFrom(hosts).Draw(rt, "host")
			c := connect(t, s)
			next = approval.Answer{Scope: rapid.SampledFrom([]approval.Scope{approval.No, approval.No, approval.Once, approval.Session, approval.Always}).Draw(rt, "answer"), Given: rapid.Bool().Draw(rt, "given")}
			before := p.count()
			in := unlisted
			in.Verdict = rapid.SampledFrom([]policy.Verdict{policy.Ask, policy.Ask, policy.Deny}).Draw(rt, "verdict")
			d := q.decide(context.Background(), c, in, nil)
			asked := p.count() > before
			covered := yes[s]
			for _, r := range rules {
				covered = covered || r.Covers(c) && !no[s]
			}
			want := in.Verdict == policy.Ask && (covered || asked && next.Scope != approval.No)
			if (d.Verdict == policy.Allow) != want || d.Verdict == policy.Ask {
				rt.Fatalf("%s: %+v, asked %v for %v, want allow %v", s, d, asked, next, want)
			}
			if asked && next.Scope == approval.No && next.Given {
				no[s] = true
			}
			if asked && next.Scope == approval.Session {
				yes[s] = true
			}
			if asked && next.Scope == approval.Always {
				r, err := policy.ParseHostRule(s, policy.Origin{})
				if err != nil {
					rt.Fatal(err)
				}
				rules = append(rules, r)
			}
		}
	})
}
