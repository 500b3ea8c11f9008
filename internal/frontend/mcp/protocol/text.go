package protocol

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"unicode/utf8"
)

// contents are the texts of a result. They may be long, and encoding/json goes
// through what it is given three times.
type contents struct {
	long  *Text // before the others; nil is none
	texts []string
}

// Text is a long text on its way into a result. What is written to it becomes
// JSON at once, in the place that it has in the message, so that a file is gone
// through and copied once. Make it with NewText; it is good for one result.
type Text struct {
	b    []byte  // textRoom bytes for what stands before it, then the text
	half [3]byte // of a character whose rest is not written yet
	n    int
}

const (
	// textRoom is room for the head of a message; a longer head costs a copy.
	textRoom = 256
	// maxSpare bounds the buffers that are kept for the next text, in bytes.
	maxSpare  = 4 << 20
	textStart = `{"type":"text","text":`
)

var spare = sync.Pool{New: func() any { return new(Text) }}

// NewText is an empty text.
func NewText() *Text {
	t := spare.Get().(*Text)
	if t.b == nil {
		t.b = make([]byte, textRoom, 64<<10)
	}
	t.b, t.n = append(t.b[:textRoom], '"'), 0
	return t
}

// Grow makes room for n bytes of text of the usual kind.
func (t *Text) Grow(n int) { t.b = slices.Grow(t.b, n+n/16+textRoom) }

// Write appends text; bytes that are no UTF-8 become U+FFFD. It never fails.
func (t *Text) Write(p []byte) (int, error) {
	all := len(p)
	for t.n > 0 && len(p) > 0 { // a character that was cut is put together
		var c [utf8.UTFMax]byte
		have := copy(c[:], t.half[:t.n])
		have += copy(c[have:], p)
		if !utf8.FullRune(c[:have]) {
			t.n = copy(t.half[:], c[:have])
			return all, nil
		}
		_, size := utf8.DecodeRune(c[:have])
		t.b = appendEscaped(t.b, c[:size])
		if size >= t.n {
			p = p[size-t.n:]
			t.n = 0
		} else {
			t.n = copy(t.half[:], t.half[size:t.n])
		}
	}
	end := len(p)
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if from := len(p) - i; utf8.RuneStart(p[from]) {
			if !utf8.FullRune(p[from:]) {
				end = from
			}
			break
		}
	}
	t.b = appendEscaped(t.b, p[:end])
	t.n += copy(t.half[t.n:], p[end:])
	return all, nil
}

// behind ends the text and returns it behind head.
func (t *Text) behind(head []byte) []byte {
	t.b = append(appendEscaped(t.b, t.half[:t.n]), '"')
	t.n = 0
	if len(head) > textRoom {
		t.b = slices.Insert(t.b, textRoom, head[textRoom:]...)
		head = head[:textRoom]
	}
	from := textRoom - len(head)
	copy(t.b[from:], head)
	return t.b[from:]
}

// free is for when the message has been written: the buffer is another text's.
func (t *Text) free() {
	if t != nil && cap(t.b) <= maxSpare {
		spare.Put(t)
	}
}

// appendResult is a result as JSON behind head, the texts first; text is the one
// in whose buffer it lies, if any.
func appendResult(head []byte, v any) (b []byte, text *Text, err error) {
	m, ok := v.(map[string]any)
	c, long := m["content"].(contents)
	if !ok || !long {
		b, err := marshal(v)
		return append(head, b...), nil, err
	}
	delete(m, "content")
	rest, err := marshal(m)
	if err != nil {
		return nil, nil, err
	}
	head = append(head, `{"content":[`...)
	if c.long != nil {
		b = append(c.long.behind(append(head, textStart...)), '}')
	} else {
		n := len(head) + len(rest) + 64
		for _, t := range c.texts {
			n += len(t) + len(t)/16 + 64
		}
		b = append(make([]byte, 0, n), head...)
	}
	for i, t := range c.texts {
		if i > 0 || c.long != nil {
			b = append(b, ',')
		}
		b = append(appendString(append(b, textStart...), t), '}')
	}
	b = append(b, ']')
	if len(rest) > len("{}") {
		b = append(b, ',')
	}
	return append(b, rest[1:]...), c.long, nil
}

const hex = "0123456789abcdef"

// appendString is a text as JSON; bytes that are no UTF-8 are U+FFFD.
func appendString(b []byte, s string) []byte {
	return append(appendEscaped(append(b, '"'), []byte(s)), '"')
}

// appendEscaped is what stands between the quotes.
func appendEscaped(b, s []byte) []byte {
	from := 0
	for i := plain(s, 0); i < len(s); i = plain(s, i) {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(s[i:])
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
	return append(b, s[from:]...)
}

// plain is the first byte from i on that is not itself in JSON, or no ASCII; the
// length, if there is none. It looks at eight bytes at once: a byte minus n
// borrows from its highest bit if it is smaller than n.
func plain(s []byte, i int) int {
	const low, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		x := binary.LittleEndian.Uint64(s[i:])
		quote, back := x^low*'"', x^low*'\\'
		// What a borrow reaches lies after the byte that it comes from.
		if found := (x | (x - low*' ') | (quote - low) | (back - low)) & high; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] < utf8.RuneSelf && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}
