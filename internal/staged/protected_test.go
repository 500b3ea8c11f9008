//go:build linux

package staged_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/sandboxtest"
)

// The guard and the mounts hold over the layer as they do without it.
func TestProtectedInside(t *testing.T) {
	t.Parallel()
	b := box(t)
	shell(t, b.Workspace, "git init -q . && mkdir .bawn && echo '' >.bawn/config.toml")
	for _, c := range []struct{ deny, allow string }{
		{"echo x >.git/hooks/pre-commit", "echo x >.git/pre-commit"},
		{"git config core.fsmonitor /bin/evil", "git config user.name me"},
		{"echo x >.bawn/config.toml", "echo x >config.toml"},
		{"mv .git .git2", "mv .git/description .git/description2"},
		{"echo '{}' >.mcp.json", "echo '{}' >mcp.json"},
		{"git init -q n && echo x >n/.git/hooks/pre-commit", "git init -q n && echo x >n/hooks"},
	} {
		if r := b.Sh(t, c.deny); r.Code == 0 {
			t.Errorf("%s passed", c.deny)
		}
		b.Sh(t, c.allow).OK(t)
		for range stagedIDs(t, b) {
			b.Bawn(t, "discard").OK(t)
		}
	}
	if got := text(t, b.Workspace+"/.bawn/config.toml"); got != "\n" {
		t.Errorf("bawn's own file is %q", got)
	}
}

