package tui

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/approval"
	"bawn/internal/session"
	"bawn/internal/tools/vterm"
)

// runningFake is a fake session that runs its commands, in a terminal of their own.
type runningFake struct {
	*fake
	t        *testing.T
	started  []session.Start
	answered func() // before an answer returns
	ending   func() // once, when a command is seen to have ended
}

func (f *runningFake) Answer(id int, s approval.Scope) bool {
	ok := f.fake.Answer(id, s)
	if f.answered != nil {
		f.answered()
	}
	return ok
}

func newRunning(t *testing.T) *runningFake {
	f := exampleSession(t)
	f.st.Tasks, f.changes = nil, make(chan struct{}, 1)
	return &runningFake{fake: f, t: t}
}

func (f *runningFake) change(do func()) {
	f.mu.Lock()
	do()
	f.mu.Unlock()
	select {
	case f.changes <- struct{}{}:
	default:
	}
}

func (f *runningFake) Start(c session.Start) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	master, slave, err := pair()
	if err != nil {
		return 0, err
	}
	id := 0
	f.change(func() {
		f.started = append(f.started, c)
		id = len(f.st.Tasks) + 1
		f.st.Tasks = append(f.st.Tasks, session.Task{ID: id, Kind: c.Kind, Command: c.Text, Started: noon})
	})
	if err := c.Terminal.Attach(id, master); err != nil {
		return 0, err
	}
	cmd := exec.Command("sh", "-c", c.Text)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	slave.Close()
	go func() {
		_ = cmd.Wait()
		c.Terminal.Drain(id)
		f.change(func() {
			f.st.Tasks[id-1].Ended = noon.Add(time.Duration(id) * time.Second)
			f.st.Tasks[id-1].Code = cmd.ProcessState.ExitCode()
			if f.ending != nil {
				f.ending()
				f.ending = nil
			}
		})
	}()
	return id, nil
}

// pair opens a terminal without a size.
func pair() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
	}
	return master, slave, err
}

// onTerminal runs the session on a terminal; the function waits for its end.
func onTerminal(t *testing.T, term *vterm.Terminal, s Session, o Options) (end func() error) {
	done := make(chan error, 1)
	go func() { done <- Run(context.Background(), s, term.Slave, o) }()
	return func() error {
		t.Helper()
		select {
		case err := <-done:
			return err
		case <-time.After(20 * time.Second):
			t.Fatalf("the session does not end:\n%s", term.Text())
			return nil
		}
	}
}

func last(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return lines[len(lines)-1]
}

func waitUntil(t *testing.T, term *vterm.Terminal, what string, ok func(text string) bool) {
	t.Helper()
	if _, err := term.Wait(20*time.Second, ok); err != nil {
		t.Fatalf("%s: %v\n%s", what, err, term.Text())
	}
}

func TestAppRunsCommands(t *testing.T) {
	term := openTerm(t, 80, 24)
	before := modes(t, term)
	s := newRunning(t)
	end := onTerminal(t, term, s, testOptions(&clock{noon}))
	waitFor(t, term, "guarded")
	typed(t, term, "ecXho\x1b[D\x1b[D\x7f\x1b[F one; stty size\r")
	waitUntil(t, term, "the command above the input line", func(s string) bool {
		return strings.Contains(s, "> echo one; stty size\none\n23 80\n") && strings.Contains(last(s), "exit 0 in")
	})
	typed(t, term, "!exit 3\r")
	waitUntil(t, term, "its exit code", func(s string) bool { return strings.Contains(last(s), "exit 3 in") })
	waitFor(t, term, "> !exit 3\nbawn: each line has a shell of its own; Ctrl+D or /quit ends the session\n")
	s.mu.Lock()
	if n := len(s.started); n != 2 || s.started[0].NoEgress || !s.started[1].NoEgress || s.started[1].Text != "exit 3" {
		t.Errorf("started %+v", s.started)
	}
	s.mu.Unlock()
	typed(t, term, "/deny x.example\r")
	waitUntil(t, term, "a note", func(s string) bool { return strings.Contains(last(s), "x.example is denied for this session") })
	typed(t, term, "/nothing\r")
	waitFor(t, term, "bawn: unknown command /nothing")
	typed(t, term, "/quit\r")
	if err := end(); err != nil {
		t.Error(err)
	}
	asBefore(t, term, before)
	waitUntil(t, term, "no footer", func(s string) bool { return !strings.Contains(s, " guarded ") && strings.Contains(s, "> echo one") })
}

// slowFake has commands that do not come to their terminal.
type slowFake struct{ *runningFake }

