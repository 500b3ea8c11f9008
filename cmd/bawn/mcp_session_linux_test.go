//go:build !race

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"bawn/internal/approval"
	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/session"
)

// served is bawn mcp in the room, with a client that shows no forms unless o
// says otherwise.
func served(t *testing.T, b *sandboxtest.Box, o *sdk.ClientOptions, flags ...string) *sdk.ClientSession {
	t.Helper()
	cmd := exec.Command(sandboxtest.Binary(), append([]string{"mcp"}, flags...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = b.Workspace, b.Environ(), os.Stderr
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} { // see behindProxy
		cmd.Env = append(cmd.Env, name+"="+os.Getenv(name))
	}
	ctx, cancel := context.WithTimeout(t.Context(), sandboxtest.Limit)
	t.Cleanup(cancel)
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(ctx, &sdk.CommandTransport{Command: cmd, TerminateDuration: time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cs.Close(); err != nil {
			t.Error(err)
		}
	})
	return cs
}

// modelReads is what a model reads of a command.
func modelReads(t *testing.T, cs *sdk.ClientSession, text string) string {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "bash", Arguments: map[string]any{"command": text}})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range res.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// replies answers the next questions of a session, in turn, and gives them.
func replies(t *testing.T, s *session.Session, scopes ...approval.Scope) <-chan session.Question {
	out := make(chan session.Question, len(scopes))
	go func() {
		for _, scope := range scopes {
			q := until(t, s, "question", func(st session.State) bool { return len(st.Questions) == 1 }).Questions[0]
			if !s.Answer(q.ID, scope) {
				t.Errorf("%v is no answer to %+v", scope, q)
			}
			out <- q
		}
	}()
	return out
}

// C5: what the client of bawn mcp cannot show is asked in the session of the
// workspace, and held meanwhile; with none it is refused with what would lift it.
func TestC5_QuestionOfAServerInASession(t *testing.T) {
	b := room(t)
	behindProxy(t)
	sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[permissions]\nask = [\"touch *\"]\n")
	cs := served(t, b, nil)
	host := func(name string) string { return "curl -sSp --max-time 60 http://" + name + ".test/" }

	if got := modelReads(t, cs, "touch none"); !strings.Contains(got, "nobody to ask") || !strings.Contains(got, "a session of this folder (run bawn there)") {
		t.Errorf("no session: %s", got)
	}
	// By a program that the look at the text does not know.
	python := `python3 -c 'import urllib.request as u; u.urlopen("http://early.test/")'`
	if got := modelReads(t, cs, python); !strings.Contains(got, "[denied: connect early.test:80, by host:unlisted") || !strings.Contains(got, "no session is open for this folder; to allow it: ") {
		t.Errorf("no session: %s", got)
	}

	s, end, err := new(runFlags).openSession(func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	over := false
	defer func() {
		if !over {
			_ = end()
		}
	}()
	for _, c := range []struct {
		text, object string
		answer       approval.Scope
		want         string
	}{
		{"touch yes && echo made", "'touch yes && echo made'", approval.Once, "made\n"},
		{"touch no", "'touch no'", approval.No, "was denied when bawn asked"},
		{host("one"), "one.test:80", approval.Once, "hello\n"},
		{host("one"), "one.test:80", approval.Session, "hello\n"},
		{host("two"), "two.test:80", approval.No, "two.test was denied when bawn asked"},
	} {
		asked := replies(t, s, c.answer)
		got := modelReads(t, cs, c.text)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s, %v: %s", c.text, c.answer, got)
		}
		if q := <-asked; q.Kind != session.AboutOther || q.Prompt.Object != c.object || !strings.Contains(strings.Join(q.Prompt.Notes, "\n"), "bawn mcp") || q.Task != 0 {
			t.Errorf("%s: %+v", c.text, q)
		}
	}
	if got := modelReads(t, cs, host("one")); got != "hello\n" { // for the server's session, without a question
		t.Errorf("after a yes for the session: %s", got)
	}
	for name, made := range map[string]bool{"none": false, "yes": true, "no": false} {
		if _, err := os.Lstat(filepath.Join(b.Workspace, name)); (err == nil) != made {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The answers allow the session itself nothing, and its own commands are
	// not the server's.
	if allow := s.State().Allowed; tasks(s) != 0 || allow != 0 {
		t.Errorf("%d commands, %d allowed", tasks(s), allow)
	}
	// A call that is given up takes its question along.
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = cs.CallTool(ctx, &sdk.CallToolParams{Name: "bash", Arguments: map[string]any{"command": "touch later"}})
	}()
	until(t, s, "question", func(st session.State) bool { return len(st.Questions) == 1 })
	cancel()
	<-gone
	until(t, s, "end of the question", func(st session.State) bool { return len(st.Questions) == 0 })
	// And the end of the session is no answer.
	done := make(chan string, 1)
	go func() { done <- modelReads(t, cs, "touch later") }()
	until(t, s, "question", func(st session.State) bool { return len(st.Questions) == 1 })
	over = true
	if err := end(); err != nil {
		t.Error(err)
	}
	if got := <-done; !strings.Contains(got, "the session") || !strings.Contains(got, "[permissions]") {
		t.Errorf("the session ended: %s", got)
	}
	if _, err := os.Lstat(filepath.Join(b.Workspace, "later")); err == nil {
		t.Error("it ran without an answer")
	}
}

// --session says who is asked; without it a client that can ask does.
func TestServerSessionFlag(t *testing.T) {
	b, s := opened(t)
	sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[permissions]\nask = [\"touch *\"]\n")
	forms := 0
	can := &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		forms++
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer": "once"}}, nil
	}}
	for i, c := range []struct {
		client *sdk.ClientOptions
		flags  []string
		forms  int
		here   bool // the session is asked
		runs   bool
	}{
		{nil, nil, 0, true, true},
		{can, nil, 1, false, true},
		{can, []string{"--session", s.ID()}, 0, true, true},
		{nil, []string{"--session", "none"}, 0, false, false},
		{nil, []string{"--no-prompt"}, 0, false, false},
		{can, []string{"--session", "none"}, 1, false, true},
	} {
		forms = 0
		name := fmt.Sprintf("made%d", i)
		cs := served(t, b, c.client, c.flags...)
		var asked <-chan session.Question
		if c.here {
			asked = replies(t, s, approval.Once)
		}
		got := modelReads(t, cs, "touch "+name)
		if c.here {
			<-asked
		}
		_, err := os.Lstat(filepath.Join(b.Workspace, name))
		if (err == nil) != c.runs || forms != c.forms || len(s.State().Questions) != 0 {
			t.Errorf("%v: %v, %d forms: %s", c.flags, err, forms, got)
		}
	}
	elsewhere := sandboxtest.New(t, "native")
	elsewhere.Home, elsewhere.Env = b.Home, b.Env
	for _, c := range []struct {
		b  *sandboxtest.Box
		id string
	}{{b, "zzz"}, {b, "../x"}, {elsewhere, s.ID()}} {
		if r := c.b.Bawn(t, "mcp", "--session", c.id); r.Code != exitRefused || !strings.Contains(r.Stderr, "session "+c.id) {
			t.Errorf("%s: %+v", c.id, r)
		}
	}
}

