package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bawn/internal/approval"
	"bawn/internal/session"
)

// questionsView shows the questions that wait for a person, one at a time, and
// is left when there is none.
//
// The answer that is highlighted first is no. A key is an answer when the box
// has been on the screen for a while (guard), and every question begins that
// anew: two quick keys never answer two questions.
type questionsView struct {
	*frame
	open    []session.Question
	prompt  approval.Prompt // of the first one, as it was first shown
	choices choices
	scroll  int // of the object
	last    int // the largest scroll
	page    int // lines of it that show
	crowded bool
}

func (v *questionsView) title() string { return "bawn asks" }

func (v *questionsView) refresh() {
	before := v.id()
	v.open = v.State().Questions
	if len(v.open) == 0 {
		v.done = true
		return
	}
	if v.id() != before {
		v.arm()
		v.scroll, v.choices, v.prompt = 0, choices{}, v.open[0].Prompt
	}
	v.open[0].Prompt = v.prompt // what was shown is what is answered
	marked := v.choices.marked()
	v.choices = v.offers()
	v.choices.mark(marked)
}

func (v *questionsView) id() int {
	if len(v.open) == 0 {
		return 0
	}
	return v.open[0].ID
}

// minQuestion is the narrowest screen that a question fits, in cells.
const minQuestion = 24

// letters pick a scope, as on the line prompt of package approval.
var letters = map[approval.Scope]string{approval.Once: "y", approval.Session: "s", approval.Always: "a"}

// offers are the answers to the first question, the safe one first.
func (v *questionsView) offers() choices {
	q := v.open[0]
	give := func(s approval.Scope) func() {
		return func() {
			if !v.Answer(q.ID, s) {
				v.note = "the question was gone before it was answered"
			}
			v.refresh()
		}
	}
	c := choices{all: []choice{{"n", "no", give(approval.No)}}}
	for _, o := range q.Prompt.Offers {
		if key := letters[o.Scope]; key != "" {
			c.all = append(c.all, choice{key, v.o.Look.safe(o.Text), give(o.Scope)})
		}
	}
	if n := len(v.open); n > 1 {
		c.all = append(c.all, choice{"N", fmt.Sprintf("no to all %d questions", n), func() { v.DenyAll(); v.refresh() }})
	}
	return c
}

func (v *questionsView) key(k string) bool {
	if !v.passes() || len(v.open) == 0 {
		return true
	}
	switch k {
	case "pgdown", "ctrl+f", "space":
		v.scroll = min(v.scroll+v.page, v.last)
		return true
	case "pgup", "ctrl+b":
		v.scroll = max(0, v.scroll-v.page)
		return true
	case "tab":
		v.note, v.done = "the question waits; "+plural(len(v.open), "question")+" open", true
		return true
	}
	if v.crowded { // what cannot be read cannot be allowed
		if k == "esc" || k == "n" {
			v.choices.all[0].do()
		}
		return true
	}
	if c := v.choices.key(k); c != nil {
		c.do()
	}
	return true
}

func (v *questionsView) keys() []hint {
	if v.crowded {
		return []hint{{"esc", "no"}, {"tab", "later"}}
	}
	k := []hint{{"enter", "picks"}, {"esc", "no"}, {v.o.Look.glyph("↑↓", "up/down"), "choose"}, {"tab", "later"}}
	if v.last > 0 {
		k = append(k, hint{"pgup/pgdn", "read all"})
	}
	return k
}

