package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// asker answers as it is told, and remembers what it was asked.
type asker struct {
	answers []approval.Answer
	asked   []approval.Prompt
}

func (a *asker) Ask(_ context.Context, p approval.Prompt) approval.Answer {
	a.asked = append(a.asked, p)
	if len(a.answers) == 0 {
		return approval.Answer{Reason: "the test has no more answers"}
	}
	first := a.answers[0]
	a.answers = a.answers[1:]
	return first
}

func plainOptions(a *asker) Options {
	o := testOptions(&clock{noon})
	o.Plain, o.Ask = true, a
	return o
}

func TestPlainPages(t *testing.T) {
	var b strings.Builder
	for p := SandboxPage; p <= HelpPage; p++ {
		if p == QuestionsPage {
			continue
		}
		var out bytes.Buffer
		if _, err := Show(context.Background(), p, exampleSession(t), IO{Out: &out}, plainOptions(&asker{})); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsRune(out.String(), 0x1b) {
			t.Errorf("page %d has escapes: %q", p, out.String())
		}
		onlyStyles(t, strings.TrimSuffix(out.String(), "\n"), Look{})
		b.WriteString(out.String() + "\n")
	}
	golden(t, "plain", b.String())
	wantErr := errors.New("gone")
	if _, err := Show(context.Background(), TasksPage, exampleSession(t), IO{Out: failing{wantErr}}, plainOptions(&asker{})); !errors.Is(err, wantErr) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestPlainQuestions(t *testing.T) {
	s := withQuestions(t, exampleQuestion(1), exampleQuestion(2), exampleQuestion(3))
	own := append(make([]string, 0, 20), "a note", "careful: it reads x")
	s.st.Questions[0].Prompt.Notes = own
	a := &asker{answers: []approval.Answer{{Scope: approval.Session, Given: true}, {Given: true}, {Reason: "another program is using the terminal"}}}
	note, err := Show(context.Background(), QuestionsPage, s, IO{}, plainOptions(a))
	if err != nil || s.log() != "answer 1 session; answer 2 no" || note != "the question waits: another program is using the terminal" {
		t.Errorf("%q, %v, %q", note, err, s.log())
	}
	notes := strings.Join(a.asked[0].Notes, "\n")
	for _, want := range []string{"careful: it reads", "asked by task 3, process 1234, npm install left-pad", "in the folder /home/me/work/shop", "5 wait", "first of 3", "no in 4m32s"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in %q", want, notes)
		}
	}
	if own[:3][2] != "" {
		t.Error("the session's own question was changed")
	}
}

func TestPlainDialogs(t *testing.T) {
	for _, tt := range []struct {
		page   Page
		answer approval.Answer
		did    string
	}{
		{OpenPage, approval.Answer{Scope: approval.Once, Given: true}, "tier open"},
		{OpenPage, approval.Answer{Given: true}, ""},
		{OpenPage, approval.Answer{}, ""},
		{ClonePage, approval.Answer{Scope: approval.Once, Given: true}, "clone true"},
		{ClonePage, approval.Answer{Given: true}, "clone false"},
		{ClonePage, approval.Answer{}, ""}, // nobody has said anything
	} {
		s := &fake{st: session.State{Tier: policy.Airlock, FreshClone: true}}
		a := &asker{answers: []approval.Answer{tt.answer}}
		if _, err := Show(context.Background(), tt.page, s, IO{}, plainOptions(a)); err != nil || s.log() != tt.did || len(a.asked) != 1 {
			t.Errorf("%+v: %v, %q", tt, err, s.log())
		}
	}
}

// waiting answers nothing until its context ends.
type waiting struct{ asked chan struct{} }

func (w waiting) Ask(ctx context.Context, _ approval.Prompt) approval.Answer {
	close(w.asked)
	<-ctx.Done()
	return approval.Answer{Reason: "withdrawn"}
}

// A question that is gone is no longer asked on the line, and is not answered.
func TestPlainQuestionWithdrawn(t *testing.T) {
	q := exampleQuestion(1)
	q.Deadline = time.Now().Add(5 * time.Minute)
	s := withQuestions(t, q)
	s.changes = make(chan struct{}, 1)
	w := waiting{make(chan struct{})}
	o := plainOptions(nil)
	o.Ask, o.Now = w, time.Now
	go func() {
		<-w.asked
		s.mu.Lock()
		s.st.Questions = nil
		s.mu.Unlock()
		s.changes <- struct{}{}
	}()
	note, err := Show(context.Background(), QuestionsPage, s, IO{Out: io.Discard}, o)
	if err != nil || note != "the question is withdrawn: nobody waits for the answer" || s.logged() != "" {
		t.Errorf("%q, %v, %q", note, err, s.logged())
	}
}
