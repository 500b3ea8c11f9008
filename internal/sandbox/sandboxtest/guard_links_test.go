//go:build linux

package sandboxtest

import (
	"os"
	"strings"
	"testing"
)

// F2: a protected name may be a link, or lie behind one: what it leads to in a
// writable folder is as protected, there yet or not. So is what the home's
// start-up files lead to (a folder of dotfiles).
func TestF2_ProtectedNamesThroughLinks(t *testing.T) {
	t.Parallel()
	EachGuarded(t, func(t *testing.T, l string) {
		b := New(t, l)
		Host(t, b, `mkdir agents cfg; ln -s agents .claude; ln -s cfg/mcp.json .mcp.json; ln -s cfg/codex .codex
echo kept >bashrc; ln -s "$PWD/bashrc" ~/.bashrc; ln -s "$PWD/zshrc" ~/.zshrc`).OK(t)
		b.Sh(t, `for f in agents/settings.json cfg/mcp.json cfg/codex bashrc zshrc; do
echo evil >$f; echo evil >p; mv -f p $f; ln p $f; rm -f $f; ln -s ../p $f; mkdir $f
done
mkdir m m/codex; echo evil >m/mcp.json; mv cfg old; mv m cfg
echo x >agents/notes; echo x >cfg/notes; mkdir agents/commands; echo x >bashrc2`)
		for _, f := range []string{"agents/settings.json", "cfg/mcp.json", "cfg/codex", "zshrc"} {
			if exists(b.Workspace + "/" + f) {
				t.Errorf("%s was made", f)
			}
		}
		if got, err := os.ReadFile(b.Workspace + "/bashrc"); string(got) != "kept\n" {
			t.Errorf("bashrc is %q, %v", got, err)
		}
		for _, f := range []string{"agents/notes", "cfg/notes", "agents/commands", "bashrc2"} {
			if !exists(b.Workspace + "/" + f) {
				t.Errorf("%s, an ordinary name beside them, was not made", f)
			}
		}
	})
}

// F2: without the guard what is there is still held, and what appears where a
// protected name leads is told.
func TestF2_LinkTargetsWithoutTheGuard(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Flags = []string{"--guard", "off"}
		Host(t, b, `mkdir agents cfg; ln -s agents .claude; ln -s cfg/mcp.json .mcp.json; ln -s "$PWD/zshrc" ~/.zshrc
ln -s "$PWD/bashrc" ~/.bashrc; echo kept >bashrc`).OK(t)
		if r := b.Sh(t, "echo x >agents/notes; echo x >cfg/notes").OK(t); strings.Contains(r.Stderr, "appeared") {
			t.Errorf("told of ordinary names: %s", r.Stderr)
		}
		r := b.Sh(t, `echo x >agents/settings.json; echo x >cfg/mcp.json; echo x >zshrc; (echo x >bashrc) 2>/dev/null; true`).OK(t)
		for _, f := range []string{"agents/settings.json", "cfg/mcp.json", "zshrc"} {
			if !strings.Contains(r.Stderr, b.Workspace+"/"+f+" appeared") {
				t.Errorf("%s is not told: %s", f, r.Stderr)
			}
		}
		if got, err := os.ReadFile(b.Workspace + "/bashrc"); string(got) != "kept\n" || strings.Contains(r.Stderr, "/bashrc appeared") {
			t.Errorf("bashrc is %q, %v: %s", got, err, r.Stderr)
		}
		// What the user lifts is not told.
		for _, f := range []string{"agents/settings.json", "cfg/mcp.json", "zshrc"} {
			if err := os.Remove(b.Workspace + "/" + f); err != nil {
				t.Fatal(err)
			}
		}
		b.settings(t, "[sandbox]\nunprotect = ['agent']\n")
		if r := b.Sh(t, `echo x >agents/settings.json; echo x >zshrc`).OK(t); strings.Contains(r.Stderr, "settings.json appeared") || !strings.Contains(r.Stderr, "/zshrc appeared") {
			t.Errorf("lifted: %s", r.Stderr)
		}
	})
}
