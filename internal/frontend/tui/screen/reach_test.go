//go:build unix

package screen

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"pgregory.net/rapid"
)

// moves are what moves the cursor and what is drawn.
var moves = []string{
	"\rtext ", "\x1b[7Gwide 日本", "\r\n", "\n\n\n", "\r", "\b", "\r\t", "\x1b[%dA", "\x1b[%dB", "\x1b[%dC", "\x1b[%dD", "\x1b[%dE", "\x1b[%dF", "\x1b[%dG", "\r\x1b[%dI", "\x1b[%d;%dH",
	"\x1b[%d;%df", "\x1b[%dd", "\x1b[%de", "\x1b[%da", "\x1bD", "\x1bM", "\x1b[%dL", "\x1b[%dM", "\x1b[%dS", "\x1b[%dT", "\x1b[%dP", "\x1b[%d@", "\x1b[K", "\x1b[1K",
	"\x1b[%dX", "\x1b[r", "\x1b7", "\x1b8", "\r=\x1b[1%db\r", "\x1b[J", "\x1b[2J", "\x1b[1J", "\x1b[?J", "\v", "\f", "\x1b[31;7m", "\x1b[m", "\x1b(0", "\x1b(B", "\x0e", "\x0f",
	"\ra line that is longer than the terminal is wide\r\n", "\r0123456789012345678901234567890123456789\r",
}

// tricks are more: margins, modes, resets, and what is dropped.
var tricks = []string{
	"\x1b[%d;%dr", "\x1b[%d;%dr", "\x1b[1;%dr", "\x1bE", "\x1b[s", "\x1b[u", "\x1b[%db", "\x1b[?7l", "\x1b[?7h", "\x1b[?6h", "\x1b[?6l", "\x1b[?45h", "\x1b[?69h\x1b[%d;%ds", "\x1b[?1048h", "\x1b[?1048l",
	"\x1bc", "\x1b[!p", "\x1b#8", "\x1b#6", "\x1b#3", "\x1b[20h", "\x1b[20l", "\x1b[4h", "\x1b[4l", "\x1bH", "\x1b[3g", "\x1b6", "\x1b9", "\x1b[8;%d;%dt", "\x1b[?3h", "\x1b[?40h",
	"\x1b[1;1;40;40$x", "\x1b[65;1;1;40;40$x", "\x1b[1;1;5;5;1;11;1;1$v", "\x1bPq#0~~~\x1b\\", "\x1b]0;title\a", "\x1b[%d'}", "\x1b[%d'~", "\x1b[? 5W", "\x1bn", "\x1b~",
	"\t", "\x1b[%dI", "text ", "0123456789012345678901234567890123456789", "日本日本日本日本日本日本日本日本日本日本日本", "❤\ufe0f", "👩\u200d💻", "e\u0301\u0302", "\xff", "\xc2", "\xf0\xa0",
}

func drawMove(t *rapid.T, of []string, low int) string {
	m := rapid.SampledFrom(of).Draw(t, "move")
	for strings.Contains(m, "%d") {
		m = strings.Replace(m, "%d", fmt.Sprint(rapid.IntRange(low, 16).Draw(t, "n")), 1)
	}
	return m
}

const (
	testRows, testCols = 10, 40
	testFooter         = "\x1b[11;1Hone\x1b[12;1Htwo\x1b[13;1Hthree\x1b[1;10r"
)

// Whatever is written, no character gets into the footer, nor does the cursor;
// what may erase it says so.
func checkFooter(t fatal, term *vt.Emulator, s *scanner, in []byte) {
	s.out = s.out[:0]
	for n := 0; n < len(in); {
		m, why := s.scan(in[n:])
		if n += m; why == atAlternate || why == atMain {
			s.reset = false // the tests stay on the main screen
		}
	}
	term.Write(s.out)
	for y, want := range []string{"one", "two", "three"} {
		if got := row(term, testRows+y); got != want && (got != "" || !s.damaged) {
			t.Fatalf("%q, passed on as %q: %q was drawn over %q (damaged %v)", in, s.out, got, want, s.damaged)
		}
	}
	if at := term.CursorPosition(); at.Y >= testRows {
		t.Fatalf("%q, passed on as %q: the cursor is in line %d of the footer", in, s.out, at.Y-testRows+1)
	}
	if s.damaged { // as refresh does
		s.damaged = false
		for y, line := range []string{"one", "two", "three"} {
			for x := range testCols {
				c := uv.Cell{Content: (line + strings.Repeat(" ", testCols))[x : x+1], Width: 1}
				term.SetCell(x, testRows+y, &c)
			}
		}
	}
}

