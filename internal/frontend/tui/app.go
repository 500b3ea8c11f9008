package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/term"

	"bawn/internal/frontend/tui/screen"
	"bawn/internal/session"
)

// ErrHungUp ends a session whose terminal is gone.
var ErrHungUp = errors.New("the terminal is gone")

// noteTime is how long a note stands in the status bar.
const noteTime = 5 * time.Second

// app is the session on a terminal. All of it but route belongs to the
// goroutine of Run; others send it what to do.
type app struct {
	s    Session
	o    Options
	tty  *os.File
	scr  *screen.Screen // nil in plain form while no command runs
	todo chan func()

	ctx    context.Context
	cancel context.CancelCauseFunc

	only   []string // the one command of the session; it ends with it
	code   int      // its exit code
	line   editor
	cols   int
	note   string
	noted  *time.Timer
	task   int   // that has the screen, 0 for none
	asked  int   // the newest question that was shown, or put off
	named  []int // the commands that were running when the session was to end
	later  bool  // some were put off: those that come join them, or a command that asks on keeps a person from ending it
	cloned bool
	err    error
	quit   bool

	prefixed bool // the key before was the prefix; of the goroutine that reads keys

	mu    sync.Mutex
	again []session.Start // to be run once more, when the screen is free
}

// Run is the session on the terminal tty until the person ends it: an input
// line and a status bar, commands, questions and pages. ErrHungUp and the
// context's error are the ends that nobody asked for.
func Run(ctx context.Context, s Session, tty *os.File, o Options) error {
	_, err := run(ctx, s, tty, o, nil)
	return err
}

// RunOnly is a session for one command, which has the screen until it ends;
// code is its exit code. All of bawn's own keys but Alt+S are behind the prefix.
func RunOnly(ctx context.Context, s Session, tty *os.File, o Options, args []string) (code int, err error) {
	return run(ctx, s, tty, o, args)
}

func run(ctx context.Context, s Session, tty *os.File, o Options, only []string) (code int, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.answers = new(atomic.Bool)
	a := &app{s: s, o: o, tty: tty, todo: make(chan func(), 64), ctx: ctx, cancel: cancel, only: only}
	err = a.run()
	return a.code, err
}

// hangup ends the session, and the page that is on the screen.
func (a *app) hangup() { a.cancel(ErrHungUp) }

// ended is why the context did.
func (a *app) ended() error {
	if err := context.Cause(a.ctx); errors.Is(err, ErrHungUp) {
		return err
	}
	return a.ctx.Err()
}

func (a *app) run() error {
	s, o, tty, ctx := a.s, a.o, a.tty, a.ctx
	if o.Plain {
		return a.runPlain()
	}
	a.cols, _, _ = term.GetSize(tty.Fd())
	a.noted = time.NewTimer(noteTime)
	scr, err := screen.Open(tty, screen.Options{
		Key: a.commandKey, Idle: a.idleKey,
		Paste:   func(text string) { a.post(func() { a.line.insert(text); a.draw() }) },
		Resized: func(cols int) { a.post(func() { a.cols = cols; a.draw() }) },
		Hangup:  a.hangup,
	})
	if err != nil {
		return fmt.Errorf("open the session's screen: %w", err)
	}
	a.scr = scr
	defer scr.Recover()
	changes, stop := s.Changes()
	defer stop()
	a.update()
	if a.only != nil && !a.quit {
		a.begin(session.Start{Args: a.only, Preset: true})
		a.quit = a.task == 0
	}
	for !a.quit {
		select {
		case f := <-a.todo:
			f()
		case line := <-o.Notices:
			a.notice(line)
		case _, ok := <-changes:
			if !ok {
				a.quit = true
				continue
			}
			a.update()
		case <-a.noted.C:
			a.note = ""
			a.draw()
		case <-ctx.Done():
			a.err, a.quit = a.ended(), true
		}
	}
	a.cancel(nil) // nobody takes what is posted any more
	if err := scr.Close(); a.err == nil && err != nil {
		a.err = err
	}
	return a.err
}

func (a *app) post(f func()) {
	select {
	case a.todo <- f:
	case <-a.ctx.Done():
	}
}

// commandKey is shown what is typed while a command has the screen: all of it
// is the command's but the key of the tier and what follows the prefix.
func (a *app) commandKey(e uv.KeyPressEvent) bool {
	action := a.o.Keys.Action(e.String())
	if a.prefixed && action == Prefix {
		a.prefixed = false
		a.post(func() { a.tell("") })
		return false // twice is the key itself
	}
	return a.hotKey(e, action == CycleTier || action == Prefix)
}

