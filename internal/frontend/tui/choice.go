package tui

import (
	"slices"
	"strings"
)

// choice is one answer to a question of bawn's.
type choice struct {
	key  string // picks it at once
	text string // what it does, completely
	do   func()
}

// yes reports whether it is one of the answers yes to a question.
func (c choice) yes() bool { return c.key != "n" && c.key != "N" }

// choices is a list of them, of which one is highlighted. The zero one of it
// is the safe one: it is highlighted first, unless at says otherwise.
type choices struct {
	all   []choice
	at    int
	waits bool // it is the one at at that was picked by its letter: see letter
}

// marked is the key of the choice that is highlighted.
func (c *choices) marked() string {
	if len(c.all) == 0 {
		return ""
	}
	return c.all[c.at].key
}

// mark highlights the choice with a key; if there is none, the safe one.
func (c *choices) mark(key string) {
	c.at = max(0, slices.IndexFunc(c.all, func(ch choice) bool { return ch.key == key }))
}

// key moves the highlight or picks: by Enter what is highlighted, by its
// letter a choice, by Esc the safe one. Any other key, known is false then, is of
// somebody who types something else. The highlight does not go from one end to
// the other.
func (c *choices) key(k string) (picked *choice, known bool) {
	switch k {
	case "up", "k", "left", "shift+tab":
		c.at = max(c.at-1, 0)
	case "down", "j", "right":
		c.at = min(c.at+1, len(c.all)-1)
	case "enter":
		return &c.all[c.at], true
	case "esc", "ctrl+c", "ctrl+d":
		return &c.all[0], true
	default:
		for i := range c.all {
			if c.all[i].key == k {
				return &c.all[i], true
			}
		}
		return nil, false
	}
	return nil, true
}

// glyph is before the choice that is highlighted.
func (c *choices) glyph(l Look) string {
	if c.waits {
		return l.glyph("…", "~")
	}
	return l.glyph("›", ">")
}

// lines shows them, each as a whole.
func (c *choices) lines(l Look, w int) []string {
	var out []string
	for i, ch := range c.all {
		for j, s := range wrap(ch.text, w-5) {
			mark, key := "  ", strings.Repeat(" ", len(ch.key))
			if j == 0 {
				key = ch.key
			}
			if i == c.at {
				if j == 0 {
					mark = c.glyph(l) + " "
				}
				out = append(out, l.as(chosen, l.fill(mark+key+"  "+s, w)))
				continue
			}
			out = append(out, mark+l.as(strong, key)+"  "+s)
		}
	}
	return out
}

// dialog is a short question of bawn's own over a page.
type dialog struct {
	look    Look
	heading string
	object  string // what it is about, if that is not bawn's own word
	body    []string
	brief   []string // the body in few words, where there is little room
	choices choices
	answer  func() // the dialog is gone: what is left to do
	crowded bool   // it does not fit, so that nothing can be said but no
}

// dialogKey is about the dialog.
func (f *frame) dialogKey(k string) {
	d := f.dialog
	if d.crowded && !slices.Contains([]string{"esc", "ctrl+c", "ctrl+d"}, k) {
		return
	}
	switch c, known := d.choices.key(k); {
	case c != nil:
		f.pick(*c, k)
	case !known:
		f.unmark()
	}
}

// keys are what to press.
func (d *dialog) keys() []hint {
	return []hint{{"enter", "picks"}, {"esc", d.choices.all[0].text}}
}

func (d *dialog) lines(w, h int, keys []hint) []string {
	l := d.look
	if d.crowded = w < minQuestion; d.crowded {
		return l.tooSmall(w, h)
	}
	foot := l.hintLine(keys, w)
	in := boxInside(w)
	body := d.text(d.body, in)
	if len(body) > 0 {
		body = append(body, "")
	}
	if box := l.box(d.heading, "", append(body, d.choices.lines(l, in)...), w); len(box) < h {
		return append(box, foot)
	}
	brief := d.brief
	if brief == nil {
		brief = d.body
	}
	var small []string
	for _, s := range wrap(d.heading, w-2) {
		small = append(small, " "+l.as(strong, s))
	}
	for _, s := range d.text(brief, w-2) {
		small = append(small, " "+s)
	}
	small = append(append(small, d.choices.lines(l, w)...), foot)
	if d.crowded = len(small) > h; d.crowded {
		return l.tooSmall(w, h)
	}
	return small
}

func (d *dialog) text(notes []string, w int) (out []string) {
	if d.object != "" {
		out = d.look.foldedObject(d.look.safeLines(d.object), w).all()
	}
	for _, s := range notes {
		out = append(out, wrap(s, w)...)
	}
	return out
}

// ask puts a dialog over the page, or makes it all there is.
func (f *frame) ask(d *dialog) {
	if d == nil {
		f.done = f.done || f.view == nil
		return
	}
	d.look = f.o.Look
	f.arm()
	d.answer = func() {
		f.dialog = nil
		if f.view == nil {
			f.done = true
		}
	}
	f.dialog = d
}

// maxBox is how wide a box becomes: longer lines are hard to read.
const maxBox = 96

// boxInside is the room for text in a box on a screen of w cells.
func boxInside(w int) int { return max(2, min(w, maxBox)-4) }

// box draws a frame around lines, with a heading on the left of its upper edge
// and a word on the right.
func (l Look) box(heading, right string, lines []string, w int) []string {
	w = min(w, maxBox)
	in := boxInside(w)
	bar, tl, tr, bl, br, side := "─", "╭", "╮", "╰", "╯", "│"
	if l.ASCII {
		bar, tl, tr, bl, br, side = "-", "+", "+", "+", "+", "|"
	}
	if right != "" {
		right = " " + right + " " + bar
	}
	room := w - 2 - width(right)
	head := bar + " " + l.cut(heading, room-3) + " "
	head += strings.Repeat(bar, max(0, room-width(head)))
	out := []string{tl + head + right + tr}
	for _, s := range lines {
		out = append(out, side+" "+s+strings.Repeat(" ", max(0, in-width(s)))+" "+side)
	}
	return append(out, bl+strings.Repeat(bar, w-2)+br)
}

// tooSmall is shown where a question has no room: half of one is no question.
func (l Look) tooSmall(w, h int) []string {
	lines := wrap("Esc says no. To say more, enlarge the screen: it has no room for the question. Or run the command in bawn --plain, which asks line by line.", w)
	return lines[:min(len(lines), h)]
}
