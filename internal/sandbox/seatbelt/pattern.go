package seatbelt

import (
	"strings"
	"unicode"
)

// quote writes a string of the profile language. Nothing but the two marks has
// a meaning inside it, so no name can end it and add a rule.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func literal(path string) string { return "(literal " + quote(path) + ")" }
func subpath(path string) string { return "(subpath " + quote(path) + ")" }

// tree is a path with all below it. Both filters are given: that one alone
// covers a single file is not documented.
func tree(path string) string { return literal(path) + " " + subpath(path) }

// regex is a filter on the whole path. Patterns use groups, classes and stars
// alone, and begin and end with an anchor, so that it does not matter whether
// a part or the whole is compared.
func regex(pattern string) string { return "(regex " + quote("^"+pattern+"$") + ")" }

// all matches where every filter does. Those of a rule match where any does.
func all(filters ...string) string {
	if len(filters) == 1 {
		return filters[0]
	}
	return "(require-all " + strings.Join(filters, " ") + ")"
}

func not(filter string) string { return "(require-not " + filter + ")" }

const (
	anywhere = `(/[^/]+)*` // any folder; a point would not match a line end
	below    = `(/[^/]*)*` // nothing, or a path below what comes before
)

// exact is a pattern for one text, byte by byte.
func exact(s string) string {
	var b strings.Builder
	for _, r := range s {
		plain(&b, r)
	}
	return b.String()
}

func plain(b *strings.Builder, r rune) {
	if strings.ContainsRune(`\.[]()*+?{}|^$`, r) {
		b.WriteByte('\\')
	}
	b.WriteRune(r)
}

// ligatures are single letters that a disk without case takes for several.
var ligatures = [...][2]string{
	{"ffi", "ﬃ"}, {"ffl", "ﬄ"}, {"ff", "ﬀ"}, {"fi", "ﬁ"}, {"fl", "ﬂ"}, {"st", "ﬅ|ﬆ"}, {"ss", "ß|ẞ"},
}

// folded is a pattern for every spelling of a name that a disk without case
// takes for the same.
func folded(s string) string {
	var b strings.Builder
	for i, r := range s {
		rest := s[i+len(string(r)):]
		var spellings []string
		for _, l := range ligatures {
			if len(s)-i >= len(l[0]) && strings.EqualFold(s[i:i+len(l[0])], l[0]) {
				spellings = append(spellings, "("+l[1]+")"+folded(s[i+len(l[0]):]))
			}
		}
		if len(spellings) > 0 {
			spellings = append(spellings, letter(r)+folded(rest))
			return b.String() + "(" + strings.Join(spellings, "|") + ")"
		}
		b.WriteString(letter(r))
	}
	return b.String()
}

// letter is a pattern for one letter in any case: s and k have a third.
func letter(r rune) string {
	var b strings.Builder
	plain(&b, r)
	other := unicode.SimpleFold(r)
	switch {
	case other == r:
		return b.String()
	case r < 0x80 && other < 0x80 && unicode.SimpleFold(other) == r:
		return "[" + string(r) + string(other) + "]"
	}
	for f := other; f != r; f = unicode.SimpleFold(f) {
		b.WriteByte('|')
		plain(&b, f)
	}
	return "(" + b.String() + ")"
}

// ignored are the code points that HFS+ does not see in a name: ".g\u200cit"
// is ".git" there. No name with one of them is made.
func ignored() string {
	var list []string
	for _, r := range [...][2]rune{{0x200c, 0x200f}, {0x202a, 0x202e}, {0x206a, 0x206f}, {0xfeff, 0xfeff}} {
		for c := r[0]; c <= r[1]; c++ {
			list = append(list, string(c))
		}
	}
	return "(" + strings.Join(list, "|") + ")"
}
