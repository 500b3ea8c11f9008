package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func known(s string) Word { return Word{Text: s, Known: true} }

func words(list []*syntax.Word) []Word {
	out := make([]Word, len(list))
	for i, w := range list {
		out[i] = word(w)
	}
	return out
}

func assigns(list []*syntax.Assign) []Assign {
	var out []Assign
	for _, a := range list {
		n := Assign{}
		if a.Name != nil {
			n.Name = a.Name.Value
		}
		if a.Value != nil && a.Index == nil && !a.Append {
			n.Value = word(a.Value)
		} else if a.Value == nil && a.Array == nil {
			n.Value = known("")
		}
		out = append(out, n)
	}
	return out
}

func redirects(list []*syntax.Redirect) []Redirect {
	var out []Redirect
	for _, r := range list {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			continue
		}
		out = append(out, Redirect{Op: r.Op.String(), Target: word(r.Word)})
	}
	return out
}

// word evaluates as much of a word as means itself.
func word(w *syntax.Word) Word {
	if w == nil {
		return Word{}
	}
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && (lit.Value == "[" || !strings.ContainsAny(lit.Value, `\*?[{~`)) {
			return known(lit.Value)
		}
	}
	var b strings.Builder
	out := Word{Known: true}
	for i, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok && i == 0 && strings.HasPrefix(lit.Value, "~") {
			out.Home = true
		}
		if !part(&b, p) {
			out.Known = false
			break
		}
	}
	out.Text = b.String()
	if out.Home {
		out.rest, out.Known = out.Known, false
	}
	return out
}

// part appends one part; false: from here on the word is not known.
func part(b *strings.Builder, p syntax.WordPart) bool {
	switch p := p.(type) {
	case *syntax.Lit:
		return unquoted(b, p.Value)
	case *syntax.SglQuoted:
		if p.Dollar && strings.Contains(p.Value, `\`) {
			return false
		}
		b.WriteString(p.Value)
		return true
	case *syntax.DblQuoted:
		if p.Dollar {
			return false // may be translated
		}
		for _, q := range p.Parts {
			lit, ok := q.(*syntax.Lit)
			if !ok {
				return false
			}
			doubleQuoted(b, lit.Value)
		}
		return true
	}
	return false
}

// unquoted appends literal text, up to the first character that expands.
func unquoted(b *strings.Builder, s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i+1 < len(s) {
				i++ // at the very end it means itself
			}
			b.WriteByte(s[i])
		case '*', '?', '[':
			return false
		case '{':
			// Lists and ranges expand, and may go on behind a quote; find's {}
			// does not.
			if i+1 == len(s) || s[i+1] != '}' {
				return false
			}
			b.WriteByte('{')
		case '~':
			if i > 0 && (s[i-1] == '=' || s[i-1] == ':') {
				return false // bash expands it in whatever looks like an assignment
			}
			b.WriteByte('~')
		default:
			b.WriteByte(s[i])
		}
	}
	return true
}

func doubleQuoted(b *strings.Builder, s string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\", s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
}
