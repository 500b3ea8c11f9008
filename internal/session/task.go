//go:build unix

package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/shell/plain"
)

const (
	// maxRunning bounds the commands that run at once.
	maxRunning = 256
	// maxEnded is how many commands are remembered after their end, and
	// maxKept of how many the output is.
	maxEnded = 256
	maxKept  = 16
)

// Client is a process that a command of the session stands for: bawn run in
// another terminal, or inside another command's sandbox.
type Client struct {
	Stdio   sandbox.Stdio
	TTY     bool
	Environ []string
	// Tier is the widest that the command may have.
	Tier policy.Tier
	// Event is told what happens: EventTTY, whose file is the client's to
	// close, EventStarted, EventStopped, and at the end EventExited or
	// EventFailed, with what was denied.
	Event func(sandbox.Event, []Denial)
	// Notice tells the client's person what they do not get.
	Notice func(line string)
}

// task is one command of a session. info is guarded by the session's mu.
type task struct {
	s      *Session
	info   Task
	start  Start
	client *Client
	out    *output
	denied denials
	shown  func()        // when the sandbox stands; nil is nothing
	policy policy.Policy // under which it runs
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	p       sandbox.Process // nil before the start and after the end
	terms   int             // how often it was told to end
	names   nameList
	outside bool // run it outside, as a person said
	late    bool // a host was allowed after the command had given up on it
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
	return s.begin(c, nil, false)
}

// Serve runs a command for a client. It does not wait for it.
func (s *Session) Serve(c Start, client Client) (int, error) {
	if c.Kind != Attached && c.Kind != Inner {
		return 0, fmt.Errorf("a command of kind %d has no client", c.Kind)
	}
	if err := checkStreams(client.Stdio); err != nil {
		return 0, err
	}
	return s.begin(c, &client, false)
}

func (s *Session) begin(c Start, client *Client, outside bool) (int, error) {
	if c.Text == "" && (len(c.Args) == 0 || c.Args[0] == "") {
		return 0, errors.New("no command given")
	}
	dir := s.setup.Workspace
	if c.Dir != "" {
		if !filepath.IsAbs(c.Dir) {
			c.Dir = filepath.Join(dir, c.Dir)
		}
		real, err := filepath.EvalSymlinks(c.Dir)
		if err != nil {
			return 0, fmt.Errorf("working folder %q: %w", c.Dir, err)
		}
		dir = real
	}
	c.Dir = dir
	t := &task{s: s, start: c, client: client, outside: outside}
	t.info = Task{Kind: c.Kind, Command: t.command().String(), Dir: dir, Started: time.Now()}
	if c.Kind == Background && c.Terminal == nil {
		var err error
		if t.out, err = newOutput(s.setup.Folder); err != nil {
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
		t.out.close()
		return 0, ErrClosed
	case running >= maxRunning:
		t.out.close()
		return 0, fmt.Errorf("%d commands run already; stop one", running)
	}
	s.lastTask++
	t.info.ID, t.info.Tier = s.lastTask, s.tier
	if outside {
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
		// What another command asks for can do no more than that one.
		code, reason := t.run(tier, Asking{Dir: dir, CanAsk: s.ask != nil, Agent: c.Kind == Inner, Mode: permission, Stays: c.Kind == Inner})
		t.end(code, reason)
	})
	s.watchers.tell()
	return t.info.ID, nil
}

// command is what a decision is about.
func (t *task) command() Command {
	return Command{Args: t.start.Args, Text: t.start.Text, IsText: t.start.Text != ""}
}

// source is the command as questions show it.
func (t *task) source() source {
	return source{task: t.info.ID, command: t.info.Command, dir: t.info.Dir}
}

