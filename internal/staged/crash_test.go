//go:build linux

package staged_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bawn/internal/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// before and during make every kind of change that a keep knows.
const (
	before = `set -e
mkdir -p kept/deep gone/deep again/in/deep emptied; echo old >again/in/deep/file
echo old >changed; echo old >kept/deep/changed; echo old >gone/deep/file; ln gone/deep/file gone/second
echo old >again/left; echo old >again/same; echo old >removed; echo old >becomes-folder; mkdir becomes-file; echo old >becomes-file/x
ln -s old link; echo old >emptied/x; chmod 555 emptied; echo old >mode`
	during = `set -e
echo new >changed; echo new >>kept/deep/changed; rm -r gone; rm -r again; mkdir -p again/in; echo new >again/in/new; echo new >again/same; echo new >again/new
rm removed becomes-folder; mkdir becomes-folder; echo new >becomes-folder/y; rm -r becomes-file; echo new >becomes-file
ln -sfn new link; chmod 755 emptied; rm emptied/x; echo new >emptied/y; chmod 555 emptied; chmod 600 mode
mkdir -p fresh/a/b; echo new >fresh/a/b/c; echo one >fresh/one; ln fresh/one fresh/a/two; mkfifo fresh/fifo; chmod 700 fresh/a/b; chmod 500 fresh/a`
)

// shell runs a text on the host.
func shell(t *testing.T, dir, text string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", text)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// What cannot be noted is not done, and is no conflict: nobody would find the
// temporary file of a keep that is killed.
func TestKeepThatCannotBeNoted(t *testing.T) {
	t.Parallel()
	b := box(t)
	b.Sh(t, "echo new >one; echo new >two").OK(t)
	was := tree(t, b.Workspace)
	state := filepath.Join(b.State, "bawn", "staged")
	runs, err := filepath.Glob(state + "/????????????????")
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	journal := filepath.Join(runs[0], "journal")
	if err := os.Mkdir(journal, 0o700); err != nil { // which nobody can write, root neither
		t.Fatal(err)
	}
	res := keep(t, b)
	if res.Code != 125 || !strings.Contains(res.Stderr, "it cannot be noted") || strings.Contains(res.Stderr, "--force") {
		t.Errorf("%d %q", res.Code, res.Stderr)
	}
	if now := tree(t, b.Workspace); !slices.Equal(now, was) {
		t.Errorf("%q became %q", was, now)
	}
	if err := os.Remove(journal); err != nil {
		t.Fatal(err)
	}
	keep(t, b).OK(t)
}

// A keep that is killed at any of its steps leaves each name as it was or as
// it becomes, loses nothing, and goes on when it is run again.
func TestKeepKilledAnywhere(t *testing.T) {
	t.Parallel()
	b := box(t)
	one := *b
	one.Workspace = sandboxtest.Dir(t)
	writable(t, one.Workspace)
	shell(t, one.Workspace, before)
	was := tree(t, one.Workspace)
	one.Flags = []string{"-q"}
	one.Sh(t, during).OK(t)
	want := tree(t, one.Workspace)

	killed, ended := 0, false
	for n := 1; !ended; n++ {
		if n > 500 {
			t.Fatal("a keep has no end")
		}
		two := *b
		two.Workspace = sandboxtest.Dir(t)
		writable(t, two.Workspace)
		shell(t, two.Workspace, before)
		two.Sh(t, during).OK(t)
		cmd := exec.Command(program("killed"), "keep")
		cmd.Dir, cmd.Env = two.Workspace, append(two.Environ(), fmt.Sprintf("BAWN_TEST_KILL=%d", n))
		out, err := cmd.CombinedOutput()
		if ended = err == nil; !ended && cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("step %d: %v: %s", n, err, out)
		}
		half := glance(t, two.Workspace)
		for _, l := range half {
			// A file is the old or the new one, never a part. Folders come before
			// what is in them, and have their modes when that is there.
			if strings.Contains(l, " 100") && !has(was, l) && !has(want, l) && !strings.Contains(l, ".bawn-keep-") && !strings.Contains(l, "one with") && os.Geteuid() == 0 && !linkedBefore(was, want, l) {
				t.Errorf("step %d: %s is neither the old nor the new one", n, l)
			}
		}
		if !ended {
			killed++
			if len(stagedIDs(t, b)) > 0 {
				if r := keep(t, &two); r.Code != 0 && !strings.Contains(r.Stderr, "nothing is staged") {
					t.Fatalf("step %d: the keep after it: %+v", n, r)
				}
			}
		}
		same(t, fmt.Sprintf("killed at step %d, then kept", n), tree(t, two.Workspace), want)
		two.Bawn(t, "keep", "--list").OK(t) // which also removes what a killed removal left
		if left := stagedIDs(t, b); len(left) > 0 {
			t.Fatalf("step %d: left in the store: %v", n, left)
		}
	}
	if killed < 30 {
		t.Errorf("only %d steps", killed)
	}
	t.Logf("killed at %d steps", killed)
}

