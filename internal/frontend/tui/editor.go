package tui

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// editor is the input line: one line of characters as people see them.
type editor struct {
	text    []string // grapheme clusters
	at      int      // of the cursor
	history []string
	shown   int    // of history; len(history) is the line being typed
	draft   string // which it was, while an older line is shown
}

// maxHistory is how many lines are remembered.
const maxHistory = 1000

func (e *editor) String() string { return strings.Join(e.text, "") }

func (e *editor) set(s string) {
	e.text = clusters(s)
	e.at = len(e.text)
}

// insert puts in what was typed or pasted. Line ends stay, as parts of the
// command; other controls would only act on the terminal.
func (e *editor) insert(s string) {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return -1
	}, strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"))
	before := clusters(strings.Join(e.text[:e.at], "") + s) // an accent joins the letter before it
	e.text = append(before, e.text[e.at:]...)
	e.at = len(before)
}

func clusters(s string) (out []string) {
	for len(s) > 0 {
		c, _ := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		out, s = append(out, c), s[len(c):]
	}
	return out
}

// key edits; false says that the key is none of an editor.
func (e *editor) key(k, text string) bool {
	switch k {
	case "left", "ctrl+b":
		e.at = max(0, e.at-1)
	case "right", "ctrl+f":
		e.at = min(len(e.text), e.at+1)
	case "home", "ctrl+a":
		e.at = 0
	case "end", "ctrl+e":
		e.at = len(e.text)
	case "ctrl+left", "alt+left", "alt+b":
		e.at = e.word(-1)
	case "ctrl+right", "alt+right", "alt+f":
		e.at = e.word(1)
	case "backspace", "ctrl+h":
		e.cut(max(0, e.at-1), e.at)
	case "delete", "ctrl+d":
		e.cut(e.at, min(len(e.text), e.at+1))
	case "ctrl+k":
		e.cut(e.at, len(e.text))
	case "ctrl+u":
		e.cut(0, e.at)
	case "ctrl+w", "alt+backspace":
		e.cut(e.word(-1), e.at)
	case "alt+d":
		e.cut(e.at, e.word(1))
	case "up", "ctrl+p":
		e.recall(e.shown - 1)
	case "down", "ctrl+n":
		e.recall(e.shown + 1)
	default:
		if text == "" {
			return false
		}
		e.insert(text)
	}
	return true
}

func (e *editor) cut(from, to int) {
	e.text = append(e.text[:from:from], e.text[to:]...)
	e.at = from
}

// word is where the next word ends, or the one before begins.
func (e *editor) word(step int) int {
	i := e.at
	next := func() int { return min(i, i+step) } // the cluster that a step goes over
	in := func() bool { return next() >= 0 && next() < len(e.text) }
	for in() && strings.TrimSpace(e.text[next()]) == "" {
		i += step
	}
	for in() && strings.TrimSpace(e.text[next()]) != "" {
		i += step
	}
	return i
}

func (e *editor) recall(i int) {
	if i < 0 || i > len(e.history) {
		return
	}
	if e.shown == len(e.history) {
		e.draft = e.String()
	}
	if e.shown = i; i == len(e.history) {
		e.set(e.draft)
	} else {
		e.set(e.history[i])
	}
}

// take is the line, which is remembered; the next one is empty.
func (e *editor) take() string {
	s := e.String()
	if n := len(e.history); strings.TrimSpace(s) != "" && (n == 0 || e.history[n-1] != s) {
		e.history = append(e.history, s)
		e.history = e.history[max(0, len(e.history)-maxHistory):]
	}
	e.set("")
	e.shown, e.draft = len(e.history), ""
	return s
}

// view is the line in w cells, with the cell of the cursor: as much of it as
// there is room for.
func (e *editor) view(l Look, w int) (line string, cursor int) {
	cells := make([]string, len(e.text))
	for i, c := range e.text {
		cells[i] = l.safe(c)
	}
	from := e.at
	for cursor < w-1 && from > 0 && cursor+width(cells[from-1]) <= w-1 {
		from--
		cursor += width(cells[from])
	}
	return l.cut(strings.Join(cells[from:], ""), w), cursor
}