func (a *app) idleKey(e uv.KeyPressEvent) {
	if !a.hotKey(e, true) {
		a.post(func() { a.edit(e) })
	}
}

// hotKey does what a key of bawn's does; all says that it may be any of them.
func (a *app) hotKey(e uv.KeyPressEvent, all bool) bool {
	action := a.o.Keys.Action(e.String())
	if a.prefixed {
		a.prefixed, action = false, AfterPrefix(e.String())
		if action == NoAction {
			a.post(func() { a.tell("") })
			return true
		}
	} else if action == NoAction || !all {
		return false
	}
	if action == Prefix {
		a.prefixed = true
		a.post(func() { a.tell(prefixLetters()) })
		return true
	}
	a.post(func() { a.act(action) })
	return true
}

// prefixLetters are those that may follow the prefix, the one that explains them
// first: a narrow bar cuts the end.
func prefixLetters() string {
	word := func(a Action) string {
		if actions[a].short != "" {
			return actions[a].letter + " " + actions[a].short
		}
		return actions[a].letter + " " + strings.TrimPrefix(actions[a].name, "show_")
	}
	out := []string{word(ShowHelp)}
	for a := NoAction + 1; a < numActions; a++ {
		if actions[a].letter != "" && a != ShowHelp {
			out = append(out, word(a))
		}
	}
	return strings.Join(out, "  ")
}

func (a *app) act(action Action) {
	if action != CycleTier {
		a.page(action.Page())
		return
	}
	note, ask := NextTier(a.s)
	a.tell(note)
	a.page(ask)
}

// edit handles a key of the input line.
func (a *app) edit(e uv.KeyPressEvent) {
	if a.task != 0 {
		// Typed before the command had the screen, and no input of it: what is
		// typed later would come to it first.
		if e.String() == "ctrl+c" {
			_ = a.s.Stop(a.task)
		}
		return
	}
	switch k := e.String(); k {
	case "enter":
		a.submit(a.line.take())
	case "ctrl+c":
		a.line.set("")
	case "ctrl+z":
		a.scr.Stop()
	case "tab":
		if all := complete(a.line.String()); len(all) == 1 {
			a.line.set(all[0] + " ")
		}
	default:
		if k == "ctrl+d" && len(a.line.text) == 0 {
			a.leave()
			return
		}
		a.line.key(k, e.Text)
	}
	a.draw()
}

// submit does what a line says: text is a command, a slash is bawn's own, and
// after an exclamation mark a command has no network.
func (a *app) submit(line string) {
	line = strings.TrimSpace(line)
	if line == "" {
		return
	}
	a.print(a.o.Look.as(faint, "> ") + a.o.Look.safe(line) + "\n")
	if strings.HasPrefix(line, "/") {
		a.slash(line)
		return
	}
	a.start(line)
}

func (a *app) start(line string) {
	a.later, a.named = false, nil
	text, alone := strings.CutPrefix(line, "!")
	if text = strings.TrimSpace(text); text == "" {
		a.complain(errors.New("a command follows the exclamation mark; it has no network"))
		return
	}
	if told := ownShell(text); told != "" {
		a.notice(told)
	}
	c := session.Start{Text: text, NoEgress: alone, Kind: session.Foreground}
	if before, ok := strings.CutSuffix(text, "&"); ok && !strings.HasSuffix(before, "&") && strings.TrimSpace(before) != "" {
		// What a shell leaves behind would end with it: a task of the session does not.
		c.Text, c.Kind = strings.TrimSpace(before), session.Background
	}
	a.launch(c)
}

// launch starts a command that was typed, or is to run once more.
func (a *app) launch(c session.Start) {
	c.Again = a.runAgain
	if c.Kind != session.Background {
		a.begin(c)
		return
	}
	task, err := a.s.Start(c)
	if err != nil {
		a.complain(err)
		return
	}
	a.print(fmt.Sprintf("task %d: /output %[1]d shows what it writes, /stop %[1]d ends it\n", task))
	a.update()
}

// runAgain is told by the session, in any goroutine: a person has just said yes
// to running a command once more.
func (a *app) runAgain(c session.Start) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.again = append(a.again, c)
}

// next is a command that is to run once more, and may: the screen is free.
func (a *app) next() (c session.Start, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.task != 0 || a.quit || len(a.again) == 0 {
		return c, false
	}
	c = a.again[0]
	a.again = a.again[1:]
	return c, true
}

// echo writes a command as if it had been typed.
func (a *app) echo(c session.Start) {
	text := c.Text
	if len(c.Keep) > 0 { // it was typed
		return
	}
	if c.NoEgress {
		text = "!" + text
	}
	if c.Kind == session.Background {
		text += " &"
	}
	a.print(a.o.Look.as(faint, "> ") + a.o.Look.safe(text) + "\n")
}

