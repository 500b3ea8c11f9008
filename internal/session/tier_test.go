//go:build unix

package session

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bawn/internal/approval"
	"bawn/internal/config/told"
	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

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
