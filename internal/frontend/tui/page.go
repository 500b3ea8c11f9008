package tui

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"bawn/internal/approval"
)

// Page is a full screen of the session.
type Page uint8

const (
	NoPage Page = iota
	SandboxPage
	QuestionsPage // ends when no question is open
	NetworkPage
	DeniedPage
	PolicyPage
	TasksPage
	ConfigPage
	HelpPage
	OpenPage  // asks whether to switch from airlock to open (SPEC T3)
	ClonePage // asks whether to use airlock in a fresh clone (SPEC T6)
)

// IO is the terminal that a page has to itself meanwhile.
type IO struct {
	In  io.Reader
	Out io.Writer
}

// Options are what a screen knows besides the session.
type Options struct {
	Look Look
	Keys Keymap
	Home string // is shown as ~
	// Enforced says how this platform holds a sandboxed command.
	Enforced string
	// Plain writes pages as lines of text, and asks by Ask: for screen readers
	// and terminals that cannot do more.
	Plain bool
	Ask   approval.Asker
	Now   func() time.Time // nil is time.Now
	// Notices are lines to show among the output.
	Notices <-chan string

	answers *atomic.Bool // the terminal has answered a guard; nil is that of one page
}

// Show runs a page on a terminal until it is left; the commands' output must
// be held meanwhile, or they could draw a question of their own. note is what
// to tell the person then.
func Show(ctx context.Context, p Page, s Session, t IO, o Options) (note string, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Plain {
		return showPlain(ctx, p, s, t.Out, o)
	}
	f := newFrame(p, s, o)
	err = f.run(ctx, t)
	return f.note, err
}

// run shows the page until it is left.
func (f *frame) run(ctx context.Context, t IO) error {
	if f.done {
		return nil
	}
	tokens, stop := f.Changes()
	left := make(chan struct{})
	defer stop()
	defer close(left)
	f.changes = func() tea.Msg { return nextChange(tokens, left) }
	profile := colorprofile.ANSI
	if !f.o.Look.Color {
		profile = colorprofile.ASCII
	}
	p := tea.NewProgram(f, tea.WithInput(t.In), tea.WithOutput(t.Out), tea.WithoutSignalHandler(), tea.WithColorProfile(profile), tea.WithFPS(30))
	// Not WithContext: a program that is killed does not wait for its reader,
	// which would take keys from whoever has the terminal next.
	stopped := context.AfterFunc(ctx, p.Quit)
	defer stopped()
	if _, err := p.Run(); err != nil {
		return fmt.Errorf("show a page: %w", err)
	}
	return ctx.Err()
}

// changed says that the session may be another; secondMsg that a second has
// passed while somebody is asked.
type (
	changed   struct{}
	secondMsg struct{}
)

// nextChange waits for the session to change, at most 30 times a second.
func nextChange(tokens <-chan struct{}, left <-chan struct{}) tea.Msg {
	pause := time.NewTimer(time.Second / 30)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-left:
		return nil
	}
	select {
	case _, ok := <-tokens:
		if ok {
			return changed{}
		}
	case <-left:
	}
	return nil
}

// view is what fills the frame. Its methods run one at a time.
type view interface {
	title() string
	// refresh reads the session anew.
	refresh()
	// key handles a key; false leaves it to the frame, where it may mean to
	// leave the page.
	key(k string) bool
	// lines are at most h lines of at most w cells.
	lines(w, h int) []string
	// keys are what to press here.
	keys() []hint
}

// typist is a view with a line to type into.
type typist interface {
	typing() bool
	text(s string)
}

type hint struct{ key, does string }

var leaves = hint{"esc", "leave"}

// frame is the model of every page: a title, the view, a line of keys; and
// over it a dialog.
type frame struct {
	Session
	o       Options
	view    view
	dialog  *dialog
	guard   guard
	letter  letter
	letters int              // how many there were
	next    tea.Cmd          // is to follow a key
	prefix  bool             // its key was the last
	armed   bool             // the guard has begun anew
	clock   func() time.Time // the guard's
	mute    time.Duration
	note    string
	done    bool
	ticking bool
	w, h    int
	changes tea.Cmd
}

func newFrame(p Page, s Session, o Options) *frame {
	f := &frame{Session: s, o: o, clock: o.Now, mute: mute, w: 80, h: 24}
	f.open(p)
	return f
}

// open puts a page into the frame.
func (f *frame) open(p Page) {
	switch p {
	case SandboxPage:
		f.view = &sandboxView{frame: f}
	case QuestionsPage:
		f.view = &questionsView{frame: f}
	case NetworkPage:
		f.view = &networkView{frame: f}
	case DeniedPage:
		f.view = &deniedView{frame: f}
	case PolicyPage:
		f.view = &policyView{frame: f}
	case TasksPage:
		f.view = &tasksView{frame: f}
	case ConfigPage:
		f.view = &configView{frame: f}
	case HelpPage:
		f.view = &helpView{frame: f}
	case OpenPage:
		f.ask(f.openDialog(true))
	case ClonePage:
		f.ask(f.cloneDialog())
	default:
		f.done = true
	}
	f.refresh()
}

