//go:build linux

package staged_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"bawn/internal/sandbox/sandboxtest"
)

var names = []string{"a", "b", "c", "d", "sp ace", "ü", "-x", "\xff", "new\nline", ".hidden"}

// paths are one to three names deep, and few, so that operations meet.
func paths(t *rapid.T, label string) []byte {
	parts := make([]string, 0, 3)
	for range rapid.SampledFrom([]int{1, 1, 1, 2, 2, 3}).Draw(t, label+" depth") {
		known := names[:4]
		if rapid.IntRange(0, 5).Draw(t, "odd") == 0 {
			known = names
		}
		parts = append(parts, rapid.SampledFrom(known).Draw(t, label))
	}
	return []byte("./" + strings.Join(parts, "/"))
}

// drawOps draws operations. Of links and moves of folders a case has one: mv
// copies a folder of the workspace in an overlay, which parts the names of one
// file (docs/staged.md). outside is a file for links to name: the first
// operations run without a sandbox, and some follow a link.
func drawOps(t *rapid.T, n int, kinds []string, outside string) []op {
	modes := []uint32{0o644, 0o600, 0o755, 0o700, 0o555, 0o444, 0o000, 0o2755, 0o1777}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
		o := op{Do: rapid.SampledFrom(kinds).Draw(t, "op"), Path: paths(t, "path")}
		switch o.Do {
		case "write", "append", "writeat", "replace", "xattr":
			o.Data = rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "data")
			if o.Do == "write" && rapid.IntRange(0, 20).Draw(t, "big") == 0 {
				o.Data = make([]byte, 300_000)
			}
		case "link", "move":
			o.To = paths(t, "to")
		case "symlink":
			o.To = []byte(rapid.SampledFrom([]string{"a", "../b", outside, "none", "./a/b"}).Draw(t, "text"))
		case "mkdir", "fifo", "chmod":
			o.Mode = rapid.SampledFrom(modes[:7]).Draw(t, "mode")
			if o.Do != "fifo" && rapid.IntRange(0, 3).Draw(t, "plain") > 0 {
				o.Mode = 0o755
			} else if o.Do == "mkdir" {
				o.Mode = rapid.SampledFrom(modes).Draw(t, "mode of folder")
			}
		}
		switch o.Do {
		case "writeat":
			o.At = rapid.Int64Range(0, 200_000).Draw(t, "at")
		case "truncate":
			o.At = rapid.Int64Range(0, 2_000_000).Draw(t, "size")
		case "touch":
			o.At = rapid.Int64Range(1, 2_000_000_000).Draw(t, "time")
		}
		return o
	}), n/2, n).Draw(t, "ops")
}

// withoutNames is a tree that does not say which names are of one file.
func withoutNames(tree []string) []string {
	for i, l := range tree {
		tree[i], _, _ = strings.Cut(l, " one with ")
	}
	return tree
}

// killKeep runs a keep, of all or a part, that is killed at its n-th step, if
// it has so many.
func killKeep(t interface {
	Helper()
	Fatalf(string, ...any)
}, b *sandboxtest.Box, n int, part string) (killed int) {
	t.Helper()
	cmd := exec.Command(program("killed"), "keep")
	if part != "" {
		cmd.Args = append(cmd.Args, part)
	}
	cmd.Dir, cmd.Env = b.Workspace, append(b.Environ(), fmt.Sprintf("BAWN_TEST_KILL=%d", n))
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil, strings.Contains(string(out), "nothing is staged"):
		return 0
	case cmd.ProcessState.ExitCode() != -1:
		t.Fatalf("keep that is killed at step %d: %v: %s", n, err, out)
	}
	return 1
}

