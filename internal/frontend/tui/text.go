package tui

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Texts of a session come from commands, files and hosts. Each is brought to
// one line by safe before it is styled or measured, so that what stands on the
// screen was put there by bawn.

// joining are characters that print nothing, or change what stands beside
// them: fillers that look like a space, letters of Hangul that become one with
// the last, the halves of flags, skin tones, and the letters of scripts that
// run from right to left, which would turn the line around them.
var joining = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0590, 0x08ff, 1}, // Hebrew to Arabic
		{0x1160, 0x11ff, 1}, // Hangul vowels and finals
		{0x115f, 0x115f, 1},
		{0x2800, 0x2800, 1},
		{0x3164, 0x3164, 1},
		{0xd7b0, 0xd7ff, 1},
		{0xfb1d, 0xfdff, 1},
		{0xfe70, 0xfeff, 1},
		{0xffa0, 0xffa0, 1},
	},
	R32: []unicode.Range32{
		{0x10800, 0x10fff, 1},
		{0x1e800, 0x1efff, 1},
		{0x1f1e6, 0x1f1ff, 1},
		{0x1f3fb, 0x1f3ff, 1},
	},
}

// safe is text as a terminal shows it and does nothing else: what would act on
// one, hide, or change what stands around it is written as an escape.
func (l Look) safe(s string) string {
	if !strings.ContainsFunc(s, l.odd) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !l.odd(r):
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// odd reports whether a character is shown as an escape.
func (l Look) odd(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return l.ASCII || !strconv.IsPrint(r) || unicode.Is(unicode.M, r) || unicode.Is(joining, r)
}

// width is how many cells a text takes.
func width(s string) int { return ansi.StringWidth(s) }

// cut keeps the beginning of a text that is too wide.
func (l Look) cut(s string, w int) string {
	if width(s) <= w {
		return s
	}
	return ansi.Truncate(s, max(w, 0), l.more(w))
}

// cutLeft keeps the end of a text that is too wide.
func (l Look) cutLeft(s string, w int) string {
	over := width(s) - w
	if over <= 0 {
		return s
	}
	mark := l.more(w)
	return ansi.TruncateLeft(s, over+width(mark), mark)
}

// more stands for what was cut, where there is room for it.
func (l Look) more(w int) string {
	if m := l.glyph("…", "..."); width(m) <= w {
		return m
	}
	return ""
}

// fill brings a text to a width: cut, or with spaces after it.
func (l Look) fill(s string, w int) string {
	s = l.cut(s, w)
	return s + strings.Repeat(" ", max(0, w-width(s)))
}

// fold breaks a text into lines of at most w cells, wherever they end: nothing
// of it is left out.
func fold(s string, w int) []string {
	return strings.Split(ansi.Hardwrap(s, max(w, 2), true), "\n")
}

// wrap breaks a text between words, and where a word is too long within it.
func wrap(s string, w int) []string {
	return strings.Split(ansi.Wrap(s, max(w, 2), ""), "\n")
}
