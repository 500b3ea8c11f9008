//go:build unix

package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

const (
	// maxRunning bounds the commands that run at once.
	maxRunning = 256
	// maxEnded is how many commands are remembered after their end, and
	// maxKept of how many the output is.
	maxEnded = 256
	maxKept  = 16
	// maxShown is how much of a client's command is remembered and shown, in
	// bytes; a question about it has all of it.
	maxShown = 4 << 10
)

// Client is a process that a command of the session stands for: bawn run in
// another terminal, or inside another command's sandbox.
type Client struct {
	Stdio   sandbox.Stdio
	TTY     bool
	Environ []string
	// Asking is the environment of the process outside every sandbox that asked,
	// by its own command or one around this: what it names is hidden.
	Asking []string
	// Tier is the widest that the command may have.
	Tier policy.Tier
	// Event is told what happens: EventTTY, whose file is the client's to
	// close, EventStarted, EventStopped, and at the end EventExited or
	// EventFailed, with what came of it.
	Event func(sandbox.Event, Ended)
	// Notice tells the client's person what they do not get.
	Notice func(line string)

	person bool // its standard error is a terminal
}

// Ended is what a command did, besides how it ended.
type Ended struct {
	Denials []Denial
	More    int      // denials that are only counted
	Written []string // names that run code outside later
	// Refused is the rule, with its lift, by which nothing ran; the zero value
	// where something did, or could not for another reason. It is told in this
	// process alone: to others the reason says it.
	Refused policy.Rule
}

// task is one command of a session. info is guarded by the session's mu.
type task struct {
	s      *Session
	info   Task
	start  Start
	client *Client
	out    *Output
	rec    Recorder // nil before it begins; guarded by the session's mu
	began  bool     // it is recorded that it runs
	over   bool     // it runs no more, and has info.Code; guarded by the session's mu
	denied denials
	missed unreached
	refuse policy.Rule   // by which it does not run
	shown  func()        // when the sandbox stands; nil is nothing
	policy policy.Policy // under which it runs
	staged Staging       // that holds what it writes; nil is the workspace itself
	ctx    context.Context
	cancel context.CancelFunc

	mu    sync.Mutex
	p     sandbox.Process // nil before the start and after the end
	terms int             // how often it was told to end
	asked int             // how many answers it waits for, of which its person knows
	names nameList
	late  bool // a host was allowed after the command had given up on it
}

// task finds a command. The caller holds mu.
func (s *Session) task(id int) *task {
	i := slices.IndexFunc(s.tasks, func(t *task) bool { return t.info.ID == id })
	if i < 0 {
		return nil
	}
	return s.tasks[i]
}

// Start runs a command: see Start. It does not wait for it.
func (s *Session) Start(c Start) (int, error) {
	switch {
	case c.Kind != Foreground && c.Kind != Background:
		return 0, fmt.Errorf("a command of kind %d is not started here", c.Kind)
	case c.Kind == Foreground && c.Terminal == nil:
		return 0, errors.New("a foreground command needs a terminal")
	}
	if s.ask != nil {
		s.ask.rouse() // whoever types is there
	}
	return s.begin(c, nil)
}

// Serve runs a command for a client, in a folder that is real. It does not wait
// for it.
func (s *Session) Serve(c Start, client Client) (int, error) {
	if c.Kind != Attached && c.Kind != Inner {
		return 0, fmt.Errorf("a command of kind %d has no client", c.Kind)
	}
	if err := checkStreams(client.Stdio); err != nil {
		return 0, err
	}
	client.person = client.TTY || IsTerminal(client.Stdio.Err)
	c.Again, c.Keep, c.outside = nil, nil, false // what a client gets is what it asked for
	return s.begin(c, &client)
}

