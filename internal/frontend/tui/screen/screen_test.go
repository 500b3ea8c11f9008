//go:build linux

package screen

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"
)

func TestFooterStaysUnderAFlood(t *testing.T) {
	h := newHost(t, 60, 12)
	s := h.open(Options{})
	r := h.run(s, 1, "sh", "-c", "stty size; seq 10000; echo end")
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	h.wait("the end of the flood above the footer", func(lines []string) bool {
		return isLast(lines) && lines[9] == "end" && lines[8] == "10000" && lines[0] == "9992"
	})
	if got := h.got(); !strings.Contains(got, "11 60\r\n") {
		t.Errorf("the command's terminal has another size: %.200q", got)
	}
}

// What erases the screen does not take the footer for long, and what asks for
// the size is told the smaller one.
func TestCommandCannotHaveTheFooter(t *testing.T) {
	h := newHost(t, 60, 12)
	s := h.open(Options{})
	for i, c := range []struct{ script, line string }{
		{`printf 'old\n'; clear; echo new`, "new"},
		{`printf '\033[r\033[12;1Hlow'`, "low"},
		{`printf '\033c'; printf '\033[99;1Hreset'`, "reset"},
		{`printf '\033[!p\033[99;1H\033[Ksoft'`, "soft"},
		{`stty raw -echo; printf '\033[999;999H\033[6n'; a=$(head -c 8 | tail -c +3); stty sane; printf '\r\n%s\n' "$a"`, "11;60R"},
		{`printf '\033[3;30r\033[99;1Hmargin\n\n\n'`, "margin"},
		{`printf '\033[2J\0337\033[1;5r\033[10;1H\n\n\n\rforged\n\n\033[3;1H'; printf '\0338'`, "forged"},
		{`printf '\033[2J\033[11;1H\0337\033[1;5r\0338\n\n\033[99B\rback and %040d%040d' 1 2`, "back and " + strings.Repeat("0", 39) + "1" + strings.Repeat("0", 10) + "2"},
		{`printf '\033[2J\033[1;5r\033[11;1Hlow\033[?1049halternate\033[?1049l\n\n\033[999Bown'`, "own"},
		{`printf '\033#8'; printf '\033[2J\033[99;1Halign'`, "align"},
	} {
		if err := h.run(s, i, "sh", "-c", c.script).end(); err != nil {
			t.Fatal(err)
		}
		h.wait(c.script, func(lines []string) bool {
			return isLast(lines) && slices.Contains(lines[:11], c.line)
		})
	}
}

func TestFullScreenProgram(t *testing.T) {
	t.Chdir(t.TempDir()) // a long name would not fit in vi's last line
	const file = "file"
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args         []string
		first, enter string
		second, quit string
	}{
		{[]string{"less", file}, "line 1", "G", "line 100", "q"},
		{[]string{"vi", "-u", "NONE", "-n", file}, "line 1", "G", "line 100", ":q\r"},
		{[]string{"sh", "-c", "tput smcup; tput cup 2 3; echo -n page; read x; tput cup 4 0; echo other; read x; tput rmcup"}, "   page", "\r", "other", "\r"},
	} {
		t.Run(filepath.Base(c.args[0]), func(t *testing.T) {
			h := newHost(t, 60, 12)
			s := h.open(Options{})
			if err := h.run(s, 1, "echo", "before").end(); err != nil {
				t.Fatal(err)
			}
			r := h.run(s, 2, c.args...)
			shows := func(text string) {
				t.Helper()
				h.wait("a page with "+text, func(lines []string) bool {
					return isLast(lines) && slices.Contains(lines[:11], text) && !slices.Contains(lines, "before")
				})
			}
			shows(c.first)
			h.typed(c.enter)
			shows(c.second)
			h.resize(50, 14)
			h.wait("a page of another size", func(lines []string) bool {
				return isLast(lines) && len(lines) == 14 && slices.Contains(lines, c.second) && (c.args[0] == "sh" || lines[11] != "")
			})
			h.typed(c.quit)
			if err := r.end(); err != nil {
				t.Fatal(err)
			}
			h.wait("the main screen again", func(lines []string) bool { return isLast(lines) && lines[0] == "before" })
			if err := h.run(s, 3, "echo", "after").end(); err != nil {
				t.Fatal(err)
			}
			h.wait("more", func(lines []string) bool {
				return isLast(lines) && lines[0] == "before" && slices.Contains(lines, "after")
			})
		})
	}
}

