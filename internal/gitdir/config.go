package gitdir

import (
	"bytes"
	"fmt"
	"strings"
)

// Entry is one variable of a git config file.
type Entry struct {
	Section    string // lower case
	Subsection string // as written between quotes; lower case in the old [a.b] form
	Key        string // lower case; never contains a dot
	Value      string // unquoted, escapes resolved
	Line       int    // of the key, from 1

	Sub     bool // a subsection was given, even an empty one: [a ""] is not [a]
	NoValue bool // no "=": git takes it as true where a boolean is wanted, and as an error elsewhere
}

// Name is the variable's name as `git config --list` prints it.
func (e Entry) Name() string {
	switch {
	case e.Sub:
		return e.Section + "." + e.Subsection + "." + e.Key
	case e.Section != "":
		return e.Section + "." + e.Key
	}
	return e.Key
}

// SyntaxError says where git would stop reading a config file.
type SyntaxError struct {
	Line int
	What string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// parseConfig reads a git config file by the grammar of git's own config.c:
// what git refuses is refused, what git accepts gives the same entries. It is
// stricter in one point: a NUL byte outside a comment is an error, because
// git would cut the value there and a caller that judges it would not.
// White space inside an unquoted value is kept as it is (git ≥ 2.45; older
// ones turn each into a blank). Includes are not followed.
//
// With an error, the entries before it are returned as well.
func parseConfig(data []byte) ([]Entry, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	s := scanner{data: data, line: 1}
	var out []Entry
	var section, sub string
	var hasSub bool
	for {
		c := s.next()
		switch {
		case c == '\n':
			if s.eof {
				return out, nil
			}
		case isSpace(c):
		case c == '#' || c == ';':
			s.skipLine()
		case c == '[':
			name, err := s.header()
			if err != nil {
				return out, err
			}
			// git keeps one flat name and splits it at the first dot, so
			// [a.b "c"] is section a, subsection b.c.
			section, sub, hasSub = strings.Cut(name, ".")
		case isAlpha(c):
			e := Entry{Section: section, Subsection: sub, Sub: hasSub, Line: s.at}
			if err := s.variable(&e); err != nil {
				return out, err
			}
			out = append(out, e)
		default:
			return out, s.fail(fmt.Sprintf("unexpected %q", rune(c)))
		}
	}
}

type scanner struct {
	data []byte
	pos  int
	line int // of the next byte
	at   int // of the byte that next returned last
	eof  bool
	buf  []byte // of the value being read
}

// next returns the next byte; CRLF counts as a newline, and so does the end.
func (s *scanner) next() byte {
	s.at = s.line
	if s.pos >= len(s.data) {
		s.eof = true
		return '\n'
	}
	c := s.data[s.pos]
	s.pos++
	if c == '\r' && s.pos < len(s.data) && s.data[s.pos] == '\n' {
		s.pos++
		c = '\n'
	}
	if c == '\n' {
		s.line++
	}
	return c
}

func (s *scanner) skipLine() {
	if i := bytes.IndexByte(s.data[s.pos:], '\n'); i >= 0 {
		s.pos += i + 1
		s.line++
		return
	}
	s.pos = len(s.data)
}

func (s *scanner) fail(what string) error { return &SyntaxError{Line: s.at, What: what} }

// header reads `section]`, `section.sub]` or `section "sub"]` and returns
// git's flat name of it.
func (s *scanner) header() (string, error) {
	var name []byte
	for {
		c := s.next()
		switch {
		case s.eof:
			return "", s.fail("section header without ]")
		case c == ']':
			if len(name) == 0 {
				return "", s.fail("empty section name")
			}
			return string(name), nil
		case isSpace(c): // a newline too, which quoted refuses
			return s.quoted(name, c)
		case !isKeyChar(c) && c != '.':
			return "", s.fail(fmt.Sprintf("%q in a section name", rune(c)))
		}
		name = append(name, lower(c))
	}
}

func (s *scanner) quoted(name []byte, c byte) (string, error) {
	for isSpace(c) {
		if c == '\n' {
			return "", s.fail("section header without ]")
		}
		c = s.next()
	}
	if c != '"' {
		return "", s.fail("subsection without quotes")
	}
	name = append(name, '.')
	for {
		c = s.next()
		if c == '"' {
			break
		}
		if c == '\\' { // any byte but a newline may be escaped, and is itself
			c = s.next()
		}
		switch c {
		case '\n':
			return "", s.fail("newline in a subsection name")
		case 0:
			return "", s.fail("NUL in a subsection name")
		}
		name = append(name, c)
	}
	if s.next() != ']' {
		return "", s.fail("no ] right after the subsection name")
	}
	return string(name), nil
}

// variable reads a key, whose first byte was read already, and its value.
func (s *scanner) variable(e *Entry) error {
	start := s.pos - 1
	end := s.pos
	for end < len(s.data) && isKeyChar(s.data[end]) {
		end++
	}
	s.pos = end
	c := s.next()
	e.Key = strings.ToLower(string(s.data[start:end])) // ASCII by now
	for c == ' ' || c == '\t' {
		c = s.next()
	}
	if c == '\n' {
		e.NoValue = true
		return nil
	}
	if c != '=' {
		return s.fail(fmt.Sprintf("%q after key %q where = was expected", rune(c), e.Key))
	}
	var err error
	e.Value, err = s.value()
	return err
}

// value reads up to the newline that ends the value.
func (s *scanner) value() (string, error) {
	out := s.buf[:0]
	quote := false
	trim := -1 // length without the white space seen last
	for {
		c := s.next()
		if c == '\n' {
			if quote {
				return "", s.fail("value with an open quote")
			}
			if trim >= 0 {
				out = out[:trim]
			}
			s.buf = out
			return string(out), nil
		}
		if isSpace(c) && !quote {
			if len(out) > 0 { // leading white space is dropped
				if trim < 0 {
					trim = len(out)
				}
				out = append(out, c)
			}
			continue
		}
		if !quote && (c == ';' || c == '#') {
			s.skipLine()
			if trim >= 0 {
				out = out[:trim]
			}
			s.buf = out
			return string(out), nil
		}
		trim = -1
		switch c {
		case 0:
			return "", s.fail("NUL in a value")
		case '"':
			quote = !quote
			continue
		case '\\':
			switch c = s.next(); c {
			case '\n': // goes on in the next line
				continue
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case 'n':
				c = '\n'
			case '\\', '"':
			default:
				return "", s.fail(fmt.Sprintf(`unknown escape \%c`, rune(c)))
			}
		}
		out = append(out, c)
	}
}

// git's own ctype table: ASCII only, and neither \v nor \f is white space.
func isSpace(c byte) bool   { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isAlpha(c byte) bool   { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isKeyChar(c byte) bool { return isAlpha(c) || '0' <= c && c <= '9' || c == '-' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}