func TestNothingReachesTheFooter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		term := vt.NewEmulator(testCols, testRows+3)
		s := &scanner{rows: testRows, cols: testCols, at: position{y: 1}, saved: position{y: 1}}
		fmt.Fprint(term, testFooter)
		all := append(append([]string{}, moves...), tricks...)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			checkFooter(t, term, s, []byte(drawMove(t, all, 0)))
		}
	})
}

// Terminals differ in what the standard leaves open. looseTerminal is the worst
// of each, as its switches say; it knows no text, only where the cursor is.
type looseTerminal struct {
	t                       fatal
	freeDown, freeUp        bool // CUD, CUU do not stop at margins
	savesWrap, keepsPending bool // DECSC saves DECAWM; a pending wrap is not dropped when that is off
	cjk                     bool // zero-width characters take a cell

	x, y, top, bottom int
	last              int // the width of the last character
	pending, nowrap   bool
	saved             struct {
		x, y            int
		pending, nowrap bool
	}
}

func (l *looseTerminal) home() { l.x, l.y, l.pending = 0, 0, false }

func (l *looseTerminal) linefeed() {
	switch {
	case l.y == l.bottom-1:
	case l.y < testRows+2:
		l.y++
	}
}

func (l *looseTerminal) print(w int) {
	l.last = w
	if l.pending || l.x+w > testCols {
		if l.pending = false; !l.nowrap {
			l.x = 0
			l.linefeed()
		} else {
			l.x = testCols - w
		}
	}
	if l.y >= testRows {
		l.t.Fatalf("a character in line %d of the footer", l.y-testRows+1)
	}
	if l.x += w; l.x >= testCols {
		l.x = testCols - 1
		l.pending = !l.nowrap || l.keepsPending
	}
}

func (l *looseTerminal) move(y, x int) {
	l.y, l.x, l.pending = min(max(y, 0), testRows+2), min(max(x, 0), testCols-1), false
}

// write takes what a scanner has passed on: whole sequences.
func (l *looseTerminal) write(b []byte) {
	var state byte
	p := ansi.NewParser()
	for len(b) > 0 {
		seq, width, n, next := ansi.DecodeSequence(b, state, p)
		state = next
		one := b[:n]
		b = b[n:]
		arg := func(i int) int {
			if v, ok := p.Param(i, 1); ok && v > 0 {
				return v
			}
			return 1
		}
		switch {
		case len(seq) > 0 && (seq[0] >= 0x80 || width > 0):
			for _, r := range string(one) { // character for character, as many terminals do
				w := ansi.StringWidth(string(r))
				if w == 0 && (l.cjk || r == utf8.RuneError) {
					w = 1
				}
				if w > 0 {
					l.print(w)
				}
			}
		case one[0] != esc:
			switch one[0] {
			case '\n', '\v', '\f':
				l.linefeed()
			case '\r':
				l.x, l.pending = 0, false
			case '\b':
				l.move(l.y, l.x-1)
			case '\t':
				l.x = min((l.x/8+1)*8, testCols-1)
			}
		case one[1] != '[':
			l.escape(one[1])
		default:
			l.csi(string(one), one[len(one)-1], arg, len(p.Params()))
		}
	}
	if l.y >= testRows {
		l.t.Fatalf("the cursor is in line %d of the footer", l.y-testRows+1)
	}
}

func (l *looseTerminal) escape(c byte) {
	switch c {
	case 'D':
		l.linefeed()
	case 'E':
		l.x, l.pending = 0, false
		l.linefeed()
	case 'M':
		if l.y != l.top-1 && l.y > 0 {
			l.y--
		}
	case '7':
		l.saved.x, l.saved.y, l.saved.pending, l.saved.nowrap = l.x, l.y, l.pending, l.nowrap
	case '8':
		l.x, l.y, l.pending = l.saved.x, l.saved.y, l.saved.pending
		if l.savesWrap {
			l.nowrap = l.saved.nowrap
		}
	case 'c':
		l.top, l.bottom, l.nowrap = 1, testRows+3, false
		l.home()
	}
}

