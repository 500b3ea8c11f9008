package tui

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	xterm "github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/session"
	"bawn/internal/tools/vterm"
)

var shots = flag.String("shots", "", "a folder for pictures of the pages")

// running runs a page on a terminal; the function waits for its end.
func running(t *testing.T, ctx context.Context, term *vterm.Terminal, f *frame) func() error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f.run(ctx, IO{term.Slave, term.Slave}) }()
	return func() error {
		t.Helper()
		select {
		case err := <-done:
			return err
		case <-time.After(20 * time.Second):
			t.Fatalf("the page does not end:\n%s", term.Text())
			return nil
		}
	}
}

// showing runs a page with a clock that stands still.
func showing(t *testing.T, ctx context.Context, term *vterm.Terminal, p Page, s Session) func() error {
	t.Helper()
	c := &clock{noon}
	return running(t, ctx, term, newFrame(p, s, testOptions(c)))
}

// withTimes lets a test say when things happen: whoever looks at the guard's
// clock gets the next time that is given. Those are the terminal, when it
// answers, and each key until one counts.
func withTimes(t *testing.T, f *frame) (give func(time.Time)) {
	times := make(chan time.Time)
	f.clock, f.mute = func() time.Time { return <-times }, time.Hour
	return func(at time.Time) {
		t.Helper()
		select {
		case times <- at:
		case <-time.After(20 * time.Second):
			t.Fatal("nobody asks for the time")
		}
	}
}

func openTerm(t *testing.T, w, h int) *vterm.Terminal {
	t.Helper()
	term, err := vterm.Open(w, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := term.Close(); err != nil {
			t.Error(err)
		}
	})
	return term
}

func waitFor(t *testing.T, term *vterm.Terminal, want string) string {
	t.Helper()
	text, err := term.Wait(20*time.Second, func(s string) bool { return strings.Contains(s, want) })
	if err != nil {
		t.Fatalf("no %q: %v", want, err)
	}
	return text
}

func typed(t *testing.T, term *vterm.Terminal, keys string) {
	t.Helper()
	if err := term.Type(keys); err != nil {
		t.Fatal(err)
	}
}

