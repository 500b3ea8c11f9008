package inside

import (
	"bytes"
	"html"
	"slices"
)

// The tokens of a page, as far as reading its text needs them. A library for
// all of HTML costs every start of the program a third of a millisecond before
// main (docs/decisions/0022-mcp.md).

type tokenKind uint8

const (
	textToken tokenKind = iota
	startToken
	endToken
	emptyToken // a tag that closes itself
)

// token is a run of text, or a tag.
type token struct {
	kind tokenKind
	text string // of text, its references resolved; of a tag, its name in lower case
	href string // of a tag
}

// maxTag bounds a tag, in bytes.
const maxTag = 1 << 20

// tokens takes a page apart.
type tokens struct {
	page []byte
	raw  string // the element whose content is text up to its end tag
	cut  bool   // it ended before a tag that is longer than any is
}

var (
	// rawText are elements in which a < is text.
	rawText = []string{"script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp"}
	decoded = []string{"textarea", "title"} // references count in these
)

// next is the next token; false at the end.
func (t *tokens) next() (token, bool) {
	for len(t.page) > 0 {
		if t.raw != "" {
			if tok, ok := t.rawContent(); ok {
				return tok, true
			}
			continue
		}
		n := markup(t.page)
		if n > 0 {
			text := t.page[:n]
			t.page = t.page[n:]
			return token{text: html.UnescapeString(string(text))}, true
		}
		if t.page[1] != '/' && !letter(t.page[1]) || t.page[1] == '/' && !letter(t.page[2]) {
			t.skip()
			continue
		}
		return t.tag()
	}
	return token{}, false
}

// markup is where the first tag, comment or declaration begins, or the length.
func markup(b []byte) int {
	for i := 0; ; i++ {
		j := bytes.IndexByte(b[i:], '<')
		if j < 0 {
			return len(b)
		}
		if i += j; i+1 == len(b) {
			return len(b)
		}
		switch c := b[i+1]; {
		case letter(c), c == '!', c == '?', c == '/' && i+2 < len(b):
			return i
		}
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' }

// skip passes a comment, a declaration, or an end tag without a name.
func (t *tokens) skip() {
	b := t.page
	end := bytes.IndexByte(b, '>')
	if bytes.HasPrefix(b, []byte("<!--")) {
		// <!--> and <!---> are whole comments.
		if end = bytes.Index(b[2:], []byte("-->")); end >= 0 {
			end += 2 + len("-->") - 1
		}
	}
	if end < 0 {
		t.page = nil
		return
	}
	t.page = b[end+1:]
}

// rawContent is the text of a raw element, up to its end tag.
func (t *tokens) rawContent() (token, bool) {
	b, name := t.page, t.raw
	t.raw = ""
	end := len(b)
	for i := 0; ; i++ {
		j := bytes.Index(b[i:], []byte("</"))
		if j < 0 {
			break
		}
		i += j
		rest := b[i+2:]
		if len(rest) > len(name) && bytes.EqualFold(rest[:len(name)], []byte(name)) && (space(rest[len(name)]) || rest[len(name)] == '>' || rest[len(name)] == '/') {
			end = i
			break
		}
	}
	t.page = b[end:]
	if end == 0 {
		return token{}, false
	}
	text := string(b[:end])
	if slices.Contains(decoded, name) {
		text = html.UnescapeString(text)
	}
	return token{text: text}, true
}

// tag reads the tag at the beginning of the page.
func (t *tokens) tag() (token, bool) {
	b, i := t.page, 1
	out := token{kind: startToken}
	if b[1] == '/' {
		out.kind, i = endToken, 2
	}
	from := i
	for i < len(b) && !space(b[i]) && b[i] != '>' && b[i] != '/' {
		i++
	}
	out.text = string(bytes.ToLower(b[from:i]))
	for {
		for i < len(b) && (space(b[i]) || b[i] == '/') {
			i++
		}
		if i >= len(b) || i > maxTag {
			t.cut = i > maxTag
			t.page = nil
			return token{}, false
		}
		if b[i] == '>' {
			break
		}
		key, value, n := attribute(b[i:])
		if i += n; out.href == "" && key == "href" {
			out.href = html.UnescapeString(value)
		}
	}
	if out.kind == startToken && b[i-1] == '/' {
		out.kind = emptyToken
	}
	t.page = b[i+1:]
	if out.kind == startToken && slices.Contains(rawText, out.text) {
		t.raw = out.text
	}
	return out, true
}

// attribute reads a name and its value, and how long they are.
func attribute(b []byte) (key, value string, n int) {
	i := 1 // even a = begins a name
	for i < len(b) && !space(b[i]) && b[i] != '=' && b[i] != '>' && b[i] != '/' {
		i++
	}
	key = string(bytes.ToLower(b[:min(i, 8)])) // longer than any that counts
	end := i
	for i < len(b) && space(b[i]) {
		i++
	}
	if i >= len(b) || b[i] != '=' {
		return key, "", end
	}
	for i++; i < len(b) && space(b[i]); {
		i++
	}
	if i >= len(b) {
		return key, "", len(b)
	}
	from := i
	switch q := b[i]; q {
	case '>':
		return key, "", i
	case '"', '\'':
		j := bytes.IndexByte(b[i+1:], q)
		if j < 0 {
			return key, "", len(b)
		}
		return key, string(b[i+1 : i+1+j]), i + 1 + j + 1
	}
	for i < len(b) && !space(b[i]) && b[i] != '>' {
		i++
	}
	return key, string(b[from:i]), i
}
