//go:build linux

package sandboxtest

import (
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/tools/tempdir"
)

// F10: an empty folder of its own is all that a command of the scratch profile
// writes. What it cannot do there it does without the profile.
func TestF10_Scratch(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		b := gitBox(t, l, smallRepo+`mkdir ~/.cache ../more; echo secret >../more/file`)
		root := filepath.Dir(b.Workspace)
		b.Flags = []string{"-q", "--profile", "scratch"}
		got := b.Run(t, append(bash(`pwd; test "$PWD" = "$(pwd)"; ls -A; echo made >a; mkdir d; ln a d/b; mv a c; cat c d/b; cat "$1"/ws/README; git -C "$1/ws" log --format=%s; mktemp -q >/dev/null`), "sh", root)...).OK(t).Stdout
		if got != "/tmp/scratch\nmade\nmade\none\none\n" {
			t.Errorf("inside: %q", got)
		}
		if exists("/tmp/scratch/c") {
			t.Error("the scratch folder is the host's")
		}
		// Each run has its own.
		if got := b.Sh(t, "ls -A").OK(t).Stdout; got != "" {
			t.Errorf("left from the run before: %q", got)
		}
		for _, c := range []struct{ name, text string }{
			{"workspace", `echo x >"$1/ws/new"`}, {"a file in it", `echo x >>"$1/ws/README"`}, {"removal", `rm "$1/ws/README"`}, {"mode", `chmod 600 "$1/ws/.git/HEAD"`},
			{"commit", `git -C "$1/ws" commit -q --allow-empty -m x`}, {"cache", `echo x >~/.cache/x`}, {"added folder", `echo x >"$1/more/x"`},
		} {
			for _, profile := range []string{"scratch", "scratch and a wider tier", ""} {
				flags := []string{"-q", "--add-dir", root + "/more", "--profile", "scratch"}
				switch profile {
				case "scratch and a wider tier":
					flags = append(flags, "--sandbox", "workspace-write")
				case "":
					flags = flags[:3]
				}
				b := gitBox(t, l, smallRepo+`mkdir ~/.cache ../more`)
				for i, f := range flags {
					flags[i] = strings.Replace(f, root, filepath.Dir(b.Workspace), 1)
				}
				b.Flags = flags
				if r := b.Run(t, append(bash(c.text), "sh", filepath.Dir(b.Workspace))...); (r.Code == 0) != (profile == "") {
					t.Errorf("%s, profile %q: exit %d, %s", c.name, profile, r.Code, r.Stderr)
				}
			}
		}
		for _, flags := range [][]string{{"--tier", "open"}, {"--sandbox", "danger-full-access"}} {
			b.Flags = append([]string{"--profile", "scratch"}, flags...)
			if r := b.Sh(t, "true"); r.Code != 125 || !strings.Contains(r.Stderr, "the open tier has no sandbox") {
				t.Errorf("%q: exit %d, %s", flags, r.Code, r.Stderr)
			}
		}
	})
}

// F10: a workspace in the host's temp folder can be read, though the sandbox
// has a temp of its own there.
func TestF10_ScratchInTemp(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		dir := tempdir.ForTest(t, "/tmp")
		b := New(t, l)
		b.Workspace = dir
		Write(t, dir+"/file", "content\n")
		for _, flags := range [][]string{{"--profile", "scratch"}, {"--sandbox", "read-only"}} {
			b.Flags = append([]string{"-q"}, flags...)
			if got := b.Run(t, append(bash(`cat "$1/file"; ! echo x >"$1/new"; echo x >/tmp/new`), "sh", dir)...).OK(t).Stdout; got != "content\n" {
				t.Errorf("%q: %q", flags, got)
			}
			if exists(dir+"/new") || exists("/tmp/new") {
				t.Errorf("%q: written on the host", flags)
			}
		}
	})
}