// Who listens in a sandbox is no session, wherever the environment says that
// sessions are: neither a question nor a command goes there.
func TestForgedSession(t *testing.T) {
	b := room(t)
	sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[permissions]\nask = [\"touch *\"]\n")
	forger := `import socket,os,struct,sys
d=os.path.expanduser("~/.cache/x/bawn"); os.makedirs(d,0o700,exist_ok=True); os.chmod(d,0o700)
s=socket.socket(socket.AF_UNIX); s.bind(d+"/aaaaaaaa.sock"); s.listen(9); open("up","w").write("x")
while True:
  c,_=s.accept(); open("reached","a").close()
  c.recv(100000); c.sendall(struct.pack(">I",1)+b"k"); c.sendall(struct.pack(">I",4)+b"y\x01\x01\x00")
`
	sandboxtest.Write(t, filepath.Join(b.Workspace, "forger.py"), forger)
	listen := func(args ...string) {
		t.Helper()
		for _, name := range []string{filepath.Join(b.Home, ".cache/x"), filepath.Join(b.Workspace, "up"), filepath.Join(b.Workspace, "reached")} {
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(args[0], append(args[1:], "python3", "forger.py")...)
		cmd.Dir, cmd.Env = b.Workspace, b.Environ()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Signal(unix.SIGKILL); _ = cmd.Wait() })
		sandboxtest.Until(t, filepath.Join(b.Workspace, "up"))
	}
	env := b.Env
	bent := append(append([]string{}, env...), "XDG_RUNTIME_DIR="+filepath.Join(b.Home, ".cache/x"))
	try := func() (got string, reached bool) {
		t.Helper()
		b.Env = bent
		defer func() { b.Env = env }()
		got = modelReads(t, served(t, b, nil), "touch made")
		_, err := os.Lstat(filepath.Join(b.Workspace, "reached"))
		return got, err == nil
	}
	listen(sandboxtest.Binary(), "run", "--session", "none", "--")
	if got, reached := try(); reached || !strings.Contains(got, "nobody to ask") {
		t.Errorf("a sandboxed process was asked: %s", got)
	}
	b.Env = bent
	if r := run(t, b, "--", "true"); r.Code != 0 {
		t.Errorf("%+v", r)
	}
	b.Env = env
	if _, err := os.Lstat(filepath.Join(b.Workspace, "reached")); err == nil {
		t.Error("bawn run went to a sandboxed process")
	}
	if _, err := os.Lstat(filepath.Join(b.Workspace, "made")); err == nil {
		t.Error("it ran")
	}
	listen("/usr/bin/env") // the twin: a process of the user's own
	if _, reached := try(); !reached {
		t.Error("the forger does not work")
	}
}
