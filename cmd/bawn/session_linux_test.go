//go:build !race

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/approval"
	"bawn/internal/frontend/tui"
	"bawn/internal/policy"
	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/session"
	"bawn/internal/tools/listen"
)

var _ tui.Session = (*session.Session)(nil)

// room is a workspace and a home of a test's own, for this process as well.
func room(t *testing.T) *sandboxtest.Box {
	t.Helper()
	b := sandboxtest.New(t, "native")
	run := filepath.Join(filepath.Dir(b.Home), "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "BAWN_SANDBOXED"} {
		t.Setenv(name, "")
	}
	b.Env = append(b.Env, "XDG_RUNTIME_DIR="+run)
	t.Setenv("XDG_RUNTIME_DIR", run)
	t.Setenv("HOME", b.Home)
	t.Chdir(b.Workspace)
	return b
}

func newTestSession(t *testing.T, f *runFlags) *session.Session {
	t.Helper()
	s, err := f.newSession(func(line string) { t.Log("notice: " + line) })
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

// until reads the state until it is as wanted.
func until(t *testing.T, s *session.Session, what string, ok func(session.State) bool) session.State {
	t.Helper()
	tokens, stop := s.Changes()
	defer stop()
	limit := time.After(sandboxtest.Limit)
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

func started(t *testing.T, s *session.Session, text string) int {
	t.Helper()
	id, err := s.Start(session.Start{Text: text, Kind: session.Background})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func find(st session.State, id int) session.Task {
	for _, t := range st.Tasks {
		if t.ID == id {
			return t
		}
	}
	return session.Task{}
}

// ended waits for a command and returns what it wrote.
func ended(t *testing.T, s *session.Session, id int) (session.Task, string) {
	t.Helper()
	st := until(t, s, "end", func(st session.State) bool { return !find(st, id).Ended.IsZero() })
	out, err := s.Output(id, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return find(st, id), string(out)
}

// T3: the tier of a command is that of its start, and what it may do follows.
func TestT3_TiersOfASession(t *testing.T) {
	b := room(t)
	s := newTestSession(t, &runFlags{})
	probe := `echo $BAWN_TIER; touch ` + b.Home + `/x 2>/dev/null && echo home; touch x && echo here`
	for _, c := range []struct {
		tier policy.Tier
		want string
	}{{policy.Guarded, "guarded\nhere\n"}, {policy.Airlock, "airlock\nhere\n"}, {policy.Open, "\nhome\nhere\n"}} {
		if _, err := s.SetTier(c.tier); err != nil {
			t.Fatal(err)
		}
		if task, out := ended(t, s, started(t, s, probe)); out != c.want || task.Tier != c.tier || task.Code != 0 {
			t.Errorf("%v: %q, %+v", c.tier, out, task)
		}
	}
	data, err := os.ReadFile(filepath.Join(b.Workspace, ".bawn", "config.toml"))
	if err != nil || !strings.Contains(string(data), `default_tier = "open"`) {
		t.Errorf("%q, %v", data, err)
	}
	if task, out := ended(t, s, started(t, s, "exit 3")); task.Code != 3 || out != "" {
		t.Errorf("%+v, %q", task, out)
	}
}

// T4: somebody else's file is neither read nor changed.
func TestT4_UntrustedTierIsNotSaved(t *testing.T) {
	b := room(t)
	const theirs = "[sandbox]\ndefault_tier = 'open'\n"
	file := filepath.Join(b.Workspace, ".bawn", "config.toml")
	sandboxtest.Write(t, file, theirs)
	s := newTestSession(t, &runFlags{})
	if st := s.State(); st.Trusted || st.Tier != policy.Guarded {
		t.Errorf("%+v", st)
	}
	if saved, err := s.SetTier(policy.Airlock); saved != "" || err != nil || s.State().Tier != policy.Airlock {
		t.Errorf("%q, %v", saved, err)
	}
	if data, _ := os.ReadFile(file); string(data) != theirs {
		t.Errorf("%q", data)
	}
}

// behindProxy stands for the internet: whatever is connected to answers hello.
func behindProxy(t *testing.T) {
	t.Helper()
	at := listen.On(t, "127.0.0.1", func(c net.Conn) {
		r := bufio.NewReader(c)
		for _, answer := range []string{"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n"} {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	})
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "http://"+at.String())
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
}

const fetch = "curl -sSp --max-time 60 http://new.test/"

// N7: a connection is held while a person decides, and goes on.
func TestN7_HeldConnectionOfASession(t *testing.T) {
	room(t)
	behindProxy(t)
	s := newTestSession(t, &runFlags{})
	ask := func() (task int, q session.Question) {
		t.Helper()
		task = started(t, s, fetch)
		return task, until(t, s, "question", func(st session.State) bool { return len(st.Questions) == 1 }).Questions[0]
	}
	id, q := ask()
	if q.Kind != session.AboutHost || q.Prompt.Object != "new.test:80" || q.Task != id || q.Command != "'"+fetch+"'" {
		t.Errorf("%+v", q)
	}
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", q.PID)); err != nil || string(name) != "curl\n" {
		t.Errorf("the process that asked is %d: %q, %v", q.PID, name, err)
	}
	s.Answer(q.ID, approval.Once)
	if task, out := ended(t, s, id); task.Code != 0 || out != "hello\n" {
		t.Errorf("%+v, %q", task, out)
	}
	id, q = ask()
	s.Answer(q.ID, approval.No)
	if task, out := ended(t, s, id); task.Code == 0 || strings.Contains(out, "hello") || task.Denied != 1 {
		t.Errorf("%+v, %q", task, out)
	}
	if task, out := ended(t, s, started(t, s, fetch)); task.Code == 0 || strings.Contains(out, "hello") {
		t.Errorf("%+v, %q", task, out)
	}
	if err := s.AllowHost("new.test", approval.Always); err != nil {
		t.Fatal(err)
	}
	if task, out := ended(t, s, started(t, s, fetch)); task.Code != 0 || out != "hello\n" {
		t.Errorf("%+v, %q", task, out)
	}
	list := s.Connections()
	if len(list) != 4 || !list[0].Ended || list[0].Down == 0 || list[0].Task != 1 || list[0].Command != "curl" || list[1].Decision.Verdict != policy.Deny || list[1].Task != 2 {
		t.Errorf("%+v", list)
	}
	if d := s.Denials(); len(d) != 1 || d[0].Count != 2 {
		t.Errorf("%+v", d)
	}
	if st := s.State(); st.Allowed != 2 || st.Denied != 2 {
		t.Errorf("%+v", st)
	}
	// The next session knows it.
	if d := newTestSession(t, &runFlags{}).Policy().Decide(policy.Connect{Host: mustHost(t, "new.test"), Port: 80}); d.Verdict != policy.Allow {
		t.Errorf("%+v", d)
	}
}

func mustHost(t *testing.T, name string) policy.Host {
	t.Helper()
	h, err := policy.ParseHost(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// N9: a command that was started without an egress has none, and the ones
// beside it have.
func TestN9_WithoutEgress(t *testing.T) {
	room(t)
	behindProxy(t)
	s := newTestSession(t, &runFlags{})
	if err := s.AllowHost("new.test", approval.Session); err != nil {
		t.Fatal(err)
	}
	id, err := s.Start(session.Start{Text: fetch, Kind: session.Background, NoEgress: true})
	if err != nil {
		t.Fatal(err)
	}
	if task, out := ended(t, s, id); task.Code == 0 || strings.Contains(out, "hello") || !strings.Contains(out, "403") {
		t.Errorf("%+v, %q", task, out)
	}
	if task, out := ended(t, s, started(t, s, fetch)); task.Code != 0 {
		t.Errorf("%+v, %q", task, out)
	}
	// Off by the settings, which says so.
	room(t)
	behindProxy(t)
	sandboxtest.Write(t, filepath.Join(os.Getenv("HOME"), ".config/bawn/config.toml"), "[sandbox.proxy]\nenabled = false\n")
	var told []string
	off, err := new(runFlags).newSession(func(line string) { told = append(told, line) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := off.Close(); err != nil {
			t.Error(err)
		}
		if len(told) != 1 || !strings.HasPrefix(told[0], "no network: enabled = false in [sandbox.proxy] (") || !strings.Contains(told[0], "config.toml:2") {
			t.Errorf("told %q", told)
		}
	})
	for _, tier := range []policy.Tier{policy.Open, policy.Guarded} { // once
		if _, err := off.SetTier(tier); err != nil {
			t.Fatal(err)
		}
	}
	if st := off.State(); !strings.Contains(st.NoNetwork, "config.toml:2") {
		t.Errorf("%q", st.NoNetwork)
	}
	if task, _ := ended(t, off, started(t, off, fetch)); task.Code == 0 {
		t.Errorf("%+v", task)
	}
}

// C5: a command that was refused a protected name is offered outside.
func TestC5_OutsideOfASession(t *testing.T) {
	b := room(t)
	if err := os.MkdirAll(filepath.Join(b.Workspace, ".git", "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Write(t, filepath.Join(b.Workspace, ".git", "HEAD"), "ref: refs/heads/main\n")
	s := newTestSession(t, &runFlags{})
	hook := "mkdir .vscode && mkdir -p .claude && touch .claude/settings.json && echo $BAWN_TIER"
	id := started(t, s, hook)
	task, out := ended(t, s, id)
	if task.Code == 0 || task.Denied == 0 {
		t.Fatalf("%+v, %q", task, out)
	}
	q := until(t, s, "offer", func(st session.State) bool { return len(st.Questions) == 1 }).Questions[0]
	if q.Kind != session.AboutOutside || !strings.Contains(strings.Join(q.Prompt.Notes, "\n"), ".claude") {
		t.Errorf("%+v", q)
	}
	if err := os.Remove(filepath.Join(b.Workspace, ".vscode")); err != nil {
		t.Fatal(err)
	}
	s.Answer(q.ID, approval.Once)
	st := until(t, s, "outside", func(st session.State) bool { return len(st.Tasks) == 2 && !st.Tasks[1].Ended.IsZero() })
	if task := st.Tasks[1]; task.Code != 0 || task.Tier != policy.Open {
		t.Errorf("%+v", task)
	}
	if _, err := os.Stat(filepath.Join(b.Workspace, ".claude", "settings.json")); err != nil {
		t.Error(err)
	}
}

// screenOf is a session's screen that only keeps what is shown.
type screenOf struct {
	mu   sync.Mutex
	text strings.Builder
	done chan struct{}
	keys string
}

func (s *screenOf) Attach(_ int, master *os.File) error {
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 7, Col: 33}); err != nil {
		return err
	}
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		defer master.Close()
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			s.mu.Lock()
			s.text.Write(buf[:n])
			up := strings.Contains(s.text.String(), "up\r\n")
			s.mu.Unlock()
			if up && s.keys != "" { // it can be typed to
				_, _ = master.WriteString(s.keys)
				s.keys = ""
			}
			if err != nil {
				return
			}
		}
	}()
	return nil
}

func (s *screenOf) Drain(int)       { <-s.done }
func (s *screenOf) Tail(int) []byte { return nil }

// A foreground command has a terminal of its own, in a sandbox and outside.
func TestForegroundTerminalOfASession(t *testing.T) {
	room(t)
	s := newTestSession(t, &runFlags{})
	for _, tier := range []policy.Tier{policy.Guarded, policy.Open} {
		if _, err := s.SetTier(tier); err != nil {
			t.Fatal(err)
		}
		screen := &screenOf{keys: "word\r"}
		id, err := s.Start(session.Start{Text: `echo up; read x; stty size; test -t 1 && echo "tty $x" >/dev/tty; exit 4`, Kind: session.Foreground, Terminal: screen})
		if err != nil {
			t.Fatal(err)
		}
		st := until(t, s, "end", func(st session.State) bool { return !find(st, id).Ended.IsZero() })
		if text := screen.text.String(); find(st, id).Code != 4 || !strings.Contains(text, "7 33\r\ntty word\r\n") {
			t.Errorf("%v: %+v, %q", tier, find(st, id), text)
		}
		// ^C at its terminal ends it, as SIGTERM does.
		screen = &screenOf{keys: "\x03"}
		if id, err = s.Start(session.Start{Text: "echo up; exec sleep 600", Kind: session.Foreground, Terminal: screen}); err != nil {
			t.Fatal(err)
		}
		st = until(t, s, "end", func(st session.State) bool { return !find(st, id).Ended.IsZero() })
		if code := find(st, id).Code; code != 130 {
			t.Errorf("%v: %d", tier, code)
		}
	}
}

// Commands end when they are told to, with all they started, and a command
// that is not a program says so.
func TestStopOfASession(t *testing.T) {
	room(t)
	s := newTestSession(t, &runFlags{})
	for _, tier := range []policy.Tier{policy.Guarded, policy.Open} {
		if _, err := s.SetTier(tier); err != nil {
			t.Fatal(err)
		}
		id := started(t, s, "echo up; exec sleep 600")
		until(t, s, "output", func(session.State) bool { out, _ := s.Output(id, 10); return len(out) > 0 })
		if err := s.Stop(id); err != nil {
			t.Fatal(err)
		}
		if task, _ := ended(t, s, id); task.Code != 128+15 {
			t.Errorf("%v: %+v", tier, task)
		}
		id = started(t, s, "trap '' TERM; echo up; while :; do sleep 1; done")
		until(t, s, "output", func(session.State) bool { out, _ := s.Output(id, 10); return len(out) > 0 })
		for range 2 {
			if err := s.Stop(id); err != nil {
				t.Fatal(err)
			}
		}
		if task, _ := ended(t, s, id); task.Code != 128+9 {
			t.Errorf("%v: %+v", tier, task)
		}
		id, err := s.Start(session.Start{Args: []string{"no-such-program"}, Kind: session.Background})
		if err != nil {
			t.Fatal(err)
		}
		if task, _ := ended(t, s, id); task.Code != exitNotFound || !strings.Contains(task.Reason, "no-such-program") {
			t.Errorf("%v: %+v", tier, task)
		}
	}
}

// What the commands of a session do is in the log, each as a run of its own.
func TestSessionIsLogged(t *testing.T) {
	b := room(t)
	state := filepath.Join(filepath.Dir(b.Home), "state of the session")
	t.Setenv("XDG_STATE_HOME", state)
	b.Env = append(b.Env, "XDG_STATE_HOME="+state)
	s := newTestSession(t, &runFlags{})
	ended(t, s, started(t, s, "echo logged; h=unlisted.example; curl -s --max-time 20 https://$h & sleep 0; exit 4"))
	r := b.Bawn(t, "log", "runs")
	if r.Code != 0 || !strings.Contains(r.Stdout, "echo logged") || strings.Count(r.Stdout, "\n") < 2 {
		t.Errorf("%+v", r)
	}
	if r := b.Bawn(t, "log", "verify"); r.Code != 0 {
		t.Errorf("%+v", r)
	}
}

// A139: a yes in a session is about what was shown, in the tiers that have a
// network, and ends with the session.
func TestA139_AnswersOfASession(t *testing.T) {
	room(t)
	behindProxy(t)
	s := newTestSession(t, &runFlags{})
	// get says what a request brought; asked is whether it must be a question, which
	// gets the answer.
	get := func(s *session.Session, host string, answer approval.Scope, asked bool) string {
		t.Helper()
		id := started(t, s, strings.Replace(fetch, "new.test", host, 1))
		over := func(st session.State) bool { return !find(st, id).Ended.IsZero() }
		st := until(t, s, host, func(st session.State) bool { return len(st.Questions) > 0 || over(st) })
		if (len(st.Questions) > 0) != asked {
			t.Fatalf("%s: %d questions", host, len(st.Questions))
		}
		if asked {
			s.Answer(st.Questions[0].ID, answer)
		}
		_, out := ended(t, s, id)
		return out
	}
	want := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("%q, not %q", got, want)
		}
	}
	want(get(s, "new.test", approval.Once, true), "hello")
	want(get(s, "new.test", approval.Session, true), "hello")
	want(get(s, "new.test", approval.No, false), "hello")
	if _, err := s.SetTier(policy.Airlock); err != nil {
		t.Fatal(err)
	}
	if out := get(s, "new.test", approval.No, false); strings.Contains(out, "hello") {
		t.Errorf("in airlock: %q", out)
	}
	if _, err := s.SetTier(policy.Guarded); err != nil {
		t.Fatal(err)
	}
	want(get(s, "new.test", approval.No, false), "hello")
	want(get(s, "new.test:81", approval.No, true), "403")
	want(get(s, "sub.new.test", approval.No, true), "403")
	want(get(newTestSession(t, &runFlags{}), "new.test", approval.No, true), "403")
}
