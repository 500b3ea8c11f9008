package inside

import "strings"

// pageText is what a person reads of a page: its text with line breaks, as
// Markdown with headings, lists, links and code as well. It is cut before a tag
// that is longer than any is.
func pageText(page []byte, markdown bool) (text string, cut bool) {
	t := tokens{page: page}
	w := writer{markdown: markdown}
	for {
		tok, ok := t.next()
		switch {
		case !ok:
			return w.String(), t.cut
		case tok.kind != textToken:
			w.tag(tok.text, tok.kind, tok.href)
		case w.skip == "":
			w.text(tok.text)
		}
	}
}

type writer struct {
	strings.Builder
	markdown bool
	skip     string // the element whose content is not shown
	pre      bool
	href     string
	breaks   int  // line breaks that are due
	space    bool // one is due
}

// hidden are elements whose content nobody reads.
var hidden = map[string]bool{"script": true, "style": true, "noscript": true, "template": true, "svg": true, "iframe": true}

// blocks are elements that stand in lines of their own, with the breaks around.
var blocks = map[string]int{
	"p": 2, "div": 1, "section": 1, "article": 1, "header": 1, "footer": 1, "main": 1, "nav": 1, "ul": 1, "ol": 1, "li": 1, "br": 1, "tr": 1, "table": 2,
	"h1": 2, "h2": 2, "h3": 2, "h4": 2, "h5": 2, "h6": 2, "pre": 2, "blockquote": 2, "hr": 2, "dt": 1, "dd": 1, "title": 2,
}

func (w *writer) tag(name string, kind tokenKind, href string) {
	if w.skip != "" {
		if kind == endToken && name == w.skip || name == "body" {
			w.skip = ""
		}
		if name != "title" {
			return
		}
	}
	open := kind == startToken
	if open && hidden[name] {
		w.skip = name
		return
	}
	w.breaks = max(w.breaks, blocks[name])
	if name == "pre" {
		if w.markdown && open {
			w.raw("```\n")
		} else if w.markdown && kind == endToken {
			w.breaks = 1
			w.raw("```")
			w.breaks = 2
		}
		w.pre = open
	}
	if name == "td" || name == "th" {
		w.space = true
	}
	if !w.markdown {
		return
	}
	switch {
	case open && len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6':
		w.raw(strings.Repeat("#", int(name[1]-'0')) + " ")
	case open && name == "li":
		w.raw("- ")
	case name == "code" && !w.pre && kind != emptyToken:
		w.raw("`")
	case open && name == "a" && href != "" && !strings.HasPrefix(href, "#") && !strings.HasPrefix(href, "javascript:"):
		w.raw("[")
		w.href = href
	case kind == endToken && name == "a" && w.href != "":
		w.WriteString("](" + w.href + ")")
		w.href = ""
	}
}

// raw writes what stands for a tag.
func (w *writer) raw(s string) {
	w.due()
	w.WriteString(s)
}

// due writes the breaks, or the space, before what comes.
func (w *writer) due() {
	switch {
	case w.Len() == 0:
	case w.breaks > 0:
		w.WriteString("\n\n"[:min(w.breaks, 2)])
	case w.space:
		w.WriteByte(' ')
	}
	w.breaks, w.space = 0, false
}

func (w *writer) text(s string) {
	if w.pre {
		if s != "" {
			w.due()
			w.WriteString(s)
		}
		return
	}
	words := strings.Fields(s)
	if len(words) == 0 {
		w.space = w.space || s != ""
		return
	}
	w.space = w.space || strings.TrimLeft(s, " \t\r\n") != s
	w.due()
	w.WriteString(strings.Join(words, " "))
	w.space = strings.TrimRight(s, " \t\r\n") != s
}
