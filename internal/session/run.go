//go:build unix

// Package session runs commands under a policy. It is the only place where
// decisions, the boundary and the person's terminal meet.
package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Options is one command to run in a sandbox.
type Options struct {
	Policy  policy.Policy
	Host    sandbox.Host
	Command sandbox.Command
	Backend sandbox.Backend
	Stdio   sandbox.Stdio
	// Egress is the way to the network; nil is none, not even a refusal.
	Egress *Egress
	// Ask asks a person about hosts that no rule covers; nil: nobody is there.
	// See CanAsk.
	Ask approval.Asker
	// Named is told of each name that the guard refused or watched; may be nil.
	Named func(sandbox.NameEvent)
	// Seen is told of processes that were seen; may be nil.
	Seen func([]sandbox.Ancestor)
	// Save keeps a host rule that was allowed for good; nil offers no such answer.
	Save func(rule string) error
	// Ended is told the outcome as soon as nothing of the run can act any more,
	// while the kernel still clears the sandbox away; may be nil.
	Ended func(Result, error)
	// Foreground: the run stands for this process, so its signals are
	// forwarded and a stopped command stops it too. Libraries leave it off.
	Foreground bool
}

// Run starts the command and waits for it. An error means that nothing ran.
// When ctx ends, so does the sandbox and everything in it.
func Run(ctx context.Context, o Options) (Result, error) {
	u := newUnheld(sandbox.Unheld(o.Policy, o.Host))
	p, res, err := run(ctx, o)
	if p != nil {
		defer p.Close()
	}
	// By now all that could write is dead.
	res.Unheld = u.changed()
	if o.Ended != nil {
		o.Ended(res, err)
	}
	return res, err
}

// run gives back the ended sandbox too, if there was one.
func run(ctx context.Context, o Options) (sandbox.Process, Result, error) {
	var err error
	if o.Stdio, err = Streams(o.Stdio, o.Command.TTY, o.Foreground); err != nil {
		return nil, Result{}, err
	}
	r := runner{o: o, started: make(chan struct{})}
	var watching chan struct{}
	if o.Foreground {
		// Beside the planning: each caught signal costs a hand-over between
		// threads.
		r.signals, watching = make(chan os.Signal, 32), make(chan struct{})
		go func() {
			watchSignals(r.signals)
			close(watching)
		}()
	}
	if o.Policy.HasNetwork() && o.Egress != nil {
		r.ask = newQuestions(o.Ask, o.Save, r.hold, o.Egress.Notice)
	}
	r.net, err = o.Egress.open(o.Policy, r.ask)
	if err != nil {
		return nil, Result{}, err
	}
	r.net.describe(&r.o.Command)
	spec := sandbox.Plan(o.Policy, o.Host, r.o.Command)
	backend := o.Backend
	if o.Foreground {
		// Before the command can run, or what is sent to it would end this
		// process. They stay caught: it ends with the run, and each would cost
		// another hand-over between threads.
		if b, ok := backend.(sandbox.Gated); ok {
			backend = b.WithGate(func() error { <-watching; return nil })
		} else {
			<-watching
		}
	}
	p, err := backend.Start(spec, o.Stdio)
	if err != nil {
		r.net.close()
		return nil, Result{}, err
	}
	r.p = p
	r.net.enter(p, source{})
	defer r.net.leave(p)
	defer func() { r.tty.close() }()
	res, err := r.loop(ctx)
	r.ask.close() // before the terminal is given back
	// Both wait for the kernel. Nothing is asked of a sandbox after Close: its
	// descriptor's number may be another's by then.
	var closing sync.WaitGroup
	closing.Go(r.net.close)
	p.Wait()
	closing.Wait()
	res.Denials, res.MoreDenials = r.net.denials()
	res.Unreached = r.net.unreached()
	res.Denials = append(r.names.denied, res.Denials...)
	res.MoreDenials += r.names.more
	if res.Code != 0 && err == nil {
		res.Denials = append(res.Denials, Hinted(r.tty.wrote(), o.Policy, o.Ask != nil, res.Denials)...)
	}
	res.Watched, res.Lost = r.names.watched, r.lost
	return p, res, err
}

