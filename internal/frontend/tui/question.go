package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bawn/internal/approval"
	"bawn/internal/session"
)

// questionsView shows the questions that wait for a person, one at a time, and
// is left when there is none: in a box where there is room for one, else in a
// compact form, page by page if need be.
//
// The answer that is highlighted first is no. A key is an answer when the
// question has been on the screen for a while (guard), and every question begins
// that anew: two quick keys never answer two questions.
type questionsView struct {
	*frame
	open    []session.Question
	prompt  approval.Prompt // of the first one, as it was first shown
	choices choices
	safe    string          // what it is about, see safeLines
	folded  map[int]*folded // that, by its width
	hides   bool            // it holds characters that do not show
	scroll  int             // of the object, or of the compact form
	last    int             // the largest scroll
	page    int             // lines of it that show
	compact bool
	must    passage // of the compact form: what is to be read before a yes
	read    int     // lines of it that have been on the screen
	crowded bool    // there is no room: nothing can be said but no
}

func (v *questionsView) title() string {
	if !v.compact || len(v.open) == 0 {
		return "bawn asks"
	}
	t := "bawn asks"
	if n := len(v.open); n > 1 {
		t += fmt.Sprintf(" 1/%d", n)
	}
	return t + ", no in " + v.left()
}

// left is the time until the answer is no.
func (v *questionsView) left() string {
	d := max(0, v.open[0].Deadline.Sub(v.o.Now()).Round(time.Second))
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

func (v *questionsView) refresh() {
	before := v.id()
	v.open = v.State().Questions
	if len(v.open) == 0 {
		v.done = true
		return
	}
	if v.id() != before {
		v.arm()
		v.scroll, v.read, v.must, v.choices, v.prompt = 0, 0, passage{}, choices{}, v.open[0].Prompt
		v.safe = v.o.Look.safeLines(v.prompt.Object)
		v.folded, v.hides = map[int]*folded{}, escaped(v.prompt.Object)
	}
	v.open[0].Prompt = v.prompt // what was shown is what is answered
	v.open[0] = unrepeated(v.open[0])
	marked := v.choices.marked()
	v.choices = v.offers()
	v.choices.mark(marked)
	v.choices.waits = v.letter.key != "" && v.letter.key == v.choices.marked()
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
		v.turn(v.page)
		return true
	case "pgup", "ctrl+b":
		v.turn(-v.page)
		return true
	case "tab":
		v.note, v.done = "the question waits; "+plural(len(v.open), "question")+" open", true
		return true
	}
	if v.crowded { // what cannot be read cannot be allowed
		if k == "esc" || k == "n" || k == "ctrl+c" || k == "ctrl+d" {
			v.choices.all[0].do()
		}
		return true
	}
	switch c, known := v.choices.key(k); {
	case !known:
		v.unmark()
	case c == nil:
	case v.unread() && c.yes():
		v.note = "first read on: space"
	default:
		v.pick(*c, k)
	}
	return true
}

func (v *questionsView) keys() []hint {
	more := hint{"space", fmt.Sprintf("more %d/%d", 1+(v.scroll+v.page-1)/max(v.page, 1), 1+(v.last+v.page-1)/max(v.page, 1))}
	if k := v.letterKeys(); k != nil {
		return k
	}
	switch {
	case v.crowded:
		return []hint{{"esc", "no"}, {"tab", "later"}}
	case v.unread():
		more.does = "read on" + strings.TrimPrefix(more.does, "more")
		return []hint{more, {"tab", "later"}, {"esc", "no"}}
	}
	k := []hint{{"enter", "picks"}, {"esc", "no"}}
	if v.compact && v.last > 0 {
		return append(k, hint{"tab", "later"}, more)
	}
	k = append(k, hint{v.o.Look.glyph("↑↓", "up/down"), "choose"}, hint{"tab", "later"})
	if v.last > 0 {
		k = append(k, hint{"pgup/pgdn", "read all"})
	}
	return k
}

func (v *questionsView) lines(w, h int) []string {
	if len(v.open) == 0 {
		return nil
	}
	best := v.box(w, h)
	if best.lines == nil || !best.all && v.object(w-2).n < h {
		if small := v.small(w, h); small.all || best.lines == nil {
			best = small
		}
	}
	v.compact, v.crowded = best.small, best.lines == nil
	if v.crowded {
		v.last = 0
		return v.o.Look.tooSmall(w, h)
	}
	v.scroll, v.last, v.page = best.scroll, best.last, best.page
	if v.compact {
		if !best.must.equal(v.must) {
			v.must, v.read = best.must, 0
		}
		v.reads()
	}
	return best.lines
}

// form is a way to show the first question.
type form struct {
	lines              []string // nil if there is no room for it
	all                bool     // nothing is left out, and nothing to scroll
	small              bool     // it is the compact one
	must               passage  // of the compact one: what is to be read before a yes
	scroll, last, page int
}

