//go:build unix

package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

func denied(path string) sandbox.Event {
	return sandbox.Event{Kind: sandbox.EventName, Name: &sandbox.NameEvent{Path: path, Rule: policy.Rule{ID: "name:git.hooks", Text: "hooks run code"}}}
}

// C5: a command that was refused a file is offered outside, this once; not
// where nothing may leave.
func TestC5_OutsideIsOffered(t *testing.T) {
	b := &stub{}
	setup := testSetup(t, b)
	s := open(t, setup)
	typed(t, s, "echo made >out.txt")
	b.awaitStarts(t, 1)
	b.process(0).events <- denied("/ws/.git/hooks/pre-commit")
	b.process(0).exit(1)
	st := await(t, s, "the offer", questionsOpen(1))
	q := st.Questions[0]
	if q.Kind != AboutOutside || q.Prompt.Object != "'echo made >out.txt'" || !strings.Contains(strings.Join(q.Prompt.Notes, "\n"), `"/ws/.git/hooks/pre-commit"`) {
		t.Errorf("%+v", q)
	}
	if st.Denied != 1 || st.Tasks[0].Denied != 1 || len(s.Denials()) != 1 {
		t.Errorf("%+v", st)
	}
	s.Answer(q.ID, approval.Once)
	st = await(t, s, "outside", func(st State) bool { return len(st.Tasks) == 2 && running(0)(st) })
	data, err := os.ReadFile(filepath.Join(setup.Workspace, "out.txt"))
	if string(data) != "made\n" || st.Tasks[1].Tier != policy.Open || st.Tasks[1].Code != 0 {
		t.Errorf("%q, %v, %+v", data, err, st.Tasks[1])
	}
	if len(b.started) != 1 {
		t.Error("it was run in a sandbox")
	}
}

// C5: what the guard denied again, or beyond what it tells, counts in the
// session as well.
func TestC5_FurtherDenialsOfATask(t *testing.T) {
	b := &stub{}
	s := open(t, testSetup(t, b))
	typed(t, s, "echo made >out.txt")
	b.awaitStarts(t, 1)
	b.process(0).events <- denied("/ws/.git/hooks/pre-commit")
	b.process(0).events <- sandbox.Event{Kind: sandbox.EventCounts, Counts: &sandbox.NameCounts{More: 5, Again: []sandbox.NameAgain{{Number: 0, Times: 2}}}}
	b.process(0).exit(0)
	st := await(t, s, "the end", func(st State) bool { return len(st.Tasks) == 1 && !st.Tasks[0].Ended.IsZero() })
	if d := s.Denials(); st.Denied != 8 || st.Tasks[0].Denied != 8 || len(d) != 1 || d[0].Count != 3 {
		t.Errorf("%d, %+v, %+v", st.Denied, st.Tasks[0], d)
	}
}

func TestC5_OutsideIsNotOffered(t *testing.T) {
	for name, change := range map[string]func(*Setup, *Start){
		"airlock": func(u *Setup, _ *Start) { u.Tier = policy.Airlock },
		"no file": nil,
		"managed": func(u *Setup, _ *Start) {
			settle := u.Settle
			u.Settle = func(t policy.Tier, c Command) (policy.Policy, sandbox.Host, error) {
				if t == policy.Open {
					return policy.Policy{}, sandbox.Host{}, errors.New("the requirements allow guarded at most")
				}
				return settle(t, c)
			}
		},
		"inner":    func(_ *Setup, c *Start) { c.Kind = Inner },
		"attached": func(_ *Setup, c *Start) { c.Kind = Attached },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &stub{}
				setup, c := testSetup(t, b), Start{Text: "x", Kind: Background}
				if change != nil {
					change(&setup, &c)
				}
				setup.Permission = policy.BypassMode
				s := open(t, setup)
				var err error
				if c.Kind == Background {
					_, err = s.Start(c)
				} else {
					_, err = s.Serve(c, Client{Stdio: nullStdio(t), Tier: policy.Guarded, Event: func(sandbox.Event, Ended) {}})
				}
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if name != "no file" {
					b.process(0).events <- denied("/ws/.git/hooks/x")
				}
				b.process(0).exit(1)
				synctest.Wait()
				if st := s.State(); len(st.Questions) != 0 || !running(0)(st) {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

func nullStdio(t testing.TB) sandbox.Stdio {
	t.Helper()
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return sandbox.Stdio{In: f, Out: f, Err: f}
}

// decideByName stands for the rules about commands.
func decideByName(c Command, a Asking) Outcome {
	r := policy.Rule{ID: "permission:x", Text: "a rule speaks of it", Origin: policy.Origin{File: "config.toml", Line: 3}}
	switch {
	case strings.HasPrefix(c.Text, "shutdown"):
		return Outcome{Decision: policy.Decision{Rule: r}}
	case strings.HasPrefix(c.Text, "make"), a.Agent && a.Mode == policy.AskMode:
		return Outcome{Place: Inside, Decision: policy.Decision{Verdict: policy.Ask, Rule: r}}
	}
	return Outcome{Place: Inside, Decision: policy.Decision{Verdict: policy.Allow}}
}

// C1: rules ask about and deny commands that a person types; modes count only
// for those that nobody typed.
func TestC1_CommandQuestions(t *testing.T) {
	b := &stub{}
	s := open(t, testSetup(t, b))
	inner := func(text string) {
		t.Helper()
		if _, err := s.Serve(Start{Text: text, Kind: Inner}, Client{Stdio: nullStdio(t), Tier: policy.Guarded, Event: func(sandbox.Event, Ended) {}}); err != nil {
			t.Fatal(err)
		}
	}
	typed(t, s, "shutdown now")
	st := await(t, s, "the end", running(0))
	if st.Tasks[0].Code != 125 || !strings.Contains(st.Tasks[0].Reason, "config.toml:3") {
		t.Errorf("%+v", st.Tasks[0])
	}
	typed(t, s, "make all")
	st = await(t, s, "question", questionsOpen(1))
	if q := st.Questions[0]; q.Kind != AboutCommand || q.Prompt.Object != "'make all'" {
		t.Errorf("%+v", q)
	}
	s.Answer(st.Questions[0].ID, approval.No)
	st = await(t, s, "the end", running(0))
	if st.Tasks[1].Code != 125 || len(b.started) != 0 {
		t.Errorf("%+v", st.Tasks[1])
	}
	typed(t, s, "make all")
	st = await(t, s, "question", questionsOpen(1))
	s.Answer(st.Questions[0].ID, approval.Once)
	b.awaitStarts(t, 1)
	typed(t, s, "ls") // typed: no rule, no question
	b.awaitStarts(t, 2)
	inner("ls")
	st = await(t, s, "question", questionsOpen(1))
	if q := st.Questions[0]; q.Prompt.Object != "ls" {
		t.Errorf("%+v", q)
	}
	s.Answer(st.Questions[0].ID, approval.No)
	await(t, s, "no question", questionsOpen(0))
	if err := s.SetPermission(policy.AutoMode); err != nil {
		t.Fatal(err)
	}
	inner("ls")
	b.awaitStarts(t, 3)
	if s.State().Permission != policy.AutoMode || s.SetPermission(policy.BypassMode+1) == nil {
		t.Error("the mode")
	}
}
