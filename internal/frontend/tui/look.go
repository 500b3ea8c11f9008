package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Look is how the screen is drawn. The zero value is plain: black on white or
// white on black, with lines and dots.
type Look struct {
	// Color uses the terminal's own sixteen colours, which its owner chose for
	// its background.
	Color bool
	// ASCII draws and shows with nothing else.
	ASCII bool
}

// LookOf reads how to draw from the environment: NO_COLOR, TERM and the
// character set of the locale.
func LookOf(getenv func(string) string) Look {
	term := getenv("TERM")
	l := Look{Color: getenv("NO_COLOR") == "" && term != "dumb"}
	locale := getenv("LC_ALL")
	for _, name := range [...]string{"LC_CTYPE", "LANG"} {
		if locale == "" {
			locale = getenv(name)
		}
	}
	set := strings.ToLower(strings.ReplaceAll(locale, "-", ""))
	l.ASCII = !strings.Contains(set, "utf8") || term == "dumb"
	return l
}

func (l Look) glyph(unicode, ascii string) string {
	if l.ASCII {
		return ascii
	}
	return unicode
}

// paint is what a text means, and so how it is drawn.
type paint uint8

const (
	plain paint = iota
	strong
	faint
	good
	bad
	careful
	calm
	chosen // under the cursor
)

// as draws a text. Without colours nothing is lost: every meaning is in the
// words too.
func (l Look) as(p paint, s string) string {
	if s == "" {
		return s
	}
	return l.color(p, map[paint]ansi.Style{
		strong: ansi.NewStyle(ansi.AttrBold), faint: ansi.NewStyle(ansi.AttrFaint),
		careful: ansi.NewStyle(ansi.AttrBold), chosen: ansi.NewStyle(ansi.AttrReverse),
	}[p]).Styled(s)
}

// badge draws a word on a ground of its colour.
func (l Look) badge(p paint, s string) string {
	return l.color(p, ansi.NewStyle(ansi.AttrBold, ansi.AttrReverse)).Styled(" " + s + " ")
}

func (l Look) color(p paint, st ansi.Style) ansi.Style {
	c, ok := map[paint]ansi.BasicColor{good: ansi.Green, bad: ansi.Red, careful: ansi.Magenta, calm: ansi.Blue}[p]
	if !ok || !l.Color {
		return st
	}
	return st.ForegroundColor(c)
}
