//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// F7: what a plugin declares is writable in guarded, unless that would open a
// protected place; what lies in the workspace declares nothing.
func TestF7_PluginFolders(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		plugin := func(paths string) string { return `{"name": "p", "permissions": {"paths": [` + paths + `]}}` }
		for _, c := range []struct {
			name     string
			manifest string
			folder   string // where the command writes; ROOT and HOME stand for folders
			flags    []string
			allowed  bool
			warning  string
		}{
			{"declared", plugin(`"~/.tool"`), "HOME/.tool", nil, true, ""},
			{"declared by an absolute path", plugin(`"ROOT/data"`), "ROOT/data", nil, true, ""},
			{"in workspace-write", plugin(`"~/.tool"`), "HOME/.tool", []string{"--sandbox", "workspace-write"}, true, ""},
			{"not declared", plugin(`"~/.other"`), "HOME/.tool", nil, false, "no such folder"},
			{"no plugin", "", "HOME/.tool", nil, false, ""},
			{"in airlock", plugin(`"~/.tool"`), "HOME/.tool", []string{"--tier", "airlock"}, false, ""},
			{"in read-only", plugin(`"~/.tool"`), "HOME/.tool", []string{"--sandbox", "read-only"}, false, ""},
			{"in scratch", plugin(`"~/.tool"`), "HOME/.tool", []string{"--profile", "scratch"}, false, ""},
			{"not there", plugin(`"~/.absent", "~/.tool"`), "HOME/.tool", nil, true, `does not get "HOME/.absent" (HOME/.config/bawn/plugins/p/plugin.json:1): no such folder`},
			{"the home", plugin(`"~"`), "HOME", nil, false, "it is a home folder"},
			{"a credential folder", plugin(`"~/.ssh"`), "HOME/.ssh", nil, false, "SSH keys"},
			{"a folder with a credential in it", plugin(`"~/.config"`), "HOME/.config", nil, false, "it contains"},
			{"bawn's own", plugin(`"~/.config/bawn/plugins"`), "HOME/.config/bawn/plugins", nil, false, "bawn's settings"},
			{"a shell's start-up folder", plugin(`"~/.config/fish"`), "HOME/.config/fish", nil, false, "overlaps a protected place"},
			{"a folder in one", plugin(`"~/.config/fish/functions"`), "HOME/.config/fish/functions", nil, false, "overlaps a protected place"},
			{"the folder above the workspace", plugin(`"ROOT/above"`), "ROOT/above", []string{"-C", "ROOT/above/ws"}, false, "overlaps a protected place"},
			{"a repository", plugin(`"ROOT/data/.git/x"`), "ROOT/data/.git/x", nil, false, "overlaps a protected place"},
			{"a link that a command could have made", plugin(`"ROOT/ws/link"`), "ROOT/data", nil, false, "could have made leads to"},
			{"a mistake", `{"permission": {}}`, "HOME/.tool", nil, false, `plugin.json:1:2: unknown key "permission"`},
		} {
			b := New(t, l)
			root := filepath.Dir(b.Workspace)
			real := strings.NewReplacer("ROOT", root, "HOME", b.Home).Replace
			for _, d := range strings.Fields("HOME/.tool HOME/.ssh HOME/.config/fish/functions ROOT/above/ws ROOT/data/.git/x") {
				if err := os.MkdirAll(real(d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("../data", b.Workspace+"/link"); err != nil {
				t.Fatal(err)
			}
			// Where no plugin is looked for.
			Write(t, b.Workspace+"/.bawn/plugins/w/plugin.json", plugin(`"~/.tool"`))
			Write(t, b.Workspace+"/plugins/w/plugin.json", plugin(`"~/.tool"`))
			if c.manifest != "" {
				Write(t, b.Home+"/.config/bawn/plugins/p/plugin.json", real(c.manifest))
			}
			for _, f := range c.flags {
				b.Flags = append(b.Flags, real(f))
			}
			r := b.Run(t, append(bash(`echo x >"$1/new"`), "sh", real(c.folder))...)
			if (r.Code == 0) != c.allowed || exists(real(c.folder)+"/new") != c.allowed {
				t.Errorf("%s: exit %d, %s", c.name, r.Code, r.Stderr)
			}
			if c.warning == "" && strings.Contains(r.Stderr, "plugin") || !strings.Contains(r.Stderr, real(c.warning)) {
				t.Errorf("%s: %s", c.name, r.Stderr)
			}
		}
	})
}

// F4: what a plugin is made of can be neither read nor changed, and the names
// protected in a workspace are protected in its folder too.
func TestF7_PluginSources(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		t.Parallel()
		b := New(t, l)
		Write(t, b.Home+"/.config/bawn/plugins/p/plugin.json", `{"permissions": {"paths": ["~/.tool"]}}`)
		Write(t, b.Home+"/.config/bawn/plugins/p/main.py", "secret")
		if err := os.Mkdir(b.Home+"/.tool", 0o755); err != nil {
			t.Fatal(err)
		}
		b.Run(t, bash(`P=~/.config/bawn/plugins/p; for c in "cat $P/main.py" "cat $P/plugin.json" "ls $P" "touch $P/x" "touch ~/.config/bawn/plugins/y"; do ! $c 2>/dev/null; done; echo x >~/.tool/a; ! echo x >~/.tool/.bashrc; ! mkdir ~/.tool/.bawn`)...).OK(t)
	})
}
