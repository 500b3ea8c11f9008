//go:build !race

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/session"
)

// With two sessions in one workspace bawn run goes into the newest, or the one
// that is named; when that ends, into the other.
func TestTwoSessionsOfOneWorkspace(t *testing.T) {
	b, first := opened(t)
	second, end, err := new(runFlags).openSession(func(line string) { t.Log("notice: " + line) })
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			_ = end()
		}
	}()
	if _, err := second.SetTier(policy.Airlock); err != nil {
		t.Fatal(err)
	}
	check := func(flag, tier string, inFirst, inSecond int) {
		t.Helper()
		args := []string{"-c", "echo $BAWN_TIER"}
		if flag != "" {
			args = append([]string{"--session", flag}, args...)
		}
		if r := run(t, b, args...); r.Stdout != tier+"\n" || r.Code != 0 {
			t.Errorf("--session %q: %+v", flag, r)
		}
		if tasks(first) != inFirst || tasks(second) != inSecond {
			t.Errorf("--session %q: %d and %d commands, want %d and %d", flag, tasks(first), tasks(second), inFirst, inSecond)
		}
	}
	check("", "airlock", 0, 1)
	check(first.ID(), "guarded", 1, 1)
	check(second.ID(), "airlock", 1, 2)
	check("none", "airlock", 1, 2) // as the second has saved it for the folder
	ended = true
	if err := end(); err != nil {
		t.Fatal(err)
	}
	check("", "guarded", 2, 2)
	if r := run(t, b, "--session", second.ID(), "--", "true"); r.Code != exitRefused || !strings.Contains(r.Stderr, "session "+second.ID()) {
		t.Errorf("one that has ended: %+v", r)
	}
}

// C6: settings that appear in the workspace while a session runs are neither read
// nor saved over, and a command cannot make them.
func TestC6_SettingsPlantedDuringASession(t *testing.T) {
	b := room(t)
	t.Setenv("XDG_STATE_HOME", b.State) // where bawn trust keeps what it is told
	s := newTestSession(t, &runFlags{})
	file := filepath.Join(b.Workspace, ".bawn", "config.toml")
	extra := filepath.Join(filepath.Dir(b.Home), "extra")
	if err := os.Mkdir(extra, 0o755); err != nil {
		t.Fatal(err)
	}
	wide := "[sandbox]\ndefault_tier = 'open'\nallowed_domains = ['planted.test']\nallowed_paths = ['" + extra + "']\n"
	write := "mkdir -p .bawn && printf '" + strings.ReplaceAll(strings.ReplaceAll(wide, "\n", `\n`), "'", `"`) + "' > .bawn/config.toml"
	if task, out := ended(t, s, started(t, s, write)); task.Code == 0 || task.Denied == 0 {
		t.Errorf("a command wrote them: %+v, %q", task, out)
	}
	if _, err := os.Lstat(file); err == nil {
		t.Fatal("a command made the file")
	}
	sandboxtest.Write(t, file, wide) // from another terminal
	holds := func(s *session.Session, what string) {
		t.Helper()
		if d := s.Policy().Decide(policy.Connect{Host: mustHost(t, "planted.test"), Port: 443}); d.Verdict == policy.Allow {
			t.Errorf("%s: %+v", what, d)
		}
		task, out := ended(t, s, started(t, s, "echo $BAWN_TIER; touch "+extra+"/x 2>/dev/null && echo wrote"))
		if out != "guarded\n" || task.Tier != policy.Guarded {
			t.Errorf("%s: %+v, %q", what, task, out)
		}
	}
	holds(s, "this session")
	// The tier is not saved into what nobody has trusted, nor is it trusted so.
	for _, tier := range []policy.Tier{policy.Airlock, policy.Guarded} {
		if saved, err := s.SetTier(tier); err != nil || saved != "" {
			t.Errorf("%v: saved to %q, %v", tier, saved, err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != wide {
		t.Errorf("%q, %v", text, err)
	}
	holds(s, "after a switch")
	next := newTestSession(t, &runFlags{})
	if next.State().Trusted {
		t.Error("the next session trusts it")
	}
	holds(next, "the next session")
	// The twin: once a person has trusted it, it holds, from the next session on.
	sum := sha256.Sum256([]byte(wide))
	if r := b.Bawn(t, "trust", "--hash", hex.EncodeToString(sum[:])); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	holds(s, "this session, when it is trusted")
	last := newTestSession(t, &runFlags{})
	if tier := last.Policy().Tier(); tier != policy.Open {
		t.Errorf("trusted settings do not hold: %v", tier)
	}
	if _, err := last.SetTier(policy.Guarded); err != nil {
		t.Fatal(err)
	}
	if _, out := ended(t, last, started(t, last, "touch "+extra+"/x && echo wrote")); out != "wrote\n" {
		t.Errorf("trusted settings do not hold: %q", out)
	}
}

// T3: whatever is switched while commands start, each runs in one tier, the one
// that the session shows of it.
func TestT3_TierRaces(t *testing.T) {
	b := room(t)
	s := newTestSession(t, &runFlags{})
	stop := make(chan struct{})
	var work sync.WaitGroup
	defer work.Wait()
	defer close(stop)
	work.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := s.SetTier([]policy.Tier{policy.Open, policy.Guarded, policy.Airlock}[i%3]); err != nil {
				t.Error(err)
				return
			}
		}
	})
	seen := map[policy.Tier]int{}
	for round := range 6 { // the output of the last 16 is kept
		var ids []int
		for i := range 10 {
			// In open the home can be written, and what airlock refuses says so.
			ids = append(ids, started(t, s, fmt.Sprintf(`echo "tier $BAWN_TIER"; touch %s/probe.%d.%d 2>/dev/null && echo wide; curl -s --max-time 60 --proxy http://127.0.0.1:3128 http://127.0.0.2/ | grep -o "airlock has no network"`, b.Home, round, i)))
		}
		for _, id := range ids {
			task, out := ended(t, s, id)
			want := map[policy.Tier]string{policy.Open: "tier \nwide\n", policy.Guarded: "tier guarded\n", policy.Airlock: "tier airlock\nairlock has no network\n"}[task.Tier]
			if out != want {
				t.Errorf("shown as %v: %q", task.Tier, out)
			}
			seen[task.Tier]++
		}
	}
	if len(seen) < 2 {
		t.Errorf("all ran in one tier: %v", seen)
	}
}