func (v *questionsView) lines(w, h int) []string {
	if len(v.open) == 0 {
		return nil
	}
	l, q, in := v.o.Look, v.open[0], boxInside(w)
	var head []string
	for _, s := range wrap(l.safe(q.Prompt.Title), in) {
		head = append(head, l.as(strong, s))
	}
	head = append(head, "")
	warnings, facts := v.warnings(q, in), v.facts(q, in)
	answers := append([]string{""}, v.choices.lines(l, in)...)
	object := l.object(q.Prompt.Object, in)
	// What matters most stays where there is little room: the two ends of the
	// object, the warnings, the answers; then as many facts as fit.
	room := h - 2 - len(head) - len(warnings) - len(answers)
	if v.crowded = room < min(len(object), 3) || w < minQuestion; v.crowded {
		return l.tooSmall(w, h)
	}
	facts = facts[:max(0, min(len(facts), room-min(len(object), 8)))]
	room -= len(facts)
	v.page = max(1, room-2)
	object, v.scroll, v.last = l.window(object, room, v.scroll)
	body := slices.Concat(head, object, warnings, facts, answers)
	heading := "Question"
	if n := len(v.open); n > 1 {
		heading = fmt.Sprintf("Question 1 of %d", n)
	}
	left := max(0, q.Deadline.Sub(v.o.Now()).Round(time.Second))
	return l.box(heading, fmt.Sprintf("no in %d:%02d", int(left.Minutes()), int(left.Seconds())%60), body, w)
}

// object shows what a question is about, whole, behind a rule that no text of
// it can draw. Lines of the text are lines here.
func (l Look) object(text string, w int) []string {
	var out []string
	mark := l.as(careful, l.glyph("┃", "|")) + " "
	for s := range strings.SplitSeq(text, "\n") {
		for _, part := range fold(l.safe(s), w-2) {
			out = append(out, mark+l.as(strong, part))
		}
	}
	return out
}

// window shows n lines of a long object, from scroll on, and always its end.
// last is the largest scroll.
func (l Look) window(lines []string, n, scroll int) (shown []string, at, last int) {
	if len(lines) <= n {
		return lines, 0, 0
	}
	last = len(lines) - n
	at = min(max(scroll, 0), last)
	shown = append(shown, lines[at:at+n-2]...)
	if rest := last - at; rest > 0 {
		shown = append(shown, l.as(faint, fmt.Sprintf("%s %d more lines, then the end:", l.glyph("⋮", ":"), rest+1)))
	} else {
		shown = append(shown, lines[len(lines)-2])
	}
	return append(shown, lines[len(lines)-1]), at, last
}

// warnings are what must be known before answering.
func (v *questionsView) warnings(q session.Question, w int) []string {
	notes := q.Prompt.Notes
	if v.escaped(q) {
		notes = append(slices.Clip(notes), "careful: it holds characters that do not show; they are written as \\ escapes")
	}
	out := []string{""}
	for _, n := range notes {
		p := plain
		if strings.HasPrefix(n, "careful") {
			p = careful
		}
		for _, s := range wrap(v.o.Look.safe(n), w) {
			out = append(out, v.o.Look.as(p, s))
		}
	}
	return out
}

func (v *questionsView) escaped(q session.Question) bool {
	text := strings.ReplaceAll(q.Prompt.Object, "\n", " ")
	return (Look{}).safe(text) != text
}

// facts are who asks and by which rule, a line each, the most telling first.
func (v *questionsView) facts(q session.Question, w int) (out []string) {
	l := v.o.Look
	line := func(name, text string) {
		if text != "" {
			out = append(out, l.as(faint, l.fill(name, 9))+l.cut(text, w-9))
		}
	}
	line("command", l.safe(q.Command))
	if r := q.Prompt.Rule; r.ID != "" {
		line("rule", l.safe(r.ID+" ("+r.Origin.String()+")"))
		line("because", l.safe(r.Text))
	}
	if q.Dir != "" {
		line("folder", l.cutLeft(v.o.folder(q.Dir), w-9))
	}
	switch {
	case q.Task != 0 && q.PID != 0:
		line("asked by", fmt.Sprintf("process %d of task %d", q.PID, q.Task))
	case q.Task != 0:
		line("asked by", fmt.Sprintf("task %d", q.Task))
	}
	if q.Waiting > 1 {
		line("waiting", plural(q.Waiting, map[bool]string{true: "connection", false: "command"}[q.Kind == session.AboutHost]))
	}
	return out
}
