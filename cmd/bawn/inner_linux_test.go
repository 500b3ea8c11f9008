//go:build !race

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/session"
)

// within is what a command of the session wrote that ran bawn itself.
func within(t *testing.T, s *session.Session, text string) (session.Task, string) {
	t.Helper()
	task, out := ended(t, s, started(t, s, strings.ReplaceAll(text, "BAWN ", sandboxtest.Binary()+" ")))
	return task, out
}

// bawn run inside a command of a session runs in a sandbox beside it, and can
// do no more there.
func TestInnerRun(t *testing.T) {
	b, s := opened(t)
	if err := s.SetPermission(policy.AutoMode); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(b.Workspace, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/usr", filepath.Join(b.Workspace, "away")); err != nil {
		t.Fatal(err)
	}
	nestedText := "a sandbox inside a sandbox"
	for _, c := range []struct {
		tier policy.Tier
		text string
		code int
		out  string // all of it, or a part after "..."
	}{
		{policy.Guarded, `echo typed | BAWN run -c 'read x; echo "$x $BAWN_TIER"; pwd; ls /proc | grep -c "^[0-9]"; exit 7'`, 7, "typed guarded\n" + b.Workspace + "\n"},
		{policy.Guarded, `BAWN run -C sub -c pwd`, 0, b.Workspace + "/sub\n"},
		{policy.Guarded, `BAWN run --tier airlock -c 'echo $BAWN_TIER'`, 0, "airlock\n"},
		{policy.Airlock, `BAWN run --tier guarded -c 'echo $BAWN_TIER'`, 0, "airlock\n"},
		{policy.Guarded, `BAWN run -c 'touch ` + b.Home + `/x; touch x && echo ok'`, 0, "...ok\n"},
		{policy.Guarded, `BAWN run -c '` + sandboxtest.Binary() + ` run -c "echo deep"'`, 0, "deep\n"},
		{policy.Guarded, `BAWN run -c true </`, exitRefused, "...it is a folder"},
		{policy.Guarded, `BAWN run -C /usr -c pwd`, exitRefused, "..." + nestedText},
		{policy.Guarded, `BAWN run -C away -c pwd`, exitRefused, "..." + nestedText},
		{policy.Guarded, `BAWN run --publish 8080 -c true`, exitRefused, "..." + nestedText},
		{policy.Guarded, `BAWN run --allow-domain x.test -c true`, exitRefused, "..." + nestedText},
		{policy.Guarded, `BAWN run --add-dir /opt -c true`, exitRefused, "..." + nestedText},
		{policy.Guarded, `BAWN run --sandbox danger-full-access -c true; BAWN run --sandbox read-only -c true`, exitRefused, "..." + nestedText},
	} {
		if _, err := s.SetTier(c.tier); err != nil {
			t.Fatal(err)
		}
		task, out := within(t, s, c.text)
		part, some := strings.CutPrefix(c.out, "...")
		if task.Code != c.code || some && !strings.Contains(out, part) || !some && !strings.HasPrefix(out, c.out) {
			t.Errorf("%s: %d, %q", c.text, task.Code, out)
		}
	}
	if _, err := os.Stat(filepath.Join(b.Home, "x")); err == nil {
		t.Error("a sibling wrote into the home folder")
	}
	inner := 0
	for _, one := range s.State().Tasks {
		if one.Kind == session.Inner {
			inner++
		}
	}
	if inner != 7 {
		t.Errorf("%d commands inside", inner)
	}
}

// A command can pass on what it has, and no more, whatever the session has
// become meanwhile.
func TestInnerRunIsNoWider(t *testing.T) {
	behindProxy(t)
	b, s := opened(t)
	if err := s.SetPermission(policy.AutoMode); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetTier(policy.Airlock); err != nil {
		t.Fatal(err)
	}
	wait := "while ! test -e go; do sleep 0.02; done; "
	strict := started(t, s, wait+sandboxtest.Binary()+" run --tier guarded -c 'echo $BAWN_TIER'")
	until(t, s, "start", func(st session.State) bool { return find(st, strict).Tier == policy.Airlock })
	if _, err := s.SetTier(policy.Guarded); err != nil {
		t.Fatal(err)
	}
	if err := s.AllowHost("new.test", approval.Session); err != nil {
		t.Fatal(err)
	}
	alone, err := s.Start(session.Start{Text: sandboxtest.Binary() + " run -c '" + fetch + "'", Kind: session.Background, NoEgress: true})
	if err != nil {
		t.Fatal(err)
	}
	sandboxtest.Write(t, filepath.Join(b.Workspace, "go"), "")
	if task, out := ended(t, s, strict); out != "airlock\n" || task.Code != 0 {
		t.Errorf("%+v, %q", task, out)
	}
	if task, out := ended(t, s, alone); task.Code == 0 || strings.Contains(out, "hello") {
		t.Errorf("%+v, %q", task, out)
	}
	if task, out := within(t, s, "BAWN run -c '"+fetch+"'"); task.Code != 0 || out != "hello\n" { // the twin
		t.Errorf("%+v, %q", task, out)
	}
}

// What a command asks for is a question, which it cannot answer; without a
// session there is nobody to ask for anything.
func TestInnerRunIsAsked(t *testing.T) {
	b, s := opened(t)
	id := started(t, s, sandboxtest.Binary()+" run -- touch made")
	q := until(t, s, "question", func(st session.State) bool { return len(st.Questions) == 1 }).Questions[0]
	if q.Kind != session.AboutCommand || q.Prompt.Object != "touch made" {
		t.Errorf("%+v", q)
	}
	s.Answer(q.ID, approval.No)
	if task, out := ended(t, s, id); task.Code != exitRefused {
		t.Errorf("%+v, %q", task, out)
	}
	if _, err := os.Stat(filepath.Join(b.Workspace, "made")); err == nil {
		t.Error("it ran")
	}
	r := b.Bawn(t, "run", "--session", "none", "-c", "ls "+sandbox.InnerSocket+"; "+sandboxtest.Binary()+" run -- true")
	if r.Code != exitRefused || !strings.Contains(r.Stderr, "a sandbox inside a sandbox") {
		t.Errorf("%+v", r)
	}
}

// A sibling ends with the command that asked for it, and no socket is left
// where a command runs.
func TestInnerRunEndsWithItsCommand(t *testing.T) {
	_, s := opened(t)
	if err := s.SetPermission(policy.AutoMode); err != nil {
		t.Fatal(err)
	}
	id := started(t, s, sandboxtest.Binary()+" run -c 'echo up; exec sleep 600'")
	until(t, s, "output", func(session.State) bool { out, _ := s.Output(id, 10); return string(out) == "up\n" })
	for end := time.Now().Add(sandboxtest.Limit); ; time.Sleep(time.Millisecond) { // the start is told after the first output
		left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bawn", "*"))
		if err == nil && len(left) == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%q, %v", left, err)
		}
	}
	if err := s.Stop(id); err != nil {
		t.Fatal(err)
	}
	st := until(t, s, "ends", func(st session.State) bool {
		return len(st.Tasks) == 2 && !st.Tasks[0].Ended.IsZero() && !st.Tasks[1].Ended.IsZero()
	})
	if st.Tasks[1].Kind != session.Inner || st.Tasks[1].Code == 0 {
		t.Errorf("%+v", st.Tasks)
	}
}
