package plugin

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads the tokens of JSON that a manifest is made of: the library does
// not link encoding/json, whose start-up every run would pay (deps_test.go).
type scanner struct {
	text string
	at   int
}

// next skips space and returns where the next token begins.
func (s *scanner) next() int {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
	return s.at
}

// take goes past one character, if it is the next token.
func (s *scanner) take(c byte) bool {
	if s.next() < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// string reads the string that begins here. bad is where it is not one, the
// end of the text where it does not end, and -1 for a sound one. A surrogate
// without its other half is U+FFFD.
func (s *scanner) string() (value string, bad int) {
	var b strings.Builder
	for s.at++; s.at < len(s.text); {
		c := s.text[s.at]
		switch {
		case c == '"':
			s.at++
			return b.String(), -1
		case c < ' ':
			return "", s.at
		case c != '\\':
			b.WriteByte(c)
			s.at++
			continue
		case s.at+1 == len(s.text):
			return "", s.at + 1
		}
		if i := strings.IndexByte(`"\/bfnrt`, s.text[s.at+1]); i >= 0 {
			b.WriteByte("\"\\/\b\f\n\r\t"[i])
			s.at += 2
			continue
		}
		r, ok := s.unit(s.at)
		if !ok {
			return "", s.at
		}
		s.at += 6
		if utf16.IsSurrogate(r) {
			low, ok := s.unit(s.at)
			if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
				s.at += 6
			} else {
				r = utf8.RuneError
			}
		}
		b.WriteRune(r)
	}
	return "", s.at
}

// unit reads \uXXXX.
func (s *scanner) unit(at int) (rune, bool) {
	if len(s.text) < at+6 || s.text[at:at+2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s.text[at+2:at+6], 16, 16)
	return rune(n), err == nil
}
