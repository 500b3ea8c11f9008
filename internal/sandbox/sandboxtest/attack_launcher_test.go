//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A78: what stands after --, or is another flag's value, is data.
func TestA78_FlagsAreNotLookedForElsewhere(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		outside := filepath.Dir(b.Home) + "/outside"
		mkdir(t, outside)
		write := "echo x >" + outside + "/x; echo \"$@\""
		for _, c := range []struct {
			args []string
			out  string
		}{
			{[]string{"run", "--launcher", l, "--", "sh", "-c", write, "sh", "--tier=open", "--sandbox", "danger-full-access"}, "--tier=open --sandbox danger-full-access"},
			{[]string{"run", "--launcher", l, "sh", "-c", write, "sh", "--tier", "open"}, "--tier open"},
			{[]string{"--", "sh", "-c", write, "sh", "--tier=open"}, "--tier=open"},
			{[]string{"run", "--launcher", l, "-c", write, "sh", "--", "--config=x"}, "-- --config=x"},
			{[]string{"run", "--launcher", l, "--", "sh", "-c", write, "sh", "--add-dir", outside, "--config=/tmp/evil"}, "--add-dir " + outside + " --config=/tmp/evil"},
		} {
			r := b.Bawn(t, c.args...).OK(t)
			if strings.TrimSpace(r.Stdout) != c.out {
				t.Errorf("%q printed %q", c.args, r.Stdout)
			}
			if exists(outside + "/x") {
				t.Fatalf("%q wrote outside", c.args)
			}
		}
		// Right after --, a flag's name is a program's.
		for _, args := range [][]string{{"run", "--launcher", l, "--", "--tier=open", "sh", "-c", write}, {"--", "--tier=open", "--", "sh", "-c", write}} {
			if r := b.Bawn(t, args...); r.Code != 127 || exists(outside+"/x") {
				t.Errorf("%q: %+v", args, r)
			}
		}
		// As a flag before --, the same word does count: the twin.
		b.Bawn(t, "run", "--launcher", l, "--add-dir", outside, "--", "sh", "-c", write).OK(t)
		if !exists(outside + "/x") {
			t.Error("--add-dir before -- did not open the folder")
		}
		for _, args := range [][]string{
			{"--note", "--config=/tmp/evil", "--", "echo", "RAN"}, {"run", "--note", "--tier=open", "--", "echo", "RAN"},
			{"run", "--add-dir", "--tier=open", "--", "echo", "RAN"}, {"run", "-C", "--tier=open", "--", "echo", "RAN"},
			{"run", "--add-dir", "--", "echo", "RAN"}, {"run", "--tier", "--", "echo", "RAN"}, {"run", "--tier=opened", "--", "echo", "RAN"},
			{"run", "--launcher=/tmp/evil", "--", "echo", "RAN"}, {"run", "--sandbox=none", "--", "echo", "RAN"}, {"run", "--"}, {"run", "--", ""},
		} {
			if r := b.Bawn(t, args...); r.Code != 125 || strings.Contains(r.Stdout, "RAN") {
				t.Errorf("%q: %+v", args, r)
			}
		}
		// A file named as a flag is a file.
		Write(t, b.Workspace+"/--config=x", "NAMED")
		if r := b.Run(t, "cat", "--", "--config=x").OK(t); r.Stdout != "NAMED" {
			t.Errorf("%+v", r)
		}
	})
}

// A79: no name of a workspace, added folder or home is ever read as an
// argument, a profile or shell text.
func TestA79_OddNames(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, name := range []string{
			"--bind", "--share-net", "x\n--bind\n/\n/", "a\")(allow default)(\"", "$(touch pwned)", "`touch pwned`", "a b", "a'b", `a"b`,
			`back\slash`, `\040`, "tab\there", "ünï", "..data", "-", "a:b", "%s%n", "\x7f\x01", "*", strings.Repeat("n", 200),
		} {
			b := New(t, l)
			root := filepath.Dir(b.Home)
			b.Workspace = root + "/" + name
			added, home := root+"/add/"+name, root+"/homes/"+name
			for _, d := range []string{b.Workspace, added, home + "/.cache/x", home + "/" + name} {
				mkdir(t, d)
			}
			b.Home = home
			Write(t, home+"/.ssh/id", "SECRET")
			Write(t, home+"/"+name+"/plain", "TWIN")
			b.Flags = []string{"--add-dir", added}
			b.Env = []string{"ADDED=" + added, "NAME=" + name}
			r := b.Sh(t, `cat ~/.ssh/id; echo x >~/out; echo x >../out; echo x >here && echo x >"$ADDED/there" && echo x >~/.cache/x/c; pwd; cat "$HOME/$NAME/plain"`)
			if strings.Contains(r.Stdout, "SECRET") || exists(home+"/out") || exists(root+"/out") || exists("pwned") || exists(b.Workspace+"/pwned") {
				t.Errorf("%q got out: %+v", name, r)
			}
			if r.Code != 0 || !exists(b.Workspace+"/here") || !exists(added+"/there") || !exists(home+"/.cache/x/c") {
				t.Errorf("%q does not work: %+v", name, r)
			}
			if !strings.Contains(r.Stdout, b.Workspace+"\n") || !strings.HasSuffix(r.Stdout, "TWIN") {
				t.Errorf("%q: folder and twin: %q", name, r.Stdout)
			}
		}
	})
}

// A79: a workspace named through a link is the folder it leads to.
func TestA79_WorkspaceIsALink(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		root := filepath.Dir(b.Home)
		symlink(t, "ws", root+"/link")
		b.Workspace = root + "/link"
		b.Sh(t, "echo x >x && test \"$(pwd -P)\" = "+root+"/ws").OK(t)
		if _, err := os.Stat(root + "/ws/x"); err != nil {
			t.Error(err)
		}
	})
}