// box shows it in a frame. What matters most stays where there is little room:
// the two ends of the object, the warnings, the answers, who asks and why.
func (v *questionsView) box(w, h int) form {
	l, q, in := v.o.Look, v.open[0], boxInside(w)
	var head []string
	for _, s := range wrap(l.safe(q.Prompt.Title), in) {
		head = append(head, l.as(strong, s))
	}
	head = append(head, "")
	warnings, facts := append([]string{""}, v.warnings(q, in)...), v.facts(q, in)
	answers := append([]string{""}, v.choices.lines(l, in)...)
	object := v.object(in)
	room := h - 2 - len(head) - len(warnings) - len(answers)
	if w < minQuestion || room < min(len(facts), 3)+min(object.n, 3) {
		return form{}
	}
	f := form{all: room >= len(facts)+object.n}
	facts = facts[:max(0, min(len(facts), max(3, room-min(object.n, 8))))]
	room -= len(facts)
	f.page = max(1, room-2)
	var about []string
	about, f.scroll, f.last = l.window(object, room, v.scroll)
	body := slices.Concat(head, about, warnings, facts, answers)
	heading := "Question"
	if n := len(v.open); n > 1 {
		heading = fmt.Sprintf("Question 1 of %d", n)
	}
	f.lines = l.box(heading, "no in "+v.left(), body, w)
	return f
}

// object is what the question is about. It is folded once for each width: it may
// be long, and whoever asks must not keep the answer from coming.
func (v *questionsView) object(w int) *folded {
	f, ok := v.folded[w]
	if !ok {
		if len(v.folded) > 2 { // of sizes from before
			clear(v.folded)
		}
		f = v.o.Look.foldedObject(v.safe, w)
		v.folded[w] = f
	}
	return f
}

// window shows n lines of a long object, from scroll on, and always its end.
// last is the largest scroll.
func (l Look) window(f *folded, n, scroll int) (shown []string, at, last int) {
	if f.n <= n {
		return f.all(), 0, 0
	}
	last = f.n - n
	at = min(max(scroll, 0), last)
	shown = f.lines(at, at+n-2)
	if rest := last - at; rest > 0 {
		shown = append(shown, l.as(faint, fmt.Sprintf("%s %d more lines, then the end:", l.glyph("⋮", ":"), rest+1)))
	} else {
		shown = append(shown, f.lines(f.n-2, f.n-1)...)
	}
	return append(shown, f.lines(f.n-1, f.n)...), at, last
}

// warnings are what must be known before answering.
func (v *questionsView) warnings(q session.Question, w int) []string {
	notes := q.Prompt.Notes
	if v.hides {
		notes = append(slices.Clip(notes), "careful: it holds characters that do not show; they are written as \\ escapes")
	}
	var out []string
	for _, n := range notes {
		p := plain
		if strings.HasPrefix(n, "careful") {
			p = careful
		}
		// Where a line goes on it is set in: a name with blanks in it draws no
		// line that looks like another.
		for i, s := range wrap(v.o.Look.safe(ends(n)), w-2) {
			if i > 0 {
				s = "  " + s
			}
			out = append(out, v.o.Look.as(p, s))
		}
	}
	return out
}

func escaped(object string) bool {
	return strings.ContainsFunc(object, (Look{}).oddInLine) || !utf8.ValidString(object)
}

// unrepeated is the question without what it says twice: the command that it is
// about, and the folder that a note of it names.
func unrepeated(q session.Question) session.Question {
	if q.Command == q.Prompt.Object {
		q.Command = ""
	}
	if slices.ContainsFunc(q.Prompt.Notes, func(n string) bool { return strings.HasPrefix(n, "folder:") }) {
		q.Dir = ""
	}
	return q
}

// facts are who asks and why, a line each, the most telling first.
func (v *questionsView) facts(q session.Question, w int) (out []string) {
	l := v.o.Look
	line := func(name, text string) {
		if text != "" {
			out = append(out, l.as(faint, l.fill(name, 9))+l.cut(text, w-9))
		}
	}
	line("command", l.safe(beginning(q.Command)))
	line("because", l.safe(reason(q)))
	if r := q.Prompt.Rule; r.ID != "" {
		line("rule", l.safe(r.ID+" ("+r.Origin.String()+")"))
	}
	if q.Dir != "" {
		line("folder", l.cutLeft(v.o.folder(q.Dir), w-9))
	}
	line("asked by", askedBy(q))
	line("waiting", held(q))
	return out
}

// reason is the rule in words, if they are not among the notes.
func reason(q session.Question) string {
	if slices.Contains(q.Prompt.Notes, q.Prompt.Rule.Text) {
		return ""
	}
	return ends(q.Prompt.Rule.Text)
}

// ends are the two ends of a note that names something of any length: a path, or
// the word of a command, which is shown whole where the command is.
func ends(s string) string {
	const each = 1 << 10
	if len(s) <= 2*each {
		return s
	}
	return fmt.Sprintf("%s ... %d bytes more ... %s", s[:each], len(s)-2*each, s[len(s)-each:])
}

// beginning is as much of a text as a line can show.
func beginning(s string) string { return s[:min(len(s), 4<<10)] }

func askedBy(q session.Question) string {
	switch {
	case q.Task != 0 && q.PID != 0:
		return fmt.Sprintf("process %d of task %d", q.PID, q.Task)
	case q.Task != 0:
		return fmt.Sprintf("task %d", q.Task)
	}
	return ""
}

func held(q session.Question) string {
	switch {
	case q.Waiting < 2:
		return ""
	case q.Kind == session.AboutHost:
		return plural(q.Waiting, "connection")
	}
	return plural(q.Waiting, "command")
}
