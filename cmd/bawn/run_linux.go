package main

import (
	"context"
	"os"

	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux"
	"bawn/internal/sandbox/linux/guard"
	"bawn/internal/sandbox/linux/stage"
	"bawn/internal/session"
)

func checkLauncher(v string) error {
	_, err := linux.ParseLauncher(v)
	return err
}

func unavailableHint() string { return linux.Hint() }

func runSandboxed(f *runFlags, args []string) int {
	launcher, err := linux.ParseLauncher(f.launcher)
	if err != nil {
		return usageError("run", err)
	}
	stage.Prefault(640 << 10)
	// Nothing of the caller's but the three streams reaches the sandbox.
	if err := linux.CloseInherited(); err != nil {
		return fail(err)
	}
	stdio := sandbox.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	tty := session.OneTerminal(stdio)
	if stdio, err = session.Streams(stdio, tty, true); err != nil {
		return fail(err)
	}
	var early *linux.Early
	if launcher != linux.Bwrap && !f.allowWeaker {
		early = linux.Prepare(tty, stdio)
		defer early.Close()
	}
	f.req.Guard = !f.noGuard && !f.allowWeaker
	if f.req.Guard {
		if err := guard.Supported(); err != nil {
			f.req.Guard = false
			warn("%v: names that do not exist yet are not held", err)
		}
	}
	p, host, err := f.policy()
	if err != nil {
		return fail(err)
	}
	way, err := f.egress()
	if err != nil {
		return fail(err)
	}
	way.ProxyOnly = launcher == linux.Bwrap
	if !f.quiet {
		for _, w := range append(p.Warnings(), host.Warnings...) {
			warn("%s", w)
		}
	}
	res, err := session.Run(context.Background(), session.Options{
		Policy: p, Host: host,
		Command:    sandbox.Command{Args: args, Environ: commandEnv(f), TTY: tty},
		Backend:    backend(f, launcher, early),
		Egress:     way,
		Stdio:      stdio,
		Foreground: true,
	})
	if err != nil {
		return fail(err)
	}
	if !f.quiet && res.Code != 0 {
		printDenials(res)
	}
	if !f.quiet && (res.Code != 0 || session.IsTerminal(os.Stderr)) {
		printWatched(res)
	}
	if res.Reason != "" {
		warn("%s%s", res.Reason, notFoundHint(f, args[0], res.Code))
	}
	return res.Code
}

// egress is the run's way to the network. The host's own environment says
// whether another proxy lies on it.
func (f *runFlags) egress() (*session.Egress, error) {
	up, err := egress.UpstreamFromEnv(os.Getenv)
	if err != nil {
		return nil, &policy.RefusedError{What: "the host's proxy setting", Why: err.Error(), Lift: "mend the variable, or unset it"}
	}
	e := &session.Egress{Upstream: up, Publish: f.publish}
	if !f.quiet {
		e.Notice = func(line string) { warn("%s", line) }
	}
	return e, nil
}

// backend is the boundary that was asked for; --allow-weaker adds what to do
// where none can be made.
func backend(f *runFlags, launcher linux.Launcher, early *linux.Early) sandbox.Backend {
	if !f.allowWeaker {
		return linux.Backend{Launcher: launcher, Early: early}
	}
	b := linux.Fallback{Launcher: launcher}
	if !f.quiet {
		b.Notice = func(line string) { warn("%s", line) }
	}
	return b
}
