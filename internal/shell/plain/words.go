package plain

import (
	"unicode/utf8"

	"bawn/internal/policy"
)

// maxText is the longest text looked at, in bytes: the kernel takes no longer
// argument (MAX_ARG_STRLEN), so nobody can run more.
const maxText = 128 << 10

// word is one word and whether all of it stands without quotes.
type word struct {
	text string
	bare bool
}

// Words splits text that is one plain command into its words. False means
// that it is anything else: compound, substituted, expanded, redirected, in
// the background, over several lines, prefixed by an assignment, or escaped.
//
// The first word stands without quotes. Arguments may be quoted as a whole or
// in part, with nothing in the quotes that the shell would treat specially.
func Words(text string) ([]string, bool) {
	parts, ok := split(text)
	if !ok || len(parts) != 1 {
		return nil, false
	}
	return command(parts[0])
}

// command returns the words of one part, unless its first is quoted or an
// assignment.
func command(part []word) ([]string, bool) {
	if len(part) == 0 || !part[0].bare || assigns(part[0].text) {
		return nil, false
	}
	out := make([]string, len(part))
	for i, w := range part {
		out[i] = w.text
	}
	return out, true
}

// assigns reports whether a bare first word could set a variable. Where the
// name is not one, no program is called so either.
func assigns(w string) bool {
	for i := range len(w) {
		if w[i] == '=' {
			return true
		}
	}
	return false
}

// split reads text as words joined into parts by &&. Every character that is
// not surely literal ends it.
func split(text string) ([][]word, bool) {
	if len(text) > maxText {
		return nil, false
	}
	var parts [][]word
	var part []word
	for i := 0; ; {
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			i++
		}
		if i == len(text) {
			break
		}
		if text[i] == '&' {
			if i+1 >= len(text) || text[i+1] != '&' || len(part) == 0 {
				return nil, false
			}
			parts, part = append(parts, part), nil
			i += 2
			continue
		}
		w, n, ok := readWord(text[i:])
		if !ok {
			return nil, false
		}
		part = append(part, w)
		i += n
	}
	if len(part) == 0 {
		return nil, false // empty, or && at the end
	}
	return append(parts, part), true
}

// readWord reads the word at the head of s and returns its length there.
func readWord(s string) (word, int, bool) {
	var buf []byte
	bare := true
	i := 0
	for i < len(s) {
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '&':
			return word{string(buf), bare}, i, true
		case c == '\'' || c == '"':
			n, ok := readQuoted(s[i+1:], c)
			if !ok {
				return word{}, 0, false
			}
			buf = append(buf, s[i+1:i+1+n]...)
			bare = false
			i += n + 2
		case literal(c):
			buf = append(buf, c)
			i++
		default:
			return word{}, 0, false
		}
	}
	return word{string(buf), bare}, i, true
}

// readQuoted returns the length of a quoted string up to its closing quote.
func readQuoted(s string, quote byte) (int, bool) {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == quote:
			return i, true
		case quote == '"' && (c == '$' || c == '`' || c == '\\' || c == '!'):
			return 0, false
		}
		// What a person is shown must be what runs: no control characters, no
		// text that hides or turns the line around, no broken UTF-8.
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n < 2 || !policy.Visible(r) {
			return 0, false
		}
		i += n
	}
	return 0, false
}

// literal reports whether an unquoted byte means itself anywhere in a word, to
// bash and to every sh of today.
func literal(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	switch c {
	case '-', '_', '.', '/', ':', ',', '+', '@', '%', '=', '^':
		return true
	}
	return false
}
