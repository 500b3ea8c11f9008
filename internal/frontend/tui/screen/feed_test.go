//go:build unix

package screen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"pgregory.net/rapid"
)

// The shorter way for text draws what the emulator does with every character by
// itself, wherever lines end, whatever is in the line before, and whatever comes
// next.
func TestTextAsTheEmulatorDrawsIt(t *testing.T) {
	moves := []string{
		"text", "日本語", "\u0301", "👩\u200d🚀", "é", "\r\n", "\n", "\r", "\b", "\t", "\x1b[%dC", "\x1b[%dD", "\x1b[%d;%dH", "\x1b[%dG", "\x1b[2J", "\x1b[K",
		"\x1b[%dL", "\x1b[%d@", "\x1b[%dP", "\x1b[%dX", "\x1b[%db", "\x1b[2;5r", "\x1b[r", "\x1bM", "\x1b#8", "\x1b[!p", "\x1b[?6h", "\x1b[?6l", "\x1b[4h", "\x1b[4l", "\x1b7", "\x1b8",
		"\x1b[3%dm", "\x1b[7m", "\x1b[48;2;1;2;%dm", "\x1b[m", "\x1b]8;;http://x.test/\x07", "\x1b]8;;\x07", "\x1b[?7l", "\x1b[?7h",
		"\x1b(0", "\x1b(B", "\x1b)0", "\x1b)B", "\x0e", "\x0f", "\x1bN", "\x1bO", "\x1b*0",
	}
	long := strings.Repeat("qwerty $`~ under_score ", 4)
	rapid.Check(t, func(t *rapid.T) {
		cols, rows := rapid.IntRange(8, 40).Draw(t, "cols"), rapid.IntRange(3, 6).Draw(t, "rows")
		s := composing(cols, rows)
		defer s.emu.close()
		c := &command{keys: newQueue()}
		plain := vt.NewEmulator(cols, rows)
		defer plain.Close()
		go func() { // what it answers
			b := make([]byte, 1<<10)
			for {
				if _, err := plain.Read(b); err != nil {
					return
				}
			}
		}()
		same := &scanner{rows: rows, cols: cols, composed: true}
		for range rapid.IntRange(1, 12).Draw(t, "chunks") {
			var in []byte
			for range rapid.IntRange(1, 12).Draw(t, "moves") {
				m := rapid.OneOf(rapid.Just(""), rapid.SampledFrom(moves)).Draw(t, "move")
				if m == "" {
					m = long[:rapid.IntRange(minSpan-2, len(long)).Draw(t, "text")]
				}
				for strings.Contains(m, "%d") {
					m = strings.Replace(m, "%d", fmt.Sprint(rapid.IntRange(0, cols+2).Draw(t, "n")), 1)
				}
				in = append(in, m...)
			}
			s.held = true // nothing is written to a terminal
			s.show(c, in)
			same.out = same.out[:0]
			if n, _ := same.scan(in); n != len(in) {
				t.Fatalf("%q was read to %d", in, n)
			}
			if !written(plain, same.out) {
				return // the emulator cannot take it, and the screen has begun with another
			}
			if a, b := s.emu.vt.CursorPosition(), plain.CursorPosition(); a != b {
				t.Fatalf("%q: the cursor is at %v, not %v", in, a, b)
			}
			for y := range rows {
				for x := range cols {
					a, b := s.emu.vt.CellAt(x, y), plain.CellAt(x, y)
					if !a.Equal(b) {
						t.Fatalf("%q: %d,%d is %+v, not %+v", in, x, y, a, b)
					}
				}
			}
		}
	})
	s := composing(40, 6)
	defer s.emu.close()
	s.held = true
	s.show(&command{keys: newQueue()}, []byte(long))
	if len(s.scan.spans) != 1 {
		t.Errorf("%d spans of %q", len(s.scan.spans), long)
	}
}

// written reports whether an emulator could take b: at some it panics, such as
// margins below its last line and a scroll within them.
func written(e *vt.Emulator, b []byte) (ok bool) {
	defer func() { ok = recover() == nil }()
	_, _ = e.Write(b)
	return true
}