func (f slowFake) Start(c session.Start) (id int, err error) {
	f.change(func() {
		id = len(f.st.Tasks) + 1
		f.st.Tasks = append(f.st.Tasks, session.Task{ID: id, Kind: c.Kind, Command: c.Text, Started: noon})
	})
	return id, nil
}

func (f slowFake) Stop(id int) error {
	f.change(func() { f.st.Tasks[id-1].Ended, f.st.Tasks[id-1].Code = noon, 125 })
	return f.fake.Stop(id)
}

// What is typed while a command starts is nobody's, and no part of the next
// line; Ctrl+C stops the command.
func TestAppKeysWhileACommandStarts(t *testing.T) {
	term := openTerm(t, 80, 24)
	s := slowFake{newRunning(t)}
	end := onTerminal(t, term, s, testOptions(&clock{noon}))
	prompt := func(text string) bool { return strings.Contains(text, "\n>\n") }
	waitUntil(t, term, "the input line", prompt)
	typed(t, term, "slow\r")
	waitUntil(t, term, "no input line", func(text string) bool { return strings.Contains(text, "> slow") && !prompt(text) })
	typed(t, term, "date\r\x03")
	waitUntil(t, term, "an empty input line", func(text string) bool { return prompt(text) && strings.Contains(last(text), "exit 125") })
	s.mu.Lock()
	if n := len(s.st.Tasks); n != 1 || !slices.Contains(s.did, "stop 1") {
		t.Errorf("%d commands, %q", n, s.did)
	}
	s.mu.Unlock()
	typed(t, term, "/quit\r")
	if err := end(); err != nil {
		t.Error(err)
	}
}

// While a command has the screen, keys are its own but Alt+S and what follows
// the prefix.
func TestAppKeysOfACommand(t *testing.T) {
	term := openTerm(t, 80, 24)
	s := newRunning(t)
	end := onTerminal(t, term, s, testOptions(&clock{noon}))
	waitFor(t, term, "guarded")
	typed(t, term, "stty raw -echo; echo rea''dy; head -c 3 | od -An -c; stty sane; echo ov''er\r")
	waitFor(t, term, "ready")
	typed(t, term, "a\x1bs")
	waitUntil(t, term, "the next tier", func(s string) bool { return strings.Contains(last(s), "airlock") })
	typed(t, term, "\x1c")
	waitUntil(t, term, "the letters", func(s string) bool { return strings.Contains(last(s), "n network") })
	typed(t, term, "n")
	waitFor(t, term, "packages.npmjs.org") // the page
	typed(t, term, "\x1b")
	waitUntil(t, term, "the command again", func(s string) bool { return !term.AltScreen() && strings.Contains(s, "ready") })
	typed(t, term, "\x1c\x1cb")
	waitUntil(t, term, "the keys of the command", func(s string) bool { return strings.Contains(s, "a 034   b") && strings.Contains(s, "over") })
	waitUntil(t, term, "its end", func(s string) bool { return strings.Contains(last(s), "exit 0 in") })
	typed(t, term, "\x04")
	if err := end(); err != nil {
		t.Error(err)
	}
}