func TestResizeInAFlood(t *testing.T) {
	h := newHost(t, 60, 12)
	s := h.open(Options{})
	r := h.run(s, 1, "sh", "-c", "seq 30000; read x; stty size; seq 20; echo end")
	for i := range 20 {
		h.resize(40+i, 8+i%7)
	}
	h.resize(50, 10)
	h.waitFor("30000")
	h.typed("\r")
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	h.wait("the footer in its place", func(lines []string) bool { return isLast(lines) && lines[7] == "end" && lines[6] == "20" })
	if !strings.Contains(h.got(), "9 50\r\n") {
		t.Error("the command was not told the new size")
	}
}

func TestSmallTerminalHasNoFooter(t *testing.T) {
	h := newHost(t, 60, 3)
	s := h.open(Options{})
	if err := h.run(s, 1, "stty", "size").end(); err != nil {
		t.Fatal(err)
	}
	h.waitFor("3 60")
	h.resize(60, 8)
	h.wait("a footer", isLast)
}

// altS is Alt+S in the three encodings of terminals.
var altS = []string{"\x1bs", "\x1b[115;3u", "\x1b[27;3;115~"}

func TestKeys(t *testing.T) {
	h := newHost(t, 60, 12)
	hot := newTypedKeys()
	idle := newTypedKeys()
	pasted := newTypedKeys()
	s := h.open(Options{
		Key: func(e uv.KeyPressEvent) bool {
			if k := e.String(); k == "alt+s" || k == `ctrl+\` {
				hot.key(e)
				return true
			}
			return false
		},
		Idle: idle.key, Paste: pasted.add,
	})
	h.typed("aü\x1b[A\x1b[200~two\nlines\x1b[201~\x03")
	idle.wait(t, "a", "ü", "up", "ctrl+c")
	pasted.wait(t, "two\nlines")
	h.wait("bracketed paste for the input line", func([]string) bool { return h.mode(ansi.ModeBracketedPaste) })

	// Everything else reaches the command byte for byte, also in pieces.
	out := filepath.Join(t.TempDir(), "typed")
	want := "x\x1b[1;5A\x1bOP\x1b\x1b[Aé日\x1b[200~pa\x1bs\x1cste\x1b[201~\x01\x1ax\x1b[Z\xff"
	r := h.run(s, 1, "sh", "-c", fmt.Sprintf("stty raw -echo; echo ready; head -c %d >%s", len(want), out))
	h.waitFor("ready")
	if h.mode(ansi.ModeBracketedPaste) {
		t.Error("the command has bracketed paste, and did not ask for it")
	}
	typed := altS[0] + "x\x1b[1;5A" + altS[1] + "\x1bOP\x1b\x1b[Aé日" + altS[2] + "\x1b[115;3:3u\x1c\x1b[200~pa\x1bs\x1cste\x1b[201~\x01\x1ax\x1b[Z\xff"
	for i := range len(typed) {
		h.typed(typed[i : i+1])
		if i < 40 { // what was typed by hand ends after a moment; in one burst it is whole
			unixYield()
		}
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil || string(got) != want {
		t.Errorf("the command got %q\nwant %q", got, want)
	}
	hot.wait(t, "alt+s", "alt+s", "alt+s", `ctrl+\`)
}

func unixYield() { _, _ = unix.Poll(nil, 0) }

func TestControlCReachesTheCommand(t *testing.T) {
	h := newHost(t, 60, 12)
	s := h.open(Options{Key: func(uv.KeyPressEvent) bool { return false }})
	r := h.run(s, 1, "sh", "-c", "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 1; done")
	h.waitFor("ready")
	h.typed("\x03")
	if err := r.end(); err == nil || r.ProcessState.ExitCode() != 3 {
		t.Errorf("ended with %v", err)
	}
	h.wait("the trap", func(lines []string) bool { return isLast(lines) && slices.Contains(lines, "^Ccaught") })
}

// An answer of the terminal goes to the command that asked, and to nobody
// else: not to the next command, and not to the input line.
func TestAnswersGoToWhoAsked(t *testing.T) {
	h := newHost(t, 60, 12)
	idle := newTypedKeys()
	s := h.open(Options{Idle: idle.key})
	const late = "\x1b[3;5R\x1b]11;rgb:0000/0000/0000\x1b\\\x1bP>|evil\x1b\\\x1b[?62;22c"
	h.typed(late + "k")
	idle.wait(t, "k")

	out := filepath.Join(t.TempDir(), "typed")
	r := h.run(s, 1, "sh", "-c", "stty raw -echo; echo ready; head -c 1 >"+out)
	h.waitFor("ready")
	h.typed(late + "z")
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(out); string(got) != "z" {
		t.Errorf("a command that did not ask got %q", got)
	}
	r = h.run(s, 2, "sh", "-c", `stty raw -echo; printf '\033[c'; head -c 3 >`+out)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(out); string(got) != "\x1b[?" {
		t.Errorf("the command that asked got %q", got)
	}
}

// A command that asks on and reads nothing does not take the keyboard, whoever
// gives the answers: bawn, the emulator or the terminal.
func TestAnswersDoNotTakeTheKeyboard(t *testing.T) {
	for name, ask := range map[string][2]string{"bawn": {"", `\033[18t`}, "emulator": {`\033[?1049h`, `\033[6n`}, "terminal": {"", `\033[6n`}} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, 60, 12)
			keys := make(chan string, 64)
			s := h.open(Options{Key: func(e uv.KeyPressEvent) bool {
				keys <- e.String()
				return e.String() == "alt+s"
			}})
			r := h.run(s, 1, "sh", "-c", `stty raw -echo; printf '`+ask[0]+`'; yes "$(printf '`+ask[1]+`')" | head -n 250000 | tr -d '\n'; printf '\033[?1049l\r\nasked'; exec sleep 600`)
			h.waitFor("asked")
			typed := make(chan struct{})
			go func() {
				h.master.WriteString("x")
				<-typed
				h.master.WriteString("\x1bs")
			}()
			for _, want := range []string{"x", "alt+s"} {
				select {
				case k := <-keys:
					if k != want {
						t.Fatalf("%q", k)
					}
					if k == "x" {
						close(typed)
					}
				case <-time.After(patience):
					t.Fatalf("%s does not arrive", want)
				}
			}
			r.Process.Kill()
			_ = r.end()
		})
	}
}

// Nor does what is pasted into such a command keep the screen from its end.
func TestCloseWithMuchTyped(t *testing.T) {
	h := newHost(t, 60, 12)
	s := h.open(Options{})
	h.run(s, 1, "sh", "-c", `stty raw -echo; echo ready; exec sleep 600`)
	h.waitFor("ready")
	c := s.cmd.Load()
	go h.master.WriteString(strings.Repeat("x", 3<<20))
	for full := false; !full; time.Sleep(time.Millisecond) {
		c.keys.mu.Lock()
		full = len(c.keys.buf) > maxTyped
		c.keys.mu.Unlock()
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		c.keys.close()
		t.Fatal("the screen does not close")
	}
}

// A full-screen program that floods is drawn more often after a key, so that
// what the key does is seen soon; the keys of an idle line change nothing.
func TestKeyHurriesTheFrame(t *testing.T) {
	h := newHost(t, 60, 12)
	idle := newTypedKeys()
	s := h.open(Options{Idle: idle.key})
	h.typed("x")
	idle.wait(t, "x")
	due := func(after time.Duration) time.Duration {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.due(time.Unix(0, s.typedAt.Load()).Add(after)).Sub(s.drawn)
	}
	r := h.run(s, 1, "sh", "-c", `stty -echo; printf '\033[?1049hpage'; read x; printf ' got'; read x`)
	h.waitFor("page")
	if s.typedAt.Load() != 0 {
		t.Error("what was typed before was not for the command")
	}
	h.typed("\r")
	h.waitFor("page got")
	if d := due(0); d != keyFrame {
		t.Errorf("after a key a frame is %v", d)
	}
	if d := due(keyTime); d != frame {
		t.Errorf("long after a key a frame is %v", d)
	}
	h.typed("\r")
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
}

// What scrolls out of the emulator is kept nowhere.
func TestComposedKeepsNoLines(t *testing.T) {
	h := newHost(t, 60, 12)
	s := h.open(Options{})
	r := h.run(s, 1, "sh", "-c", `printf '\033[?1049h'; seq 3000; printf up; read x`)
	h.wait("the last line", func(lines []string) bool { return lines[10] == "up" })
	s.mu.Lock()
	if n := s.emu.vt.ScrollbackLen(); n > 1 {
		t.Errorf("%d lines", n)
	}
	s.mu.Unlock()
	h.typed("\r")
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
}

// A program that saves the cursor once and restores it often finds it there,
// although the footer changes meanwhile.
func TestSavedCursorIsTheCommands(t *testing.T) {
	h := newHost(t, 60, 12)
	s := h.open(Options{})
	r := h.run(s, 1, "sh", "-c", `printf 'at: \0337'; for i in 1 2 3 4 5 6; do read x; printf '\0338step %s' $i; done; echo`)
	h.waitFor("at:")
	for i := 1; i <= 6; i++ {
		s.SetFooter([]string{fmt.Sprintf("%s %d", footer, i)}, nil)
		time.Sleep(3 * frame) // in which a footer that does not wait would be drawn
		_, _ = r.master.WriteString("\n")
		h.wait("the step in its place", func(lines []string) bool { return lines[0] == fmt.Sprintf("at: step %d", i) })
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	h.waitFor(footer + " 6")
}

func TestInputLine(t *testing.T) {
	h := newHost(t, 40, 12)
	s := h.open(Options{})
	s.Print("hello\n")
	s.SetFooter([]string{"> ls " + strings.Repeat("x", 80), footer}, &Cursor{0, 5})
	h.wait("two lines of footer, the cursor in them", func(lines []string) bool {
		at := h.cursor()
		return lines[0] == "hello" && lines[10] == "> ls "+strings.Repeat("x", 34)+"…" && isLast(lines) && at.X == 5 && at.Y == 10
	})
	if err := h.run(s, 1, "sh", "-c", "printf 'no newline'").end(); err != nil {
		t.Fatal(err)
	}
	s.Print("next\n")
	h.wait("a line of its own", func(lines []string) bool {
		at := h.cursor()
		return lines[1] == "no newline" && lines[2] == "next" && isLast(lines) && at.X == 5 && at.Y == 10
	})
}

func TestPlain(t *testing.T) {
	h := newHost(t, 60, 12)
	s, err := Open(h.slave, Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	s.SetFooter([]string{footer}, nil)
	s.Print("before\n")
	if err := h.run(s, 1, "sh", "-c", `stty size; printf '\033]52;c;x\007\033[1mbold\033[m\n'`).end(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	h.waitFor("bold")
	if got, want := h.got(), "before\r\n12 60\r\n\x1b[1mbold\x1b[m\r\n"; got != want && got != strings.Replace(want, "12 60", "12 60", 1) {
		t.Errorf("written %q, want %q", got, want)
	}
}

// What was there to read may have gone to a page since: the keyboard is not
// waited for while it is locked, or the page's end would wait for a key.
func TestTakeNeverWaits(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	s := &Screen{fd: int(r.Fd())}
	take := func() (string, error) {
		buf := make([]byte, 8)
		n, err := s.take(buf)
		return string(buf[:max(n, 0)]), err
	}
	w.WriteString("key")
	s.keys.pause()
	if got, err := take(); got != "" || err != unix.EAGAIN {
		t.Errorf("during a page: %q, %v", got, err)
	}
	s.keys.change.L = &s.keys.mu
	s.keys.resume()
	if got, err := take(); got != "key" || err != nil {
		t.Errorf("after it: %q, %v", got, err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := take()
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != unix.EAGAIN {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("it waits")
		w.WriteString("x")
	}
}
