//go:build !race

package main

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/sandbox/sandboxtest"
)

// N8: what airlock refuses names the way out that a person has: the key and
// the slash command in a session, a flag for a run.
func TestN8_AirlockSaysTheWayOut(t *testing.T) {
	// The second is refused before it starts.
	const ask, plain = "h=x.test; curl -sSf --max-time 60 http://$h/", "curl http://x.test/"
	for keys, want := range map[string]string{
		"":                    "Alt+S or /tier guarded, in the session",
		`["ctrl+t", "alt+s"]`: "Ctrl+T or /tier guarded, in the session",
		"[]":                  "/tier guarded, in the session",
	} {
		b := room(t)
		if keys != "" {
			sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[keybindings]\ncycle_sandbox_tier = "+keys+"\n")
		}
		s := newTestSession(t, &runFlags{})
		if _, err := s.SetTier(policy.Airlock); err != nil {
			t.Fatal(err)
		}
		if _, out := ended(t, s, started(t, s, strings.Replace(ask, "f", "", 1))); !strings.Contains(out, want) || strings.Contains(out, "--tier") {
			t.Errorf("%s: %q", keys, out)
		}
		if task, _ := ended(t, s, started(t, s, plain)); !strings.Contains(task.Reason, want) || task.Code != exitRefused {
			t.Errorf("%s: %+v", keys, task)
		}
		if d := s.Denials(); len(d) != 1 || !strings.HasPrefix(d[0].Rule.Lift, want) {
			t.Errorf("%s: %+v", keys, d)
		}
		for _, text := range []string{ask, plain} {
			r := b.Bawn(t, "run", "--session", "none", "--tier", "airlock", "-c", text)
			if !strings.Contains(r.Stderr, "--tier guarded reaches allowed hosts") || strings.Contains(r.Stderr+r.Stdout, "in the session") {
				t.Errorf("a run: %+v", r)
			}
		}
	}
}

// F3: names that run code outside later are told at the end of a command, once in
// a session.
func TestF3_SessionTellsWrittenNames(t *testing.T) {
	room(t)
	var mu sync.Mutex
	var told []string
	s, err := new(runFlags).newSession(func(line string) { mu.Lock(); defer mu.Unlock(); told = append(told, line) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range 2 {
		if task, out := ended(t, s, started(t, s, "mkdir -p sub; echo x >sub/Makefile; echo y >plain")); task.Code != 0 {
			t.Fatalf("%+v, %q", task, out)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if want := "wrote 1 name that runs code outside later: sub/Makefile"; len(told) != 1 || told[0] != want {
		t.Errorf("told %q", told)
	}
}

// F6, C6: what a run warns of, a session does once: settings that are left out, that
// wait for trust, and names that are not held.
func TestF6_C6_SessionWarns(t *testing.T) {
	b := room(t)
	sandboxtest.Write(t, b.Home+"/.ssh/id", "secret")
	sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[sandbox]\nallowed_paths = ['~/.ssh']\nprotect = ['nothere']\nguard = 'off'\n")
	sandboxtest.Write(t, filepath.Join(b.Workspace, ".bawn/config.toml"), "[sandbox]\nallowed_domains = ['wide.test']\n")
	var told []string
	s, err := new(runFlags).newSession(func(line string) { told = append(told, line) })
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ended(t, s, started(t, s, "true"))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"1 setting of .bawn/config.toml waits for trust", "is left out: added folder", "/nothere\" ("} {
		if strings.Count(strings.Join(told, "\n"), want) != 1 {
			t.Errorf("%q is not told once: %q", want, told)
		}
	}
	if len(told) != 3 {
		t.Errorf("told %q", told)
	}
}
