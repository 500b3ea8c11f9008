//go:build linux

package staged_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// A run that changes nothing leaves its layer to the next, and nothing of what
// its command did there.
func TestSpareLayer(t *testing.T) {
	t.Parallel()
	b := box(t)
	spare := filepath.Join(b.State, "bawn", "staged", ".spare")
	b.Sh(t, "true").OK(t)
	first, err := os.Open(spare + "/0/upper") // open, or its number is given to another
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	was, err := first.Stat()
	if err != nil {
		t.Fatal(err)
	}
	// What is left empty but marked is not given on.
	r := b.Sh(t, "chmod 711 . && (python3 -c 'import os; os.setxattr(\".\", \"user.mark\", b\"x\")')").OK(t)
	if ids := stagedIDs(t, b); len(ids) != 1 { // the mode of the folder is a change
		t.Errorf("%v: %+v", ids, r)
	}
	b.Bawn(t, "discard").OK(t)
	b.Sh(t, "true").OK(t)
	b.Sh(t, "python3 -c 'import os; os.setxattr(\".\", \"user.mark\", b\"x\")'").OK(t)
	b.Sh(t, "python3 -c 'import os; assert \"user.mark\" not in os.listxattr(\".\")'").OK(t)
	// It is taken: two runs after each other have the same folder.
	b.Sh(t, "true").OK(t)
	one, err := os.Stat(spare + "/0/upper")
	if err != nil {
		t.Fatal(err)
	}
	b.Sh(t, "true").OK(t)
	two, err := os.Stat(spare + "/0/upper")
	if err != nil || !os.SameFile(one, two) {
		t.Errorf("another layer, or none: %v", err)
	}
	if os.SameFile(was, two) {
		t.Error("a layer that was marked was given on")
	}
	// What a run writes is in the folder of that run, and the spare one is gone.
	b.Sh(t, "echo x > x").OK(t)
	if ids := stagedIDs(t, b); len(ids) != 1 || exists(spare) {
		t.Errorf("%v, %v", ids, exists(spare))
	}
	keep(t, b).OK(t)
	if text(t, b.Workspace+"/x") != "x\n" {
		t.Error("x was not kept")
	}
}

// With few descriptors a keep works, or refuses before it does anything.
func TestKeepWithFewDescriptors(t *testing.T) {
	t.Parallel()
	b := box(t)
	deep := strings.Repeat("d/", 60)
	b.Sh(t, "mkdir -p a "+deep+" && echo x > a/x && echo x > "+deep+"x").OK(t)
	limited := func(n, words string) (int, string) {
		cmd := exec.Command("sh", "-c", "ulimit -n "+n+" && exec "+sandboxtest.Binary()+" "+words)
		cmd.Dir, cmd.Env = b.Workspace, b.Environ()
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	if code, out := limited("70", "keep"); code != 125 || !strings.Contains(out, "ulimit -n") || exists(b.Workspace+"/a") || exists(b.Workspace+"/d") {
		t.Errorf("%d: %s", code, out)
	}
	if code, out := limited("70", "keep --diff"); code != 125 || !strings.Contains(out, "ulimit -n") {
		t.Errorf("%d: %s", code, out)
	}
	if code, out := limited("300", "keep"); code != 0 || !exists(b.Workspace+"/"+deep+"x") {
		t.Errorf("%d: %s", code, out)
	}
}

// What an overlay left in the spare layer's work folder is gone after the next
// run, also what a killed run had moved out of the way and not removed.
func TestSpareWorkIsCleared(t *testing.T) {
	t.Parallel()
	b := box(t)
	b.Sh(t, "true").OK(t)
	work := filepath.Join(b.State, "bawn", "staged", ".spare", "0", "work")
	for _, left := range []string{"", "/incompat/volatile", "/else/deep"} {
		if left != "" {
			if err := os.MkdirAll(work+"/last"+left, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, work+"/last"+left+"/dirty", "")
		}
		b.Sh(t, "echo x >f && rm f").OK(t)
		if got := listing(t, work); got != "work" {
			t.Errorf("after %q: %s", left, got)
		}
	}
	b.Sh(t, "echo x >f").OK(t)
	if got := listing(t, filepath.Join(b.State, "bawn", "staged", stagedIDs(t, b)[0], "0", "work")); got != "work" {
		t.Errorf("a run that staged has %s", got)
	}
	keep(t, b).OK(t)
}
