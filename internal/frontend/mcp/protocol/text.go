package protocol

import (
	"unicode/utf8"
)

// contents are the texts of a result. They may be long, and encoding/json goes
// through what it is given three times.
type contents []string

// appendResult is a result as JSON behind head, the texts first. What a file
// holds is copied once.
func appendResult(head []byte, v any) ([]byte, error) {
	m, ok := v.(map[string]any)
	texts, long := m["content"].(contents)
	if !ok || !long {
		b, err := marshal(v)
		return append(head, b...), err
	}
	delete(m, "content")
	rest, err := marshal(m)
	if err != nil {
		return nil, err
	}
	n := len(head) + len(rest) + 64
	for _, t := range texts {
		n += len(t) + len(t)/16 + 64
	}
	b := append(append(make([]byte, 0, n), head...), `{"content":[`...)
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
	for i := plain(s, 0); i < len(s); i = plain(s, i) {
		c := s[i]
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

// plain is the first byte from i on that is not itself in JSON, or no ASCII; the
// length, if there is none. It looks at eight bytes at once: a byte minus n
// borrows from its highest bit if it is smaller than n.
func plain(s string, i int) int {
	const low, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		x := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 | uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		quote, back := x^low*'"', x^low*'\\'
		// What a borrow reaches beyond its byte lies after one that is found.
		if found := (x | (x - low*' ') | (quote - low) | (back - low)) & high; found != 0 {
			break
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] < utf8.RuneSelf && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}
