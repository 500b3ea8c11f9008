//go:build unix

package session

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"bawn/internal/approval"
	"bawn/internal/config/told"
	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// stub is a backend whose sandboxes do what a test says.
type stub struct {
	mu      sync.Mutex
	started []*stubProcess
	specs   []sandbox.Spec
	fail    error
}

type stubProcess struct {
	events chan sandbox.Event
	dead   chan struct{}
	kill   sync.Once
	mu     sync.Mutex
	sent   []int
	acks   int
}

func (b *stub) Start(spec sandbox.Spec, _ sandbox.Stdio) (sandbox.Process, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return nil, b.fail
	}
	p := &stubProcess{events: make(chan sandbox.Event, 16), dead: make(chan struct{})}
	p.events <- sandbox.Event{Kind: sandbox.EventStarted}
	b.started, b.specs = append(b.started, p), append(b.specs, spec)
	return p, nil
}

func (p *stubProcess) Next() (sandbox.Event, error) {
	select {
	case ev := <-p.events:
		return ev, nil
	case <-p.dead:
		return sandbox.Event{}, errors.New("killed")
	}
}

func (p *stubProcess) Signal(n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, n)
	return nil
}

func (p *stubProcess) Connect(uint16) error               { return nil }
func (p *stubProcess) Owner(netip.AddrPort) (int, string) { return 77, "curl" }
func (p *stubProcess) Ack() error                         { p.acks++; return nil }
func (p *stubProcess) Kill()                              { p.kill.Do(func() { close(p.dead) }) }
func (p *stubProcess) Wait()                              {}
func (p *stubProcess) Close() error                       { return nil }
func (p *stubProcess) exit(code int) {
	p.events <- sandbox.Event{Kind: sandbox.EventExited, Code: code}
}

func (b *stub) process(i int) *stubProcess {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.started[i]
}

// testSetup is a session over a stub in a temporary workspace.
func testSetup(t testing.TB, b sandbox.Backend) Setup {
	t.Helper()
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return Setup{
		Workspace: ws, Trusted: true, Tier: policy.Guarded, Environ: []string{"PATH=/usr/bin:/bin"}, Backend: b, Folder: t.TempDir(),
		Settle: func(tier policy.Tier, _ Command) (policy.Policy, sandbox.Host, error) {
			p, err := policy.New(policy.Config{Tier: tier, Workspace: ws, Network: policy.NetworkConfig{NoDefaults: true, Allow: []policy.HostRule{rule(t, "listed.test")}, Deny: []policy.HostRule{rule(t, "evil.test")}}})
			return p, sandbox.Host{}, err
		},
		Decide: decideByName,
		Shell:  func(text string) []string { return []string{"/bin/sh", "-c", text} },
	}
}

