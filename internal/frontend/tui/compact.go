package tui

import (
	"fmt"
	"slices"

	"bawn/internal/approval"
)

// The compact form of a question, for small screens: a text without a frame,
// under it the answers. The text may have pages; a yes counts when all that it
// must tell has been on the screen.

// small shows the first question so: its answers a line each if that leaves
// room for the text, else by a word each, and what they cover in the text.
func (v *questionsView) small(w, h int) form {
	const least = 2 // lines of the text, for a page of it
	if w < minQuestion {
		return form{}
	}
	f := v.smallWith(w, h, v.answerList(w), false)
	if words := v.answerWords(w); f.page < f.must.len() {
		if g := v.smallWith(w, h, words, true); f.page < 6 || g.page >= g.must.len() {
			f = g
		}
	}
	if f.page < least {
		return form{}
	}
	return f
}

// smallWith puts the text above these answers; explain says that it tells what
// they cover.
func (v *questionsView) smallWith(w, h int, answers []string, explain bool) form {
	must, more := v.text(w-2, explain)
	f := form{small: true, must: must, page: h - len(answers)}
	if f.page < 1 {
		return f
	}
	text := passage{must.before, must.object, slices.Concat(must.after, more)}
	f.last = max(0, text.len()-f.page)
	f.all = f.last == 0
	if f.scroll = min(v.scroll, f.last); !must.equal(v.must) {
		f.scroll = 0
	}
	for _, s := range text.lines(f.scroll, f.scroll+f.page) {
		f.lines = append(f.lines, " "+s)
	}
	if blank := h - len(answers) - len(f.lines); blank > 0 {
		f.lines = append(f.lines, "")
	}
	f.lines = append(f.lines, answers...)
	return f
}

// text is what the compact form tells, in lines of w cells: what must be read
// before a yes, and the rest.
func (v *questionsView) text(w int, explain bool) (must passage, more []string) {
	l, q := v.o.Look, v.open[0]
	title := q.Prompt.Brief
	if title == "" {
		title = q.Prompt.Title
	}
	for _, s := range wrap(l.safe(title), w) {
		must.before = append(must.before, l.as(strong, s))
	}
	must.object, must.after = v.object(w), v.warnings(q, w)
	const column = 6
	lines := func(out []string, name, text string) []string {
		if text == "" {
			return out
		}
		for _, s := range wrap(text, max(w-column, 8)) {
			out = append(out, l.as(faint, l.fill(name, column))+s)
			name = ""
		}
		return out
	}
	must.after = lines(must.after, "who", l.cut(l.safe(beginning(q.Command)), max(w-column, 8)))
	must.after = lines(must.after, "why", l.safe(reason(q)))
	if explain {
		for _, c := range v.choices.all {
			if c.yes() {
				must.after = lines(must.after, c.key, v.briefly(c))
			}
		}
	}
	if r := q.Prompt.Rule; r.ID != "" {
		more = lines(more, "rule", l.safe(r.ID+" ("+r.Origin.String()+")"))
	}
	if q.Dir != "" {
		more = lines(more, "in", l.cutLeft(v.o.folder(q.Dir), max(w-column, 8)))
	}
	more = lines(more, "from", askedBy(q))
	more = lines(more, "held", held(q))
	return must, more
}

// briefly says what a choice does where its object is in sight.
func (v *questionsView) briefly(c choice) string {
	for _, o := range v.open[0].Prompt.Offers {
		if o.Brief != "" && letters[o.Scope] == c.key {
			return v.o.Look.safe(o.Brief)
		}
	}
	return c.text
}

// answerList are the answers with what they cover, a line each.
func (v *questionsView) answerList(w int) []string {
	c := choices{at: v.choices.at, waits: v.choices.waits, all: slices.Clone(v.choices.all)}
	for i := range c.all {
		c.all[i].text = v.briefly(c.all[i])
	}
	return c.lines(v.o.Look, w)
}

// answerWords are the answers by a word each, in as few lines as they fit.
func (v *questionsView) answerWords(w int) (out []string) {
	l := v.o.Look
	row := ""
	for i, c := range v.choices.all {
		word := map[string]string{
			"n": "no", "N": fmt.Sprintf("no to %d", len(v.open)),
			letters[approval.Once]: "once", letters[approval.Session]: "session", letters[approval.Always]: "always",
		}[c.key]
		item := "  " + l.as(strong, c.key) + " " + word + " "
		if i == v.choices.at {
			item = " " + l.as(chosen, v.choices.glyph(l)+c.key+" "+word+" ")
		}
		if row != "" && width(row)+width(item) > w {
			out, row = append(out, row), ""
		}
		row += item
	}
	return append(out, row)
}

// unread reports whether there is more to be read before a yes.
func (v *questionsView) unread() bool { return v.compact && v.read < v.must.len() }

// reads notes what of the text is on the screen now. Once that was all, the
// guard begins anew: a yes from before does not count.
func (v *questionsView) reads() {
	before := v.unread()
	if v.scroll <= v.read {
		v.read = max(v.read, v.scroll+v.page)
	}
	if before && v.read > v.page && !v.unread() {
		v.arm()
	}
}

// turn scrolls.
func (v *questionsView) turn(by int) {
	v.scroll = max(0, min(v.scroll+by, v.last))
	if v.compact {
		v.reads()
	}
}