// Under bubblewrap too a command asks the session for a sandbox beside its own,
// and gets none that can do more.
func TestInnerRunUnderBwrap(t *testing.T) {
	b := room(t)
	sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[sandbox]\nlauncher = 'bwrap'\n[permissions]\nmode = 'auto'\n")
	s, end, err := new(runFlags).openSession(func(line string) { t.Log("notice: " + line) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct {
		tier policy.Tier
		text string
		code int
		out  string
	}{
		{policy.Guarded, `echo typed | BAWN run -c 'read x; echo "$x $BAWN_TIER"; exit 7'`, 7, "typed guarded\n"},
		{policy.Guarded, `BAWN run --tier airlock -c 'echo $BAWN_TIER'`, 0, "airlock\n"},
		{policy.Airlock, `BAWN run --tier guarded -c 'echo $BAWN_TIER'`, 0, "airlock\n"},
		{policy.Guarded, `BAWN run -c 'touch ` + b.Home + `/x 2>/dev/null; touch x && echo ok'`, 0, "ok\n"},
		{policy.Guarded, `BAWN run -c '` + sandboxtest.Binary() + ` run -c "echo deep"'`, 0, "deep\n"},
		{policy.Guarded, `BAWN run -C /usr -c pwd 2>/dev/null; echo $?`, 0, "125\n"},
		{policy.Guarded, `rm -f ` + sandbox.InnerSocket + ` 2>/dev/null; mv ` + sandbox.InnerSocket + ` y 2>/dev/null; BAWN run -c 'echo still'`, 0, "still\n"},
	} {
		if _, err := s.SetTier(c.tier); err != nil {
			t.Fatal(err)
		}
		if task, out := within(t, s, c.text); task.Code != c.code || out != c.out {
			t.Errorf("%s: %+v, %q", c.text, task, out)
		}
	}
	if _, err := os.Stat(filepath.Join(b.Home, "x")); err == nil {
		t.Error("a sibling wrote into the home folder")
	}
	if left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bawn", "*.inner")); err != nil || len(left) != 0 {
		t.Errorf("sockets that are left: %q, %v", left, err)
	}
}