func (s *Session) begin(c Start, client *Client) (int, error) {
	if len(c.Keep) > 0 {
		c.Text, c.Args = "", s.keepWords(c.Keep)
	}
	if c.Text == "" && (len(c.Args) == 0 || c.Args[0] == "") {
		return 0, errors.New("no command given")
	}
	dir := s.setup.Workspace
	if c.Dir != "" {
		if !filepath.IsAbs(c.Dir) {
			c.Dir = filepath.Join(dir, c.Dir)
		}
		dir = c.Dir
		if client == nil { // a client's is checked: resolved again it may be another
			real, err := filepath.EvalSymlinks(dir)
			if err != nil {
				return 0, fmt.Errorf("working folder %q: %w", dir, err)
			}
			dir = real
		}
	}
	c.Dir = dir
	t := &task{s: s, start: c, client: client}
	t.info = Task{Kind: c.Kind, Command: t.command().String(), Dir: dir, Started: time.Now()}
	if client != nil && len(t.info.Command) > maxShown {
		t.info.Command = strings.ToValidUTF8(t.info.Command[:maxShown], "") + "..."
	}
	var err error
	if c.Kind == Background && c.Terminal == nil {
		if t.out, err = NewOutput(s.setup.Folder); err != nil {
			return 0, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	running := 0
	for _, o := range s.tasks {
		if o.info.Ended.IsZero() {
			running++
		}
	}
	switch {
	case s.closed:
		t.out.Close()
		return 0, ErrClosed
	case running >= maxRunning:
		t.out.Close()
		return 0, fmt.Errorf("%d commands run already; stop one", running)
	}
	if t.staged, err = s.stageFor(c, running); err != nil {
		t.out.Close()
		return 0, err
	}
	s.lastTask++
	t.info.ID, t.info.Tier = s.lastTask, s.tier
	if c.outside {
		t.info.Tier = policy.Open
	}
	if client != nil {
		t.info.Tier = min(t.info.Tier, client.Tier)
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	s.tasks = append(s.tasks, t)
	tier, permission := t.info.Tier, s.permission
	s.work.Go(func() {
		defer t.cancel()
		// What another command asks for can do no more than that one. Where
		// nobody is there the mode does not count: the agent could run it itself,
		// in its own sandbox, which is as wide or wider.
		code, reason := t.run(tier, Asking{Dir: dir, CanAsk: s.canAsk(), Agent: c.Web || c.Kind == Inner && !s.setup.NoAsk, Mode: permission, Stays: c.Kind == Inner || len(c.As) > 0 || t.staged != nil})
		t.end(code, reason)
	})
	s.watchers.tell()
	return t.info.ID, nil
}

// command is what a decision is about.
func (t *task) command() Command {
	if len(t.start.As) > 0 {
		return Command{Args: t.start.As}
	}
	return Command{Args: t.start.Args, Text: t.start.Text, IsText: t.start.Text != "", Preset: t.start.Preset}
}

// source is the command as questions show it.
func (t *task) source() source {
	return source{task: t.info.ID, command: t.info.Command, dir: t.info.Dir}
}

// Output is the end of what a background command wrote, at most limit bytes.
func (s *Session) Output(id, limit int) ([]byte, error) {
	s.mu.Lock()
	t := s.task(id)
	s.mu.Unlock()
	if t == nil {
		return nil, fmt.Errorf("there is no command %d", id)
	}
	return t.out.tail(limit)
}

// Stop ends a command: by SIGTERM, and the second time by SIGKILL. One that
// has not begun is not begun.
func (s *Session) Stop(id int) error {
	s.mu.Lock()
	t := s.task(id)
	s.mu.Unlock()
	if t == nil {
		return fmt.Errorf("there is no command %d", id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.terms++
	if t.p == nil || t.terms > 1 {
		t.cancel()
		return nil
	}
	_ = t.p.Signal(int(unix.SIGCONT))
	return t.p.Signal(int(unix.SIGTERM))
}

// Signal, Ack and Kill are a client's word to its command.
func (s *Session) Signal(id, sig int) {
	switch unix.Signal(sig) {
	case unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT:
		if !s.with(id, func(p sandbox.Process) { _ = p.Signal(sig) }) {
			s.Kill(id) // it has not begun
		}
	default:
		s.with(id, func(p sandbox.Process) { _ = p.Signal(sig) })
	}
}

func (s *Session) Ack(id int) { s.with(id, func(p sandbox.Process) { _ = p.Ack() }) }

func (s *Session) Kill(id int) {
	s.mu.Lock()
	t := s.task(id)
	s.mu.Unlock()
	if t != nil {
		t.cancel()
	}
}

// with calls f with the process of a command, if it runs.
func (s *Session) with(id int, f func(sandbox.Process)) bool {
	s.mu.Lock()
	t := s.task(id)
	s.mu.Unlock()
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.p == nil {
		return false
	}
	f(t.p)
	return true
}
