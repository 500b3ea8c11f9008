//go:build unix

package screen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// composing is a screen without a terminal whose command is on the alternate one.
func composing(cols, rows int) *Screen {
	s := &Screen{dead: true, footer: []string{"footer"}, lines: 1}
	s.change.L = &s.mu
	s.scan.rows, s.scan.cols, s.scan.composed = rows, cols, true
	s.emu = s.newEmulator()
	return s
}

// Whatever a command does on the alternate screen, a frame draws every line that
// has changed, though it looks at those alone that the emulator names.
func TestFrameDrawsAllThatChanged(t *testing.T) {
	moves := []string{
		"text", "日本語", "e\u0301", "\r\n", "\n\n\n", "\r", "\b", "\t", "\x1b[%dA", "\x1b[%dB", "\x1b[%dC", "\x1b[%dD", "\x1b[%d;3H", "\x1b[%dG", "\x1b[%dd", "\x1b[J", "\x1b[1J", "\x1b[2J", "\x1b[3J",
		"\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[%dL", "\x1b[%dM", "\x1b[%d@", "\x1b[%dP", "\x1b[%dX", "\x1b[%dS", "\x1b[%dT", "\x1b[%db", "\x1b[2;5r", "\x1b[r", "\x1bM", "\x1bD", "\x1bE", "\x1b#8", "\x1bc",
		"\x1b[!p", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?47h", "\x1b[?47l", "\x1b[?6h", "\x1b[?6l", "\x1b[4h", "\x1b[4l", "\x1b7", "\x1b8", "\x1b[31m", "\x1b[7m", "\x1b[m", "\x1b]8;;http://x.test/\x07", "\x1b]8;;\x07",
	}
	rapid.Check(t, func(t *rapid.T) {
		s := composing(12, 8)
		defer s.emu.close()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			for range rapid.IntRange(0, 4).Draw(t, "moves") {
				m := rapid.SampledFrom(moves).Draw(t, "move")
				if strings.Contains(m, "%d") {
					m = fmt.Sprintf(m, rapid.IntRange(0, 12).Draw(t, "n"))
				}
				s.feed([]byte(m))
			}
			if rapid.IntRange(0, 9).Draw(t, "resize") == 0 {
				s.scan.cols, s.scan.rows = rapid.IntRange(3, 20).Draw(t, "cols"), rapid.IntRange(3, 12).Draw(t, "rows")
				s.emu.resize(s.scan.cols, s.scan.rows)
			}
			s.buf = nil
			s.drawFrame()
			var want []string
			for y := range s.scan.rows {
				s.emu.read(y)
				want = append(want, s.emu.line.Render())
				if n := ansi.StringWidth(want[y]); n > s.scan.cols {
					t.Fatalf("line %d has %d columns of %d: %q", y, n, s.scan.cols, want[y])
				}
			}
			if !slices.Equal(s.emu.shown, want) {
				t.Fatalf("shown\n%q\nis\n%q", s.emu.shown, want)
			}
		}
	})
}

// TestTornCharacters: half of a wide character is a blank in its column, and
// what completes it is drawn, though no cell changes by it.
func TestTornCharacters(t *testing.T) {
	for _, c := range []struct {
		name, first   string
		cols          []int
		then          string
		before, after string
	}{
		{"cut by the edge", "日本x", []int{3}, "", "日 ", "日 "},
		{"completed again", "日本x", []int{3, 8}, "\x1b[1;3H本", "日", "日本"},
		{"moved", "\x1b[1;2H日x\x1b[1;3H\x1b[@", nil, "\x1b[1;2H日", "    x", " 日 x"},
		{"a mark without a letter", "ab\x1b[1;1H\u0301\x1b[2;1H", nil, "\x1b[1;1Hc", " b", "cb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := composing(8, 3)
			defer s.emu.close()
			s.feed([]byte(c.first))
			for _, s.scan.cols = range c.cols {
				s.emu.resize(s.scan.cols, 3)
			}
			for _, other := range []string{"x", "y"} { // until the emulator's records are those of lines
				s.feed([]byte("\x1b[2;1H" + other))
				s.drawFrame()
			}
			before := s.emu.shown[0]
			s.feed([]byte(c.then + "\x1b[3;1H"))
			s.drawFrame()
			trim := func(line string) string {
				if s.scan.cols < 8 {
					return line
				}
				return strings.TrimRight(line, " ")
			}
			if before, after := trim(before), trim(s.emu.shown[0]); before != c.before || after != c.after {
				t.Errorf("shown %q and %q, want %q and %q", before, after, c.before, c.after)
			}
		})
	}
}

// BenchmarkComposed is what a flood of the alternate screen costs: drawing 4 kB
// in the emulator, and a frame of it.
func BenchmarkComposed(b *testing.B) {
	var text strings.Builder
	for i := 0; text.Len() < 4000; i++ {
		fmt.Fprintf(&text, "\x1b[5;1Hsome line of output %d", i*7919%32768)
	}
	s := composing(120, 39)
	b.Run("feed", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		b.ReportAllocs()
		for b.Loop() {
			s.feed([]byte(text.String()))
		}
	})
	b.Run("frame", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			s.feed(fmt.Appendf(nil, "\x1b[5;1Hline %d", i))
			s.buf = s.buf[:0]
			s.drawFrame()
		}
	})
}
