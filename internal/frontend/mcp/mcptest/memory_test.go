//go:build linux && !race

package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bawn/internal/sandbox/sandboxtest"
)

// most is how much memory a process had at the most, in MiB.
func most(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// However many long calls come at once, the server holds about one of them in
// memory; all are done.
func TestMemoryBounded(t *testing.T) {
	const bound, calls = 256, 12 // MiB; without a bound 1100 to 1400
	long := strings.Repeat("a line of \"text\"\n", 8<<20/17)
	quoted, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, args string // %d is the number of the call
		want       int    // bytes of each answer at least
	}{
		{"write_file", `"path":"made%d","content":` + string(quoted), 1},
		{"edit_file", `"path":"edited%d","old_string":"old","new_string":` + string(quoted), 1},
		{"read_file", `"path":"control","offset":1,"limit":%d000000`, 12 << 20},
		{"bash", `"command":"cat long >&2; cat long; exit %d"`, 60_000},
		{"bash_input", `"run_id":"r%d","text":` + string(quoted), 1},
	} {
		t.Run(c.tool, func(t *testing.T) {
			b := sandboxtest.New(t, "native")
			sandboxtest.Write(t, filepath.Join(b.Workspace, "control"), strings.Repeat("\x01", 2<<20)) // each is six bytes in JSON
			sandboxtest.Write(t, filepath.Join(b.Workspace, "long"), long)
			for i := range calls {
				sandboxtest.Write(t, filepath.Join(b.Workspace, fmt.Sprintf("edited%d", i+1)), "old")
			}
			r := openRawAt(t, b)
			r.send(hello)
			r.answer("hello")
			for i := range calls {
				r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"%s","arguments":{`, i, c.tool) + fmt.Sprintf(c.args, i+1) + `}}}`)
			}
			for range calls {
				if line := r.line(); len(line) < c.want || strings.Contains(line, `"isError":true`) || strings.Contains(line, `"error"`) != (c.tool == "bash_input") {
					t.Errorf("%d bytes: %.300s", len(line), line)
				}
			}
			got := most(t, r.cmd.Process.Pid)
			t.Logf("%d MiB", got)
			if got > bound {
				t.Errorf("the server had %d MiB: at most %d are for it", got, bound)
			}
			r.ends()
			for i := range calls {
				for tool, name := range map[string]string{"write_file": "made", "edit_file": "edited"} {
					f := filepath.Join(b.Workspace, name+strconv.Itoa(i+1))
					if text, err := os.ReadFile(f); tool == c.tool && string(text) != long {
						t.Errorf("%s: %d bytes, %v", f, len(text), err)
					}
				}
			}
		})
	}
}

// A long call that a person is asked about keeps no other from being read, nor
// the person's answer.
func TestLongCallsWhileAsked(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	var d *desk
	ready := make(chan struct{})
	var other sync.Once
	p := func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		<-ready
		other.Do(func() {
			if r, err := d.tryCall(ctx, "edit_file", args{"path": "a.txt", "old_string": "two", "new_string": long}); err != nil || r.IsError {
				t.Errorf("%v, %.300s", err, r.text)
			}
		})
		a := says("once")
		return &a, nil
	}
	d = open(t, options{version: "2025-11-25", client: &sdk.ClientOptions{ElicitationHandler: p}, prepare: func(b *sandboxtest.Box) {
		sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[permissions]\nask = [\"write_file *\"]\n")
	}})
	close(ready)
	d.works("write_file", args{"path": "made", "content": long})
	for name, want := range map[string]string{"made": long, "a.txt": "one\n" + long + "\nthree\n"} {
		if b, err := os.ReadFile(filepath.Join(d.Workspace, name)); string(b) != want {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}