// Follow stands, as Run does in the foreground, for a command that another
// process runs for this one. notice tells a person what that says meanwhile.
func Follow(stdio sandbox.Stdio, notice func(line string), start func() (sandbox.Process, error)) (Result, error) {
	r := runner{o: Options{Stdio: stdio, Foreground: true}, notice: notice, started: make(chan struct{}), signals: make(chan os.Signal, 32)}
	watchSignals(r.signals)
	p, err := start()
	if err != nil {
		return Result{}, err
	}
	defer p.Close()
	r.p = p
	defer func() { r.tty.close() }()
	return r.loop(context.Background())
}

// Streams says which streams the command gets: the caller's, but no keyboard
// that belongs to another job. Run applies it; whoever starts a stage ahead
// must do so before. Applied twice it changes nothing.
func Streams(s sandbox.Stdio, tty, foregroundRun bool) (sandbox.Stdio, error) {
	if err := checkStreams(s); err != nil {
		return s, err
	}
	if foregroundRun && !tty && IsTerminal(s.In) && !foreground(int(s.In.Fd())) {
		// In the background. The sandbox is a session of its own, so nothing
		// would stop the command from taking what is typed for the shell.
		null, err := os.Open(os.DevNull)
		if err != nil {
			return s, err
		}
		s.In = null
	}
	return s, nil
}

// checkStreams refuses what a command could use against the boundary: a disk,
// a folder, which opens what the sandbox hides (/proc/self/fd/0/…), a socket of
// the host's network, which can be connected anew to anything there, and a
// handle on the kernel (a ring whose thread on the host does the work, another
// process's page faults), which no filter of later calls takes away.
func checkStreams(s sandbox.Stdio) error {
	for i, f := range []*os.File{s.In, s.Out, s.Err} {
		refuse := func(why, lift string) error {
			return &policy.RefusedError{What: fmt.Sprintf("standard stream %d", i), Why: why, Lift: lift}
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			continue
		}
		switch st.Mode & unix.S_IFMT {
		case 0: // an anonymous inode, of no kind of file
			return refuse("it is no file, pipe or terminal, but a handle on the kernel", "redirect it from a file or a pipe")
		case unix.S_IFBLK:
			return refuse("it is a disk, which the command could open anew and write past every file",
				"put a pipe between, as in: cat DISK | bawn run …")
		case unix.S_IFDIR:
			return refuse("it is a folder, which would reach past the sandbox", "redirect it from a file")
		case unix.S_IFSOCK:
			if !settled(int(f.Fd())) {
				return refuse("it is a socket, which the command could connect to another place, past the sandbox",
					"put a pipe between, as in: cat | bawn run … | cat")
			}
		}
	}
	return nil
}

// settled reports whether a socket leads to its peer for good, as the ends of
// a UNIX stream do: all others can be connected anew or send elsewhere.
func settled(fd int) bool {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind == unix.SOCK_DGRAM {
		return false
	}
	peer, err := unix.Getpeername(fd)
	_, local := peer.(*unix.SockaddrUnix)
	return err == nil && local
}

type runner struct {
	o       Options
	p       sandbox.Process
	tty     *terminal
	net     *network
	ask     *questions
	names   nameList
	lost    []string
	signals chan os.Signal
	notice  func(line string) // of a command that another process runs

	running    sync.Once     // closes started
	started    chan struct{} // closed when the command runs and its terminal is relayed
	stopSignal unix.Signal   // what stopped the command last
	sentStop   bool          // SIGTSTP came from outside
}

// next is an event or the error in its place.
type next struct {
	ev  sandbox.Event
	err error
}

func (r *runner) loop(ctx context.Context) (Result, error) {
	quit := make(chan struct{})
	events := r.events(quit)
	ended := false
	defer func() {
		if !ended {
			r.p.Kill()
		}
		// The reader must be gone before its descriptor is closed: the number
		// may be another sandbox's next.
		close(quit)
		for range events {
		}
	}()
	for {
		var look <-chan time.Time
		if r.tty.waiting() {
			look = time.After(lookAgain)
		}
		select {
		case <-ctx.Done():
			return Result{Code: 128 + int(unix.SIGKILL), Reason: ctx.Err().Error()}, ctx.Err()
		case s := <-r.signals:
			r.forward(s)
		case <-look:
			r.tty.raw()
		case n := <-events:
			if n.err != nil {
				return Result{Code: 125}, n.err
			}
			ended = n.ev.Kind == sandbox.EventExited || n.ev.Kind == sandbox.EventFailed
			res, done, err := r.handle(n.ev)
			if done || err != nil {
				return res, err
			}
		}
	}
}

// lookAgain is how often a run in the background looks whether it has become
// the terminal's foreground.
const lookAgain = 200 * time.Millisecond

