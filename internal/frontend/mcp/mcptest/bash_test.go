//go:build linux

package mcptest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bawn/internal/frontend/mcp"
	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/tools/listen"
	"bawn/internal/tools/page"
)

// In every revision of the protocol a command runs in the sandbox, and what it
// was refused is told.
func TestEveryRevision(t *testing.T) {
	for _, v := range sdk.SupportedProtocolVersions() {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			d := open(t, options{version: v})
			if got := d.cs.InitializeResult().ProtocolVersion; got != v {
				t.Fatalf("the server speaks %s", got)
			}
			tools, err := d.cs.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			// docs/mcp.md has every tool, and no other.
			names := []string{"web_search"} // which only a setting brings
			for _, tool := range tools.Tools {
				names = append(names, tool.Name)
			}
			page.Names(t, "docs/mcp.md", "| tool | what it does |", names)
			r := d.bash("echo out; echo err >&2; echo made > made.txt; exit 3")
			if r.Stdout != "out\n" || r.Stderr != "err\n" || code(r) != 3 || r.Truncated || len(r.Denied) != 0 || r.RunID == "" {
				t.Errorf("%+v", r)
			}
			if b, err := os.ReadFile(filepath.Join(d.Workspace, "made.txt")); err != nil || string(b) != "made\n" {
				t.Errorf("%q, %v", b, err)
			}
			res := d.call("bash", args{"command": "echo x > .git/config", "description": "a key", "unknown_key": true})
			r = into[mcp.RunResult](t, res)
			if code(r) == 0 || len(r.Denied) != 1 || r.Denied[0].Kind != "write" || !strings.HasSuffix(r.Denied[0].Target, "/.git/config") || r.Denied[0].Rule == "" || r.Denied[0].Hint == "" {
				t.Errorf("%+v", r)
			}
			if !strings.Contains(res.text, "[denied: write ") {
				t.Errorf("the model is not told:\n%s", res.text)
			}
			if r = d.bash("cat ~/.ssh/id_rsa"); code(r) == 0 || strings.Contains(r.Stdout, "SECRET") || len(r.Denied) != 1 || r.Denied[0].Kind != "read" || !strings.HasSuffix(r.Denied[0].Target, "/.ssh/id_rsa") {
				t.Errorf("%+v", r)
			}
			// The same text, and no rule that denies it.
			service := listen.On(t, "127.0.0.1", func(net.Conn) {}) // which the sandbox's own loopback has not
			if r = d.bash("echo 'dial tcp " + service.String() + ": connect: connection refused' >&2; exit 1"); len(r.Denied) != 1 ||
				r.Denied[0].Kind != "connect" || !strings.Contains(r.Denied[0].Hint, "--allow-local-port "+strconv.Itoa(int(service.Port()))) {
				t.Errorf("a service of the host: %+v", r)
			}
			if r = d.bash("echo x > locked; chmod 0 locked; cat locked"); code(r) == 0 || !strings.Contains(r.Stderr, "denied") || len(r.Denied) != 0 {
				t.Errorf("%+v", r)
			}
			// One temp and one loopback serve all commands.
			d.bash("echo kept > /tmp/kept")
			if r = d.bash("cat /tmp/kept"); r.Stdout != "kept\n" {
				t.Errorf("%+v", r)
			}
			if _, err := os.Stat("/tmp/kept"); err == nil {
				t.Error("the host has it")
			}
		})
	}
}

func TestFileTools(t *testing.T) {
	sandboxtest.EachLauncher(t, func(t *testing.T, launcher string) {
		d := open(t, options{launcher: launcher})
		r := d.call("read_file", args{"path": "a.txt"})
		if r.IsError || r.text != "one\ntwo\nthree\n" {
			t.Fatalf("%v %q\n%s", r.IsError, r.text, d.stderr)
		}
		r = d.call("write_file", args{"path": "sub/dir/b.txt", "content": "new\n"})
		if r.IsError {
			t.Fatal(r.text)
		}
		if b, err := os.ReadFile(filepath.Join(d.Workspace, "sub/dir/b.txt")); err != nil || string(b) != "new\n" {
			t.Errorf("%q, %v", b, err)
		}
		r = d.call("edit_file", args{"path": filepath.Join(d.Workspace, "a.txt"), "old_string": "two", "new_string": "2"})
		if r.IsError {
			t.Fatal(r.text)
		}
		if b, err := os.ReadFile(filepath.Join(d.Workspace, "a.txt")); err != nil || string(b) != "one\n2\nthree\n" {
			t.Errorf("%q, %v", b, err)
		}
	})
}

