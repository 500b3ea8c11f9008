package tui

import (
	"math/rand/v2"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// A key counts as an answer only if its question was on the screen before it
// was pressed. How long a terminal takes to show what was written, over a slow
// line perhaps, only the terminal knows: so it is asked where its cursor is, and
// what it answers stands in the input behind every key that was pressed before.
// From then on no key may come for a while: whoever is typing something else
// answers nothing.

const (
	// quiet is that while.
	quiet = 300 * time.Millisecond
	// drawing is the time after which a question has been written for sure,
	// and the terminal is asked: two frames.
	drawing = 70 * time.Millisecond
	// mute is how long a terminal has for its answer; one that gives none is
	// taken to have shown the question. One that has given some in this session
	// is asked so often: much that a command wrote may be on its way to it.
	mute     = 2 * time.Second
	maxAsked = 10
)

// places are those at which the terminal is asked where its cursor is. They are
// drawn by lot: answers to what a command asked before, which a slow terminal
// gives now, are not taken for those to this question.
type places [4]tea.Position

// guard is about the question on the screen. The zero value lets nothing pass.
type guard struct {
	id    int       // of the question, as the guard counts them
	asked places    // the terminal was asked for
	times int       // that it was asked
	got   places    // what it answered last
	heard bool      // it answers
	shown bool      // it answered, at
	at    time.Time // then, or when a key came too early
	open  bool
}

// Messages of the guard; each is about the question with this number.
type (
	drawnMsg int // it has been written
	muteMsg  int // the terminal has had time to answer
)

// arm begins anew, for another question.
func (f *frame) arm() {
	f.guard = guard{id: f.guard.id + 1}
	f.letter = letter{}
	f.armed = true
}

// watch is what follows arm, and a letter.
func (f *frame) watch() tea.Cmd {
	next := f.next
	f.next = nil
	if !f.armed {
		return next
	}
	f.armed = false
	id := drawnMsg(f.guard.id)
	return tea.Batch(next, tea.Tick(drawing, func(time.Time) tea.Msg { return id }))
}

// guardMsg handles the guard's messages.
func (f *frame) guardMsg(msg tea.Msg) tea.Cmd {
	g := &f.guard
	switch msg := msg.(type) {
	case drawnMsg:
		if int(msg) == g.id {
			return f.askTerminal(&g.times, muteMsg(msg))
		}
	case tea.CursorPositionMsg:
		copy(g.got[:], g.got[1:])
		g.got[len(g.got)-1] = tea.Position(msg)
		if g.asked == (places{}) || g.got != g.asked {
			break
		}
		g.heard = true
		if f.o.answers != nil {
			f.o.answers.Store(true)
		}
		f.seen(true)
		if f.letter.asked > 0 {
			f.letterCounts()
		}
	case muteMsg:
		switch {
		case int(msg) != g.id || g.shown:
		case f.askable(g.times):
			return f.askTerminal(&g.times, msg)
		default:
			f.seen(true)
		}
	case letterMsg, letterMuteMsg:
		return f.letterOver(msg)
	}
	return nil
}

// askTerminal asks the terminal where its cursor is; late comes when it has had time to answer.
func (f *frame) askTerminal(times *int, late tea.Msg) tea.Cmd {
	*times++
	return tea.Batch(tea.Raw(f.askPlaces()), tea.Tick(f.mute, func(time.Time) tea.Msg { return late }))
}

// askable says whether a terminal that gave no answer is asked again.
func (f *frame) askable(times int) bool {
	return f.o.answers != nil && f.o.answers.Load() && times < maxAsked
}

// askPlaces draws the places, none in the first row, where an answer looks like
// a key, and returns what asks for them.
func (f *frame) askPlaces() string {
	var b strings.Builder
	b.WriteString(ansi.SaveCursor)
	for i := range f.guard.asked {
		// #nosec G404 -- the runtime's generator, which the system seeds and no command sees
		p := tea.Position{X: rand.IntN(max(f.w, 1)), Y: 1 + rand.IntN(max(f.h-1, 1))}
		f.guard.asked[i] = p
		b.WriteString(ansi.CursorPosition(p.X+1, p.Y+1) + ansi.RequestCursorPositionReport)
	}
	return b.String() + ansi.RestoreCursor
}

func (f *frame) seen(ok bool) {
	if g := &f.guard; ok && !g.shown {
		g.shown, g.at = true, f.clock()
	}
}

// shut lets nothing pass until no key has come for a while again: one came that
// is no answer.
func (f *frame) shut() { f.guard.open, f.guard.at = false, f.clock() }

// passes reports whether a key that comes now counts.
func (f *frame) passes() bool {
	g := &f.guard
	if g.open {
		return true
	}
	now := f.clock()
	if g.open = g.shown && now.Sub(g.at) >= quiet; !g.open {
		g.at = now
	}
	return g.open
}
