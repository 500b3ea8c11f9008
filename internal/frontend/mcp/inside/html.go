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
func hidden(name string) bool {
	switch name {
	case "script", "style", "noscript", "template", "svg", "iframe":
		return true
	}
	return false
}

// breaks are those around an element that stands in lines of its own.
func breaks(name string) int {
	switch name {
	case "div", "section", "article", "header", "footer", "main", "nav", "ul", "ol", "li", "br", "tr", "dt", "dd":
		return 1
	case "p", "table", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote", "hr", "title":
		return 2
	}
	return 0
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
	if open && hidden(name) {
		w.skip = name
		return
	}
	w.breaks = max(w.breaks, breaks(name))
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