// Whatever is in a layer, protected names do not come into the workspace; all
// beside them does.
func TestProtectedOnKeep(t *testing.T) {
	t.Parallel()
	b := box(t)
	shell(t, b.Workspace, "git init -q . && mkdir -p sub .cursor && git init -q sub && echo x >file && echo x >.cursor/mcp.json && echo x >gone")
	b.Sh(t, "echo new >file").OK(t)
	up := upper(t, b)
	plant := map[string]string{
		".git/hooks/pre-commit": "evil", ".git/config": "[core]\n\tfsmonitor = /bin/evil\n", ".bawn/config.toml": "[sandbox]\nenabled = false\n",
		".mcp.json": "{}", ".claude/settings.json": "{}", "sub/.git/hooks/post-checkout": "evil", "sub/.git/config": "[core]\n\thooksPath = /tmp\n",
		"new/.git": "gitdir: /tmp/evil\n", "bare/HEAD": "ref: refs/heads/x\n", "bare/config": "[core]\n\tfsmonitor = /bin/evil\n",
		".git/commondir": "/tmp/evil\n",
	}
	for name, content := range plant {
		write(t, up+"/"+name, content)
	}
	for _, d := range []string{"bare/objects", "bare/refs"} {
		if err := os.MkdirAll(up+"/"+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(up+"/.git/info", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, up+"/.git/info/exclude", "harmless")
	write(t, up+"/sub/plain", "harmless")
	if err := unix.Mknod(up+"/.git/HEAD", unix.S_IFCHR, 0); err != nil { // HEAD removed: not protected
		t.Fatal(err)
	}
	// Removals: of what a mount would hold in its place, and of what none would.
	for _, name := range []string{".cursor", "gone"} {
		if err := unix.Mknod(up+"/"+name, unix.S_IFCHR, 0); err != nil {
			t.Fatal(err)
		}
	}
	was := map[string]string{}
	for name := range plant {
		data, err := os.ReadFile(b.Workspace + "/" + name)
		was[name] = string(data)
		if err != nil {
			was[name] = "none"
		}
	}
	r := keep(t, b)
	wantKept(t, r, 1, "not kept", ".git/hooks/pre-commit", "still staged")
	for name := range plant {
		data, err := os.ReadFile(b.Workspace + "/" + name)
		got := string(data)
		if err != nil {
			got = "none"
		}
		if got != was[name] && name != "bare/HEAD" {
			t.Errorf("%s became %q", name, got)
		}
	}
	if !exists(b.Workspace+"/.cursor/mcp.json") || exists(b.Workspace+"/gone") {
		t.Error("not the right one of two files was removed")
	}
	if text(t, b.Workspace+"/file") != "new\n" || text(t, b.Workspace+"/sub/plain") != "harmless" || text(t, b.Workspace+"/.git/info/exclude") != "harmless" {
		t.Error("what is not protected was not kept")
	}
	// They stay staged, and no force brings them in.
	wantKept(t, keep(t, b, "--force", ".bawn", "--force", ".git", "--force", ".mcp.json"), 1, "not kept")
	if exists(b.Workspace+"/.bawn/config.toml") || exists(b.Workspace+"/.mcp.json") || exists(b.Workspace+"/.git/hooks/pre-commit") {
		t.Error("--force brought a protected name in")
	}
}

// A run without the guard may have made a second name for a protected file. By
// the rules of now it gets a copy: commands could write the file through it.
func TestSecondNameOfProtected(t *testing.T) {
	t.Parallel()
	b := box(t)
	shell(t, b.Workspace, "mkdir sub && git init -q sub && echo x >plain")
	off := *b
	off.Flags = append([]string{"--guard=off"}, b.Flags...)
	off.Sh(t, "ln sub/.git/config x; ln sub/.git/config a; ln plain y").OK(t)
	keep(t, b).OK(t)
	st := func(name string) (st unix.Stat_t) {
		if err := unix.Lstat(b.Workspace+"/"+name, &st); err != nil {
			t.Fatal(err)
		}
		return st
	}
	if n := st("sub/.git/config").Nlink; n != 1 {
		t.Errorf("the protected file has %d names", n)
	}
	if text(t, b.Workspace+"/x") != text(t, b.Workspace+"/sub/.git/config") {
		t.Error("the copy is another")
	}
	if st("plain").Ino != st("y").Ino {
		t.Error("plain is no link any more")
	}
}

// Links in either tree lead nowhere.
func TestLinksOnKeep(t *testing.T) {
	t.Parallel()
	b := box(t)
	outside := sandboxtest.Dir(t)
	write(t, outside+"/file", "precious")
	shell(t, b.Workspace, "mkdir -p dir/in swapped/in gone/in; echo old >dir/file; echo old >swapped/file; echo old >swapped/in/file; echo old >target; echo old >gone/in/file")
	b.Sh(t, "echo new >dir/file; echo new >swapped/file; echo new >swapped/in/file; echo new >target; echo new >made; rm -r gone").OK(t)
	up := upper(t, b)
	// In the layer: a folder and a file that have become links.
	if err := os.RemoveAll(up + "/dir"); err != nil {
		t.Fatal(err)
	}
	for _, l := range []string{"dir", "planted"} {
		if err := os.Symlink(outside, up+"/"+l); err != nil {
			t.Fatal(err)
		}
	}
	// In the workspace: folders and a file, since the run.
	shell(t, b.Workspace, fmt.Sprintf("mv swapped away; ln -s %[1]s swapped; rm target; ln -s %[1]s/file target; ln -s %[1]s/file made; mv gone/in gone/other; ln -s %[1]s gone/in", outside))
	r := keep(t, b)
	wantKept(t, r, 1, "swapped", "target", "made", "gone")
	if got := listing(t, outside); got != "file" || text(t, outside+"/file") != "precious" {
		t.Fatalf("outside has %q", got)
	}
	if text(t, b.Workspace+"/away/file") != "old\n" || !exists(b.Workspace+"/gone/other/file") {
		t.Error("something was changed that had been moved away")
	}
	// What the command itself could have done is done: its links are names.
	for _, l := range []string{"dir", "planted"} {
		if to, err := os.Readlink(b.Workspace + "/" + l); err != nil || to != outside {
			t.Errorf("%s: %q %v", l, to, err)
		}
	}
	// Forced, the links go and what they lead to stays.
	keep(t, b, "--force", ".").OK(t)
	if got := listing(t, outside); got != "file" || text(t, outside+"/file") != "precious" {
		t.Fatalf("outside has %q", got)
	}
	for _, f := range []string{"swapped/file", "swapped/in/file", "target", "made"} {
		st, err := os.Lstat(b.Workspace + "/" + f)
		if err != nil || !st.Mode().IsRegular() || text(t, b.Workspace+"/"+f) != "new\n" {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}
