package importer

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonParser reads JSON and keeps the line of every value, which
// encoding/json does not, and refuses a key that stands twice.
type jsonParser struct {
	s       string
	i, line int
	loose   bool // comments, and commas before a closing bracket
}

// parseJSON reads plain JSON; parseJSONC reads it with comments and a comma
// after the last entry.
func parseJSON(data []byte) (*node, error)  { return parseJSONText(data, false) }
func parseJSONC(data []byte) (*node, error) { return parseJSONText(data, true) }

func parseJSONText(data []byte, loose bool) (*node, error) {
	if err := checkText(data); err != nil {
		return nil, err
	}
	p := &jsonParser{s: string(bytes.TrimPrefix(data, []byte("\ufeff"))), line: 1, loose: loose}
	n, err := p.value(0)
	if err == nil {
		err = p.space()
	}
	if err == nil && p.i < len(p.s) {
		err = errors.New("text after the end of the settings")
	}
	if err != nil {
		var at *placed
		if errors.As(err, &at) {
			return nil, err
		}
		return nil, &placed{p.line, err}
	}
	return n, nil
}

func (p *jsonParser) space() error {
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == '\n':
			p.line++
			p.i++
		case c == ' ' || c == '\t' || c == '\r':
			p.i++
		case c == '/' && !p.loose:
			return errors.New("a comment, which this tool's settings cannot have")
		case strings.HasPrefix(p.s[p.i:], "//"):
			end := strings.IndexByte(p.s[p.i:], '\n')
			if end < 0 {
				end = len(p.s) - p.i
			}
			p.i += end
		case strings.HasPrefix(p.s[p.i:], "/*"):
			end := strings.Index(p.s[p.i+2:], "*/")
			if end < 0 {
				return errors.New("a comment that does not end")
			}
			p.line += strings.Count(p.s[p.i:p.i+2+end], "\n")
			p.i += end + 4
		default:
			return nil
		}
	}
	return nil
}

// next skips space and returns the byte that follows, 0 at the end.
func (p *jsonParser) next() (byte, error) {
	if err := p.space(); err != nil {
		return 0, err
	}
	if p.i == len(p.s) {
		return 0, errors.New("the text ends in the middle")
	}
	return p.s[p.i], nil
}

func (p *jsonParser) value(depth int) (*node, error) {
	c, err := p.next()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	n := &node{line: p.line}
	switch {
	case c == '{':
		n.kind = object
		return n, p.inside('}', func() error { return p.member(n, depth) })
	case c == '[':
		n.kind = list
		return n, p.inside(']', func() error {
			v, err := p.value(depth + 1)
			n.list = append(n.list, v)
			return err
		})
	case c == '"':
		n.kind = text
		n.text, err = p.str()
		return n, err
	case c == '-' || '0' <= c && c <= '9':
		n.kind = number
		n.text, err = p.number()
		return n, err
	}
	for word, k := range map[string]kind{"true": boolean, "false": boolean, "null": null} {
		if strings.HasPrefix(p.s[p.i:], word) {
			p.i += len(word)
			n.kind, n.text = k, word
			return n, nil
		}
	}
	return nil, errors.New("no value stands here")
}

// inside reads what stands between brackets, with commas between.
func (p *jsonParser) inside(end byte, one func() error) error {
	p.i++
	for first := true; ; first = false {
		c, err := p.next()
		if err != nil {
			return err
		}
		if c == end {
			p.i++
			return nil
		}
		if !first {
			if c != ',' {
				return fmt.Errorf("a comma or %q is missing", end)
			}
			p.i++
			c, err = p.next()
			if err != nil {
				return err
			}
			if c == end {
				if !p.loose {
					return errors.New("a comma after the last entry")
				}
				p.i++
				return nil
			}
		}
		if err := one(); err != nil {
			return err
		}
	}
}

// want looks for the byte that must follow.
func (p *jsonParser) want(c byte, missing string) error {
	got, err := p.next()
	if err == nil && got != c {
		err = errors.New(missing)
	}
	return err
}

func (p *jsonParser) member(n *node, depth int) error {
	if err := p.want('"', "a key stands in double quotes"); err != nil {
		return err
	}
	name, err := p.str()
	if err != nil {
		return err
	}
	if err := p.want(':', fmt.Sprintf("a colon is missing after %q", clip(name))); err != nil {
		return err
	}
	p.i++
	v, err := p.value(depth + 1)
	if err != nil {
		return err
	}
	return n.put(name, v)
}

func (p *jsonParser) number() (string, error) {
	start := p.i
	for p.i < len(p.s) && strings.IndexByte("+-.0123456789eE", p.s[p.i]) >= 0 {
		p.i++
	}
	s := p.s[start:p.i]
	if !isNumber(s) {
		return "", fmt.Errorf("%q is not a number", clip(s))
	}
	return s, nil
}

// isNumber holds a text against JSON's grammar of numbers.
func isNumber(s string) bool {
	digits := func() bool {
		n := len(s)
		s = strings.TrimLeft(s, "0123456789")
		return len(s) < n
	}
	s = strings.TrimPrefix(s, "-")
	if strings.HasPrefix(s, "0") {
		s = s[1:]
	} else if !digits() {
		return false
	}
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		if !digits() {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if !digits() {
			return false
		}
	}
	return s == ""
}

// str reads a string in double quotes. Bytes below 0x20 were refused before;
// a line break in it is none of JSON's.
func (p *jsonParser) str() (string, error) {
	p.i++
	var b strings.Builder
	for p.i < len(p.s) {
		switch c := p.s[p.i]; c {
		case '"':
			p.i++
			return b.String(), nil
		case '\n', '\t', '\r':
			return "", errors.New("a string that does not end in its line")
		case '\\':
			if err := p.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
			p.i++
		}
	}
	return "", errors.New("a string that does not end")
}

func (p *jsonParser) escape(b *strings.Builder) error {
	if p.i+1 >= len(p.s) {
		return errors.New("a string that does not end")
	}
	c := p.s[p.i+1]
	if c == 'u' {
		r, ok := p.unit(p.i)
		if !ok {
			return errors.New(`\u wants four hexadecimal digits`)
		}
		p.i += 6
		if utf16.IsSurrogate(r) {
			low, ok := p.unit(p.i)
			r = utf16.DecodeRune(r, low)
			if !ok || r == utf8.RuneError {
				return errors.New("half of a surrogate pair")
			}
			p.i += 6
		}
		b.WriteRune(r)
		return nil
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 {
		return fmt.Errorf("the escape %q is not one of JSON's", `\`+string(rune(c)))
	}
	b.WriteByte("\"\\/\b\f\n\r\t"[i])
	p.i += 2
	return nil
}

// unit reads \uXXXX at offset i.
func (p *jsonParser) unit(i int) (rune, bool) {
	if i+6 > len(p.s) || p.s[i] != '\\' || p.s[i+1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(p.s[i+2:i+6], 16, 16)
	if err != nil || strings.ContainsAny(p.s[i+2:i+6], "+_") {
		return 0, false
	}
	return rune(v), true
}