// run does all of it. A reason says why the command did not run.
func (t *task) run(tier policy.Tier, who Asking) (code int, reason string) {
	s := t.s
	p, host, err := s.setup.Settle(tier, t.command())
	if err != nil {
		return 125, err.Error()
	}
	words := t.start.Args
	if t.start.Text != "" {
		words = append(s.setup.Shell(t.start.Text), words...)
	}
	spec := sandbox.Command{Args: words, Environ: t.environ(), Dir: t.info.Dir, TTY: t.tty()}
	if t.outside { // as a person just said of this one
		return t.runHost(spec, "")
	}
	who.Policy, t.policy = p, p
	out := s.setup.Decide(t.command(), who)
	if out.Place == Nowhere {
		return 125, said(out.Decision)
	}
	if out.Stays.ID != "" {
		t.notice("in the sandbox: " + out.Stays.Text)
	}
	if out.Decision.Verdict == policy.Ask {
		if d := s.ask.consent(t.ctx, AboutCommand, t.source(), Consent(t.command(), out, t.info.Dir)); d.Verdict != policy.Allow {
			return 125, said(d)
		}
	}
	switch {
	case out.Place == Outside:
		path, release, err := s.setup.Program(out.Program, p)
		if err != nil {
			return 125, fmt.Sprintf("%q would run outside the sandbox, but %v", out.Program.Program, err)
		}
		defer release()
		spec.Args = out.Program.Args
		return t.runHost(spec, path)
	case !p.Sandboxed():
		return t.runHost(spec, "")
	}
	lane, err := s.lanes.enter(p, t.start.NoEgress)
	if err != nil {
		return 125, err.Error()
	}
	defer lane.close()
	lane.net.describe(&spec)
	defer t.siblings(p, &spec)()
	held := newUnheld(sandbox.Unheld(p, host))
	code, reason = t.drive(lane.backend, lane.net, sandbox.Plan(p, host, spec))
	for _, n := range held.changed() {
		t.notice(fmt.Sprintf("%s appeared or changed during %s, which had no name guard: %s; look at it before you go on", n.Path, t.info.Command, n.Rule.Text))
	}
	return code, reason
}

// siblings gives the command the way to ask for them. What is narrowed for one
// kind of command has none: a sibling would not be.
func (t *task) siblings(p policy.Policy, c *sandbox.Command) (end func()) {
	t.s.mu.Lock()
	inner := t.s.inner
	t.s.mu.Unlock()
	if inner == nil || p.Profile() != policy.NoProfile {
		return func() {}
	}
	path, shown, end, err := inner(Sibling{Tier: t.info.Tier, NoEgress: t.start.NoEgress})
	if err != nil {
		t.notice("bawn run inside this command will refuse: " + err.Error())
		return func() {}
	}
	c.Inner, t.shown = path, shown
	return end
}

// runHost runs it with the user's own permissions.
func (t *task) runHost(c sandbox.Command, program string) (code int, reason string) {
	spec := sandbox.Spec{Args: c.Args, Env: c.Environ, Dir: c.Dir, TTY: c.TTY}
	for _, e := range c.Environ {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			spec.Path = v
		}
	}
	return t.drive(hostBackend{program}, nil, spec)
}

// said is a refusal in one line.
func said(d policy.Decision) string {
	line := d.Rule.Text
	if d.Rule.Origin.File != "" {
		line += " (" + d.Rule.Origin.String() + ")"
	}
	if d.Rule.Lift != "" {
		line += "; " + d.Rule.Lift
	}
	return "not run: " + line
}

// environ is the command's environment, before the policy looks at it: shell
// text reads no file that a variable names.
func (t *task) environ() []string {
	env := t.s.setup.Environ
	if t.client != nil {
		env = t.client.Environ
	}
	out := make([]string, 0, len(env)+1)
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if name == "PWD" || t.start.Text != "" && (name == "ENV" || name == "BASH_ENV") {
			continue
		}
		out = append(out, e)
	}
	return append(out, "PWD="+t.info.Dir)
}

func (t *task) tty() bool {
	if t.client != nil {
		return t.client.TTY
	}
	return t.start.Terminal != nil
}

func (t *task) notice(line string) {
	if t.client != nil && t.client.Notice != nil {
		t.client.Notice(line)
		return
	}
	t.s.notice(line)
}

// streams are the command's, and what is to be done when it has them and when
// it has ended.
func (t *task) streams() (stdio sandbox.Stdio, started, ended func(), err error) {
	nothing := func() {}
	if t.client != nil {
		return t.client.Stdio, nothing, nothing, nil
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return sandbox.Stdio{}, nil, nil, err
	}
	if t.start.Terminal != nil {
		return sandbox.Stdio{In: null, Out: null, Err: null}, nothing, func() { null.Close() }, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		null.Close()
		return sandbox.Stdio{}, nil, nil, err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		buf := make([]byte, 64<<10)
		for {
			n, err := r.Read(buf)
			if _, werr := t.out.Write(buf[:n]); err != nil || werr != nil {
				return // a command that writes on gets SIGPIPE
			}
			t.s.watchers.tell()
		}
	}()
	once := sync.OnceFunc(func() {
		w.Close()
		null.Close()
	})
	return sandbox.Stdio{In: null, Out: w, Err: w}, once, func() {
		once()
		// What left the sandbox's session may hold the pipe; nothing else can.
		_ = r.SetReadDeadline(time.Now().Add(time.Second))
		<-copied
		r.Close()
	}, nil
}