func (l *looseTerminal) csi(seq string, final byte, arg func(int) int, params int) {
	switch {
	case seq == "\x1b[?7l":
		l.nowrap = true
	case seq == "\x1b[?7h":
		l.nowrap = false
	case seq == "\x1b[?1048h" || final == 's' && params == 0:
		l.escape('7')
	case seq == "\x1b[?1048l" || final == 'u' && params == 0:
		l.escape('8')
	case seq == "\x1b[!p":
		l.top, l.bottom = 1, testRows+3
	case seq[2] == '?':
	case final == 'A' || final == 'F':
		y := max(0, l.y-arg(0))
		if !l.freeUp && l.y >= l.top-1 {
			y = max(l.top-1, l.y-arg(0))
		}
		l.move(y, l.x)
	case final == 'B' || final == 'E' || final == 'e':
		y := l.y + arg(0)
		if !l.freeDown && l.y <= l.bottom-1 {
			y = min(l.bottom-1, y)
		}
		l.move(y, l.x)
	case final == 'C' || final == 'a':
		l.move(l.y, l.x+arg(0))
	case final == 'D':
		l.move(l.y, l.x-arg(0))
	case final == 'G':
		l.move(l.y, arg(0)-1)
	case final == 'I':
		l.x = min((l.x/8+arg(0))*8, testCols-1)
	case final == 'H' || final == 'f':
		l.move(arg(0)-1, arg(1)-1)
	case final == 'd':
		l.move(arg(0)-1, l.x)
	case final == 'b':
		for range arg(0) {
			l.print(max(1, l.last))
		}
	case final == 'r':
		l.top, l.bottom = arg(0), arg(1)
		l.home()
	case final == 'L' || final == 'M':
		l.x, l.pending = 0, false
	}
	if final == 'E' || final == 'F' {
		l.x = 0
	}
}

func TestNothingReachesTheFooterAnywhere(t *testing.T) {
	all := append(append([]string{}, moves...), tricks...)
	all = append(all, all[:24]...) // moves more often
	rapid.Check(t, func(t *rapid.T) {
		flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
		l := &looseTerminal{t: t, freeDown: flag("freeDown"), freeUp: flag("freeUp"), savesWrap: flag("savesWrap"), keepsPending: flag("keepsPending"), cjk: flag("cjk")}
		s := &scanner{rows: testRows, cols: testCols}
		s.anywhere()
		l.top, l.bottom, l.y = 1, testRows, rapid.IntRange(0, testRows-1).Draw(t, "row")
		l.saved.y = l.y
		s.save()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			s.out = s.out[:0]
			for in := []byte(drawMove(t, all, 0)); len(in) > 0; {
				n, _ := s.scan(in)
				in = in[n:]
			}
			l.write(s.out)
			if s.at.y < l.y+1 {
				t.Fatalf("after %q the cursor is in row %d, below the bound %d", s.out, l.y+1, s.at.y)
			}
		}
	})
}

// Without margins of its own a command sees what it would see on a terminal
// that is as much smaller.
func TestScannerChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain, term := vt.NewEmulator(testCols, testRows), vt.NewEmulator(testCols, testRows+3)
		s := &scanner{rows: testRows, cols: testCols, at: position{y: 1}, saved: position{y: 1}}
		fmt.Fprint(term, testFooter+"x\r") // REP has something to repeat
		fmt.Fprint(plain, "x\r")
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			in := []byte(drawMove(t, moves, 1))
			plain.Write(in)
			checkFooter(t, term, s, in)
			for y := range testRows {
				if got, want := row(term, y), row(plain, y); got != want {
					t.Fatalf("after %q, passed on as %q, row %d is %q, want %q", in, s.out, y+1, got, want)
				}
			}
			if got, want := term.CursorPosition(), plain.CursorPosition(); got != want {
				t.Fatalf("after %q, passed on as %q, the cursor is at %v, want %v", in, s.out, got, want)
			}
		}
	})
}

// FuzzFooter is TestNothingReachesTheFooter with bytes as they come.
func FuzzFooter(f *testing.F) {
	for _, m := range append(append([]string{}, moves...), tricks...) {
		f.Add([]byte(strings.ReplaceAll(m, "%d", "9")))
	}
	f.Add([]byte("\x1b[1;5r\x1b7\x1b[9;1H\n\n\n\rforged\x1b8"))
	f.Fuzz(func(t *testing.T, in []byte) {
		term := vt.NewEmulator(testCols, testRows+3)
		s := &scanner{rows: testRows, cols: testCols, at: position{y: 1}, saved: position{y: 1}}
		go func() { _, _ = io.Copy(io.Discard, term) }() // its answers, which it waits to be taken
		defer term.Close()
		fmt.Fprint(term, testFooter)
		checkFooter(t, term, s, in)
	})
}

func row(term *vt.Emulator, y int) string {
	var b strings.Builder
	for x := range term.Width() {
		b.WriteString(term.CellAt(x, y).Content)
	}
	return strings.TrimRight(b.String(), " ")
}
