package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bawn/internal/sandbox/sandboxtest"
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
	b := room(t)
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
	b := room(t)
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
	b := room(t)
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
