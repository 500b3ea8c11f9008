package tui

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Texts of a session come from commands, files and hosts. Each is brought to
// one line by safe before it is styled or measured, so that what stands on the
// screen was put there by bawn.

// joining are characters that print nothing or change what stands beside them:
// letters of scripts that run from right to left, which would turn the line;
// letters and signs that become one with a neighbour; fillers that look like a
// space; the halves of flags and the tones of skin.
var joining = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0590, 0x08ff, 1}, // Hebrew to Arabic
		{0x0d4e, 0x0d4e, 1},
		{0x0e33, 0x0e33, 1},
		{0x0eb3, 0x0eb3, 1},
		{0x1100, 0x11ff, 1}, // parts of Hangul syllables, with two fillers
		{0x2800, 0x2800, 1}, // Braille without a dot
		{0x3164, 0x3164, 1}, // a filler
		{0xa960, 0xa97c, 1},
		{0xd7b0, 0xd7ff, 1},
		{0xfb1d, 0xfdff, 1},
		{0xfe70, 0xfeff, 1},
		{0xff9e, 0xffa0, 1}, // two marks and a filler
	},
	R32: []unicode.Range32{
		{0x10800, 0x10fff, 1},
		{0x111c2, 0x111c3, 1},
		{0x1193f, 0x11941, 1},
		{0x11a84, 0x11a89, 1},
		{0x11d46, 0x11d46, 1},
		{0x11f02, 0x11f02, 1},
		{0x1e800, 0x1efff, 1},
		{0x1f1e6, 0x1f1ff, 1},
		{0x1f3fb, 0x1f3ff, 1},
	},
}

// safe is text as a terminal shows it and does nothing else: what would act on
// one, hide, or change what stands around it is written as an escape.
func (l Look) safe(s string) string { return l.escape(s, l.odd) }

// safeLines is safe for a text of lines, which stay.
func (l Look) safeLines(s string) string { return l.escape(s, l.oddInLine) }

func (l Look) oddInLine(r rune) bool { return r != '\n' && l.odd(r) }

// escape writes the characters that are odd as escapes, and bytes that are none.
// The text may be megabytes of them.
func (l Look) escape(s string, odd func(rune) bool) string {
	if !strings.ContainsFunc(s, odd) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/4)
	var one [12]byte
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			b.Write(appendHex(one[:0], 'x', uint32(s[i]), 2))
		case !odd(r):
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			q := strconv.AppendQuoteRune(one[:0], r)
			b.Write(q[1 : len(q)-1])
		case r > 0xffff:
			b.Write(appendHex(one[:0], 'U', uint32(r), 8))
		default:
			b.Write(appendHex(one[:0], 'u', uint32(r), 4))
		}
	}
	return b.String()
}

// appendHex writes v as a Go string does, with this many digits.
func appendHex(b []byte, kind byte, v uint32, digits int) []byte {
	b = append(b, '\\', kind)
	for i := 4 * (digits - 1); i >= 0; i -= 4 {
		b = append(b, "0123456789abcdef"[v>>i&15])
	}
	return b
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

// cutLeft keeps the end of a text without styles that is too wide.
func (l Look) cutLeft(s string, w int) string {
	if width(s) <= w {
		return s
	}
	mark := l.more(w)
	room, from := w-width(mark), len(s)
	for from > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:from])
		if room -= width(string(r)); room < 0 {
			break
		}
		from -= n
	}
	return mark + s[from:]
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

// wrap breaks a text between words, and where a word is too long within it.
func wrap(s string, w int) []string {
	return strings.Split(ansi.Wrap(s, max(w, 2), ""), "\n")
}
