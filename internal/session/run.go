//go:build unix

// Package session runs commands under a policy. It is the only place where
// decisions, the boundary and the person's terminal meet.
package session

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

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
	// Foreground: the run stands for this process, so its signals are
	// forwarded and a stopped command stops it too. Libraries leave it off.
	Foreground bool
}

// Result is how a run ended.
type Result struct {
	// Code is the command's exit status, 128+n if signal n ended it; 126 or
	// 127 if it could not be executed or found, 125 if bawn failed.
	Code int
	// Reason says why the command did not run; empty if it did.
	Reason string
}

// Run starts the command and waits for it. An error means that nothing ran.
// When ctx ends, so does the sandbox and everything in it.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := checkStreams(o.Stdio); err != nil {
		return Result{}, err
	}
	spec := sandbox.Plan(o.Policy, o.Host, o.Command)
	var signals chan os.Signal
	if o.Foreground {
		signals = watchSignals(spec.TTY)
		defer signal.Stop(signals)
	}
	p, err := o.Backend.Start(spec, o.Stdio)
	if err != nil {
		return Result{}, err
	}
	defer p.Close()
	r := runner{p: p, o: o}
	defer func() { r.tty.restore() }()
	return r.loop(ctx, signals)
}

// checkStreams refuses a folder as a standard stream: through it a command
// could open what the sandbox hides (/proc/self/fd/0/…).
func checkStreams(s sandbox.Stdio) error {
	for i, f := range []*os.File{s.In, s.Out, s.Err} {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return &policy.RefusedError{
				What: fmt.Sprintf("standard stream %d", i), Why: "it is a folder, which would reach past the sandbox",
				Lift: "redirect it from a file",
			}
		}
	}
	return nil
}

// watchSignals catches what is meant for the command. A signal ignored from
// the start (nohup) stays ignored.
func watchSignals(tty bool) chan os.Signal {
	c := make(chan os.Signal, 16)
	list := []os.Signal{
		unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
		unix.SIGTSTP, unix.SIGCONT,
	}
	if tty {
		list = append(list, unix.SIGWINCH)
	}
	for _, s := range list {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	return c
}

type runner struct {
	p   sandbox.Process
	o   Options
	tty *terminal
}

func (r *runner) loop(ctx context.Context, signals chan os.Signal) (Result, error) {
	type next struct {
		ev  sandbox.Event
		err error
	}
	events := make(chan next)
	quit := make(chan struct{})
	defer close(quit)
	go func() {
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
	for {
		select {
		case <-ctx.Done():
			r.p.Kill()
			return Result{Code: 128 + int(unix.SIGKILL), Reason: ctx.Err().Error()}, ctx.Err()
		case s := <-signals:
			r.forward(s)
		case n := <-events:
			if n.err != nil {
				return Result{Code: 125}, n.err
			}
			switch n.ev.Kind {
			case sandbox.EventTTY:
				tty, err := attachTerminal(n.ev.TTY, r.o.Stdio)
				if err != nil {
					return Result{Code: 125}, err
				}
				r.tty = tty
				if err := r.p.Ack(); err != nil {
					return Result{Code: 125}, err
				}
			case sandbox.EventStarted:
				r.tty.relay()
			case sandbox.EventStopped:
				r.stop()
			case sandbox.EventFailed:
				return Result{Code: n.ev.Code, Reason: n.ev.Reason}, nil
			case sandbox.EventExited:
				r.tty.drain()
				return Result{Code: n.ev.Code}, nil
			}
		}
	}
}

func (r *runner) forward(s os.Signal) {
	sig, ok := s.(syscall.Signal)
	if !ok {
		return
	}
	switch sig {
	case unix.SIGWINCH:
		r.tty.resize()
		return
	case unix.SIGCONT:
		r.tty.raw()
	}
	// The command may be gone already; its end is on the way.
	_ = r.p.Signal(int(sig))
}

// stop stops this process as the command was stopped, so that the shell it
// was started from sees it; SIGCONT goes the other way.
func (r *runner) stop() {
	if !r.o.Foreground {
		return
	}
	r.tty.restore()
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
}