func modes(t *testing.T, term *vterm.Terminal) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(term.Slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

func asBefore(t *testing.T, term *vterm.Terminal, before unix.Termios) {
	t.Helper()
	if after := modes(t, term); after != before {
		t.Errorf("modes %+v, were %+v", after, before)
	}
	if _, err := term.Wait(20*time.Second, func(string) bool { return !term.AltScreen() }); err != nil {
		t.Errorf("the other screen stays: %v", err)
	}
}

// A question on a real terminal that a program had in raw mode: what was typed
// before it was there answers nothing, a key after a while does, and the
// terminal is as it was.
func TestB123_QuestionOnARawTerminal(t *testing.T) {
	term := openTerm(t, 80, 24)
	if _, err := xterm.MakeRaw(term.Slave.Fd()); err != nil {
		t.Fatal(err)
	}
	s := withQuestions(t, exampleQuestion(1), exampleQuestion(2))
	before := modes(t, term)
	typed(t, term, "yyya") // ahead
	f := newFrame(QuestionsPage, s, testOptions(&clock{noon}))
	give := withTimes(t, f)
	end := running(t, context.Background(), term, f)
	for range 5 { // four keys, then the terminal's word that it shows the question
		give(noon)
	}
	waitFor(t, term, "Question 1 of 2")
	if !term.AltScreen() {
		t.Error("the question is not on a screen of its own")
	}
	typed(t, term, "y")
	give(noon.Add(quiet - 1))
	typed(t, term, "\x1b[B") // Down
	give(noon.Add(2*quiet - 1))
	waitFor(t, term, "› y  this connection")
	if log := s.logged(); log != "" {
		t.Fatalf("a key from before the question: %s", log)
	}
	typed(t, term, "\r")
	waitFor(t, term, "─ Question ─")
	give(noon)
	typed(t, term, "n")
	give(noon.Add(quiet))
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if log := s.logged(); log != "answer 1 once; answer 2 no" {
		t.Errorf("%q", log)
	}
	asBefore(t, term, before)
}

// A page follows the session, the size and the keys, and ends with its
// context.
func TestPageOnATerminal(t *testing.T) {
	term := openTerm(t, 80, 24)
	s := exampleSession(t)
	s.changes = make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.Background())
	before := modes(t, term)
	end := showing(t, ctx, term, TasksPage, s)
	waitFor(t, term, "npm run dev")
	s.mu.Lock()
	s.st.Tasks = append(s.st.Tasks, session.Task{ID: 5, Command: "a new one", Started: noon})
	s.mu.Unlock()
	s.changes <- struct{}{}
	waitFor(t, term, "a new one")
	if err := term.Resize(40, 10); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(os.Getpid(), unix.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	waitFor(t, term, "Tasks: 5")
	// Signals are their owner's: the page stays.
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	defer signal.Stop(interrupt)
	if err := unix.Kill(os.Getpid(), unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-interrupt
	typed(t, term, "\x1b[Fx") // End, and stop it
	waitFor(t, term, "task 5 was asked to end")
	cancel()
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	asBefore(t, term, before)
}

// On a real terminal: a word that is typed at a question answers nothing, a
// letter alone does.
func TestLetterOnATerminal(t *testing.T) {
	term := openTerm(t, 80, 24)
	s := withQuestions(t, exampleQuestion(1), exampleQuestion(2))
	f := newFrame(QuestionsPage, s, testOptions(&clock{noon}))
	give := withTimes(t, f)
	end := running(t, context.Background(), term, f)
	give(noon)
	waitFor(t, term, "Question 1 of 2")
	typed(t, term, "at")
	give(noon.Add(quiet)) // a counts as a key, and t shuts the guard
	give(noon.Add(quiet))
	waitFor(t, term, "a counts only alone")
	typed(t, term, "y")
	give(noon.Add(2 * quiet))
	give(noon) // the terminal, of the next question
	waitFor(t, term, "─ Question ─")
	if log := s.logged(); log != "answer 1 once" {
		t.Errorf("%q", log)
	}
	typed(t, term, "n")
	give(noon.Add(quiet))
	if err := end(); err != nil || s.logged() != "answer 1 once; answer 2 no" {
		t.Errorf("%v, %q", err, s.logged())
	}
}

func TestDialogOnATerminal(t *testing.T) {
	term := openTerm(t, 60, 20)
	s := &fake{st: session.State{Tier: policy.Airlock}}
	f := newFrame(OpenPage, s, testOptions(&clock{noon}))
	give := withTimes(t, f)
	end := running(t, context.Background(), term, f)
	waitFor(t, term, "Switch sandbox to open?")
	give(noon)
	typed(t, term, "y")
	give(noon.Add(quiet))
	if err := end(); err != nil || f.note != "Sandbox: open (new commands)" || s.logged() != "tier open" {
		t.Errorf("%q, %v, %q", f.note, err, s.logged())
	}
}

func TestShow(t *testing.T) {
	term := openTerm(t, 80, 24)
	before := modes(t, term)
	type end struct {
		note string
		err  error
	}
	done := make(chan end, 1)
	o := testOptions(&clock{noon})
	o.Now = nil
	go func() {
		note, err := Show(context.Background(), SandboxPage, exampleSession(t), IO{term.Slave, term.Slave}, o)
		done <- end{note, err}
	}()
	waitFor(t, term, "guarded  (now)")
	typed(t, term, "\x1b[B\r") // Down, Enter
	waitFor(t, term, "Sandbox: airlock (new commands)")
	typed(t, term, "q")
	if e := <-done; e.err != nil || e.note != "" {
		t.Errorf("%+v", e)
	}
	asBefore(t, term, before)
}

// TestShots writes pictures of the pages for people to look at.
func TestShots(t *testing.T) {
	if *shots == "" {
		return
	}
	names := map[Page]string{SandboxPage: "sandbox", QuestionsPage: "question", NetworkPage: "network", DeniedPage: "denied", PolicyPage: "policy", TasksPage: "tasks", ConfigPage: "config", HelpPage: "help", OpenPage: "open", ClonePage: "clone"}
	bars := openTerm(t, 100, 24)
	for _, st := range statusCases(t) {
		for _, w := range widths {
			o := testOptions(&clock{noon})
			if _, err := bars.Slave.WriteString(statusBar(st, "", w, o) + "\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	waitFor(t, bars, "workspace-write")
	if err := os.WriteFile(filepath.Join(*shots, "status.svg"), []byte(bars.SVG(vterm.Dark)), 0o644); err != nil {
		t.Fatal(err)
	}
	for p, name := range names {
		for _, w := range widths {
			term := openTerm(t, w, 24)
			s := withQuestions(t, exampleQuestion(1), exampleQuestion(2))
			s.st.FreshClone = true
			ctx, cancel := context.WithCancel(context.Background())
			end := showing(t, ctx, term, p, s)
			waitFor(t, term, "esc")
			theme := vterm.Dark
			if w == 60 {
				theme = vterm.Light
			}
			if err := os.WriteFile(filepath.Join(*shots, name+"-"+map[int]string{100: "100", 80: "080", 60: "060", 40: "040"}[w]+".svg"), []byte(term.SVG(theme)), 0o644); err != nil {
				t.Fatal(err)
			}
			cancel()
			_ = end()
		}
	}
}

// In plain form too explanations end where the terminal does, between words.
func TestPlainOnNarrowTerminals(t *testing.T) {
	for _, p := range []Page{SandboxPage, HelpPage} {
		for _, w := range []int{40, 60, 100} {
			var wide bytes.Buffer
			if _, err := Show(context.Background(), p, exampleSession(t), IO{Out: &wide}, plainOptions(&asker{})); err != nil {
				t.Fatal(err)
			}
			term := openTerm(t, w, 200)
			if _, err := Show(context.Background(), p, exampleSession(t), IO{Out: term.Slave}, plainOptions(&asker{})); err != nil {
				t.Fatal(err)
			}
			words := strings.Fields(wide.String())
			waitUntil(t, term, fmt.Sprintf("page %d whole at %d columns", p, w), func(s string) bool { return slices.Equal(strings.Fields(s), words) })
		}
	}
}
