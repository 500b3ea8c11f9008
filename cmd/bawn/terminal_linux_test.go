//go:build !race

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/tools/vterm"
)

// onScreen starts the program on a terminal of its own.
func onScreen(t *testing.T, b *sandboxtest.Box, args ...string) (*vterm.Terminal, *exec.Cmd) {
	t.Helper()
	return onScreenOf(t, b, 90, 24, args...)
}

// onScreenOf does so on a terminal of w columns and h lines.
func onScreenOf(t *testing.T, b *sandboxtest.Box, w, h int, args ...string) (*vterm.Terminal, *exec.Cmd) {
	t.Helper()
	term, err := vterm.Open(w, h)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(sandboxtest.Binary(), args...)
	cmd.Dir, cmd.Env = b.Workspace, append(b.Environ(), "TERM=xterm-256color")
	if err := term.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := term.Close(); err != nil {
			t.Error(err)
		}
	})
	return term, cmd
}

// sessionOn starts a session so, and waits for its input line.
func sessionOn(t *testing.T, b *sandboxtest.Box, args ...string) (*vterm.Terminal, *exec.Cmd) {
	t.Helper()
	term, cmd := onScreen(t, b, args...)
	idle(t, term)
	return term, cmd
}

// leaves ends a session by Ctrl+D at its input line.
func leaves(t *testing.T, term *vterm.Terminal, cmd *exec.Cmd) {
	t.Helper()
	idle(t, term)
	types(t, term, "\x04")
	if code := quits(t, cmd); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func shows(t *testing.T, term *vterm.Terminal, want ...string) {
	t.Helper()
	text, err := term.Wait(sandboxtest.Limit/5, func(text string) bool {
		for _, w := range want {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
	if err != nil {
		t.Fatalf("%q: %v on\n%s", want, err, text)
	}
}

// atPrompt reports whether there is an input line with nothing in it.
func atPrompt(text string) bool {
	return slices.Contains(strings.Split(strings.ReplaceAll(text, " ", ""), "\n"), ">")
}

// idle waits until the input line is there again: what is typed before is the
// command's, and an exit code on the bar may be of the command before.
func idle(t *testing.T, term *vterm.Terminal) {
	t.Helper()
	text, err := term.Wait(sandboxtest.Limit/5, atPrompt)
	if err != nil {
		t.Fatalf("no input line: %v on\n%s", err, text)
	}
}

func types(t *testing.T, term *vterm.Terminal, keys string) {
	t.Helper()
	if err := term.Type(keys); err != nil {
		t.Fatal(err)
	}
}

// answers presses a key while the screen shows page, until that is gone: see says.
func answers(t *testing.T, term *vterm.Terminal, page, key, want string) {
	t.Helper()
	says(t, term, key, func(text string) bool { return !strings.Contains(text, page) })
	shows(t, term, want)
}

// quits waits for the end of the program.
func quits(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	timer := time.AfterFunc(sandboxtest.Limit/5, func() {
		t.Error("the program did not end")
		_ = cmd.Process.Kill()
	})
	defer timer.Stop()
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}