func (f *frame) refresh() {
	if f.view != nil {
		f.view.refresh()
	}
}

func (f *frame) Init() tea.Cmd { return tea.Batch(f.changes, f.tick(), f.watch()) }

// tick counts down while a question is on the screen, and only then.
func (f *frame) tick() tea.Cmd {
	if _, ok := f.view.(*questionsView); !ok || f.ticking || f.done {
		return nil
	}
	f.ticking = true
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return secondMsg{} })
}

func (f *frame) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if f.w != msg.Width || f.h != msg.Height {
			f.w, f.h = msg.Width, msg.Height
			if _, asks := f.view.(*questionsView); asks || f.dialog != nil {
				f.arm() // what there was no room for may show now
			}
		}
	case changed:
		f.refresh()
		cmd = f.changes
	case secondMsg:
		f.ticking = false
		f.refresh()
	case tea.PasteStartMsg:
		f.pasted()
	case tea.PasteMsg:
		f.pasted()
		if t, ok := f.view.(typist); ok && t.typing() && f.dialog == nil {
			t.text(msg.Content)
		}
	case tea.KeyPressMsg:
		if !f.takeBack() {
			f.press(tea.Key(msg))
		}
	default:
		cmd = f.guardMsg(msg)
	}
	if f.done {
		return f, tea.Quit
	}
	return f, tea.Batch(cmd, f.watch(), f.tick())
}

func (f *frame) press(k tea.Key) {
	name := k.String()
	f.letter.back = ""
	t, isTypist := f.view.(typist)
	switch {
	case f.done:
		return
	case f.dialog != nil:
		if f.passes() {
			f.dialogKey(name)
		}
		return
	case isTypist && t.typing() && k.Text != "":
		t.text(k.Text)
		return
	}
	f.note = ""
	if _, asks := f.view.(*questionsView); !asks && f.action(name) || f.view.key(name) {
		return
	}
	switch name {
	case "esc", "q", "ctrl+c", "ctrl+d":
		f.done = true
	}
}

// action does what a key of the session does, on a page too: it switches the
// tier or goes to another page.
func (f *frame) action(name string) bool {
	a := f.o.Keys.Action(name)
	if f.prefix {
		a = AfterPrefix(name)
	}
	was := f.prefix
	f.prefix = a == Prefix
	switch {
	case a == Prefix:
		f.note = "then a letter: h shows them"
	case a == CycleTier:
		f.pickTier(cycled(f.State()))
	case a.Page() != NoPage:
		f.open(a.Page())
	default:
		return was
	}
	return true
}

func (f *frame) View() tea.View {
	v := tea.NewView(strings.Join(f.screen(), "\n"))
	v.AltScreen = true
	return v
}

// screen is all that is shown: f.h lines of at most f.w cells.
func (f *frame) screen() []string {
	l := f.o.Look
	if f.dialog != nil {
		keys := f.dialog.keys()
		if k := f.letterKeys(); k != nil {
			keys = k
		}
		return f.clip(f.dialog.lines(f.w, f.h, keys))
	}
	if f.view == nil { // it was a dialog alone
		return nil
	}
	if f.h < 3 {
		return f.clip(f.view.lines(f.w, f.h))
	}
	body := f.view.lines(f.w, f.h-2) // the title follows it
	out := []string{l.badge(calm, l.cut(f.view.title(), f.w-2))}
	out = append(out, body[:min(len(body), f.h-2)]...)
	for len(out) < f.h-1 {
		out = append(out, "")
	}
	foot := l.hintLine(f.view.keys(), f.w)
	if f.note != "" {
		foot = " " + l.as(strong, l.safe(f.note))
	}
	return f.clip(append(out, foot))
}

func (f *frame) clip(lines []string) []string {
	lines = lines[:min(len(lines), f.h)]
	for i, s := range lines {
		if width(s) > f.w {
			lines[i] = ansi.Truncate(s, f.w, "")
		}
	}
	return lines
}

// hintLine shows as many keys as there is room for, and always the last: how
// to leave.
func (l Look) hintLine(keys []hint, w int) string {
	dot := " " + l.as(faint, l.glyph("·", "-")) + " "
	var words []string
	for _, k := range keys {
		words = append(words, l.as(strong, k.key)+" "+k.does)
	}
	for len(words) > 1 && width(strings.Join(words, dot))+1 > w {
		words = slices.Delete(words, len(words)-2, len(words)-1)
	}
	return " " + strings.Join(words, dot)
}
