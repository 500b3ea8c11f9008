//go:build !race

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/approval"
	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/session"
)

// N7: on a terminal bawn run says in which session its question waits; nothing
// in a pipe, or with -q.
func TestN7_AttachedRunSaysWhereItWaits(t *testing.T) {
	b := room(t)
	behindProxy(t)
	sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[permissions]\nask = ['true *']\n")
	s, end, err := new(runFlags).openSession(func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = end() }()
	line := "bawn: waiting for an answer in session " + s.ID()
	waiting := func(n int) session.Question {
		t.Helper()
		return until(t, s, "question", func(st session.State) bool { return len(st.Questions) == 1 && st.Questions[0].Waiting == n }).Questions[0]
	}

	piped := exec.Command(sandboxtest.Binary(), "run", "-c", fetch)
	var said bytes.Buffer
	piped.Dir, piped.Env, piped.Stdout, piped.Stderr = b.Workspace, b.Environ(), &said, &said
	if err := piped.Start(); err != nil {
		t.Fatal(err)
	}
	waiting(1)
	quiet, quietCmd := onScreen(t, b, "run", "-q", "-c", fetch)
	waiting(2)
	term, cmd := onScreen(t, b, "run", "-c", "printf begun; "+fetch)
	q := waiting(3)
	shows(t, term, "begun", line) // and so the moment of those before is over
	s.Answer(q.ID, approval.Session)
	for _, c := range []*exec.Cmd{piped, quietCmd, cmd} {
		if code := quits(t, c); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
	if got := strings.TrimSpace(term.Text()); got != "begun"+line+"\nhello" {
		t.Errorf("on a terminal: %q", got)
	}
	if got := strings.TrimSpace(quiet.Text()); got != "hello" {
		t.Errorf("with -q: %q", got)
	}
	if said.String() != "hello\n" {
		t.Errorf("in a pipe: %q", said.String())
	}

	// A question about the command itself, which has no terminal yet.
	term, cmd = onScreen(t, b, "run", "-c", "true x")
	q = waiting(1)
	shows(t, term, line)
	s.Answer(q.ID, approval.Once)
	if code := quits(t, cmd); code != 0 || strings.Count(term.Text(), line) != 1 {
		t.Errorf("exit %d: %s", code, term.Text())
	}
}