// events reads what happens in the sandbox until its end.
func (r *runner) events(quit <-chan struct{}) <-chan next {
	events := make(chan next)
	go func() {
		defer close(events)
		for {
			ev, err := r.p.Next()
			select {
			case events <- next{ev, err}:
			case <-quit:
				return
			}
			if err != nil || ev.Kind == sandbox.EventExited || ev.Kind == sandbox.EventFailed {
				return
			}
		}
	}()
	return events
}

// handle acts on one event; done is true at the end of the run.
func (r *runner) handle(ev sandbox.Event) (res Result, done bool, err error) {
	failed := Result{Code: 125}
	switch ev.Kind {
	case sandbox.EventTTY:
		if r.tty, err = attachTerminal(ev.TTY, r.o.Stdio); err != nil {
			return failed, true, err
		}
		if err := r.p.Ack(); err != nil {
			return failed, true, err
		}
	case sandbox.EventStarted:
		if r.tty == nil {
			r.release()
		}
		if err := r.tty.relay(); err != nil {
			return failed, true, err
		}
		r.running.Do(func() { close(r.started) })
	case sandbox.EventStopped:
		r.stopped(ev.Code)
	case sandbox.EventNetwork:
		r.net.serve(ev.Net, r.p)
	case sandbox.EventNotice:
		notice := r.interrupt
		if e := r.o.Egress; e != nil && e.Notice != nil {
			notice = e.Notice
		}
		for line := range strings.Lines(ev.Reason) {
			notice(strings.TrimSuffix(line, "\n"))
		}
	case sandbox.EventName:
		r.name(ev.Name)
	case sandbox.EventProcesses:
		if r.o.Seen != nil {
			r.o.Seen(ev.Processes)
		}
	case sandbox.EventCounts:
		r.names.count(ev.Counts)
	case sandbox.EventLost:
		if len(r.lost) < maxDenials {
			r.lost = append(r.lost, ev.Reason)
		}
	case sandbox.EventConnected:
		r.net.connected(ev)
	case sandbox.EventFailed:
		return Result{Code: ev.Code, Reason: ev.Reason}, true, nil
	case sandbox.EventExited:
		r.ask.close() // the terminal is needed for the last of the output
		r.drain()
		return Result{Code: ev.Code}, true, nil
	}
	return Result{}, false, nil
}

// name notes what the guard told.
func (r *runner) name(e *sandbox.NameEvent) {
	if !explain(r.o.Policy, e) {
		return
	}
	if r.o.Named != nil {
		r.o.Named(*e)
	}
	r.names.add(e)
}

// release lets go of the command's streams, so that a reader sees the end
// when the command closes its output, and a writer when it closes its input.
// Standard error stays: on it this process says what was denied.
func (r *runner) release() {
	if !r.o.Foreground {
		return // they are the caller's
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return // the reader sees the end a little later
	}
	defer null.Close()
	for _, f := range []*os.File{r.o.Stdio.In, r.o.Stdio.Out} {
		_ = replace(int(f.Fd()), int(null.Fd()))
	}
}

// interrupt tells a person a line in the midst of what the command writes. Where
// the terminal is the command's it is lent for that, if it can be.
func (r *runner) interrupt(line string) {
	if r.notice == nil {
		return
	}
	if giveBack, err := r.tty.lend(); err == nil {
		defer r.returned(giveBack)()
	}
	r.notice(line)
}

// hold takes the screen from the command while a question is on it. A command
// may connect before this process knows that it runs, and so before its
// terminal is relayed: that is waited for.
func (r *runner) hold(ctx context.Context) (func(), error) {
	select {
	case <-r.started:
	case <-ctx.Done():
		return nil, errors.New("the question was withdrawn")
	}
	giveBack, err := r.tty.lend()
	return r.returned(giveBack), err
}

// returned gives the terminal back to the command.
func (r *runner) returned(giveBack func()) func() {
	if r.tty == nil || giveBack == nil {
		return giveBack
	}
	return func() {
		giveBack()
		// Programs that own the whole screen draw it again on this.
		_ = r.p.Signal(int(unix.SIGWINCH))
	}
}

// drain waits until all that the command wrote to its terminal has been
// passed on, or a signal says that nobody waits for it.
func (r *runner) drain() {
	if r.tty == nil {
		return
	}
	for {
		select {
		case <-r.tty.drained:
			return
		case s := <-r.signals:
			switch s {
			case unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT:
				return
			}
		}
	}
}