func rule(t testing.TB, s string) policy.HostRule {
	t.Helper()
	r, err := policy.ParseHostRule(s, policy.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func open(t testing.TB, setup Setup) *Session {
	t.Helper()
	s, err := New(setup)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// await reads the state until it is as wanted.
func await(t testing.TB, s *Session, what string, ok func(State) bool) State {
	t.Helper()
	tokens, stop := s.Changes()
	defer stop()
	limit := time.After(time.Minute)
	for {
		if st := s.State(); ok(st) {
			return st
		}
		select {
		case <-tokens:
		case <-limit:
			t.Fatalf("%s: not in time: %+v", what, s.State())
		}
	}
}

func typed(t testing.TB, s *Session, text string) int {
	t.Helper()
	id, err := s.Start(Start{Text: text, Kind: Background})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func running(n int) func(State) bool {
	return func(st State) bool {
		k := 0
		for _, t := range st.Tasks {
			if t.Ended.IsZero() {
				k++
			}
		}
		return k == n
	}
}

func (b *stub) awaitStarts(t testing.TB, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		k := len(b.started)
		b.mu.Unlock()
		if k >= n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d commands started", k, n)
		}
	}
}

func tierOf(s sandbox.Spec) string {
	for _, e := range s.Env {
		if v, ok := strings.CutPrefix(e, "BAWN_TIER="); ok {
			return v
		}
	}
	return ""
}

// T3: a switch holds for commands started from then on; running ones keep
// theirs.
func TestT3_TierSwitch(t *testing.T) {
	b := &stub{}
	setup := testSetup(t, b)
	var saved []policy.Tier
	setup.SaveTier = func(tier policy.Tier) (string, error) {
		saved = append(saved, tier)
		return "/ws/.bawn/config.toml", nil
	}
	s := open(t, setup)
	typed(t, s, "first")
	b.awaitStarts(t, 1)
	where, err := s.SetTier(policy.Airlock)
	if err != nil || where != "/ws/.bawn/config.toml" || !slices.Equal(saved, []policy.Tier{policy.Airlock}) {
		t.Fatalf("%q, %v, saved %v", where, err, saved)
	}
	typed(t, s, "second")
	b.awaitStarts(t, 2)
	st := s.State()
	if st.Tier != policy.Airlock || st.Tasks[0].Tier != policy.Guarded || st.Tasks[1].Tier != policy.Airlock {
		t.Errorf("%+v", st)
	}
	if tierOf(b.specs[0]) != "guarded" || tierOf(b.specs[1]) != "airlock" {
		t.Errorf("%q, %q", tierOf(b.specs[0]), tierOf(b.specs[1]))
	}
	if st.NoNetwork == "" || s.Policy().HasNetwork() {
		t.Error("airlock has a network")
	}
	if _, err := s.SetTier(policy.Guarded); err != nil || s.State().NoNetwork != "" {
		t.Errorf("%v, %q", err, s.State().NoNetwork)
	}
	if _, err := s.SetTier(policy.Open + 1); err == nil {
		t.Error("there is a fourth tier")
	}
}

// T7: a fixed mode does not switch, and never asks.
func TestT7_FixedMode(t *testing.T) {
	setup := testSetup(t, &stub{})
	setup.Mode = policy.WorkspaceWrite
	setup.SaveTier = func(policy.Tier) (string, error) { t.Error("saved"); return "", nil }
	setup.Settle = func(policy.Tier, Command) (policy.Policy, sandbox.Host, error) {
		p, err := policy.New(policy.Config{Mode: policy.WorkspaceWrite, Workspace: setup.Workspace})
		return p, sandbox.Host{}, err
	}
	s := open(t, setup)
	if _, err := s.SetTier(policy.Open); !errors.Is(err, policy.ErrRefused) || !strings.Contains(err.Error(), "--sandbox workspace-write") {
		t.Errorf("%v", err)
	}
	for _, err := range []error{s.AllowHost("a.test", approval.Session), s.DenyHost("a.test", approval.Session)} {
		if !errors.Is(err, policy.ErrRefused) {
			t.Errorf("%v", err)
		}
	}
	if st := s.State(); st.Tier != policy.Guarded || st.Mode != policy.WorkspaceWrite {
		t.Errorf("%+v", st)
	}
	lane, err := s.lanes.enter(s.Policy(), Start{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lane.close()
	if d := lane.net.decide(t.Context(), egress.Request{Connect: connect(t, "new.test:443")}); d.Verdict == policy.Allow || len(s.State().Questions) != 0 {
		t.Errorf("%+v", d)
	}
}

// T6: the suggestion is made once, and accepting it switches this session alone.
func TestT6_FreshClone(t *testing.T) {
	for _, yes := range []bool{true, false} {
		setup := testSetup(t, &stub{})
		setup.FreshClone = true
		told := 0
		setup.Suggested = func() error { told++; return nil }
		setup.SaveTier = func(policy.Tier) (string, error) { t.Error("saved"); return "", nil }
		s := open(t, setup)
		if !s.State().FreshClone {
			t.Fatal("nothing is suggested")
		}
		for range 2 {
			if err := s.AnswerFreshClone(yes); err != nil {
				t.Fatal(err)
			}
		}
		want := map[bool]policy.Tier{true: policy.Airlock, false: policy.Guarded}[yes]
		if st := s.State(); st.FreshClone || st.Tier != want || told != 1 {
			t.Errorf("%v: %+v, told %d times", yes, st, told)
		}
	}
}

func TestT6_FreshCloneIsSuggestedOnce(t *testing.T) {
	ws, past := t.TempDir(), told.Suggestions(filepath.Join(t.TempDir(), "state"))
	if FreshClone(past, ws, time.Now()) {
		t.Error("no repository")
	}
	if err := os.Mkdir(filepath.Join(ws, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !FreshClone(past, ws, time.Now()) || FreshClone(told.Store{}, ws, time.Now()) {
		t.Error("a new clone is not told from others")
	}
	if FreshClone(past, ws, time.Now().Add(25*time.Hour)) {
		t.Error("an old one is suggested")
	}
	for range 2 {
		if err := past.Note(told.Key(ws)); err != nil {
			t.Fatal(err)
		}
	}
	if FreshClone(past, ws, time.Now()) {
		t.Error("suggested twice")
	}
	other := t.TempDir()
	if err := os.Mkdir(filepath.Join(other, ".git"), 0o755); err != nil || !FreshClone(past, other, time.Now()) {
		t.Error("another workspace counts as answered")
	}
}

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
		s := open(t, testSetup(t, &stub{}))
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
		if d := <-ask(t.Context(), "later.test:1"); d.Verdict != policy.Deny || !strings.Contains(d.Rule.Text, "nothing more is asked in this session") {
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

// SetPermission stays within what the requirements allow.
func TestC7_ManagedPermissionMode(t *testing.T) {
	setup := testSetup(t, &stub{})
	setup.MayPermit = func(m policy.PermissionMode) error {
		if m > policy.AutoMode {
			return errors.New("managed")
		}
		return nil
	}
	s := open(t, setup)
	if s.SetPermission(policy.BypassMode) == nil || s.SetPermission(policy.AutoMode) != nil || s.State().Permission != policy.AutoMode {
		t.Error("the requirements do not hold")
	}
}

// A command of a client never has a wider tier than it asked for.
func TestClientsTier(t *testing.T) {
	for _, c := range []struct{ session, asked, want policy.Tier }{
		{policy.Open, policy.Guarded, policy.Guarded}, {policy.Airlock, policy.Guarded, policy.Airlock}, {policy.Guarded, policy.Airlock, policy.Airlock},
	} {
		b := &stub{}
		setup := testSetup(t, b)
		setup.Tier = c.session
		s := open(t, setup)
		if _, err := s.Serve(Start{Text: "x", Kind: Attached}, Client{Stdio: nullStdio(t), Tier: c.asked, Event: func(sandbox.Event, Ended) {}}); err != nil {
			t.Fatal(err)
		}
		b.awaitStarts(t, 1)
		if got := tierOf(b.specs[0]); got != c.want.String() {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// What a client sent, megabytes perhaps, goes with its command.
func TestClientsCommandIsForgotten(t *testing.T) {
	b := &stub{}
	s := open(t, testSetup(t, b))
	words := []string{"x", strings.Repeat("é", 1<<20)}
	c := Client{Stdio: nullStdio(t), Tier: policy.Guarded, Environ: words, Event: func(sandbox.Event, Ended) {}}
	if _, err := s.Serve(Start{Args: words, Kind: Attached}, c); err != nil {
		t.Fatal(err)
	}
	b.awaitStarts(t, 1)
	if got := b.specs[0].Args; !slices.Equal(got, words) {
		t.Errorf("it runs with %d words", len(got)) // the twin
	}
	b.process(0).exit(0)
	if st := await(t, s, "the end", running(0)); len(st.Tasks[0].Command) > maxShown+3 || !strings.HasPrefix(st.Tasks[0].Command, "x ") {
		t.Errorf("%d bytes are shown", len(st.Tasks[0].Command))
	}
	s.work.Wait()
	if one := s.tasks[0]; one.start.Args != nil || one.start.Text != "" || one.client.Environ != nil {
		t.Error("its words are kept")
	}
}

// Stop is SIGTERM, then SIGKILL.
func TestStopTwice(t *testing.T) {
	b := &stub{}
	s := open(t, testSetup(t, b))
	id := typed(t, s, "x")
	b.awaitStarts(t, 1)
	for range 2 {
		if err := s.Stop(id); err != nil {
			t.Fatal(err)
		}
	}
	st := await(t, s, "the end", running(0))
	if p := b.process(0); !slices.Contains(p.sent, int(unix.SIGTERM)) || st.Tasks[0].Code != 128+int(unix.SIGKILL) {
		t.Errorf("sent %v, %+v", p.sent, st.Tasks[0])
	}
	if s.Stop(99) == nil {
		t.Error("there is a command 99")
	}
}

// The output of a background command is kept, its end if there is much, and
// leaves no name behind.
func TestOutputIsBounded(t *testing.T) {
	dir := t.TempDir()
	o, err := NewOutput(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	line := []byte(strings.Repeat("x", 1<<20-1) + "\n")
	for i := range 20 {
		line[0] = byte('a' + i)
		if _, err := o.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	all, err := o.tail(1 << 30)
	if err != nil || len(all) != maxOutput || all[0] != 'a'+4 || all[15<<20] != 'a'+19 || o.Size() != 20<<20 {
		t.Errorf("%d bytes, %v", len(all), err)
	}
	st, err := o.f.Stat()
	if err != nil || st.Size() > maxOutput || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	for _, n := range []int{0, -1, 1, 1000} {
		if b, err := o.tail(n); err != nil || len(b) != max(n, 0) || n > 0 && b[len(b)-1] != '\n' {
			t.Errorf("%d: %d bytes, %v", n, len(b), err)
		}
	}
}

// The ring is what was written last, whatever was written before.
func TestOutputIsARing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var c connections
		n := rapid.IntRange(0, 3*maxConnections).Draw(rt, "n")
		end := rapid.IntRange(0, max(0, n-1)).Draw(rt, "end")
		for i := range n {
			c.add(egress.Event{Request: egress.Request{Connect: policy.Connect{Port: uint16(i)}}, Start: time.Unix(int64(i), 0), Decision: policy.Decision{Verdict: policy.Allow}})
		}
		if n > 0 {
			c.add(egress.Event{Request: egress.Request{Connect: policy.Connect{Port: uint16(end)}}, Start: time.Unix(int64(end), 0), Decision: policy.Decision{Verdict: policy.Allow}, End: true, Down: 9})
		}
		all := c.all()
		if len(all) != min(n, maxConnections) {
			rt.Fatalf("%d of %d", len(all), n)
		}
		for i, one := range all {
			want := n - len(all) + i
			if one.ID != want+1 || one.Port != uint16(want) || one.Ended != (want == end) || one.Ended && one.Down != 9 {
				rt.Fatalf("%d: %+v", want, one)
			}
		}
	})
}

// Whatever a person adds, a rule of the policy that denies stays, and nothing
// wider than a host with what is below it is added.
func TestRulesOfAPersonStayWithinBounds(t *testing.T) {
	s := open(t, testSetup(t, &stub{}))
	for _, bad := range []string{"*", "*.a.test", "com", "github.io", "evil.test", "x.evil.test", "127.0.0.1", "10.0.0.1:80", "169.254.169.254", "localhost", "a.test!", "", "a b", "http://a.test"} {
		for _, scope := range []approval.Scope{approval.Session, approval.Always} {
			if err := s.AllowHost(bad, scope); err == nil {
				t.Errorf("%q was allowed", bad)
			}
		}
	}
	for _, scope := range []approval.Scope{approval.No, approval.Once} {
		if s.AllowHost("a.test", scope) == nil || s.DenyHost("a.test", scope) == nil {
			t.Errorf("%v is a scope of a rule", scope)
		}
	}
	l, _ := asks(t, s)
	decide := func(at string) policy.Verdict {
		return l.net.decide(t.Context(), egress.Request{Connect: connect(t, at)}).Verdict
	}
	if err := s.DenyHost("listed.test", approval.Session); err != nil || decide("x.listed.test:443") != policy.Deny || s.Policy().Decide(connect(t, "listed.test:1")).Verdict != policy.Deny {
		t.Errorf("what a person denied goes on: %v", err)
	}
	if err := s.AllowHost("listed.test", approval.Session); err != nil || decide("x.listed.test:443") != policy.Allow {
		t.Errorf("the later word does not hold: %v", err)
	}
	if err := s.AllowHost("test", approval.Session); err == nil && decide("evil.test:443") == policy.Allow {
		t.Error("a wider answer overturned a denial")
	}
}

// stubKeeper counts what it is asked for.
type stubKeeper struct {
	stub
	mu       sync.Mutex
	networks int
	done     chan struct{}
	closed   bool
}

type stubShared struct{ *stubKeeper }

func (k *stubKeeper) Network(sandbox.Network) (sandbox.Shared, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.networks++
	return stubShared{k}, nil
}
func (k *stubKeeper) Stage([]sandbox.Mount) (sandbox.Layers, error) {
	return nil, errors.New("nothing to lay over")
}
func (stubShared) Close()                           {}
func (k *stubKeeper) Done() <-chan struct{}         { return k.done }
func (k *stubKeeper) Close() error                  { k.closed = true; return nil }
func (stubShared) Sockets() *sandbox.Sockets        { return &sandbox.Sockets{} }
func (stubShared) Connect(uint16) (*os.File, error) { return nil, errors.New("nothing") }

// N4: the commands of a tier share one network; without a keeper each has its
// own, and an egress that fails leaves them without one, which is said.
func TestN4_NetworksAreShared(t *testing.T) {
	k := &stubKeeper{done: make(chan struct{})}
	b := &stub{}
	setup := testSetup(t, b)
	keepers := 0
	setup.Keeper = func() (sandbox.Keeper, error) { keepers++; return k, nil }
	s := open(t, setup)
	for range 3 {
		typed(t, s, "x")
	}
	if _, err := s.Start(Start{Text: "y", Kind: Background, NoEgress: true}); err != nil {
		t.Fatal(err)
	}
	k.awaitStarts(t, 4)
	if _, err := s.SetTier(policy.Airlock); err != nil {
		t.Fatal(err)
	}
	typed(t, s, "z")
	k.awaitStarts(t, 5)
	if k.networks != 3 || keepers != 1 || len(b.started) != 0 {
		t.Errorf("%d networks by %d keepers, %d commands beside", k.networks, keepers, len(b.started))
	}
	setup.Keeper = func() (sandbox.Keeper, error) { return nil, &sandbox.Unavailable{Mechanism: "native"} }
	alone := open(t, setup)
	typed(t, alone, "x")
	b.awaitStarts(t, 1)
	if alone.State().NoNetwork != "" {
		t.Error("no network")
	}
}

// N9: an egress that cannot start is told, and the command runs without one.
func TestN9_EgressThatCannotStart(t *testing.T) {
	b := &stub{}
	setup := testSetup(t, b)
	var said []string
	var mu sync.Mutex
	setup.Notice = func(l string) { mu.Lock(); defer mu.Unlock(); said = append(said, l) }
	setup.Settle = func(tier policy.Tier, _ Command) (policy.Policy, sandbox.Host, error) {
		p, err := policy.New(policy.Config{Tier: tier, Workspace: setup.Workspace, Network: policy.NetworkConfig{LocalPorts: []uint16{53}}})
		return p, sandbox.Host{}, err
	}
	s := open(t, setup)
	typed(t, s, "x")
	b.awaitStarts(t, 1)
	if st := s.State(); !strings.Contains(st.NoNetwork, "local port 53") || b.specs[0].Net.Proxy {
		t.Errorf("%q, %+v", st.NoNetwork, b.specs[0].Net)
	}
	typed(t, s, "x")
	b.awaitStarts(t, 2)
	mu.Lock()
	defer mu.Unlock()
	if len(said) != 1 || !strings.HasPrefix(said[0], "no network: ") {
		t.Errorf("told %q", said)
	}
}

// After Close nothing starts, and what ran is dead.
func TestCloseEndsAll(t *testing.T) {
	b := &stub{}
	s, err := New(testSetup(t, b))
	if err != nil {
		t.Fatal(err)
	}
	typed(t, s, "x")
	b.awaitStarts(t, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.process(0).dead:
	default:
		t.Error("it lives")
	}
	if _, err := s.Start(Start{Text: "y", Kind: Background}); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}
