//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bawn/internal/config/importer"
)

const importable = `{"permissions": {"allow": ["Bash(make *)"], "deny": ["Bash(rm *)"]}}`

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Nothing is said of what widens where nothing does.
func TestImportCounts(t *testing.T) {
	for want, c := range map[string]struct {
		widens int
		held   bool
	}{
		"defaults: 0; remarks": {0, false}, "defaults: 2 (these are comments); remarks": {2, false}, "defaults: 2 (these hold); remarks": {2, true},
	} {
		if got := imported(importer.Result{Widens: c.widens}, c.held); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The tool's own place is read, and the result written whole, for its owner.
func TestImport(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	out := filepath.Join(home, "config.toml")
	if code := importCommand([]string{"claude", "-o", out}); code != exitRefused {
		t.Fatalf("without settings: %d", code)
	}
	put(t, home+"/.claude/settings.json", importable)
	if code := importCommand([]string{"claude", "-o", out}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	got := content(t, out)
	if !strings.Contains(got, "\n  # widens: \"make *\",") || !strings.Contains(got, "\n  \"rm *\",") || !strings.Contains(got, "(~/.claude/settings.json)") {
		t.Errorf("written:\n%s", got)
	}
	if st, err := os.Stat(out); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if code := importCommand([]string{"--include-widening", "claude", "-o", out, "--force"}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if got := content(t, out); !strings.Contains(got, "\n  \"make *\",  # widens:") {
		t.Errorf("with what widens:\n%s", got)
	}
	// The first place that exists counts.
	put(t, home+"/.fence.json", `{"command": {"deny": ["second"]}}`)
	put(t, home+"/.config/fence/fence.jsonc", `{"command": {"deny": ["first"]}} // c`)
	if code := importCommand([]string{"fence", "-o", out, "--force"}); code != 0 || !strings.Contains(content(t, out), `"first *"`) {
		t.Errorf("fence: %d\n%s", code, content(t, out))
	}
	left, _ := filepath.Glob(home + "/.bawn-import-*")
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What stands at the target stays as it is, unless it is to be replaced; a
// link there is never followed.
func TestImportLeavesFilesAlone(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	in := home + "/in.json"
	put(t, in, importable)
	put(t, home+"/mine", "mine")
	for _, link := range [][2]string{{"mine", home + "/link"}, {"nothing", home + "/dangling"}} {
		if err := os.Symlink(link[0], link[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(home+"/folder", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine", "link", "dangling", "folder", "none/config.toml"} {
		if code := importCommand([]string{"claude", "--from", in, "-o", home + "/" + name}); code != exitRefused {
			t.Errorf("%s: %d", name, code)
		}
	}
	if _, err := os.Lstat(home + "/nothing"); err == nil || content(t, home+"/mine") != "mine" {
		t.Error("something was written over")
	}
	for _, name := range []string{"link", "mine", "new"} {
		if code := importCommand([]string{"claude", "--from", in, "-o", home + "/" + name, "--force"}); code != 0 || !strings.Contains(content(t, home+"/"+name), "make") {
			t.Errorf("--force %s: %d", name, code)
		}
		if name == "link" && content(t, home+"/mine") != "mine" {
			t.Error("--force wrote through a link")
		}
	}
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) != 6 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// The first file of settings needs its folder too; no other folder is made.
func TestImportMakesTheSettingsFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	put(t, home+"/in.json", importable)
	for name, want := range map[string]int{".config/bawn/config.toml": 0, ".config/other/config.toml": exitRefused, ".config/bawn/x/config.toml": exitRefused} {
		if code := importCommand([]string{"claude", "--from", home + "/in.json", "-o", home + "/" + name}); code != want {
			t.Errorf("%s: %d, want %d", name, code, want)
		}
	}
	if st, err := os.Stat(home + "/.config/bawn"); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", st, err)
	}
}

// What is no plain small file is refused, and nothing is waited for.
func TestImportHostileFiles(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	put(t, home+"/plain", importable)
	put(t, home+"/big", strings.Repeat(" ", importer.MaxFile+1))
	put(t, home+"/fits", importable+strings.Repeat(" ", importer.MaxFile-len(importable)))
	if err := os.Symlink("plain", home+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(home+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"link": "name where it leads: --from " + home + "/plain", "fifo": "not a regular file", "big": "larger than 1048576 bytes",
		"": "not a regular file", "none": "no such file", "no/ne": "no such file",
	} {
		f := importFlags{from: home + "/" + name}
		tool, err := importer.Find("claude")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.run(tool); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	for _, name := range []string{"plain", "fits"} {
		if code := importCommand([]string{"claude", "--from", home + "/" + name, "-o", home + "/out-" + name}); code != 0 {
			t.Errorf("%s: %d", name, code)
		}
	}
	for _, args := range [][]string{nil, {"nobody"}, {"optiq"}, {"claude", "codex"}, {"claude", "--from="}, {"claude", "--force"}, {"claude", "--nothing"}} {
		if code := importCommand(args); code != exitUsage {
			t.Errorf("%q: %d", args, code)
		}
	}
}
