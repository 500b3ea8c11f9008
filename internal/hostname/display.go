package hostname

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"bawn/internal/policy"
)

// Display returns what to show a person who is asked about a host: its ASCII
// form, which no look-alike letter can disguise, and a warning, or "". The
// warning says how a name with letters outside ASCII reads elsewhere, and
// whether it looks like another name. Both are one line without control
// characters or letters that change the direction of a line.
func Display(h policy.Host) (text, warning string) {
	text = h.String()
	if _, isAddr := h.Addr(); isAddr || !strings.Contains("."+text, ".xn--") {
		return text, ""
	}
	labels := strings.Split(text, ".")
	var twin []string // the name in the letters it looks like
	doubt, mixed, alike := false, "", false
	for i, label := range labels {
		twin = append(twin, label)
		if !strings.HasPrefix(label, "xn--") {
			continue
		}
		read, err := profile().ToUnicode(label)
		if back, backErr := profile().ToASCII(read); err != nil || backErr != nil || back != label || read == label {
			doubt = true
			continue
		}
		labels[i] = read
		if s := scripts(read); !together(s) {
			mixed = strings.Join(s, " and ")
		}
		if t, ok := latinTwin(read); ok {
			twin[i], alike = t, true
		}
	}
	read := quote(strings.Join(labels, "."))
	switch {
	case alike:
		return text, fmt.Sprintf("reads %s and looks like %s, but is another name", read, strings.Join(twin, "."))
	case mixed != "":
		return text, fmt.Sprintf("reads %s and mixes %s letters in one word: it may imitate another name", read, mixed)
	case doubt:
		return text, "has a label (xn--…) that no valid international name has"
	}
	return text, fmt.Sprintf("reads %s, with letters outside ASCII: it may imitate another name", read)
}

// quote shows a name; one with letters that run from right to left is shown
// in escapes, since it would turn the line around it.
func quote(s string) string {
	for _, r := range s {
		if unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Samaritan, unicode.Mandaic) ||
			0x07c0 <= r && r <= 0x08ff || 0x10800 <= r && r <= 0x10fff || 0x1e800 <= r && r <= 0x1efff {
			return strconv.QuoteToASCII(s)
		}
	}
	return strconv.QuoteToGraphic(s)
}

// known are the scripts told apart, with the names that a warning uses; every
// other one is "other".
var known = [...]struct {
	name  string
	table *unicode.RangeTable
}{
	{"Latin", unicode.Latin}, {"Cyrillic", unicode.Cyrillic}, {"Greek", unicode.Greek}, {"Armenian", unicode.Armenian},
	{"Cherokee", unicode.Cherokee}, {"Coptic", unicode.Coptic}, {"Georgian", unicode.Georgian}, {"Hebrew", unicode.Hebrew},
	{"Arabic", unicode.Arabic}, {"Devanagari", unicode.Devanagari}, {"Thai", unicode.Thai}, {"Han", unicode.Han},
	{"Hiragana", unicode.Hiragana}, {"Katakana", unicode.Katakana}, {"Hangul", unicode.Hangul}, {"Bopomofo", unicode.Bopomofo},
}

// scripts lists the scripts of a label's letters, in a fixed order. Digits,
// the hyphen and marks that all scripts share count for none.
func scripts(label string) []string {
	var out []string
	rest := label
	for _, k := range known {
		n := len(rest)
		rest = strings.Map(func(r rune) rune {
			if unicode.Is(k.table, r) {
				return -1
			}
			return r
		}, rest)
		if len(rest) < n {
			out = append(out, k.name)
		}
	}
	if strings.IndexFunc(rest, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Common, r) }) >= 0 {
		out = append(out, "other")
	}
	return out
}

// together reports whether ordinary words are written with these scripts
// (UTS 39, "highly restrictive"): one alone, or Latin with those of Chinese,
// Japanese or Korean.
func together(scripts []string) bool {
	if len(scripts) < 2 {
		return true
	}
	for _, language := range [...]string{"Latin Han Hiragana Katakana", "Latin Han Bopomofo", "Latin Han Hangul"} {
		all := true
		for _, s := range scripts {
			all = all && strings.Contains(language, s)
		}
		if all {
			return true
		}
	}
	return false
}

// latinTwins are letters that most fonts draw like a Latin one, each followed
// by that one (those of UTS 39's confusables that differ in nothing or a
// trifle).
const latinTwins = "аaсcԁdеeһhіiјjӏlоoрpԛqѕsԝwхxуyүyѵv" + // Cyrillic
	"οoνvαaρpιiκkυuϲcϳj" + // Greek
	"օoսuհhոnզqցgաw" + // Armenian
	"ıiɑaɡgɩiʏyɴnᴄcᴏoᴠvᴡwᴢz" // Latin's own

// latinTwin writes a label in the Latin letters that it looks like, if every
// letter of it looks like one.
func latinTwin(label string) (string, bool) {
	var b strings.Builder
	for _, r := range label {
		if r >= 0x80 {
			i := strings.IndexRune(latinTwins, r)
			if i < 0 {
				return "", false
			}
			r = rune(latinTwins[i+utf8.RuneLen(r)])
		}
		b.WriteRune(r)
	}
	return b.String(), true
}