// A question takes the screen from a command that draws, and gives it back.
func TestB123_QuestionOverAPicture(t *testing.T) {
	term := openTerm(t, 80, 24)
	s := newRunning(t)
	o := testOptions(&clock{noon})
	o.Now = time.Now // the page waits for a while without keys
	end := onTerminal(t, term, s, o)
	waitFor(t, term, "guarded")
	typed(t, term, `printf '\033[?1049h\033[3;3Hpicture'; read x; printf '\033[?1049l'; echo "got $x"`+"\r")
	waitUntil(t, term, "the picture", func(s string) bool { return strings.Contains(s, "picture") && !strings.Contains(s, "printf") })
	q := exampleQuestion(7)
	q.Deadline = time.Now().Add(5 * time.Minute)
	s.change(func() { s.st.Questions = []session.Question{q} })
	waitFor(t, term, "wants to connect")
	again := func(s string) bool { return strings.Contains(s, "picture") && strings.Contains(last(s), "1 question") }
	for range 40 { // a key counts only when the question has stood for a while
		typed(t, term, "\t") // later
		if _, err := term.Wait(500*time.Millisecond, again); err == nil {
			break
		}
	}
	waitUntil(t, term, "the picture again", again)
	typed(t, term, "yes\r")
	waitUntil(t, term, "its end", func(s string) bool { return strings.Contains(s, "got yes\n") && strings.Contains(s, "\n>\n") })
	typed(t, term, "/quit\r")
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestAppPlain(t *testing.T) {
	term := openTerm(t, 80, 24)
	before := modes(t, term)
	s := newRunning(t)
	o := testOptions(&clock{noon})
	o.Plain = true
	end := onTerminal(t, term, s, o)
	waitFor(t, term, "Sandbox: guarded, network asks\n>")
	typed(t, term, "echo one\r")
	waitFor(t, term, "\none\n>")
	typed(t, term, "/tasks\r")
	waitFor(t, term, "task 1, ")
	typed(t, term, "/quit\r")
	if err := end(); err != nil {
		t.Error(err)
	}
	asBefore(t, term, before)
}

// C5: a command that is run once more is a command of the app: it has the screen,
// in plain form too, and what is typed is its own.
func TestC5_AppRunsAgain(t *testing.T) {
	for _, plain := range []bool{false, true} {
		term := openTerm(t, 80, 24)
		s := newRunning(t)
		o := testOptions(&clock{noon})
		o.Plain, o.Now = plain, time.Now
		q := exampleQuestion(7)
		q.Deadline = time.Now().Add(5 * time.Minute)
		if plain {
			o.Ask = &asker{answers: []approval.Answer{{Scope: approval.Once, Given: true}}}
		}
		s.answered = func() {
			s.mu.Lock()
			c := s.started[0]
			s.mu.Unlock()
			c.Text = `echo rea''dy; read x; echo "got $x"`
			c.Again(c)
		}
		end := onTerminal(t, term, s, o)
		waitUntil(t, term, "the input line", func(s string) bool { return strings.Contains("\n"+s, "\n>") })
		s.st.Questions = nil
		if plain {
			s.ending = func() { s.st.Questions = []session.Question{q} }
		}
		typed(t, term, "echo one\r")
		if !plain {
			waitUntil(t, term, "its end", func(s string) bool { return strings.Contains(last(s), "exit 0 in") })
			s.change(func() { s.st.Questions = []session.Question{q} })
			waitFor(t, term, "wants to connect")
			for range 40 { // a key counts only when the question has stood for a while
				typed(t, term, "y")
				if _, err := term.Wait(500*time.Millisecond, func(string) bool { return !term.AltScreen() }); err == nil {
					break
				}
			}
		}
		waitUntil(t, term, "the command once more", func(s string) bool {
			s += "\n"
			return strings.Contains(s, "> echo rea''dy; read x") && strings.Contains(s, "\nready\n") && !strings.Contains(s, "\n>\n")
		})
		typed(t, term, "word\r")
		waitUntil(t, term, "what was typed", func(s string) bool { return strings.Contains(s, "\ngot word\n") && strings.Contains(s+"\n", "\n>\n") })
		s.mu.Lock()
		if n := len(s.started); n != 2 || s.started[1].Terminal == nil || s.started[1].Kind != session.Foreground {
			t.Errorf("started %+v", s.started)
		}
		s.mu.Unlock()
		typed(t, term, "/quit\r")
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

// A question whose command has ended is taken from the screen, whoever looks at
// it, and answers nothing.
func TestAppQuestionWithdrawn(t *testing.T) {
	term := openTerm(t, 80, 24)
	s := newRunning(t)
	end := onTerminal(t, term, s, testOptions(&clock{noon}))
	waitFor(t, term, "guarded")
	s.change(func() { s.st.Questions = []session.Question{exampleQuestion(7)} })
	waitFor(t, term, "wants to connect")
	s.change(func() { s.st.Questions = nil })
	waitUntil(t, term, "the input line", func(s string) bool { return !term.AltScreen() && strings.Contains("\n"+s+"\n", "\n>\n") })
	typed(t, term, "y\x7f/quit\r")
	if err := end(); err != nil || s.logged() != "" {
		t.Errorf("%v, %q", err, s.logged())
	}
}

func TestAppHangup(t *testing.T) {
	term, err := vterm.Open(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	end := onTerminal(t, term, newRunning(t), testOptions(&clock{noon}))
	waitFor(t, term, "guarded")
	term.Master.Close()
	if err := end(); err != ErrHungUp {
		t.Errorf("ended with %v", err)
	}
}

// A hang-up ends the session from under a question too.
func TestAppHangupDuringAQuestion(t *testing.T) {
	term := openTerm(t, 80, 24)
	s := newRunning(t)
	end := onTerminal(t, term, s, testOptions(&clock{noon}))
	waitFor(t, term, "guarded")
	s.change(func() { s.st.Questions = []session.Question{exampleQuestion(7)} })
	waitFor(t, term, "wants to connect")
	if err := unix.Kill(os.Getpid(), unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := end(); err != ErrHungUp {
		t.Errorf("ended with %v", err)
	}
	if log := s.logged(); log != "" {
		t.Errorf("answered: %s", log)
	}
}

// A command that asks on does not keep a person from typing: what comes after
// "later" joins what waits, until a command is started.
func TestAppQuestionsPutOff(t *testing.T) {
	term := openTerm(t, 80, 24)
	s := newRunning(t)
	o := testOptions(&clock{noon})
	o.Now = time.Now
	end := onTerminal(t, term, s, o)
	waitFor(t, term, "guarded")
	ask := func(ids ...int) {
		s.change(func() {
			s.st.Questions = nil
			for _, id := range ids {
				q := exampleQuestion(id)
				q.Deadline = time.Now().Add(5 * time.Minute)
				s.st.Questions = append(s.st.Questions, q)
			}
		})
	}
	later := func(n int) {
		t.Helper()
		over := func(s string) bool { return !term.AltScreen() && strings.Contains(last(s), fmt.Sprint(n)+" question") }
		for range 40 {
			typed(t, term, "\t")
			if _, err := term.Wait(500*time.Millisecond, over); err == nil {
				return
			}
		}
		t.Fatalf("it is not put off:\n%s", term.Text())
	}
	ask(1)
	waitFor(t, term, "wants to connect")
	later(1)
	for n := 2; n <= 4; n++ {
		ask([]int{1, 2, 3, 4}[:n]...)
		waitUntil(t, term, "the bar counts it", func(s string) bool { return strings.Contains(last(s), fmt.Sprint(n)+" questions") })
	}
	typed(t, term, "/questions\r")
	waitFor(t, term, "Question 1 of 4")
	later(4)
	typed(t, term, "echo here\r")
	waitUntil(t, term, "its end", func(s string) bool { return strings.Contains(s, "\nhere\n") && !strings.Contains(last(s), "running") })
	ask(1, 2, 3, 4, 5)
	waitFor(t, term, "Question 1 of 5")
	later(5)
	ask() // all over: the next is shown again
	waitUntil(t, term, "none", func(s string) bool { return !strings.Contains(last(s), "question") })
	ask(6)
	waitFor(t, term, "wants to connect")
	later(1)
	typed(t, term, "/quit\r")
	if err := end(); err != nil {
		t.Error(err)
	}
}

// Commands that would end with the session are named first, as a shell does; the
// second time in a row they end, and anything else between begins anew.
func TestAppLeavesRunningCommands(t *testing.T) {
	for _, plain := range []bool{false, true} {
		term := openTerm(t, 80, 24)
		s := newRunning(t)
		o := testOptions(&clock{noon})
		o.Plain = plain
		run := func(ids ...int) {
			s.change(func() {
				s.st.Tasks = nil
				for _, id := range ids {
					s.st.Tasks = append(s.st.Tasks, session.Task{ID: id, Kind: session.Background, Command: fmt.Sprintf("serve %d\x1b[2J", id), Started: noon})
				}
			})
		}
		run(2, 5)
		end := onTerminal(t, term, s, o)
		waitUntil(t, term, "the input line", func(s string) bool { return strings.Contains("\n"+s+"\n", "\n>\n") })
		said := func(n int) {
			t.Helper()
			waitUntil(t, term, "what still runs", func(s string) bool {
				return strings.Count(s, "with the session: Ctrl+D or /quit once more") == n && (!plain || strings.HasSuffix(strings.TrimSpace(s), ">"))
			})
		}
		typed(t, term, "\x04")
		said(1)
		if text := term.Text(); !strings.Contains(text, "bawn: 2 commands still run and end with the session") || !strings.Contains(text, "bawn: task 2: serve 2\\x1b[2J\n") || !strings.Contains(text, "bawn: task 5: serve 5") {
			t.Errorf("what is told:\n%s", text)
		}
		typed(t, term, "/allow x.example\r") // it was not meant
		waitUntil(t, term, "a note", func(s string) bool { return strings.Contains(s, "x.example is allowed") })
		typed(t, term, "/quit\r")
		said(2)
		run(5, 6) // another has begun since
		if !plain {
			waitUntil(t, term, "two run", func(s string) bool { return strings.Contains(last(s), "2 running") })
		}
		typed(t, term, "\x04")
		said(3)
		run(6) // one has ended since
		typed(t, term, "\x04")
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}
