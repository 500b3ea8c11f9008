//go:build !race

package main

import (
	"os/exec"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// leavesModes is a command that sets modes of the terminal and undoes none.
const leavesModes = `echo begins; cat in; printf '\033[?1049h\033[?1003h\033[?1006h\033[?2004h\033[?1h\033[?25l\033=\033[>1u\033(0\033[2;5r\033[3;3H\033[5 q\033]2;mine\033\\picture'; stty raw -echo`

// After each run of bawn watch, and at its end, the terminal is as it was,
// whatever the command set.
func TestWatchGivesTheTerminalBack(t *testing.T) {
	b := room(t)
	sandboxtest.Write(t, b.Workspace+"/in", "one\n")
	term, cmd := onScreen(t, b, "watch", "--", "sh", "-c", leavesModes)
	shows(t, term, "begins\none\nbawn: watch: exit 0 after ")
	if term.AltScreen() {
		t.Error("the other screen stays")
	}
	sandboxtest.Write(t, b.Workspace+"/in", "two\n")
	shows(t, term, "changed\nbegins\ntwo\nbawn: watch: exit 0 after ")
	if text := term.Text(); strings.Contains(text, "picture") || !strings.Contains(text, "begins\none\n") {
		t.Errorf("after the second run:\n%s", text)
	}
	types(t, term, "\x03") // a key again, and no input
	if code := quits(t, cmd); code != 130 {
		t.Errorf("exit %d", code)
	}
}

// The modes of mouse, keyboard and cursor are undone after a run that a signal
// ended too; a terminal that knows no sequences, and what is no terminal, gets none.
func TestWatchUndoesModes(t *testing.T) {
	undone := map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?1003h": "\x1b[?1003l", "\x1b[?1006h": "\x1b[?1006l", "\x1b[?2004h": "\x1b[?2004l", "\x1b[?1h": "\x1b[?1l", "\x1b[?25l": "\x1b[?25h", "\x1b=": "\x1b>", "\x1b[>1u": "\x1b[<99u", "\x1b(0": "\x1b(B", "\x1b[2;5r": "\x1b[r", "\x1b[5 q": "\x1b[0 q", "\x1b]2;mine": "\x1b[23;0t"}
	for name, c := range map[string]struct {
		term, then string
		undoes     bool
	}{"a run": {"xterm", "", true}, "killed": {"xterm", `; read x; kill -9 $$`, true}, "dumb": {"dumb", "", false}, "no name": {"", "", false}} {
		t.Run(name, func(t *testing.T) {
			b := room(t)
			sandboxtest.Write(t, b.Workspace+"/in", "one\n")
			s := sandboxtest.OpenScreen(t)
			cmd := exec.Command(sandboxtest.Binary(), "watch", "--", "sh", "-c", leavesModes+c.then)
			cmd.Dir, cmd.Env = b.Workspace, append(b.Environ(), "TERM="+c.term)
			before := s.Modes(t)
			s.Start(t, cmd)
			s.Wait(t, "picture")
			s.Send(t, "\n")
			s.Wait(t, "watch: exit ")
			if after := s.Modes(t); after != before {
				t.Errorf("modes %+v, were %+v", after, before)
			}
			text := s.Text()
			text, _, _ = strings.Cut(text, "bawn: watch: exit")
			for set, undo := range undone {
				if got := strings.LastIndex(text, undo) > strings.LastIndex(text, set); !strings.Contains(text, set) || got != c.undoes {
					t.Errorf("%q is undone: %v", set, got)
				}
			}
			if kept, set := strings.Index(text, "\x1b[22;0t"), strings.Index(text, "\x1b]2;mine"); (kept >= 0 && kept < set) != c.undoes {
				t.Errorf("the title from before is kept: %d, %d", kept, set)
			}
			s.Send(t, "\x03")
			s.Code(t)
		})
	}
}