// begin starts a command that has the screen.
func (a *app) begin(c session.Start) {
	if !a.o.Plain {
		a.scr.SetFooter([]string{a.status()}, nil) // before it starts: its terminal has the rows it keeps
	}
	scr := a.scr
	c.Kind, c.Terminal = session.Foreground, scr
	c.Notice = func(line string) { scr.Print(a.noticed(line)) }
	task, err := a.s.Start(c)
	if err != nil {
		a.code = exitRefused
		a.complain(err)
		return
	}
	a.task = task
	a.update()
}

// exitRefused is bawn's own failure (SPEC, exit codes).
const exitRefused = 125

func (a *app) slash(line string) {
	r, err := runSlash(line, a.s, a.o)
	if err != nil {
		a.complain(err)
		return
	}
	if len(r.text) > 0 {
		a.print(strings.Join(r.text, "\n") + "\n")
	}
	if r.quit {
		a.leave()
		return
	}
	a.named = nil
	a.tell(r.note)
	a.page(r.page)
	if r.start != nil {
		a.runAgain(*r.start) // when the screen is free, which it is
		a.update()
	}
}

// print writes lines among the output.
func (a *app) print(text string) {
	if a.scr != nil {
		a.scr.Print(text)
		return
	}
	fmt.Fprint(a.tty, text)
}

func (a *app) notice(line string) { a.print(a.noticed(line)) }

func (a *app) noticed(line string) string {
	return a.o.Look.as(faint, "bawn: ") + a.o.Look.safe(line) + "\n"
}

func (a *app) complain(err error) {
	a.print(a.o.Look.as(bad, "bawn: ") + a.o.Look.safe(err.Error()) + "\n")
}

// tell shows a note in the status bar for a while.
func (a *app) tell(note string) {
	a.note = note
	if a.o.Plain {
		if note != "" {
			a.print(a.o.Look.safe(note) + "\n")
		}
		return
	}
	a.noted.Reset(noteTime)
	a.draw()
}

// page shows a page; commands wait meanwhile.
func (a *app) page(p Page) {
	if p == NoPage {
		return
	}
	resume := func() {}
	if a.scr != nil {
		resume = a.scr.Suspend()
	}
	note, err := Show(a.ctx, p, a.s, IO{a.tty, a.tty}, a.o)
	resume()
	if p == QuestionsPage && !a.o.Plain {
		a.later = slices.ContainsFunc(a.s.State().Questions, func(q session.Question) bool { return q.ID <= a.asked })
	}
	if err != nil && a.ctx.Err() == nil {
		a.complain(err)
	}
	a.tell(note)
	a.update()
}

// update follows the session: a command that has ended, a question that
// nobody has seen.
func (a *app) update() {
	st := a.s.State()
	if a.task != 0 {
		if t, running := taskOf(st, a.task); !running {
			a.task, a.code = 0, t.Code
			a.quit = a.quit || a.only != nil
			if t.Reason != "" {
				a.complain(errors.New(t.Reason))
			}
		}
	}
	was := a.asked
	for _, q := range st.Questions {
		a.asked = max(a.asked, q.ID)
	}
	a.later = a.later && len(st.Questions) > 0
	switch {
	case a.quit: // nobody is asked any more
	case a.asked > was && !a.later:
		a.page(QuestionsPage)
	case st.FreshClone && !a.cloned:
		a.cloned = true
		a.page(ClonePage)
	}
	for !a.o.Plain { // there the prompt does so, which has no screen open
		c, ok := a.next()
		if !ok {
			break
		}
		a.echo(c)
		a.launch(c)
	}
	a.draw()
}

func taskOf(st session.State, id int) (t session.Task, running bool) {
	for _, t := range st.Tasks {
		if t.ID == id {
			return t, t.Ended.IsZero()
		}
	}
	return session.Task{}, false
}

func (a *app) status() string {
	note := a.note
	if text := a.line.String(); note == "" && strings.HasPrefix(text, "/") {
		note = slashHint(text)
	}
	return statusBar(a.s.State(), note, a.cols, a.o)
}

func (a *app) draw() {
	switch {
	case a.o.Plain:
	case a.task != 0:
		a.scr.SetFooter([]string{a.status()}, nil)
	default:
		const prompt = "> "
		line, at := a.line.view(a.o.Look, max(1, a.cols-len(prompt)))
		a.scr.SetFooter([]string{a.o.Look.as(strong, prompt) + line, a.status()}, &screen.Cursor{Line: 0, Col: len(prompt) + at})
	}
}
