//go:build linux

package mcptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bawn/internal/frontend/mcp"
	"bawn/internal/sandbox/sandboxtest"
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
			if err != nil || len(tools.Tools) < 12 {
				t.Fatalf("%v, %v", tools, err)
			}
			r := d.bash("echo out; echo err >&2; echo made > made.txt; exit 3")
			if r.Stdout != "out\n" || r.Stderr != "err\n" || r.ExitCode != 3 || r.Truncated || len(r.Denied) != 0 || r.RunID == "" {
				t.Errorf("%+v", r)
			}
			if b, err := os.ReadFile(filepath.Join(d.Workspace, "made.txt")); err != nil || string(b) != "made\n" {
				t.Errorf("%q, %v", b, err)
			}
			res := d.call("bash", args{"command": "echo x > .git/config", "description": "a key", "unknown_key": true})
			r = into[mcp.RunResult](t, res)
			if r.ExitCode == 0 || len(r.Denied) != 1 || r.Denied[0].Kind != "write" || !strings.HasSuffix(r.Denied[0].Target, "/.git/config") || r.Denied[0].Rule == "" || r.Denied[0].Hint == "" {
				t.Errorf("%+v", r)
			}
			if !strings.Contains(res.text, "[denied: write ") {
				t.Errorf("the model is not told:\n%s", res.text)
			}
			if r = d.bash("cat ~/.ssh/id_rsa"); r.ExitCode == 0 || strings.Contains(r.Stdout, "SECRET") {
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