// A staged run that is kept leaves what the run itself would have left, also
// where the keep was killed and run again; before that the workspace is as it
// was.
func TestKeepEqualsDirect(t *testing.T) {
	t.Parallel()
	b := box(t)
	root := filepath.Dir(b.Workspace)
	outside := root + "/outside"
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var cases, done, killed atomic.Int64
	few := true // each case has hundreds of operations, and three starts of bawn
	flag.Visit(func(f *flag.Flag) { few = few && f.Name != "rapid.checks" })
	if few {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(root, "case-")
		if err != nil {
			rt.Fatal(err)
		}
		kinds := []string{"write", "write", "write", "append", "writeat", "replace", "truncate", "mkdir", "mkdir", "mkdir", "rmdir", "unlink", "clear", "symlink", "fifo", "chmod", "touch", "xattr"}
		special := rapid.SampledFrom([]string{"link", "move"}).Draw(rt, "links or moves")
		kinds = append(kinds, special, special, special)
		before := kinds[:len(kinds)-3] // files with two names in a workspace: docs/staged.md
		if special == "link" {         // of names that lie over another's removal each goes by the mode that it remembers: docs/staged.md
			kinds = slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return k == "chmod" })
		}
		var start []op
		for _, p := range []string{"a", "b", "a/b", "a/b/c", "b/a"} {
			if rapid.IntRange(0, 3).Draw(rt, "folder") > 0 {
				start = append(start, op{Do: "mkdir", Path: []byte(p), Mode: 0o755})
			}
		}
		start = append(start, drawOps(rt, 60, before, outside)...)
		ops := drawOps(rt, 300, kinds, outside)
		one := *b
		two := *b
		one.Workspace, two.Workspace = dir+"/direct", dir+"/staged"
		for _, ws := range []string{one.Workspace, two.Workspace} {
			if err := os.Mkdir(ws, 0o755); err != nil {
				rt.Fatal(err)
			}
			cmd := exec.Command(program("ops"))
			cmd.Dir, cmd.Stdin = ws, strings.NewReader(input(t, start))
			if out, err := cmd.CombinedOutput(); err != nil {
				rt.Fatalf("%v: %s", err, out)
			}
		}
		was := glance(t, two.Workspace)
		same(rt, "the two workspaces differ from the beginning", was, glance(t, one.Workspace))
		one.Stdin, two.Stdin = input(t, ops), input(t, ops)
		one.Flags = []string{"-q"}
		direct := one.Run(t, program("ops")).OK(t)
		staged := two.Run(t, program("ops")).OK(t)
		same(rt, "what the command was told differs", strings.SplitAfter(staged.Stdout, "\n"), strings.SplitAfter(direct.Stdout, "\n"))
		same(rt, "the workspace was changed by a staged run", glance(t, two.Workspace), was)
		want := tree(t, one.Workspace)
		parted := false
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 60), 0, 3).Draw(rt, "killed at") {
			part := rapid.SampledFrom([]string{"", "", "a", "b", "c", "d", "\xff"}).Draw(rt, "part")
			parted = parted || part != ""
			killed.Add(int64(killKeep(rt, &two, n, part)))
		}
		if len(stagedIDs(t, b)) > 0 {
			if r := keep(t, &two); r.Code != 0 && !strings.Contains(r.Stderr, "nothing is staged") {
				rt.Fatalf("keep: %+v", r)
			}
		}
		got := tree(t, two.Workspace)
		if parted { // the names of one file: docs/staged.md
			got, want = withoutNames(got), withoutNames(want)
		}
		same(rt, "after the keep", got, want)
		two.Bawn(t, "keep", "--list").OK(t) // which also removes what a killed removal left
		if left := stagedIDs(t, b); len(left) > 0 {
			rt.Fatalf("left in the store: %v", left)
		}
		cases.Add(1)
		done.Add(int64(strings.Count(direct.Stdout, ": ok\n")))
	})
	t.Logf("%d cases, %d operations that did something, %d killed keeps", cases.Load(), done.Load(), killed.Load())
	if done.Load() == 0 {
		t.Error("no operation did anything")
	}
}
