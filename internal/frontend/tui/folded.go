package tui

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// folded is a text in lines of at most w cells, wherever they end: nothing of it
// is left out. It may be megabytes, and all of them line feeds: so the lines are
// counted once, and are made when they are shown.
type folded struct {
	text  string // safe, but for line feeds, each of which ends a line
	w     int
	n     int   // lines
	marks []int // where the first of every stride lines begins
	paint func(line string) string
}

const stride = 64

func newFolded(text string, w int, paint func(string) string) *folded {
	f := &folded{text: text, w: max(w, 2), paint: paint}
	for at := 0; at >= 0; f.n++ {
		if f.n%stride == 0 {
			f.marks = append(f.marks, at)
		}
		_, at = f.line(at)
	}
	return f
}

// line finds the end of the line that begins at from, and where the next begins:
// -1 if it is the last.
func (f *folded) line(from int) (end, next int) {
	cells := 0
	for i, r := range f.text[from:] {
		n := 1
		switch {
		case r == '\n':
			return from + i, from + i + 1
		case r >= utf8.RuneSelf:
			n = width(string(r))
		}
		if cells+n > f.w {
			return from + i, from + i
		}
		cells += n
	}
	return len(f.text), -1
}

// lines are those from a to before b, of which there are as many.
func (f *folded) lines(a, b int) (out []string) {
	a, b = max(a, 0), min(b, f.n)
	if a >= b {
		return nil
	}
	at := f.marks[a/stride]
	for i := a - a%stride; i < b; i++ {
		end, next := f.line(at)
		if i >= a {
			out = append(out, f.paint(f.text[at:end]))
		}
		at = next
	}
	return out
}

// fold breaks a safe text so.
func fold(s string, w int) []string {
	return newFolded(s, w, func(line string) string { return line }).all()
}

func (f *folded) all() []string { return f.lines(0, f.n) }

// passage is a text with something long in it.
type passage struct {
	before []string
	object *folded // nil for none
	after  []string
}

func (p passage) len() int {
	n := len(p.before) + len(p.after)
	if p.object != nil {
		n += p.object.n
	}
	return n
}

// lines are those from a to before b.
func (p passage) lines(a, b int) (out []string) {
	a, b = max(a, 0), min(b, p.len())
	part := func(n int, lines func(a, b int) []string) {
		if from, to := min(a, n), min(b, n); from < to {
			out = append(out, lines(from, to)...)
		}
		a, b = max(a-n, 0), max(b-n, 0)
	}
	of := func(s []string) func(a, b int) []string { return func(a, b int) []string { return s[a:b] } }
	part(len(p.before), of(p.before))
	if p.object != nil {
		part(p.object.n, p.object.lines)
	}
	part(len(p.after), of(p.after))
	return out
}

func (p passage) equal(q passage) bool {
	return p.object == q.object && slices.Equal(p.before, q.before) && slices.Equal(p.after, q.after)
}

// foldedObject shows what a question is about, whole, behind a rule that no text
// of it can draw. Lines of the text are lines here. safe is the text, see safeLines.
func (l Look) foldedObject(safe string, w int) *folded {
	mark := l.as(careful, l.glyph("┃", "|")) + " "
	on, off, _ := strings.Cut(l.as(strong, "x"), "x")
	return newFolded(safe, w-2, func(line string) string {
		if line != "" {
			line = on + line + off
		}
		return mark + line
	})
}
