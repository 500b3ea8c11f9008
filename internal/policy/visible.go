package policy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible reports whether a character draws as something that stands for
// itself: no control, nothing that turns or joins its neighbours, and nothing
// blank but the space.
func Visible(r rune) bool {
	if r < utf8.RuneSelf {
		return ' ' <= r && r < 0x7f
	}
	return strconv.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) && !drawsBlank(r)
}

// drawsBlank: characters that count as symbols, letters or marks, and leave
// the place empty.
func drawsBlank(r rune) bool {
	switch r {
	case 0x2800, // Braille without a dot
		0xfffc,           // object replacement
		0x13441, 0x13442, // Egyptian blanks
		0x16fe4, // Khitan filler
		0x1d159: // null notehead
		return true
	}
	return false
}

// AllVisible reports whether text is whole characters that all are Visible.
func AllVisible(s string) bool {
	for i, r := range s {
		if !Visible(r) || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return false
		}
	}
	return true
}

// Escape is text as it may be shown to a person: whatever is not Visible is
// written as Go would escape it, so that each character of a name or command
// is seen.
func Escape(s string) string {
	if AllVisible(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case n == 1 && !(Visible(r) && r < utf8.RuneSelf): // a byte that is no character, too
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case Visible(r):
			b.WriteString(s[:n])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

// Quote is Escape between the quotes of Go.
func Quote(s string) string { return Escape(strconv.Quote(s)) }
