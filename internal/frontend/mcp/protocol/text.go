package protocol

import (
	"unicode/utf8"
)

// contents are the texts of a result. They may be long, and encoding/json goes
// through what it is given three times.
type contents []string

// marshalResult is a result as JSON, the texts first.
func marshalResult(v any) ([]byte, error) {
	m, ok := v.(map[string]any)
	texts, long := m["content"].(contents)
	if !ok || !long {
		return marshal(v)
	}
	delete(m, "content")
	rest, err := marshal(m)
	if err != nil {
		return nil, err
	}
	n := len(rest) + 64
	for _, t := range texts {
		n += len(t) + len(t)/16 + 64
	}
	b := append(make([]byte, 0, n), `{"content":[`...)
	for i, t := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(append(b, `{"type":"text","text":`...), t), '}')
	}
	b = append(b, ']')
	if len(rest) > len("{}") {
		b = append(b, ',')
	}
	return append(b, rest[1:]...), nil
}

const hex = "0123456789abcdef"

// appendString is a text as JSON; bytes that are no UTF-8 are U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			b = append(append(b, s[from:i]...), "\uFFFD"...)
			i++
			from = i
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}
