//go:build linux

package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bawn/internal/frontend/mcp"
	"bawn/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Main(m) }

// desk is a user with a project and a server for it.
type desk struct {
	*sandboxtest.Box
	t      *testing.T
	cs     *sdk.ClientSession
	cmd    *exec.Cmd
	stderr *syncBuffer
	killed bool // by the test
}

// syncBuffer is what a process wrote, so far.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

type options struct {
	launcher string
	version  string
	flags    []string
	env      []string
	client   *sdk.ClientOptions
	prepare  func(*sandboxtest.Box)
}

// open starts a server; it ends with the test.
func open(t *testing.T, o options) *desk {
	t.Helper()
	if o.launcher == "" {
		o.launcher = "native"
	}
	b := sandboxtest.New(t, o.launcher)
	sandboxtest.Write(t, filepath.Join(b.Home, ".ssh/id_rsa"), "SECRET\n")
	sandboxtest.Write(t, filepath.Join(b.Workspace, ".git/config"), "[core]\n\tbare = false\n")
	sandboxtest.Write(t, filepath.Join(b.Workspace, ".git/HEAD"), "ref: refs/heads/main\n")
	sandboxtest.Write(t, filepath.Join(b.Workspace, "a.txt"), "one\ntwo\nthree\n")
	if o.prepare != nil {
		o.prepare(b)
	}
	b.Env = append(b.Env, o.env...)
	d := &desk{Box: b, t: t, stderr: new(syncBuffer)}
	d.cmd = exec.Command(sandboxtest.Binary(), append([]string{"mcp", "--launcher", o.launcher}, o.flags...)...)
	d.cmd.Dir, d.cmd.Env, d.cmd.Stderr = b.Workspace, b.Environ(), d.stderr
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o.client)
	ctx, cancel := context.WithTimeout(t.Context(), sandboxtest.Limit)
	t.Cleanup(cancel)
	cs, err := client.Connect(ctx, &sdk.CommandTransport{Command: d.cmd, TerminateDuration: time.Minute}, &sdk.ClientSessionOptions{ProtocolVersion: o.version})
	if err != nil {
		t.Fatalf("connect: %v\n%s", err, d.stderr)
	}
	d.cs = cs
	t.Cleanup(func() {
		if err := cs.Close(); err != nil && !d.killed {
			t.Errorf("close: %v\n%s", err, d.stderr)
		}
	})
	return d
}

// args are a tool's arguments.
type args = map[string]any

// result is what a tool gave, with what a model reads first.
type result struct {
	*sdk.CallToolResult
	text string
}

func (d *desk) call(name string, a args) result {
	d.t.Helper()
	res, err := d.tryCall(d.t.Context(), name, a)
	if err != nil {
		d.t.Fatalf("%s %v: %v\n%s", name, a, err, d.stderr)
	}
	return res
}

func (d *desk) tryCall(ctx context.Context, name string, a args) (result, error) {
	res, err := d.cs.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: a})
	if err != nil {
		return result{}, err
	}
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return result{res, b.String()}, nil
}

func into[T any](t *testing.T, r result) (v T) {
	t.Helper()
	b, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatalf("structured content: %v\n%s", err, r.text)
	}
	return v
}

// code is the exit code of a command that has ended; -1 of one that has not.
func code(r mcp.RunResult) int {
	if r.ExitCode == nil {
		return -1
	}
	return *r.ExitCode
}

func (d *desk) bash(text string) mcp.RunResult {
	d.t.Helper()
	return into[mcp.RunResult](d.t, d.call("bash", args{"command": text}))
}

// sleeper is a command that ends by itself only long after every test; running
// finds it by the folder it works in, which is the test's own.
const sleeper = "sleep 100000"

// running counts the processes of this test's workspace that sleep.
func running(t *testing.T, d *desk) (n int) {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		line, err := os.ReadFile(p)
		if err != nil || string(line) != "sleep\x00100000\x00" {
			continue
		}
		if cwd, err := os.Readlink(filepath.Join(filepath.Dir(p), "cwd")); err == nil && cwd == d.Workspace {
			n++
		}
	}
	return n
}

// gone expects that none is left.
func gone(t *testing.T, d *desk) {
	t.Helper()
	if n := running(t, d); n > 0 {
		t.Errorf("%d processes are left", n)
	}
}
