package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
)

// A yes by its letter may be the first letter of a word that is typed to
// something else. So it counts only if no other key follows for a while, and the
// terminal, if it answers at all, has said then that it has sent what was typed
// until now. Whatever else comes takes it back.

// letter is a yes that waits so. The zero value is none.
type letter struct {
	key   string
	asked int    // how often the terminal was asked, once the while was over
	back  string // the one that was taken back by the last key
}

// Messages about the letter with this number.
type (
	letterMsg     int // nothing came for a while
	letterMuteMsg int // nor did the terminal answer
)

// choices are those that a person has before them, nil if there are none.
func (f *frame) choices() *choices {
	if f.dialog != nil {
		return &f.dialog.choices
	}
	if v, ok := f.view.(*questionsView); ok && len(v.choices.all) > 0 {
		return &v.choices
	}
	return nil
}

// pick does what a choice means, or lets a yes by its letter wait.
func (f *frame) pick(c choice, k string) {
	if !c.yes() || k == "enter" {
		f.answer(c)
		return
	}
	f.letters++
	f.letter = letter{key: c.key}
	all := f.choices()
	all.mark(c.key)
	all.waits = true
	id := letterMsg(f.letters)
	f.next = tea.Tick(quiet, func(time.Time) tea.Msg { return id })
}

func (f *frame) answer(c choice) {
	if f.dialog != nil {
		f.dialog.answer()
	}
	if c.do != nil {
		c.do()
	}
}

// takeBack is about anything that is typed or pasted: a letter that waits, if
// there is one, is none then, and the safe answer is highlighted.
func (f *frame) takeBack() (was bool) {
	if f.letter.key == "" {
		return false
	}
	f.letter = letter{back: f.letter.key}
	f.unmark()
	return true
}

// pasted is about what is pasted: it answers nothing.
func (f *frame) pasted() {
	if !f.takeBack() {
		f.unmark()
	}
}

// unmark is about what is no answer.
func (f *frame) unmark() {
	if all := f.choices(); all != nil {
		all.at, all.waits = 0, false
		f.shut()
	}
}

// letterOver handles the letter's messages; where the terminal is silent
// anyway, it is not asked again.
func (f *frame) letterOver(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case letterMsg:
		switch {
		case int(msg) != f.letters || f.letter.key == "":
		case f.guard.heard:
			return f.askTerminal(&f.letter.asked, letterMuteMsg(msg))
		default:
			f.letterCounts()
		}
	case letterMuteMsg:
		switch {
		case int(msg) != f.letters || f.letter.asked == 0:
		case f.askable(f.letter.asked):
			return f.askTerminal(&f.letter.asked, msg)
		default:
			f.letterCounts()
		}
	}
	return nil
}

// letterCounts makes the letter the answer that it was to what is on the screen.
func (f *frame) letterCounts() {
	key := f.letter.key
	f.letter = letter{}
	all := f.choices()
	if all == nil {
		return
	}
	all.waits = false
	if i := slices.IndexFunc(all.all, func(c choice) bool { return c.key == key }); i >= 0 {
		f.answer(all.all[i])
	}
}

// letterKeys are the keys while a letter waits or has been taken back; nil if
// neither is so.
func (f *frame) letterKeys() []hint {
	switch {
	case f.letter.key != "":
		return []hint{{f.letter.key, "counts if no key follows"}, {"any key", "takes it back"}}
	case f.letter.back != "":
		return []hint{{f.letter.back, "counts only alone"}, {"esc", "no"}}
	}
	return nil
}
