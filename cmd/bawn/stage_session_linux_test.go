//go:build !race

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bawn/internal/policy"
	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/session"
	"bawn/internal/tools/vterm"
)

// slashes types a line of bawn's own and waits until it is done.
func slashes(t *testing.T, term *vterm.Terminal, line string, want ...string) {
	t.Helper()
	idle(t, term)
	types(t, term, line+"\r")
	shows(t, term, want...)
}

func has(t *testing.T, path, want string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if want == "" && err == nil {
		t.Errorf("%s is there: %q", path, data)
	}
	if want != "" && string(data) != want {
		t.Errorf("%s: %q, %v, not %q", path, data, err, want)
	}
}

// A staged session: commands share one layer, the workspace is as it was until
// a keep, and what is kept in part goes on being staged.
func TestStage_Session(t *testing.T) {
	b := stagingRoom(t)
	in := func(name string) string { return filepath.Join(b.Workspace, name) }
	sandboxtest.Write(t, in("old"), "old\n")
	term, cmd := onScreen(t, b)
	shows(t, term, "guarded", "0 allowed")
	slashes(t, term, "echo direct > direct", "exit 0")
	idle(t, term)
	has(t, in("direct"), "direct\n")
	slashes(t, term, "/stage", "│  staged", "/discard")
	slashes(t, term, "/stage", "staged already")
	slashes(t, term, "echo one > one; echo two > two; rm old; echo written-$?", "written-0")
	slashes(t, term, "cat one two; ls old; echo seen-$?", "one", "two", "seen-2")
	idle(t, term)
	for name, want := range map[string]string{"one": "", "two": "", "old": "old\n"} {
		has(t, in(name), want)
	}
	// A background command and another see each other's writes.
	slashes(t, term, "while ! test -e go; do sleep 0.05; done; cat go > went &", "task")
	slashes(t, term, "/keep", "still run (1")
	slashes(t, term, "/stage off", "still run (1")
	slashes(t, term, "echo went-off > go; while ! test -s went; do sleep 0.05; done; cat went", "went-off\n")
	idle(t, term)
	has(t, in("went"), "")
	slashes(t, term, "/diff one", "+one", "exit 0")
	slashes(t, term, "/keep one", "kept", "still staged", "exit 0")
	idle(t, term)
	has(t, in("one"), "one\n")
	has(t, in("two"), "")
	// What was kept and is changed again is no conflict.
	slashes(t, term, "echo again > one; cat one two; echo third-$?", "again", "third-0")
	slashes(t, term, "/tier open", "/stage off first")
	slashes(t, term, "/keep", "1 changed", "exit 0")
	idle(t, term)
	has(t, in("one"), "again\n")
	has(t, in("two"), "two\n")
	has(t, in("old"), "")
	// All is kept: the next layer begins.
	slashes(t, term, "echo late > late; cat one; echo fourth-$?", "fourth-0")
	slashes(t, term, "/discard", "discarded", "exit 0")
	slashes(t, term, "cat late; echo fifth-$?", "fifth-1")
	slashes(t, term, "echo last > last; echo sixth-$?", "sixth-0")
	idle(t, term)
	has(t, in("late"), "")
	types(t, term, "/quit\r")
	if code := quits(t, cmd); code != 0 {
		t.Errorf("exit %d", code)
	}
	shows(t, term, "1 new", "bawn keep --diff")
	has(t, in("last"), "")
	b.Bawn(t, "keep").OK(t)
	has(t, in("last"), "last\n")
}

// What is written after /stage off is written to the workspace, and what was
// staged stays.
func TestStage_SessionOff(t *testing.T) {
	b := stagingRoom(t)
	term, cmd := onScreen(t, b)
	shows(t, term, "guarded", "0 allowed")
	slashes(t, term, "/stage off", "not staged")
	slashes(t, term, "/stage", "│  staged")
	slashes(t, term, "echo in > layer; echo first-$?", "first-0")
	slashes(t, term, "/stage off", "staged as", "1 new")
	slashes(t, term, "echo here > direct; ls layer; echo second-$?", "second-2")
	idle(t, term)
	has(t, filepath.Join(b.Workspace, "direct"), "here\n")
	has(t, filepath.Join(b.Workspace, "layer"), "")
	slashes(t, term, "/keep layer", "kept", "exit 0")
	idle(t, term)
	has(t, filepath.Join(b.Workspace, "layer"), "in\n")
	types(t, term, "/quit\r")
	quits(t, cmd)
}

