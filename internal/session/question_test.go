//go:build unix

package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bawn/internal/approval"
	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// asks lets connections wait for a person as the egress does.
func asks(t testing.TB, s *Session) (*lane, func(ctx context.Context, at string) <-chan policy.Decision) {
	t.Helper()
	l, err := s.lanes.enter(s.Policy(), Start{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l, func(ctx context.Context, at string) <-chan policy.Decision {
		out := make(chan policy.Decision, 1)
		go func() { out <- l.net.decide(ctx, egress.Request{Connect: connect(t, at)}) }()
		return out
	}
}

func questionsOpen(n int) func(State) bool {
	return func(st State) bool { return len(st.Questions) == n }
}

// N7: many questions are open at once, equal ones are one, and an answer ends
// every question that it covers.
func TestN7_QuestionsOfASession(t *testing.T) {
	setup := testSetup(t, &stub{})
	var saved []string
	setup.SaveAllowed = func(r string) error { saved = append(saved, r); return nil }
	s := open(t, setup)
	l, ask := asks(t, s)
	l.net.enter(&stubProcess{}, source{task: 3, command: "make all", dir: "/ws"})
	one, again, below, other := ask(t.Context(), "a.test:443"), ask(t.Context(), "a.test:443"), ask(t.Context(), "x.a.test:443"), ask(t.Context(), "b.test:443")
	st := await(t, s, "questions", func(st State) bool {
		n := 0
		for _, q := range st.Questions {
			n += q.Waiting
		}
		return len(st.Questions) == 3 && n == 4
	})
	i := slices.IndexFunc(st.Questions, func(q Question) bool { return q.Prompt.Object == "a.test:443" })
	q := st.Questions[i]
	if q.Kind != AboutHost || q.Waiting != 2 || q.Task != 3 || q.PID != 77 || q.Command != "make all" || q.Dir != "/ws" || time.Until(q.Deadline) > approval.Patience {
		t.Errorf("%+v", q)
	}
	if s.Answer(q.ID+100, approval.Once) || s.Answer(q.ID, approval.Scope(9)) {
		t.Error("what is not offered is an answer")
	}
	if !s.Answer(q.ID, approval.Always) || s.Answer(q.ID, approval.Always) {
		t.Error("an answer is not taken once")
	}
	for _, d := range []policy.Decision{<-one, <-again, <-below} {
		if d.Verdict != policy.Allow || d.Rule.Origin.File != "an answer in this session" {
			t.Errorf("%+v", d)
		}
	}
	st = await(t, s, "the rest", questionsOpen(1))
	if !s.Answer(st.Questions[0].ID, approval.No) {
		t.Error("no answer")
	}
	if d := <-other; d.Verdict != policy.Deny {
		t.Errorf("%+v", d)
	}
	if !slices.Equal(saved, []string{"a.test:443"}) {
		t.Errorf("saved %q", saved)
	}
	if d := s.Policy().Decide(connect(t, "y.a.test:443")); d.Verdict != policy.Allow {
		t.Errorf("the policy that is shown does not say so: %+v", d)
	}
}

// Ten noes, or one question without an answer, and nothing more is asked until
// the person does something; saying no to all is one no.
func TestN7_SilenceOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		setup := testSetup(t, &stub{})
		var told []string
		setup.Notice = func(line string) { told = append(told, line) }
		s := open(t, setup)
		_, ask := asks(t, s)
		for i := range 12 {
			ask(t.Context(), fmt.Sprintf("all%d.test:1", i))
		}
		synctest.Wait()
		if n := len(s.State().Questions); n != 12 {
			t.Fatalf("%d questions", n)
		}
		s.DenyAll()
		synctest.Wait()
		if n := len(s.State().Questions); n != 0 {
			t.Fatalf("%d questions are left", n)
		}
		late := ask(t.Context(), "late.test:1")
		synctest.Wait()
		if n := len(s.State().Questions); n != 1 {
			t.Fatal("a no to all silenced the session")
		}
		time.Sleep(approval.Patience + time.Second)
		if d := <-late; d.Verdict != policy.Deny || !strings.Contains(d.Rule.Text, "nobody answered") {
			t.Errorf("%+v", d)
		}
		if d := <-ask(t.Context(), "later.test:1"); d.Verdict != policy.Deny || !strings.Contains(d.Rule.Text, "nothing more is asked in this session until a command is typed in it") {
			t.Errorf("%+v", d)
		}
		if err := s.AllowHost("later.test", approval.Session); err != nil {
			t.Fatal(err)
		}
		if d := <-ask(t.Context(), "later.test:1"); d.Verdict != policy.Allow {
			t.Errorf("%+v", d)
		}
		for i := range maxNo {
			out := ask(t.Context(), fmt.Sprintf("no%d.test:1", i))
			synctest.Wait()
			s.Answer(s.State().Questions[0].ID, approval.No)
			<-out
		}
		if d := <-ask(t.Context(), "more.test:1"); !strings.Contains(d.Rule.Text, "10 questions in a row") {
			t.Errorf("%+v", d)
		}
		s.ask.rouse()
		ask(t.Context(), "more.test:1")
		synctest.Wait()
		if n := len(s.State().Questions); n != 1 {
			t.Errorf("%d questions after somebody came back", n)
		}
		told = nil
		for i := range maxNo {
			ask(t.Context(), fmt.Sprintf("all%d.test:2", i))
			synctest.Wait()
			s.DenyAll()
		}
		if len(told) != 1 || !strings.HasPrefix(told[0], "10 questions in a row") {
			t.Errorf("after no to all ten times: %q", told)
		}
	})
}