func TestKeptOutput(t *testing.T) {
	d := open(t, options{})
	r := d.bash("seq 1 20000; echo end >&2")
	if !r.Truncated || !strings.HasPrefix(r.Stdout, "1\n2\n") || !strings.HasSuffix(r.Stdout, "\n20000\n") || len(r.Stdout) > 31_000 || r.Stderr != "end\n" {
		t.Fatalf("%d bytes, %+v", len(r.Stdout), r.Denied)
	}
	// All of it can be read, piece by piece.
	var all strings.Builder
	for at := int64(0); ; {
		one := into[mcp.RunResult](t, d.call("bash_output", args{"run_id": r.RunID, "offset": at}))
		all.WriteString(one.Stdout)
		if at = one.NextOut; !one.Truncated {
			break
		}
	}
	if all.Len() != 108_894 || !strings.HasSuffix(all.String(), "\n19999\n20000\n") {
		t.Errorf("%d bytes", all.Len())
	}
	// Of more than is kept the end, and that is said.
	long := d.bash("echo begin; head -c 20000000 /dev/zero | tr '\\0' x")
	if !strings.HasPrefix(long.Stdout, "[the first 3222790 bytes are no longer kept]\nxxx") {
		t.Errorf("%.100s", long.Stdout)
	}
	res := d.call("bash_output", args{"run_id": long.RunID, "offset": 0})
	if out := into[mcp.RunResult](t, res); out.Start != 3_222_790 || !strings.Contains(res.text, "begins at offset 3222790") {
		t.Errorf("%d, %.100s", out.Start, res.text[len(res.text)-200:])
	}
	one := into[mcp.RunResult](t, d.call("bash_output", args{"run_id": r.RunID, "offset": 0, "stream": "stderr"}))
	if one.Stderr != "end\n" || one.Running || code(one) != 0 {
		t.Errorf("%+v", one)
	}
	for _, a := range []args{{"run_id": "r99"}, {"run_id": ""}, {"run_id": r.RunID, "offset": -1}, {"run_id": r.RunID, "wait_ms": -1}, {"run_id": r.RunID, "offset": 0, "stream": "x"}} {
		if res := d.call("bash_output", a); !res.IsError {
			t.Errorf("%v: %s", a, res.text)
		}
	}
}

// A command that ends by a signal, or by its time, says so, and nothing of it
// is left.
func TestTimeAndSignals(t *testing.T) {
	d := open(t, options{})
	if r := d.bash("kill -SEGV $$"); code(r) != 139 || r.Signal != "SIGSEGV" {
		t.Errorf("%+v", r)
	}
	r := into[mcp.RunResult](t, d.call("bash", args{"command": "echo first; " + sleeper + " & wait", "timeout_ms": 300}))
	if !r.TimedOut || code(r) != 137 || r.Stdout != "first\n" {
		t.Errorf("%+v", r)
	}
	gone(t, d)
	for _, a := range []args{{"command": ""}, {}, {"command": "true", "timeout_ms": -1}, {"command": "true", "workdir": "nowhere"}, {"command": 7}} {
		if res := d.call("bash", a); !res.IsError {
			t.Errorf("%v: %s", a, res.text)
		}
	}
	if r := into[mcp.RunResult](t, d.call("bash", args{"command": "pwd", "workdir": "/"})); code(r) != 125 || r.Reason == "" {
		t.Errorf("outside: %+v", r)
	}
	sandboxtest.Write(t, filepath.Join(d.Workspace, "sub/x"), "")
	if r := into[mcp.RunResult](t, d.call("bash", args{"command": "pwd", "workdir": "sub"})); r.Stdout != filepath.Join(d.Workspace, "sub")+"\n" {
		t.Errorf("%+v", r)
	}
}

