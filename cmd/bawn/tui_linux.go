package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"bawn/internal/approval"
	"bawn/internal/frontend/tui"
	"bawn/internal/session"
)

// sessionCommand opens the session in this folder: bawn without a command.
func sessionCommand(args []string) int {
	f := new(runFlags)
	rest, err := parseFlags(args, f.sessionSpecs())
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{sessionTopic})
	case err != nil:
		return usageError(sessionTopic, err)
	case len(rest) > 0:
		return usageError(sessionTopic, fmt.Errorf("unexpected %q; to run a command: bawn run -- %s", rest[0], rest[0]))
	}
	if !sessionTerminal() {
		return usageError(sessionTopic, errors.New("a session needs a terminal; to run one command without: bawn run -- CMD"))
	}
	return f.onScreen(nil)
}

// sessionTerminal reports whether all three streams are one terminal.
func sessionTerminal() bool {
	return session.OneTerminal(standardStreams())
}

// onScreen is a session on the terminal; only is its one command, or nil.
func (f *runFlags) onScreen(only []string) int {
	if nested() {
		return fail(errNested)
	}
	notices := make(chan string, 256)
	s, end, err := f.openSession(func(line string) {
		if f.quiet {
			return
		}
		select {
		case notices <- line:
		default: // nobody reads so many
		}
	})
	if err != nil {
		return fail(err)
	}
	o, err := f.screenOptions(s, notices)
	if err != nil {
		_ = end()
		return fail(err)
	}
	end = sync.OnceValue(end)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	defer hangUp(end)()
	code := 0
	if only == nil {
		err = tui.Run(ctx, s, os.Stdin, o)
	} else {
		code, err = tui.RunOnly(ctx, s, os.Stdin, o, only)
	}
	var denied []session.Denial
	if only != nil && code != 0 && !f.quiet { // there is no page any more that lists them
		denied = slices.DeleteFunc(s.Denials(), func(d session.Denial) bool { return d.Rule.ID == "answer:no" })
	}
	if e := end(); err == nil && e != nil {
		err = e
	}
	sayLines(pending(notices))
	printDenials(session.Result{Denials: denied})
	switch {
	case errors.Is(err, tui.ErrHungUp):
		return 128 + int(syscall.SIGHUP)
	case errors.Is(err, context.Canceled):
		return 128 + int(syscall.SIGTERM)
	case err != nil:
		return fail(err)
	}
	return code
}

// pending are the lines that nobody has taken.
func pending(notices <-chan string) (out []string) {
	for {
		select {
		case line := <-notices:
			out = append(out, line)
		default:
			return out
		}
	}
}

// hangUp sees to it that a hang-up ends the session, and not this process
// before it: the screen is told by the terminal itself, and a prompt that reads
// a line by the end of the file. Whoever hears of it in neither way has two
// seconds.
func hangUp(end func() error) (stop func()) {
	if signal.Ignored(syscall.SIGHUP) {
		return func() {}
	}
	hup, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hup, syscall.SIGHUP)
	go func() {
		select {
		case <-hup:
		case <-done:
			return
		}
		select {
		case <-done:
		case <-time.After(2 * time.Second):
			_ = end()
			os.Exit(128 + int(syscall.SIGHUP))
		}
	}()
	return func() { close(done) }
}

func (f *runFlags) screenOptions(s *session.Session, notices <-chan string) (tui.Options, error) {
	keys, err := tui.NewKeymap(f.keys)
	if err != nil {
		return tui.Options{}, err
	}
	o := tui.Options{
		Look: tui.LookOf(os.Getenv), Keys: keys, Home: os.Getenv("HOME"), Enforced: f.enforced,
		Plain: f.plain || os.Getenv("TERM") == "dumb", Notices: notices,
	}
	if o.Plain {
		tty, err := approval.OpenTTY()
		if err != nil {
			return tui.Options{}, err
		}
		o.Ask = tty
	}
	return o, nil
}
