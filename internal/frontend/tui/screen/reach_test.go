//go:build unix

package screen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"pgregory.net/rapid"
)

// moves are what moves the cursor and what is drawn.
var moves = []string{
	"text ", "wide 日本", "\r\n", "\n\n\n", "\x1b[%dA", "\x1b[%dB", "\x1b[%dC", "\x1b[%dE", "\x1b[%d;%dH", "\x1b[%d;%df", "\x1b[%dd", "\x1b[%de", "\x1bD", "\x1bE", "\x1bM",
	"\x1b[%dL", "\x1b[%dM", "\x1b[%dS", "\x1b[%dT", "\x1b[%dP", "\x1b[%d@", "\x1b[K", "\x1b[%dX", "\x1b[r", "\x1b[s", "\x1b[u", "\x1b7", "\x1b8", "\x1b[?6h", "\x1b[?6l", "\x1b[%db",
	"\x1b[1;%dr", "\x1b[J", "\x1b[2J", "\x1b[1;1;40;40$x", "\x1b[?7l", "\x1b[?7h", "\v", "\f", "\x1b[!p",
}

// Whatever is written, the footer stays as it is, or the scanner says that it
// may have been damaged; without margins of its own, a command's cursor stays
// above it.
func TestNothingReachesTheFooter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		term := vt.NewEmulator(40, 13)
		s := &scanner{rows: 10, cols: 40}
		fmt.Fprint(term, "\x1b[11;1Hone\x1b[12;1Htwo\x1b[13;1Hthree\x1b[1;10r")
		own := false
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			m := rapid.SampledFrom(moves).Draw(t, "move")
			for strings.Contains(m, "%d") {
				m = strings.Replace(m, "%d", fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "n")), 1)
			}
			s.out = s.out[:0]
			s.scan([]byte(m))
			term.Write(s.out)
			own = own || s.bottom != 0
			if s.damaged {
				return
			}
			for y, want := range []string{"one", "two", "three"} {
				if got := row(term, 10+y); got != want {
					t.Fatalf("%q was drawn over %q", got, want)
				}
			}
			if at := term.CursorPosition(); at.Y >= 10 && !own {
				t.Fatalf("the cursor is in line %d of the footer", at.Y-9)
			}
		}
	})
}

func row(term *vt.Emulator, y int) string {
	var b strings.Builder
	for x := range term.Width() {
		b.WriteString(term.CellAt(x, y).Content)
	}
	return strings.TrimRight(b.String(), " ")
}
