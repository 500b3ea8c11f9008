package policy

import (
	"strconv"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// unseen draw as nothing, as a blank, or turn the line around.
const unseen = "\x00\t\n\r\x1b\x7f\u0085\u009b\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e\u2000\u200b\u200d\u2028\u202e\u2065\u2066\u2800\u3000\u3164\ufe0f\ufeff\uffa0\ufff0\ufffc\U00013441\U00016fe4\U0001d159\U000e0041\U000e0100"

func TestVisible(t *testing.T) {
	for _, r := range unseen {
		if Visible(r) {
			t.Errorf("%U is visible", r)
		}
	}
	for _, r := range " aZ~é☃プ\u05d0\U0001f600\uFFFD\u0301" {
		if !Visible(r) {
			t.Errorf("%U is not visible", r)
		}
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if Visible(r) && !unicode.IsPrint(r) {
			t.Fatalf("%U is visible, but not printable", r)
		}
	}
}

// What is shown is visible throughout, the same where nothing was to escape,
// and tells every character: quoted, it reads back.
func TestEscape(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "a b é プ": "a b é プ", "a\u3164b": `a\u3164b`, "\x1b[2J": `\x1b[2J`, "a\xff": `a\xff`, "\uFFFD": "\uFFFD", "\U000e0041": `\U000e0041`,
	} {
		if got := Escape(s); got != want {
			t.Errorf("Escape(%q) = %s, want %s", s, got, want)
		}
	}
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.SliceOf(rapid.SampledFrom([]rune(unseen+`ab"\`))), func(r []rune) string { return string(r) }))
	rapid.Check(t, func(rt *rapid.T) {
		s := text.Draw(rt, "text")
		for _, shown := range []string{Escape(s), Quote(s)} {
			if strings.ContainsFunc(shown, func(r rune) bool { return !Visible(r) }) || Escape(shown) != shown {
				rt.Fatalf("%q is shown as %q", s, shown)
			}
		}
		if back, err := strconv.Unquote(Quote(s)); err != nil || back != s {
			rt.Fatalf("%q is quoted as %s, which reads %q, %v", s, Quote(s), back, err)
		}
	})
}