// A session that is killed leaves the workspace as it was, and the layer.
func TestStage_SessionKilled(t *testing.T) {
	b := stagingRoom(t)
	term, cmd := onScreen(t, b)
	shows(t, term, "guarded", "0 allowed")
	slashes(t, term, "/stage", "│  staged")
	slashes(t, term, "echo in > layer; echo first-$?; sleep 1000", "first-0")
	has(t, filepath.Join(b.Workspace, "layer"), "")
	if r := b.Bawn(t, "keep", "--list"); !strings.Contains(r.Stdout, "running") {
		t.Errorf("while it runs: %+v", r)
	}
	if r := b.Bawn(t, "keep"); r.Code != 125 || !strings.Contains(r.Stderr, "still running") {
		t.Errorf("%+v", r)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	quits(t, cmd)
	has(t, filepath.Join(b.Workspace, "layer"), "")
	for limit := time.Now().Add(sandboxtest.Limit); ; { // the kernel ends what the session held
		if r := b.Bawn(t, "keep", "--list"); strings.Contains(r.Stdout, "interrupted") {
			break
		} else if time.Now().After(limit) {
			t.Fatalf("%+v", r)
		}
	}
	b.Bawn(t, "keep").OK(t)
	has(t, filepath.Join(b.Workspace, "layer"), "in\n")
}

// stagingRoom is a room whose layers can be removed at the end: the kernel
// leaves a folder of mode 0 in each.
func stagingRoom(t *testing.T) *sandboxtest.Box {
	t.Helper()
	b := room(t)
	t.Setenv("XDG_STATE_HOME", b.State)
	t.Cleanup(func() {
		_ = filepath.WalkDir(b.State, func(path string, e fs.DirEntry, err error) error {
			if e != nil && e.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	return b
}

// layerOf waits for the session to be staged, and is the layer's folder.
func layerOf(t *testing.T, b *sandboxtest.Box, s *session.Session) string {
	t.Helper()
	if err := s.Stage(true); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(b.State, "bawn", "staged", s.State().Staged.ID)
}

// Nothing that a command of a staged session does reaches the workspace, the
// layer from outside, or bawn keep; without /stage the same writes land.
func TestStage_SessionAttacks(t *testing.T) {
	b := stagingRoom(t)
	in := func(name string) string { return filepath.Join(b.Workspace, name) }
	sandboxtest.Write(t, in("file"), "old\n")
	bin := filepath.Join(b.Workspace, "bin")
	sandboxtest.Write(t, bin+"/npm", "#!/bin/sh\nmkdir -p node_modules && echo dep > node_modules/dep; echo no > other; ls node_modules\n")
	if err := os.Chmod(bin+"/npm", 0o755); err != nil {
		t.Fatal(err)
	}
	s := newTestSession(t, &runFlags{})
	dir := layerOf(t, b, s)
	for _, c := range []struct{ name, text string }{
		{"the layer by its path", "echo x > " + dir + "/0/upper/x || ls " + dir + " || ls " + filepath.Join(b.State, "bawn")},
		{"bawn keep inside", sandboxtest.Binary() + " keep; " + sandboxtest.Binary() + " discard"},
		{"a mount taken away", "umount " + b.Workspace + "; umount -l " + b.Workspace + "; unshare -rm umount -l " + b.Workspace},
		{"overlay attributes", "setfattr -n user.overlay.opaque -v y . ; setfattr -n user.overlay.redirect -v /etc . ; touch y"},
		{"a link over a folder", "rm -rf bin/../d; ln -s /etc d; echo z > d/z"},
		{"through another process", "for p in /proc/[0-9]*; do echo x > $p/root" + in("by-proc") + "; done"},
	} {
		ended(t, s, started(t, s, "("+c.text+"); echo w > file"))
		has(t, in("file"), "old\n")
		has(t, dir+"/0/upper/x", "")
		has(t, in("by-proc"), "")
		if _, err := os.Stat(dir + "/run.json"); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// A package install has a network of its own, and the same layer.
	if task, out := ended(t, s, started(t, s, "PATH="+bin+":$PATH; export PATH; sh -c 'npm ci'")); task.Code != 0 || !strings.Contains(out, "dep") {
		t.Errorf("%+v: %s", task, out)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	two := newTestSession(t, &runFlags{})
	if err := two.Stage(true); err != nil {
		t.Fatal(err)
	}
	ended(t, two, started(t, two, "echo shared > /tmp/shared; echo seen > node-seen"))
	if task, out := ended(t, two, started(t, two, "npm ci")); !strings.Contains(out, "dep") {
		t.Errorf("%+v: %s", task, out)
	}
	if task, out := ended(t, two, started(t, two, "cat node_modules/dep node-seen; ls other")); task.Code == 0 || out[:9] != "dep\nseen\n" {
		t.Errorf("%+v: %s", task, out)
	}
	has(t, in("node_modules/dep"), "")
	// Airlock writes the same layer, and the open tier none.
	if _, err := two.SetTier(policy.Airlock); err != nil {
		t.Fatal(err)
	}
	if task, out := ended(t, two, started(t, two, "cat node-seen; echo air > air")); task.Code != 0 || out != "seen\n" {
		t.Errorf("%+v: %s", task, out)
	}
	has(t, in("air"), "")
	if _, err := two.SetTier(policy.Open); err == nil {
		t.Error("the open tier while commands are staged")
	}
	if err := two.Stage(false); err != nil {
		t.Fatal(err)
	}
	if task, out := ended(t, two, started(t, two, "echo air > air; cat node-seen")); task.Code == 0 {
		t.Errorf("%+v: %s", task, out)
	}
	has(t, in("air"), "air\n")
}

// What a command of a staged session did to protected names stays staged.
func TestStage_SessionProtected(t *testing.T) {
	b := stagingRoom(t)
	s := newTestSession(t, &runFlags{})
	dir := layerOf(t, b, s)
	// As if a hole in the guard had let it: the layer itself has the names.
	sandboxtest.Write(t, dir+"/0/upper/.git/hooks/post-checkout", "#!/bin/sh\n")
	sandboxtest.Write(t, dir+"/0/upper/.envrc", "x\n")
	sandboxtest.Write(t, dir+"/0/upper/fine", "x\n")
	if err := s.Stage(false); err != nil {
		t.Fatal(err)
	}
	b.Bawn(t, "keep")
	has(t, filepath.Join(b.Workspace, "fine"), "x\n")
	has(t, filepath.Join(b.Workspace, ".git/hooks/post-checkout"), "")
}

// A session may begin staged.
func TestStage_FromTheBeginning(t *testing.T) {
	b := stagingRoom(t)
	term, cmd := onScreen(t, b, "--stage")
	shows(t, term, "guarded", "│  staged")
	slashes(t, term, "echo one > one; echo written-$?", "written-0")
	slashes(t, term, "/keep", "1 new", "exit 0")
	idle(t, term)
	has(t, filepath.Join(b.Workspace, "one"), "one\n")
	types(t, term, "/quit\r")
	if code := quits(t, cmd); code != 0 {
		t.Errorf("exit %d", code)
	}
	for flag, why := range map[string]string{"--tier=open": "the open tier has no sandbox", "--sandbox=read-only": "writes nothing to keep", "--launcher=bwrap": "bubblewrap makes no overlay"} {
		name, value, _ := strings.Cut(flag, "=")
		r := b.Bawn(t, "wrap", "--stage", name, value, "--", "touch", "no")
		if r.Code != exitRefused || !strings.Contains(r.Stderr, "--stage: ") || !strings.Contains(r.Stderr, why) {
			t.Errorf("%s: %+v", flag, r)
		}
		has(t, filepath.Join(b.Workspace, "no"), "")
	}
}

// An agent and all that it starts write one layer; what is its own it writes
// itself.
func TestStage_Wrap(t *testing.T) {
	const agent = `echo state > "$HOME/.claude/state"; echo mine > work; bawn run -- sh -c 'cat work; echo theirs >> work'; cat work; exit 3`
	for _, screen := range []bool{false, true} {
		b := stagingRoom(t)
		bin := filepath.Join(filepath.Dir(b.Workspace), "bin")
		sandboxtest.Write(t, bin+"/claude", "#!/bin/sh\nPATH="+filepath.Dir(sandboxtest.Binary())+":$PATH\n"+agent+"\n")
		if err := os.Chmod(bin+"/claude", 0o755); err != nil {
			t.Fatal(err)
		}
		sandboxtest.Write(t, filepath.Join(b.Home, ".claude/old"), "")
		args := []string{"wrap", "--stage", "--", bin + "/claude"}
		work := filepath.Join(b.Workspace, "work")
		if screen {
			term, cmd := onScreen(t, b, args...)
			shows(t, term, "bawn asks", "no rule is about sh")
			answers(t, term, "bawn asks", "y", "theirs")
			if code := quits(t, cmd); code != 3 {
				t.Errorf("exit %d", code)
			}
			shows(t, term, "theirs", "1 new", "bawn keep --diff")
		} else if r := b.Bawn(t, args...); r.Code != 3 || r.Stdout != "mine\nmine\ntheirs\n" || !strings.Contains(r.Stderr, "1 new") || !strings.Contains(r.Stderr, "\n  bawn keep --diff") {
			t.Errorf("without a terminal: %+v", r)
		}
		has(t, filepath.Join(b.Home, ".claude/state"), "state\n")
		has(t, work, "")
		b.Bawn(t, "keep").OK(t)
		has(t, work, "mine\ntheirs\n")
	}
}

// What goes wrong at the end of a layer is told as all else of a session is.
func TestStage_SessionEndThatFails(t *testing.T) {
	b := stagingRoom(t)
	var told []string
	s, err := new(runFlags).newSession(func(line string) { told = append(told, line) })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Stage(true); err != nil {
		t.Fatal(err)
	}
	ended(t, s, started(t, s, "echo one > one"))
	dirs, err := filepath.Glob(filepath.Join(trustState(), "staged", "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%q, %v", dirs, err)
	}
	if err := os.MkdirAll(filepath.Join(dirs[0], "run.json.new"), 0o700); err != nil { // where its end is written
		t.Fatal(err)
	}
	told = nil
	if err := s.Stage(false); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(told, "\n"); !strings.HasPrefix(text, "the end of the staged run could not be noted: ") || !strings.Contains(text, "\nstaged as ") {
		t.Errorf("%q", told)
	}
	has(t, filepath.Join(b.Workspace, "one"), "")
}
