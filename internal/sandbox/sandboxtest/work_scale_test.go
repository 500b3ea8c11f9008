//go:build linux

package sandboxtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The size of the workspace is nothing to the start: it is never listed.
func TestB43_WorkspaceIsNeverListed(t *testing.T) {
	t.Parallel()
	b := New(t, "")
	for i := range 20000 {
		if i%200 == 0 {
			if err := os.Mkdir(b.Workspace+"/many"+strconv.Itoa(i/200), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		f, err := os.Create(fmt.Sprintf("%s/many%d/f%d", b.Workspace, i/200, i))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	trace := func(t *testing.T, args ...string) (touched []string) {
		log := filepath.Join(Dir(t), "log")
		cmd := exec.CommandContext(t.Context(), "strace", append([]string{"-f", "-y", "-o", log, "-e", "trace=getdents64,openat,openat2,open_tree,newfstatat,readlinkat,statx",
			binary, "run", "-q", "--launcher", b.Launcher, "--"}, args...)...)
		cmd.Dir, cmd.Env = b.Workspace, b.Environ()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			below := strings.Contains(line, b.Workspace+"/many") || strings.Contains(line, `, "many`)
			if below || strings.Contains(line, "getdents64(") && strings.Contains(line, "<"+b.Workspace+">") {
				touched = append(touched, line)
			}
		}
		return touched
	}
	EachLauncher(t, func(t *testing.T, l string) {
		b.Launcher = l
		if lines := trace(t, "/bin/true"); len(lines) > 0 {
			t.Errorf("the start looked into the workspace: %q", lines)
		}
		// Its twin: what a command itself looks at does show in the trace.
		if lines := trace(t, "/bin/ls", b.Workspace); len(lines) == 0 {
			t.Error("the trace does not show a listing")
		}
		b.Sh(t, "test $(find . -type f | wc -l) = 20000").OK(t)
	})
}

// A policy of many long paths reaches the sandbox whole, and not by argv.
func TestB46_TwoHundredAddedFolders(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Flags = nil
		long := filepath.Join(filepath.Dir(b.Workspace), strings.Repeat(strings.Repeat("l", 200)+"/", 3))
		for i := range 200 {
			dir := filepath.Join(long, fmt.Sprintf("added%d", i))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			b.Flags = append(b.Flags, "--add-dir", dir)
		}
		b.Env = []string{"LONG=" + long}
		b.Sh(t, `set -e; for d in "$LONG"/added*; do echo x >"$d/f"; done; cd "$LONG/added199"; mv f g; test $(tr -d '\0' </proc/1/cmdline | wc -c) -lt 4096`).OK(t)
		for i := range 200 {
			f := "/f"
			if i == 199 {
				f = "/g"
			}
			if _, err := os.Stat(filepath.Join(long, fmt.Sprintf("added%d", i)) + f); err != nil {
				t.Fatal(err)
			}
		}
		wantRefused(t, "a write beside the added folders", b.Sh(t, `echo x >"$LONG/f"`))
	})
}

// A hidden folder is one mask, however much it holds.
func TestB42_HiddenFolderOfManyFiles(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for i := range 5000 {
			Write(t, fmt.Sprintf("%s/.aws/f%d", b.Home, i), "x")
		}
		r := b.Run(t, bash("wc -l </proc/self/mountinfo; echo ok; if cat ~/.aws/f1; then exit 9; fi")...).OK(t)
		lines, _, _ := strings.Cut(r.Stdout, "\n")
		if n, err := strconv.Atoi(lines); err != nil || n > 1000 {
			t.Errorf("mounts: %q", lines)
		}
		if !strings.HasSuffix(r.Stdout, "ok\n") || !strings.Contains(r.Stderr, "Permission denied") {
			t.Errorf("%+v", r)
		}
	})
}

// Runs in one folder do not disturb each other and leave nothing.
func TestB14_ParallelRuns(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for round := range 2 {
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					cmd := exec.CommandContext(t.Context(), binary, "run", "-q", "--launcher", l, "--", "sh", "-c", "echo $$ >/tmp/f; sleep 0.1; cat /tmp/f; ls -A")
					cmd.Dir, cmd.Env = b.Workspace, b.Environ()
					if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "\n") != 1 {
						t.Errorf("round %d: %v: %q", round, err, out)
					}
				})
			}
			wg.Wait()
			if got := dirNames(t, b.Workspace) + dirNames(t, b.Home); got != "" {
				t.Fatalf("round %d left %q", round, got)
			}
		}
		b.Sh(t, "echo x >f").OK(t) // its twin: what a command makes does stay
		if got := dirNames(t, b.Workspace); got != "f" {
			t.Errorf("in the folder: %q", got)
		}
	})
}
