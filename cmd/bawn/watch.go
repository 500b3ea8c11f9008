package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
	"bawn/internal/watch"
)

// watchSpecs are the flags of a run, without what is about its network, which it
// has not, and about a single run.
func (f *runFlags) watchSpecs() []flagSpec {
	return flagsBut(f.specs(), "--allow-domain", "--deny-domain", "--allow-private", "--allow-local-port", "--publish", "--no-egress", "--stage")
}

// watchCommand runs a command again whenever files of the workspace change,
// each time as `bawn run --no-egress` would (SPEC N9). What changes while it
// runs does not start it again: most of that is its own doing.
func watchCommand(args []string) int {
	f := new(runFlags)
	rest, err := parseFlags(args, f.watchSpecs())
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"watch"})
	case err != nil:
		return usageError("watch", err)
	case len(rest) == 0 && !f.hasShell:
		return usageError("watch", errors.New("no command given: bawn watch [flags] -- CMD [ARG…]"))
	}
	root, err := sandbox.Workspace(f.workspace)
	if err != nil {
		return fail(err)
	}
	w, err := watch.New(root)
	if err != nil {
		return fail(err)
	}
	defer w.Close()
	flags := flagWords(args, rest)
	var extra []*os.File
	if f.report != nil && f.report.fd != nil { // the number is this process's
		flags, extra = append(withoutFlag(flags, f.specs(), "--report"), "--report", "fd:3"), []*os.File{f.report.fd}
	}
	without := []string{"--no-egress", "--"}
	if s, err := f.load(); err == nil && s.tier() == policy.Open { // an error the run says itself
		f.notice("watch: the open tier has no sandbox: the command has the network that you have")
		without = []string{"--tier", "open", "--"}
	}
	run := slices.Concat([]string{"run"}, flags, without, rest)
	return watchLoop(w, f, root, run, extra)
}

func watchLoop(w *watch.Watcher, f *runFlags, root string, run []string, extra []*os.File) int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	say := func(format string, a ...any) {
		if !f.quiet {
			warn("watch: "+format, a...)
		}
	}
	for first := true; ; first = false {
		start := time.Now()
		code, stop, err := watchOnce(run, extra, signals)
		switch {
		case err != nil:
			return fail(err)
		case stop != nil:
			return signalled(stop)
		case code == exitRefused && first:
			return code // why has been said; a later change of the settings is for the person to mend
		}
		drain(w.Changes())
		say("exit %d after %s; waiting for changes in %s (Ctrl-C ends)", code, shortTime(time.Since(start)), root)
		select {
		case path, ok := <-w.Changes():
			if !ok {
				return fail(w.Err())
			}
			say("%s changed", path)
		case s := <-signals:
			return signalled(s)
		}
	}
}

// watchOnce runs the command, which has the extra files from descriptor 3 on; the
// terminal is as before then. stop is a signal that ended this process's wish to go
// on; the command has had it too.
func watchOnce(run []string, extra []*os.File, signals <-chan os.Signal) (code int, stop os.Signal, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, nil, err
	}
	cmd := exec.Command(self, run...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdin, os.Stdout, os.Stderr, extra
	term := os.Getenv("TERM")
	defer session.HoldTerminal(os.Stdout, term != "" && term != "dumb")()
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("run the command: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			stop = s
			_ = cmd.Process.Signal(s) // typed at a terminal it came there by itself, and again does no harm
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, nil, err
			}
			if code = cmd.ProcessState.ExitCode(); code < 0 {
				code = exitRefused // bawn itself was killed
			}
			return code, stop, nil
		}
	}
}

func drain(c <-chan string) {
	select {
	case <-c:
	default:
	}
}

func signalled(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return exitRefused
}

// shortTime is a duration as a person reads it.
func shortTime(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
