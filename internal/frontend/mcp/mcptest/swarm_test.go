//go:build linux

package mcptest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/frontend/mcp"
	"bawn/internal/sandbox/sandboxtest"
)

// Many calls of all kinds at once, most of which are cancelled somewhere on
// their way: their trees are gone, no file of the tools' is left, and the server
// holds what it held before.
func TestSwarmOfCancelledCalls(t *testing.T) {
	d := open(t, options{version: "2025-11-25", prepare: func(b *sandboxtest.Box) {
		for i := range 8 {
			sandboxtest.Write(t, filepath.Join(b.Workspace, fmt.Sprintf("edited%d", i)), strings.Repeat("line\n", 100_000))
		}
	}})
	content := strings.Repeat("new line\n", 100_000)
	round := func(n int, cancelled bool) {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		var work sync.WaitGroup
		for i := range n {
			ctx, cancel := context.WithCancel(t.Context())
			if cancelled && i%8 != 0 {
				ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rng.IntN(300))*time.Millisecond)
			}
			name, a := "bash", args{"command": "(setsid " + sleeper + " &) ; " + sleeper, "timeout_ms": 300}
			switch i % 7 {
			case 1:
				name, a = "read_file", args{"path": fmt.Sprintf("edited%d", i%8)}
			case 2:
				name, a = "write_file", args{"path": fmt.Sprintf("made%d", i), "content": content}
			case 3:
				name, a = "write_file", args{"path": fmt.Sprintf("edited%d", i%8), "content": content}
			case 4:
				name, a = "edit_file", args{"path": fmt.Sprintf("edited%d", i%8), "old_string": "line", "new_string": "x", "replace_all": true}
			case 5:
				name, a = "bash", args{"command": sleeper, "tty": true, "timeout_ms": 300}
			case 6:
				name, a = "fetch", args{"url": "http://unlisted.example/"}
			}
			work.Go(func() {
				defer cancel()
				if _, err := d.tryCall(ctx, name, a); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		work.Wait()
	}
	var work sync.WaitGroup
	for range 40 { // more than the ended ones whose output is kept
		work.Go(func() { _, _ = d.tryCall(t.Context(), "bash", args{"command": "true"}) })
	}
	work.Wait()
	round(14, false)
	before := d.idle(1 << 20)
	round(100, true)
	if r := d.bash("echo served"); r.Stdout != "served\n" {
		t.Errorf("%+v", r)
	}
	after := d.idle(before.files + 4)
	gone(t, d)
	d.leftovers()
	t.Logf("before %+v, after %+v", before, after)
	if n := strings.Count(d.quit(), "\ngoroutine "); n == 0 || n > 60 {
		t.Errorf("%d goroutines", n)
	} else {
		t.Logf("%d goroutines", n)
	}
}

// quit ends the server at once; what the runtime says then tells its goroutines.
func (d *desk) quit() string {
	d.t.Helper()
	if err := unix.Kill(d.cmd.Process.Pid, unix.SIGQUIT); err != nil {
		d.t.Fatal(err)
	}
	_ = d.cs.Wait()
	d.killed = true
	return d.stderr.String()
}

// held is what the server's process has open.
type held struct{ files, children int }

// idle waits until the server has ended what was cancelled, which clients are
// not told, and has at most so many files open.
func (d *desk) idle(files int) (h held) {
	d.t.Helper()
	pid := strconv.Itoa(d.cmd.Process.Pid)
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		h = held{}
		open, err := os.ReadDir("/proc/" + pid + "/fd")
		if err != nil {
			d.t.Fatal(err)
		}
		threads, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
		for _, f := range threads {
			list, _ := os.ReadFile(f)
			h.children += len(strings.Fields(string(list)))
		}
		h.files = len(open)
		// What stays are the processes that read files.
		if h.files <= files && h.children <= 2 && running(d.t, d) == 0 {
			return h
		}
	}
	kinds := map[string]int{}
	list, _ := filepath.Glob("/proc/" + pid + "/fd/*")
	for _, f := range list {
		to, _ := os.Readlink(f)
		to, _, _ = strings.Cut(strings.TrimRight(filepath.Base(to), "0123456789]"), "-")
		kinds[to]++
	}
	d.t.Errorf("the server is still at it: %+v, %v", h, kinds)
	return h
}

// What is typed to a command that reads nothing waits, once: the next is told.
func TestTypedToTheDeaf(t *testing.T) {
	d := open(t, options{version: "2025-11-25"})
	id := into[mcp.RunResult](t, d.call("bash", args{"command": sleeper, "background": true})).RunID
	much := strings.Repeat("x", 60<<10)
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			_, _ = d.tryCall(t.Context(), "bash_input", args{"run_id": id, "text": much})
		})
	}
	work.Wait()
	if n := strings.Count(d.quit(), "created by bawn/internal/frontend/mcp.(*run).typeIn"); n != 1 {
		t.Errorf("%d goroutines type", n)
	}
}