// drive starts the command and stays with it until its end.
func (t *task) drive(b sandbox.Backend, net *network, spec sandbox.Spec) (code int, reason string) {
	if t.ctx.Err() != nil {
		return 125, "not run: it was stopped before it began"
	}
	stdio, started, ended, err := t.streams()
	if err != nil {
		return 125, err.Error()
	}
	defer ended()
	// Locked: who stops it now means the command, and not the start.
	t.mu.Lock()
	p, err := b.Start(spec, stdio)
	if err == nil {
		t.p = p
		net.enter(p, t.source())
	}
	t.mu.Unlock()
	if err != nil {
		return 125, err.Error()
	}
	started()
	stop := context.AfterFunc(t.ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.p != nil {
			t.p.Kill()
		}
	})
	defer func() {
		stop()
		net.leave(p)
		t.mu.Lock()
		t.p = nil
		t.mu.Unlock()
		p.Kill()
		p.Wait()
		_ = p.Close()
	}()
	for {
		ev, err := p.Next()
		if err != nil {
			if t.ctx.Err() != nil {
				return 128 + int(unix.SIGKILL), ""
			}
			return 125, err.Error()
		}
		switch ev.Kind {
		case sandbox.EventExited:
			if t.start.Terminal != nil {
				t.start.Terminal.Drain(t.info.ID)
			}
			return ev.Code, ""
		case sandbox.EventFailed:
			return ev.Code, ev.Reason
		case sandbox.EventNetwork:
			net.serve(ev.Net, p)
		case sandbox.EventConnected:
			net.connected(ev)
		case sandbox.EventName:
			t.named(ev.Name)
		case sandbox.EventNotice:
			for line := range strings.Lines(ev.Reason) {
				t.notice(strings.TrimSuffix(line, "\n"))
			}
		case sandbox.EventLost:
			t.lose(ev.Reason)
		default:
			if err := t.steer(p, ev); err != nil {
				return 125, err.Error()
			}
		}
	}
}

// steer acts on what concerns whoever the command stands for.
func (t *task) steer(p sandbox.Process, ev sandbox.Event) error {
	if ev.Kind == sandbox.EventStarted && t.shown != nil {
		t.shown()
	}
	if t.client != nil {
		t.client.Event(ev, nil)
		return nil
	}
	switch ev.Kind {
	case sandbox.EventTTY:
		if err := t.start.Terminal.Attach(t.info.ID, ev.TTY); err != nil {
			ev.TTY.Close()
			return err
		}
		return p.Ack()
	case sandbox.EventStopped:
		// Nobody would ever continue it here: there is no shell in between.
		_ = p.Signal(int(unix.SIGCONT))
	}
	return nil
}

// named notes what the guard told.
func (t *task) named(e *sandbox.NameEvent) {
	t.mu.Lock()
	t.names.add(e)
	t.mu.Unlock()
	if !e.Allowed {
		d := Denial{Path: e.Path, Rule: e.Rule, PID: e.PID, Command: e.Command}
		if e.Reason != "" {
			d.Rule.Text = e.Reason
		}
		d.origin(t.policy)
		t.s.deny(t.info.ID, d)
		t.s.watchers.tell()
	}
}

// lose tells, once in a session, of a cache folder that is not there outside.
func (t *task) lose(folder string) {
	s := t.s
	s.mu.Lock()
	known := slices.Contains(s.lost, folder) || len(s.lost) >= maxDenials
	if !known {
		s.lost = append(s.lost, folder)
	}
	s.mu.Unlock()
	if !known {
		t.notice("a cache folder that does not exist outside is kept for this command alone; to keep it from now on: " + plain.Quote([]string{"mkdir", "-p", folder}))
	}
}

