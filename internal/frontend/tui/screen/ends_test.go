//go:build linux

package screen

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// setAll changes all that a program changes in a terminal.
const setAll = `printf '\033[?1;1002;1006;2004h\033[?25l\033[>1u\033[>4;2m\033=\033[4h\033[2;5r\033(0\033[5 q\033]2;mine\007\033[31mx'`

// atRest reports what a terminal must have undone.
func (h *host) atRest(own bool) {
	h.t.Helper()
	h.wait("all modes as they were", func([]string) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, m := range []ansi.Mode{ansi.ModeCursorKeys, ansi.ModeMouseButtonEvent, ansi.ModeMouseExtSgr, ansi.ModeAltScreenSaveCursor, ansi.ModeOrigin} {
			if h.modes[m] {
				return false
			}
		}
		got := h.log.String()
		for on, off := range map[string]string{"\x1b[>1u": "\x1b[<", "\x1b[>4;2m": "\x1b[>4m", "\x1b=": "\x1b>", "\x1b[4h": "\x1b[4l", "\x1b(0": "\x1b(B", "\x1b[5 q": "\x1b[0 q", "\x1b]2;mine": "\x1b[23;0t"} {
			if strings.LastIndex(got, on) > strings.LastIndex(got, off) {
				return false
			}
		}
		return h.modes[ansi.ModeBracketedPaste] == own && !h.vt.CursorHidden()
	})
}

func TestModesAfterTheCommand(t *testing.T) {
	for name, script := range map[string]string{
		"ended":                   setAll,
		"killed":                  setAll + "; kill -9 $$",
		"killed on another page":  `printf '\033[?1049h'; ` + setAll + "; kill -9 $$",
		"killed within a picture": `printf '\033[?1049h\033[3;3Hpicture\033[1'; kill -9 $$`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, 60, 12)
			s := h.open(Options{})
			_ = h.run(s, 1, "sh", "-c", script).end()
			if err := h.run(s, 2, "sh", "-c", "seq 30").end(); err != nil {
				t.Fatal(err)
			}
			h.wait("the next command's output", func(lines []string) bool { return isLast(lines) && lines[9] == "30" && lines[0] == "21" })
			h.atRest(true)
		})
	}
}

func TestClose(t *testing.T) {
	for name, script := range map[string]string{
		"idle": "", "a command runs": setAll + "; read x", "on another page": `printf '\033[?1049h\033[2;2Hpage'; ` + setAll + "; read x",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, 60, 12)
			s := h.open(Options{})
			h.wait("the footer", isLast)
			s.Print("\nkept\n")
			if script != "" {
				r := h.run(s, 1, "sh", "-c", script+"; :")
				h.wait("the command's text", func(lines []string) bool { return strings.Contains(strings.Join(lines, ""), "│") })
				defer r.end()
				defer r.Process.Kill()
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			h.wait("no footer", func(lines []string) bool {
				return lines[1] == "kept" && !slices.Contains(lines, footer) && lines[11] == ""
			})
			h.atRest(false)
			now, err := term.GetState(h.slave.Fd())
			if err != nil || *now != *h.start {
				t.Errorf("the modes are %v, want %v: %v", now, h.start, err)
			}
			// The margins are gone: the next program scrolls the whole screen.
			for i := range 30 {
				fmt.Fprintf(h.slave, "%d\n", i)
			}
			h.wait("the whole screen", func(lines []string) bool { return lines[10] == "29" && lines[0] == "19" })
		})
	}
}

func TestSuspend(t *testing.T) {
	h := newHost(t, 60, 12)
	idle := newTypedKeys()
	s := h.open(Options{Idle: idle.key})
	r := h.run(s, 1, "sh", "-c", setAll+`; printf '\033(B\033[r\033[4l\033[Hfirst\r\n'; read x; echo second; read x; echo third`)
	h.waitFor("first")
	resume := s.Suspend()
	h.typed("\r") // to the page
	buf := make([]byte, 8)
	if n, err := h.slave.Read(buf); string(buf[:n]) != "\r" {
		t.Errorf("the page read %q, %v", buf[:n], err)
	}
	if _, err := r.master.WriteString("\r"); err != nil { // the command goes on, unseen
		t.Fatal(err)
	}
	fmt.Fprint(h.slave, "\x1b[?1049h\x1b[2J\x1b[Hpage")
	h.wait("the page alone", func(lines []string) bool { return lines[0] == "page" && strings.Join(lines[1:], "") == "" })
	h.mu.Lock()
	mouse := h.modes[ansi.ModeMouseButtonEvent]
	h.mu.Unlock()
	if mouse {
		t.Error("the page has the command's mouse")
	}
	h.resize(50, 10)
	fmt.Fprint(h.slave, "\x1b[?1049l")
	resume()
	h.wait("what was held", func(lines []string) bool { return isLast(lines) && slices.Contains(lines[:9], "second") })
	if !h.mode(ansi.ModeMouseButtonEvent) {
		t.Error("the command lost its mouse")
	}
	h.typed("\r")
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	h.wait("the rest", func(lines []string) bool { return isLast(lines) && slices.Contains(lines[:9], "third") })
}

func TestSuspendOverAPicture(t *testing.T) {
	h := newHost(t, 60, 12)
	s := h.open(Options{})
	s.Print("main\n")
	r := h.run(s, 1, "sh", "-c", `printf '\033[?1049h\033[2;2Hpicture'; read x; printf '\033[4;4Hmore'; read x; printf '\033[?1049l'`)
	picture := func(lines []string) bool { return isLast(lines) && lines[1] == " picture" }
	h.wait("the picture", picture)
	resume := s.Suspend()
	h.wait("the main screen", func(lines []string) bool { return lines[0] == "main" })
	resume()
	h.wait("the picture again", picture)
	s.Print("later\n")
	h.typed("\r")
	h.wait("more of it", func(lines []string) bool { return picture(lines) && strings.Contains(lines[3], "more") })
	h.typed("\r")
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	h.wait("the main screen with what was printed", func(lines []string) bool {
		return isLast(lines) && lines[0] == "main" && lines[1] == "later"
	})
}

func TestAttachOne(t *testing.T) {
	h := newHost(t, 60, 12)
	s := h.open(Options{})
	r := h.run(s, 1, "sh", "-c", "read x")
	master, _ := openPTY(t, 1, 1)
	if err := s.Attach(2, master); err != ErrBusy {
		t.Errorf("a second command: %v", err)
	}
	h.typed("\r")
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := s.Attach(3, master); err != ErrClosed {
		t.Errorf("after Close: %v", err)
	}
}

func TestHangup(t *testing.T) {
	master, slave := openPTY(t, 80, 24)
	gone := make(chan struct{})
	s, err := Open(slave, Options{Hangup: func() { close(gone) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	master.Close()
	<-gone
}

func TestOpenNeedsATerminal(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s, err := Open(f, Options{}); s != nil || err == nil || !strings.Contains(err.Error(), "/dev/null") {
		t.Errorf("%v, %v", s, err)
	}
}
