//go:build linux

package agenttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bawn/internal/frontend/setup"
	"bawn/internal/sandbox/sandboxtest"
)

// Setting up, checking and taking back, of every agent: the set-up runs a
// command in the real sandbox, and afterwards every byte is as before.
func TestSetup(t *testing.T) {
	d := newDesk(t)
	sandboxtest.Write(t, filepath.Join(d.Home, ".claude/settings.json"), "{\n  \"model\": \"opus\"\n}\n")
	sandboxtest.Write(t, filepath.Join(d.Home, ".gemini/settings.json"), "{\n  // mine\n  \"theme\": \"x\",\n}\n")
	before := tree(t, d.Home)
	for _, agent := range setup.Names() {
		if r := d.Bawn(t, "setup", agent, "--check"); r.Code != 1 || !strings.Contains(r.Stdout, "fail") {
			t.Errorf("%s is there before it is set up: %+v", agent, r)
		}
		printed := d.Bawn(t, "setup", "--print", agent).OK(t)
		if !strings.Contains(printed.Stdout, "+ ") || strings.Contains(printed.Stdout, "opus") {
			t.Errorf("%s would write:\n%s", agent, printed.Stdout)
		}
		r := d.Bawn(t, "setup", agent).OK(t)
		if !strings.Contains(r.Stdout, "a command ran in the sandbox") {
			t.Errorf("%s:\n%s", agent, r.Stdout)
		}
		if r := d.Bawn(t, "setup", agent).OK(t); !strings.Contains(r.Stdout, "nothing to change") {
			t.Errorf("%s again:\n%s", agent, r.Stdout)
		}
		if r := d.Bawn(t, "setup", agent, "--check"); r.Code != 0 || strings.Contains(r.Stdout, "fail") {
			t.Errorf("%s: %+v", agent, r)
		}
	}
	if err := os.Symlink("x", filepath.Join(d.shims, ".sh.new")); err != nil { // as a set-up leaves that is killed
		t.Fatal(err)
	}
	for _, agent := range setup.Names() {
		d.Bawn(t, "setup", agent, "--uninstall").OK(t)
	}
	if exists(d.shims) {
		t.Error("the shims are still there")
	}
	after := tree(t, d.Home)
	a, _ := json.Marshal(before)
	b, _ := json.Marshal(after)
	if !bytes.Equal(a, b) {
		t.Errorf("before %s\nafter  %s", a, b)
	}
}

// The commands that a set-up names are the ones that mend it and take it back,
// for the user and for a project.
func TestSetupNamesItsCommands(t *testing.T) {
	d := newDesk(t)
	before := fmt.Sprint(tree(t, d.Workspace), tree(t, d.Home))
	named := func(text, after string) []string {
		_, rest, ok := strings.Cut(text, after+"bawn ")
		line, _, _ := strings.Cut(rest, "\n")
		if !ok {
			t.Fatalf("no command behind %q in\n%s", after, text)
		}
		return strings.Fields(line)
	}
	for _, args := range [][]string{{"setup", "gemini"}, {"setup", "gemini", "--project"}, {"setup", "--project", "claude"}} {
		check := append(args, "--check")
		mend := named(d.Bawn(t, check...).Stdout, "is not as setup leaves it: ")
		done := d.Bawn(t, mend...).OK(t)
		if r := d.Bawn(t, check...); r.Code != 0 {
			t.Errorf("%q does not mend %q: %+v", mend, check, r)
		}
		d.Bawn(t, named(done.Stdout, "To take it back: ")...).OK(t)
		if after := fmt.Sprint(tree(t, d.Workspace), tree(t, d.Home)); after != before {
			t.Errorf("%q: before %s\nafter %s", args, before, after)
		}
	}
}

func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			out[path] = string(data)
		} else {
			out[path] = ""
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What a project's settings take away is told by --check, in its folder.
func TestSetupAgainst(t *testing.T) {
	d := newDesk(t)
	d.setUp(t, "claude")
	file := filepath.Join(d.Workspace, ".claude/settings.json")
	for text, says := range map[string]string{
		"": "", `{"model":"x"}`: "", `{"disableAllHooks":false,"env":{"CLAUDE_CODE_SHELL_PREFIX":"` + d.shims + `/claude-shell"}}`: "",
		`{"disableAllHooks":true}`: "turns all hooks off", `{"env":{"CLAUDE_CODE_SHELL_PREFIX":"./x"}}`: "another shell prefix",
		`{"env":{"CLAUDE_CODE_SHELL":"/ws/bash"}}`: "another shell", `{"sandbox":{"enabled":true}}`: "a sandbox in which", `{"disableAllHooks":`: "cannot be judged",
	} {
		if text != "" {
			sandboxtest.Write(t, file, text)
		}
		r := d.Bawn(t, "setup", "claude", "--check")
		if got := r.Code == 1 && strings.Contains(r.Stdout, "this project") && strings.Contains(r.Stdout, says); got != (says != "") || says == "" && r.Code != 0 {
			t.Errorf("%s: %+v", text, r)
		}
		_ = os.Remove(file)
	}
}

// Where no sandbox can be made, nothing is set up.
func TestSetupThatCannotWork(t *testing.T) {
	d := newDesk(t)
	sandboxtest.Write(t, filepath.Join(d.Home, ".config/bawn/config.toml"), "[permissions]\ndeny = [\"true\"]\n")
	before := tree(t, filepath.Join(d.Home, ".config"))
	r := d.Bawn(t, "setup", "claude")
	if r.Code != 125 || !strings.Contains(r.Stderr, "taken back") || exists(filepath.Join(d.Home, ".claude/settings.json")) {
		t.Errorf("%+v", r)
	}
	if got := tree(t, filepath.Join(d.Home, ".config")); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("before %v, after %v", before, got)
	}
}

// A bawn that commands of the project could exchange for another is not set
// up: the agent would run that outside.
func TestSetupOfAReplaceableProgram(t *testing.T) {
	d := newDesk(t)
	data, err := os.ReadFile(sandboxtest.Binary())
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(d.Workspace, "bawn")
	if err := os.WriteFile(mine, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if r := d.call(t, d.Workspace, nil, "", mine, "setup", "claude"); r.Code != 125 || !strings.Contains(r.Stderr, "may write it") || exists(filepath.Join(d.Home, ".claude")) {
		t.Errorf("%+v", r)
	}
	d.setUp(t, "claude")
}

// Set-ups at once wait for each other: none finds a file half changed, and the
// last that is taken back takes no shim from one that has just begun.
func TestSetupTogether(t *testing.T) {
	d := newDesk(t)
	before := tree(t, d.Home)
	var names []string
	for _, agent := range setup.Names() {
		if agent != "codex" { // one that is installed may be too old
			names = append(names, agent)
		}
	}
	all := func(arg ...string) {
		var wait sync.WaitGroup
		for _, agent := range names {
			wait.Go(func() { d.Bawn(t, append([]string{"setup", agent}, arg...)...).OK(t) })
		}
		wait.Wait()
	}
	all()
	all("--check")
	var wait sync.WaitGroup
	for i, agent := range names {
		wait.Go(func() {
			if i%2 == 0 {
				d.Bawn(t, "setup", agent, "--uninstall").OK(t)
			} else {
				d.Bawn(t, "setup", agent).OK(t)
			}
		})
	}
	wait.Wait()
	for i, agent := range names {
		if i%2 != 0 {
			d.Bawn(t, "setup", agent, "--check").OK(t)
		}
	}
	all("--uninstall")
	if after := tree(t, d.Home); !maps.Equal(before, after) {
		t.Errorf("before %v\nafter  %v", before, after)
	}
}