// end is the last of a task: it is told, and something may be offered.
func (t *task) end(code int, reason string) {
	s := t.s
	s.mu.Lock()
	t.info.Ended, t.info.Code, t.info.Reason = time.Now(), code, reason
	s.forget()
	s.mu.Unlock()
	if t.client != nil {
		ev := sandbox.Event{Kind: sandbox.EventExited, Code: code}
		if reason != "" {
			ev = sandbox.Event{Kind: sandbox.EventFailed, Code: code, Reason: reason}
		}
		list, _ := t.denied.list()
		t.client.Event(ev, list)
	}
	s.watchers.tell()
	if s.ask == nil {
		return
	}
	t.mu.Lock()
	stopped, late := t.terms > 0, t.late
	t.mu.Unlock()
	if code == 0 || stopped || t.client != nil {
		s.ask.withdraw(t.info.ID)
		return
	}
	if late {
		s.again(t)
	}
	if t.blockedFiles() && t.info.Tier == policy.Guarded && !t.start.NoEgress {
		s.offerOutside(t)
	}
}

// forget lets go of the oldest commands that have ended. The caller holds mu.
func (s *Session) forget() {
	ended, kept := 0, 0
	for i := len(s.tasks) - 1; i >= 0; i-- {
		t := s.tasks[i]
		if t.info.Ended.IsZero() {
			continue
		}
		if t.out != nil {
			if kept++; kept > maxKept {
				t.out.close()
			}
		}
		if ended++; ended > maxEnded {
			t.out.close()
			s.tasks = slices.Delete(s.tasks, i, i+1)
		}
	}
}

func (t *task) blockedFiles() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.names.denied) > 0
}

// late is told that a host was allowed for which nobody waits any more: the
// command that gave up is offered again (SPEC N7). The questions are locked.
func (s *Session) late(one *question) {
	s.mu.Lock()
	t := s.task(one.from.task)
	s.mu.Unlock()
	if t == nil || t.client != nil {
		return
	}
	t.mu.Lock()
	t.late = true
	t.mu.Unlock()
	s.mu.Lock()
	ended, code := !t.info.Ended.IsZero(), t.info.Code
	s.mu.Unlock()
	if ended && code != 0 {
		s.goUnlessClosed(func() { s.again(t) })
	}
}

func (s *Session) goUnlessClosed(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Go(f)
	}
}

// again offers to run a command that failed for want of a host.
func (s *Session) again(t *task) {
	t.mu.Lock()
	late := t.late
	t.late = false // once
	t.mu.Unlock()
	if !late {
		return
	}
	s.offer(t, AboutAgain, approval.Prompt{
		Title: "The command gave up before its host was allowed. Run it again?", Object: t.info.Command,
		Notes: []string{"folder:  " + plain.Quote([]string{t.info.Dir})}, Offers: []approval.Offer{{Scope: approval.Once, Text: "run it again"}},
	}, false)
}

// offerOutside offers to run a command that was refused a file outside the
// sandbox, this once (SPEC C5).
func (s *Session) offerOutside(t *task) {
	if _, _, err := s.setup.Settle(policy.Open, Command{}); err != nil {
		return // the requirements exclude it
	}
	const most = 8
	t.mu.Lock()
	denied := slices.Clone(t.names.denied)
	t.mu.Unlock()
	p := approval.Prompt{
		Title: "Run this command outside the sandbox, with your own permissions?", Object: t.info.Command, Rule: denied[0].Rule,
		Offers: []approval.Offer{{Scope: approval.Once, Text: "run it outside, this once"}},
		Notes:  []string{"folder:  " + plain.Quote([]string{t.info.Dir})},
	}
	for i, d := range denied {
		if i == most {
			p.Notes = append(p.Notes, fmt.Sprintf("and %d more", len(denied)-most))
			break
		}
		p.Notes = append(p.Notes, "it was refused "+d.String())
	}
	s.offer(t, AboutOutside, p, true)
}

// offer asks whether a command that has ended is to run once more, while
// others run on.
func (s *Session) offer(t *task, kind QuestionKind, p approval.Prompt, outside bool) {
	s.goUnlessClosed(func() {
		if d := s.ask.consent(context.Background(), kind, t.source(), p); d.Verdict != policy.Allow {
			return
		}
		if _, err := s.begin(t.start, nil, outside); err != nil && !errors.Is(err, ErrClosed) {
			s.notice(fmt.Sprintf("%s: %v", t.info.Command, err))
		}
	})
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