func TestBackground(t *testing.T) {
	for _, v := range []string{"2025-06-18", "2026-07-28"} {
		t.Run(v, func(t *testing.T) {
			d := open(t, options{version: v})
			start := func(a args) string {
				r := into[mcp.RunResult](t, d.call("bash", a))
				if !r.Running || r.ExitCode != nil {
					t.Fatalf("%+v", r)
				}
				return r.RunID
			}
			// until reads on until the text is there.
			until := func(id, text string) mcp.RunResult {
				var all strings.Builder
				for {
					r := into[mcp.RunResult](t, d.call("bash_output", args{"run_id": id, "wait_ms": 60_000}))
					if all.WriteString(r.Stdout); strings.Contains(all.String(), text) {
						return r
					}
					if !r.Running {
						t.Fatalf("ended without %q: %q %+v", text, all.String(), r)
					}
				}
			}
			id := start(args{"command": "while read x; do echo got $x; done; echo bye", "background": true})
			d.works("bash_input", args{"run_id": id, "text": "one\n"})
			until(id, "got one")
			d.works("bash_input", args{"run_id": id, "text": "two\n", "eof": true})
			until(id, "bye")
			if r := d.call("bash_input", args{"run_id": id, "text": "three\n"}); !r.IsError {
				t.Error("typed to a command that has ended")
			}
			// A terminal.
			id = start(args{"command": "test -t 0 && test -t 1 && tty; read x; echo got $x", "background": true, "tty": true})
			until(id, "/dev/pts/")
			d.works("bash_input", args{"run_id": id, "text": "word\n"})
			until(id, "got word")
			for _, text := range []string{"word\n", "half a line", ""} { // its end is no hang-up
				id = start(args{"command": "echo up; cat; echo code $?; echo bye", "background": true, "tty": true})
				until(id, "up")
				d.works("bash_input", args{"run_id": id, "text": text, "eof": true})
				if r := until(id, "bye"); !strings.Contains(r.Stdout, "code 0") && code(r) > 0 {
					t.Errorf("%q: %+v", text, r)
				}
			}
			// The end of all of it.
			id = start(args{"command": "echo up; " + sleeper + " & " + sleeper, "background": true})
			until(id, "up")
			if r := into[mcp.RunResult](t, d.call("bash_kill", args{"run_id": id})); r.Running || code(r) != 137 {
				t.Errorf("%+v", r)
			}
			gone(t, d)
			// A server that one command starts is there for the next.
			id = start(args{"command": "python3 -u -m http.server 8123 --bind 127.0.0.1", "background": true})
			until(id, "Serving")
			if r := d.bash("curl -s --noproxy '*' http://127.0.0.1:8123/a.txt"); r.Stdout != "one\ntwo\nthree\n" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A call that is cancelled takes its whole tree with it.
func TestCancelled(t *testing.T) {
	for _, v := range sdk.SupportedProtocolVersions() {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			began := make(chan string, 64)
			d := open(t, options{version: v, client: &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
				began <- r.Params.Message
			}}})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for m := range began {
					if strings.Contains(m, "up") {
						cancel()
						return
					}
				}
			}()
			p := &sdk.CallToolParams{Name: "bash", Arguments: args{"command": "(setsid " + sleeper + " &) ; echo up; " + sleeper}}
			p.SetProgressToken("p")
			if _, err := d.cs.CallTool(ctx, p); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			// The client is told at once; the run has ended when the server says so.
			for into[mcp.RunResult](t, d.call("bash_output", args{"run_id": "r1", "wait_ms": 60_000})).Running {
			}
			gone(t, d)
			if r := d.bash("echo still"); r.Stdout != "still\n" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// The end of the client is the end of everything.
func TestClosed(t *testing.T) {
	d := open(t, options{})
	id := into[mcp.RunResult](t, d.call("bash", args{"command": "echo up; " + sleeper, "background": true})).RunID
	if r := into[mcp.RunResult](t, d.call("bash_output", args{"run_id": id, "wait_ms": 60_000})); r.Stdout != "up\n" {
		t.Fatalf("%+v", r)
	}
	if running(t, d) == 0 {
		t.Fatal("the sleeper is not found while it runs")
	}
	if err := d.cs.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, d)
}

func TestParallelCalls(t *testing.T) {
	d := open(t, options{version: "2025-11-25"})
	var work sync.WaitGroup
	for i := range 100 {
		work.Go(func() {
			name, a := "bash", args{"command": fmt.Sprintf("echo %d; echo %d > p%d", i, i, i)}
			want := fmt.Sprintln(i)
			switch i % 3 {
			case 1:
				name, a, want = "read_file", args{"path": "a.txt"}, "one\ntwo\nthree\n"
			case 2:
				name, a, want = "write_file", args{"path": fmt.Sprintf("p%d", i), "content": want}, fmt.Sprintf("made %s/p%d\n", d.Workspace, i)
			}
			r, err := d.tryCall(t.Context(), name, a)
			if err != nil || r.IsError || r.text != want {
				t.Errorf("%s %v: %v %q", name, a, err, r.text)
			}
		})
	}
	work.Wait()
	for i := range 100 {
		if i%3 != 1 && content(t, filepath.Join(d.Workspace, fmt.Sprintf("p%d", i))) != fmt.Sprintln(i) {
			t.Errorf("p%d", i)
		}
	}
}

func TestRunTests(t *testing.T) {
	d := open(t, options{prepare: func(b *sandboxtest.Box) {
		sandboxtest.Write(t, filepath.Join(b.Workspace, "Makefile"), "test:\n\t@echo tested by make; exit 1\n")
	}})
	r := into[mcp.RunResult](t, d.call("run_tests", args{}))
	if !strings.Contains(r.Stdout, "tested by make") || code(r) != 2 {
		t.Errorf("%+v", r)
	}
	if res := d.call("run_tests", args{"filter": "x"}); !res.IsError {
		t.Error(res.text)
	}
	if r := into[mcp.RunResult](t, d.call("run_tests", args{"command": "echo", "filter": "a b; echo c"})); r.Stdout != "a b; echo c\n" {
		t.Errorf("%+v", r)
	}
	for _, text := range []string{"echo x # all of it", "echo x\necho", "echo x | cat", "echo x; echo", "echo x &"} {
		if r := d.call("run_tests", args{"command": text, "filter": "touch"}); !r.IsError || !strings.Contains(r.text, "write the filter into it") {
			t.Errorf("%q: %s", text, r.text)
		}
	}
	if r := into[mcp.RunResult](t, d.call("run_tests", args{"command": "true && echo\n", "filter": "one"})); r.Stdout != "one\n" {
		t.Errorf("%+v", r)
	}
	d = open(t, options{flags: []string{"--test-command", "echo configured"}})
	if r := into[mcp.RunResult](t, d.call("run_tests", args{})); r.Stdout != "configured\n" {
		t.Errorf("%+v", r)
	}
	d = open(t, options{})
	if res := d.call("run_tests", args{}); !res.IsError || !strings.Contains(res.text, "go.mod") {
		t.Error(res.text)
	}
}

// The model can ask what is allowed.
func TestPlanning(t *testing.T) {
	d := open(t, options{})
	r := d.works("sandbox", args{})
	if s := into[mcp.SandboxResult](t, r); s.Tier != "guarded" || s.Workspace != d.Workspace || s.Asks || !s.Network || len(s.WriteIn) != 1 {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct{ action, object, want string }{
		{"write", "a.txt", "allow: write "}, {"write", ".git/config", "deny: write "}, {"read", filepath.Join(d.Home, ".ssh/id_rsa"), "deny: read "},
		{"connect", "packages.npmjs.org", "allow: connect "}, {"connect", "127.0.0.1:80", "deny: connect "}, {"connect", "other.example", "deny: connect "},
		{"run", "echo x", "allow: run "}, {"run", "curl http://other.example/", "deny: run "},
	} {
		if r := d.works("check", args{"action": c.action, "object": c.object}); !strings.HasPrefix(r.text, c.want) {
			t.Errorf("%v: %s", c, r.text)
		}
	}
	if r := d.call("check", args{"action": "fly", "object": "x"}); !r.IsError {
		t.Error(r.text)
	}
	if r := d.works("policy", args{}); !strings.Contains(r.text, `"access": "hidden"`) {
		t.Errorf("%.200s", r.text)
	}
}

// A server with bad settings does not start.
func TestRefusedAtStart(t *testing.T) {
	for name, c := range map[string]struct {
		flags, env []string
		words      string
	}{
		"flag": {[]string{"--no-such"}, nil, "unknown flag"}, "argument": {[]string{"x"}, nil, "no argument"},
		"root": {[]string{"-C", "/"}, nil, "workspace"}, "home": {[]string{"-C", "HOME"}, nil, "workspace"},
		"project": {nil, []string{"CLAUDE_PROJECT_DIR=/nowhere"}, "/nowhere"}, "root of the agent": {nil, []string{"CRUSH_PROJECT_DIR=/"}, "workspace"},
		"nested": {nil, []string{"BAWN_SANDBOXED=1"}, "sandbox inside a sandbox"}, "folder": {[]string{"--add-dir", "HOME"}, nil, "added folder"},
	} {
		b := sandboxtest.New(t, "native")
		b.Env = c.env
		for i := range c.flags {
			if c.flags[i] == "HOME" {
				c.flags[i] = b.Home
			}
		}
		if r := b.Bawn(t, append([]string{"mcp"}, c.flags...)...); r.Code != 125 || !strings.Contains(r.Stderr, c.words) || r.Stdout != "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	// The agent's folder is the workspace, and no client widens it.
	d := open(t, options{prepare: func(b *sandboxtest.Box) {
		sandboxtest.Write(t, filepath.Join(b.Workspace, "sub/x"), "x\n")
		b.Env = []string{"CLAUDE_PROJECT_DIR=" + filepath.Join(b.Workspace, "sub")}
	}})
	if r := d.bash("pwd; echo bad > ../bad"); r.Stdout != filepath.Join(d.Workspace, "sub")+"\n" || code(r) == 0 {
		t.Errorf("%+v", r)
	}
}
