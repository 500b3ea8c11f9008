//go:build linux

package sandboxtest

import (
	"os"
	"testing"
)

// F2: a protected name may be a link, or lie behind one: what it leads to in a
// writable folder is as protected, there yet or not. So is what the home's
// start-up files lead to (a folder of dotfiles).
func TestF2_ProtectedNamesThroughLinks(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
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