// One more than fits is denied at once.
func TestN7_QuestionsOfASessionAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, testSetup(t, &stub{}))
		_, ask := asks(t, s)
		for i := range maxQuestions {
			ask(t.Context(), fmt.Sprintf("h%d.test:1", i))
		}
		synctest.Wait()
		if d := <-ask(t.Context(), "more.test:1"); d.Verdict != policy.Deny || !strings.Contains(d.Rule.Text, "too many questions") {
			t.Errorf("%+v", d)
		}
	})
}

// N7: a client that gave up does not end the question, and the command that
// failed for it is offered again.
func TestN7_CommandIsOfferedAgain(t *testing.T) {
	b := &stub{}
	s := open(t, testSetup(t, b))
	id := typed(t, s, "curl https://a.test")
	b.awaitStarts(t, 1)
	l, _ := asks(t, s)
	l.net.enter(b.process(0), source{task: id, command: "curl", dir: "/"})
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan policy.Decision)
	go func() { out <- l.net.decide(ctx, egress.Request{Connect: connect(t, "a.test:443")}) }()
	await(t, s, "question", questionsOpen(1))
	cancel()
	if d := <-out; d.Verdict != policy.Deny {
		t.Errorf("%+v", d)
	}
	b.process(0).exit(7)
	st := await(t, s, "the end", running(0))
	if len(st.Questions) != 1 || st.Questions[0].Waiting != 0 {
		t.Fatalf("%+v", st.Questions)
	}
	s.Answer(st.Questions[0].ID, approval.Session)
	st = await(t, s, "the offer", func(st State) bool { return len(st.Questions) == 1 && st.Questions[0].Kind == AboutAgain })
	if q := st.Questions[0]; q.Prompt.Object != "'curl https://a.test'" || len(q.Prompt.Offers) != 1 {
		t.Errorf("%+v", q)
	}
	s.Answer(st.Questions[0].ID, approval.Once)
	b.awaitStarts(t, 2)
	if got := b.specs[1].Args; !slices.Equal(got, []string{"/bin/sh", "-c", "curl https://a.test"}) {
		t.Errorf("%q", got)
	}
	b.process(1).exit(0)
	await(t, s, "the end", running(0))
}