func has(list []string, line string) bool {
	for _, l := range list {
		if l == line {
			return true
		}
	}
	return false
}

// linkedBefore: a file that has lost its other name already.
func linkedBefore(was, want []string, line string) bool {
	for _, l := range append(was[:len(was):len(was)], want...) {
		if strings.HasPrefix(l, line) {
			return true
		}
	}
	return false
}

// Names of one file that a keep of some brought out of turn, until it was
// killed, are no conflict for the next, and are names of one file.
func TestNamesAfterKill(t *testing.T) {
	t.Parallel()
	b := box(t)
	killed := 0
	for n := 1; ; n++ {
		two := *b
		two.Workspace = sandboxtest.Dir(t)
		write(t, two.Workspace+"/b", "old")
		two.Sh(t, "echo new >a; rm b; ln a b; ln a c").OK(t)
		if killKeep(t, &two, n, "c") == 0 {
			break
		}
		part := stagedNames(t, b) < 3 // what was kept is taken out of the layer
		if killed++; part {
			keep(t, &two).OK(t)
			continue
		}
		keep(t, &two).OK(t)
		if got := tree(t, two.Workspace); strings.Count(strings.Join(got, "\n"), `one with "a"`) != 3 {
			t.Errorf("killed at step %d: %q", n, got)
		}
	}
	if killed < 8 {
		t.Errorf("only %d steps", killed)
	}
}

// stagedNames counts what the layer of the box's one staged run has.
func stagedNames(t *testing.T, b *sandboxtest.Box) int {
	t.Helper()
	names, err := os.ReadDir(upper(t, b))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// A keep that is killed, and then given up, leaves no file of its own.
func TestDiscardAfterKill(t *testing.T) {
	t.Parallel()
	b := box(t)
	write(t, b.Workspace+"/f", "old")
	b.Sh(t, "echo new >f; echo new >g").OK(t)
	for n := range 10 {
		cmd := exec.Command(program("killed"), "keep", "f")
		cmd.Dir, cmd.Env = b.Workspace, append(b.Environ(), fmt.Sprintf("BAWN_TEST_KILL=%d", n+1))
		_ = cmd.Run()
		if temp(t, b.Workspace) {
			b.Bawn(t, "discard").OK(t)
			if temp(t, b.Workspace) {
				t.Error("a temporary file is left")
			}
			if got := text(t, b.Workspace+"/f"); got != "old" {
				t.Errorf("f is %q", got)
			}
			return
		}
	}
	t.Error("no temporary file was ever left: the test shows nothing")
}

// What a run left that was killed before it was one is gone by the next look;
// what begins in this moment, or somebody holds, stays.
func TestKilledAtTheBeginning(t *testing.T) {
	t.Parallel()
	b := box(t)
	dir := b.State + "/bawn/staged/"
	for name, files := range map[string][]string{
		"00000000000000a1": nil, "00000000000000a2": {"0/x", "run.json.new"},
		"00000000000000b1": {"0/x"}, "00000000000000b2": {"0/x"}, "notarun": {"0/x"},
	} {
		if err := os.MkdirAll(dir+name, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			write(t, dir+name+"/"+f, "")
		}
		if name != "00000000000000b1" { // it begins in this moment
			if err := os.Chtimes(dir+name, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
	}
	held, err := os.Open(dir + "00000000000000b2")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	b.Bawn(t, "keep", "--list").OK(t)
	if got := strings.Join(stagedIDs(t, b), " "); got != "00000000000000b1 00000000000000b2 notarun" {
		t.Errorf("left: %s", got)
	}
}

func temp(t *testing.T, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".bawn-keep-") {
			return true
		}
	}
	return false
}
