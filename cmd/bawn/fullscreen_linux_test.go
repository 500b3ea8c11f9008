//go:build !race

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"

	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/tools/vterm"
)

// screenIs waits until ok says so of the screen's lines.
func screenIs(t *testing.T, term *vterm.Terminal, what string, ok func(lines []string) bool) {
	t.Helper()
	if _, err := term.Wait(sandboxtest.Limit/5, func(text string) bool { return ok(strings.Split(text, "\n")) }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// barIsLast reports whether the status bar is on line n, and no other is one.
func barIsLast(lines []string, n int) bool {
	for i, l := range lines {
		if strings.Contains(l, "guarded") != (i == n-1) {
			return false
		}
	}
	return len(lines) == n
}

// A full-screen program has the screen but for the bar, follows its size, and
// leaves it as it was.
func TestFullScreenOfASession(t *testing.T) {
	b := room(t)
	term, cmd := sessionOn(t, b)
	types(t, term, "seq 300 >numbers; echo before; less numbers\r")
	screenIs(t, term, "less", func(l []string) bool { return l[0] == "1" && barIsLast(l, 24) })
	types(t, term, "G")
	screenIs(t, term, "its end", func(l []string) bool { return l[len(l)-3] == "300" && barIsLast(l, 24) })
	if err := term.Resize(70, 16); err != nil {
		t.Fatal(err)
	}
	screenIs(t, term, "another size", func(l []string) bool {
		return len(l) == 16 && l[0] == "279" && l[13] == "292" && l[14] == ":" && barIsLast(l, 16)
	}) // a key typed before less has drawn its prompt may be lost
	types(t, term, "q")
	screenIs(t, term, "the screen of before", func(l []string) bool {
		return !term.AltScreen() && barIsLast(l, 16) && strings.Contains(strings.Join(l, "\n"), "before")
	})
	idle(t, term)
	// What is pasted is text, and nothing runs before Enter.
	types(t, term, "\x1b[200~echo pas\nted\x1b[201~")
	shows(t, term, "echo pas")
	types(t, term, "\x15echo $((40+2))\r")
	shows(t, term, "42")
	idle(t, term)
	// A program in the foreground is interrupted, not the session.
	types(t, term, "echo up; sleep 1000; echo never\r")
	shows(t, term, "\nup\n", "1 running")
	types(t, term, "\x03")
	shows(t, term, "exit 130")
	leaves(t, term, cmd)
}

// A program that set everything and was killed leaves a session that works,
// and its host a terminal as it was; so does a session that is killed itself.
func TestTerminalAfterKills(t *testing.T) {
	b := room(t)
	other, err := vterm.Open(90, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	start, err := term.GetState(other.Slave.Fd()) // as all are that nobody has touched
	if err != nil {
		t.Fatal(err)
	}
	screen, cmd := sessionOn(t, b)
	const setAll = `printf '\033[?1049h\033[?1;1002;1006h\033[?25l\033[>1u\033=\033[4h\033[2;5r\033(0xxx'; stty raw -echo; `
	types(t, screen, setAll+"kill -9 $$\r")
	shows(t, screen, "exit 137")
	idle(t, screen)
	types(t, screen, "echo $((40+2)) x\r")
	screenIs(t, screen, "a line of text", func(l []string) bool { return strings.Contains(strings.Join(l, "\n"), "\n42 x\n") && barIsLast(l, 24) })
	idle(t, screen)
	types(t, screen, setAll+"sleep 1000\r")
	screenIs(t, screen, "the alternate screen", func([]string) bool { return screen.AltScreen() })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	screenIs(t, screen, "no bar", func(l []string) bool {
		return !screen.AltScreen() && !strings.Contains(strings.Join(l, "\n"), "guarded")
	})
	for end := time.Now().Add(sandboxtest.Limit / 5); ; time.Sleep(5 * time.Millisecond) {
		now, err := term.GetState(screen.Slave.Fd())
		if err == nil && *now == *start {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the modes are %v, want %v: %v", now, start, err)
		}
	}
}

// Twenty questions at once are one page, and one key says no to all.
func TestN7_ManyQuestionsOnTheScreen(t *testing.T) {
	b := room(t)
	term, cmd := sessionOn(t, b)
	types(t, term, "for i in $(seq 20); do curl -sS https://h$i.example 2>/dev/null & done; wait; echo all $((40+2))\r")
	shows(t, term, "bawn asks", "Question 1 of 20")
	answers(t, term, "bawn asks", "N", "all 42")
	shows(t, term, "20 denied")
	leaves(t, term, cmd)
}

// Ctrl+Z stops nothing for long, where no shell could continue it: a program
// that reads goes on reading.
func TestStopOfAProgramThatReads(t *testing.T) {
	b := room(t)
	term, cmd := sessionOn(t, b)
	types(t, term, "echo up; cat; echo ended $((40+2))\r")
	shows(t, term, "\nup\n", "1 running")
	types(t, term, "one\r")
	shows(t, term, "one\none")
	types(t, term, "\x1a")
	shows(t, term, "^Z")
	types(t, term, "two\r")
	shows(t, term, "two\ntwo")
	types(t, term, "\x04")
	shows(t, term, "ended 42")
	leaves(t, term, cmd)
}

// An answer may come after the program that asked has died: the session goes
// on.
func TestN7_QuestionOfADeadProgram(t *testing.T) {
	b := room(t)
	term, cmd := sessionOn(t, b)
	// Two: whoever reads one again may meet the writer that was there before.
	for _, fifo := range []string{"one", "two"} {
		if err := syscall.Mkfifo(filepath.Join(b.Workspace, fifo), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(b.Workspace, fifo), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	types(t, term, "curl -sS https://unlisted.example & read x <one; kill -9 $!; wait $! 2>/dev/null; echo ended $?; read x <two\r")
	shows(t, term, "bawn asks", "unlisted.example:443")
	goOn := func(fifo string) {
		if err := os.WriteFile(filepath.Join(b.Workspace, fifo), []byte("now\n"), 0); err != nil {
			t.Fatal(err)
		}
	}
	goOn("one")
	answers(t, term, "bawn asks", "\x1b", "ended 137")
	goOn("two") // the question's command had not ended
	shows(t, term, "exit 0")
	leaves(t, term, cmd)
}