// A command that is to run once more is given to whoever has its screen, before
// the answer returns: that starts it, outside if a person said so.
func TestC5_AgainIsForTheScreen(t *testing.T) {
	b := &stub{}
	setup := testSetup(t, b)
	s := open(t, setup)
	var given []Start
	again := func(c Start) { given = append(given, c) }
	if _, err := s.Start(Start{Text: "echo made >out.txt", Kind: Background, Again: again}); err != nil {
		t.Fatal(err)
	}
	b.awaitStarts(t, 1)
	b.process(0).events <- denied("/ws/.git/hooks/pre-commit")
	b.process(0).exit(1)
	st := await(t, s, "the end", running(0))
	if len(st.Questions) != 1 || st.Questions[0].Kind != AboutOutside {
		t.Fatalf("it is not asked before its end is seen: %+v", st.Questions)
	}
	if !s.Answer(st.Questions[0].ID, approval.Once) || len(given) != 1 || len(s.State().Tasks) != 1 {
		t.Fatalf("given %+v, %+v", given, s.State().Tasks)
	}
	if _, err := s.Start(given[0]); err != nil {
		t.Fatal(err)
	}
	st = await(t, s, "outside", func(st State) bool { return len(st.Tasks) == 2 && running(0)(st) })
	if data, err := os.ReadFile(filepath.Join(setup.Workspace, "out.txt")); string(data) != "made\n" || st.Tasks[1].Tier != policy.Open {
		t.Errorf("%q, %v, %+v", data, err, st.Tasks[1])
	}
	// A no gives nothing.
	if _, err := s.Start(Start{Text: "x", Kind: Background, Again: again}); err != nil {
		t.Fatal(err)
	}
	b.awaitStarts(t, 2)
	b.process(1).events <- denied("/ws/.git/hooks/pre-commit")
	b.process(1).exit(1)
	st = await(t, s, "the end", running(0))
	if !s.Answer(st.Questions[0].ID, approval.No) || len(given) != 1 {
		t.Errorf("given %+v", given)
	}
}

// What a client sends cannot ask to be outside.
func TestClientIsNeverOutside(t *testing.T) {
	b := &stub{}
	s := open(t, testSetup(t, b))
	if _, err := s.Serve(Start{Text: "x", Kind: Attached, outside: true}, Client{Stdio: nullStdio(t), Tier: policy.Guarded, Event: func(sandbox.Event, Ended) {}}); err != nil {
		t.Fatal(err)
	}
	b.awaitStarts(t, 1)
	if got := tierOf(b.specs[0]); got != "guarded" {
		t.Errorf("it is in %q", got)
	}
}

// What a command that went well, was stopped, or is another process's has left
// open is withdrawn, whether its connection ends before or after it. One that
// failed is to be offered again: its question stays.
func TestQuestionsEndWithTheirCommand(t *testing.T) {
	for name, c := range map[string]struct {
		code             int
		stopped, foreign bool
		stays            bool
	}{
		"went well": {}, "stopped": {code: 1, stopped: true}, "a client's": {code: 1, foreign: true}, "failed": {code: 1, stays: true},
	} {
		for _, first := range []bool{true, false} { // the connection ends first
			t.Run(fmt.Sprint(name, first), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := &stub{}
					s := open(t, testSetup(t, b))
					id := 0
					if c.foreign {
						var err error
						if id, err = s.Serve(Start{Text: "x", Kind: Attached}, Client{Stdio: nullStdio(t), Tier: policy.Guarded, Event: func(sandbox.Event, Ended) {}}); err != nil {
							t.Fatal(err)
						}
					} else {
						id = typed(t, s, "x")
					}
					synctest.Wait()
					l, ask := asks(t, s)
					l.net.enter(b.process(0), source{task: id})
					ctx, cancel := context.WithCancel(t.Context())
					ask(ctx, "a.test:443")
					synctest.Wait()
					if c.stopped {
						if err := s.Stop(id); err != nil {
							t.Fatal(err)
						}
					}
					if first {
						cancel()
						synctest.Wait()
						if n := len(s.State().Questions); n != 1 {
							t.Fatalf("%d questions while it runs", n)
						}
					}
					b.process(0).exit(c.code)
					synctest.Wait()
					cancel()
					synctest.Wait()
					if n := len(s.State().Questions); (n == 1) != c.stays || !running(0)(s.State()) {
						t.Errorf("%d questions after its end", n)
					}
				})
			})
		}
	}
}

// Nor does one stay of which nobody knows whose it is.
func TestQuestionOfUnknownSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, testSetup(t, &stub{}))
		_, ask := asks(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		ask(ctx, "a.test:443")
		synctest.Wait()
		if n := len(s.State().Questions); n != 1 {
			t.Fatalf("%d questions", n)
		}
		cancel()
		synctest.Wait()
		if n := len(s.State().Questions); n != 0 {
			t.Errorf("%d questions that nobody waits for", n)
		}
	})
}
