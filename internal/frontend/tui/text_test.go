package tui

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"pgregory.net/rapid"
)

func TestSafe(t *testing.T) {
	for s, want := range map[string]string{
		"":                 "",
		"make test":        "make test",
		"日本 é ñ ß Ж 😀 → ✓": "日本 é ñ ß Ж 😀 → ✓",
		"\x1b[2J":          `\x1b[2J`,
		"a\r\n\tb\x00\x7f": `a\r\n\tb\x00\x7f`,
		"\x9b31m":          `\x9b31m`,
		"\u009b31m":        `\u009b31m`,
		"\xff\xfe":         `\xff\xfe`,
		"\ufffd":           "\ufffd",
		"\u202eexe":        `\u202eexe`,
		"a\u200bb\u00ad":   `a\u200bb\u00ad`,
		"a\u00a0b\u2028":   `a\u00a0b\u2028`,
		"e\u0301":          `e\u0301`,
		"שלום":             `\u05e9\u05dc\u05d5\u05dd`,
		"م":                `\u0645`,
		"\u3164\u2800":     `\u3164\u2800`,
		"한\u1100\u1161":    "한" + `\u1100\u1161`,
		"🇩🇪":               `\U0001f1e9\U0001f1ea`,
		"👍🏽":               "👍" + `\U0001f3fd`,
		"👩\u200d🔬":         "👩" + `\u200d` + "🔬",
		"x\ufe0f":          `x\ufe0f`,
		"\U000e0041":       `\U000e0041`,
		`\x1b`:             `\x1b`,
	} {
		if got := (Look{}).safe(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	if got := (Look{ASCII: true}).safe("é日\x1b"); got != `\u00e9\u65e5\x1b` {
		t.Errorf("%q", got)
	}
}

// Every character that is shown stands alone: a terminal gives it the width
// that bawn counts, whatever stands beside it.
func TestSafeCharactersStandAlone(t *testing.T) {
	l := Look{}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || l.odd(r) {
			continue
		}
		one := width(string(r))
		if got := width("a" + string(r) + "한" + string(r) + "👍" + string(r) + "a"); got != 6+3*one || one < 1 || one > 2 {
			t.Fatalf("%U takes %d cells, and %d with others", r, one, got)
		}
	}
}

// A line is as wide on a terminal as bawn counts.
func TestWidthOnATerminal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := (Look{}).safe(anyText().Draw(rt, "text"))
		if len(s) == 0 || width(s) > 400 {
			return
		}
		e := vt.NewEmulator(500, 2)
		_, _ = e.WriteString(s)
		if got := e.CursorPosition().X; got != width(s) {
			rt.Fatalf("%d cells, counted %d: %q", got, width(s), s)
		}
	})
}

func TestCut(t *testing.T) {
	l := Look{}
	for _, tt := range []struct {
		s           string
		w           int
		right, left string
	}{
		{"abcdef", 6, "abcdef", "abcdef"},
		{"abcdef", 4, "abc…", "…def"},
		{"日本語", 5, "日本…", "…本語"},
		{"日本語", 4, "日…", "…語"},
		{"日本語", 1, "…", "…"},
		{"abc", 0, "", ""},
	} {
		right, left := l.cut(tt.s, tt.w), l.cutLeft(tt.s, tt.w)
		if right != tt.right || left != tt.left {
			t.Errorf("%q in %d: %q, %q", tt.s, tt.w, right, left)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		look := Look{Color: true, ASCII: rapid.Bool().Draw(rt, "ascii")}
		bare := look.safe(anyText().Draw(rt, "text"))
		s := look.as(good, bare)
		w := rapid.IntRange(0, 60).Draw(rt, "w")
		for _, got := range []string{look.cut(s, w), look.cutLeft(bare, w), look.fill(s, w)} {
			if width(got) > w {
				rt.Fatalf("%q in %d: %q takes %d", s, w, got, width(got))
			}
		}
		if w < 2 {
			return
		}
		folded := fold(s, w)
		if got := strings.Join(folded, ""); ansi.Strip(got) != ansi.Strip(s) {
			rt.Fatalf("folding lost something: %q, %q", s, got)
		}
		for _, line := range folded {
			if width(line) > w {
				rt.Fatalf("%q in %d", line, w)
			}
		}
	})
}
