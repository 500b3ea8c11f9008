package main

import (
	"context"
	"os"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux"
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
	p, host, err := f.policy()
	if err != nil {
		return fail(err)
	}
	if !f.quiet {
		for _, w := range append(p.Warnings(), host.Warnings...) {
			warn("%s", w)
		}
		if session.IsTerminal(os.Stderr) && p.Tier() == policy.Guarded {
			warn("guarded: no network but loopback (allowed hosts need the egress, which this version does not have)")
		}
	}
	res, err := session.Run(context.Background(), session.Options{
		Policy: p, Host: host,
		Command:    sandbox.Command{Args: args, Environ: commandEnv(f), TTY: tty},
		Backend:    backend(f, launcher, early),
		Stdio:      stdio,
		Foreground: true,
	})
	if err != nil {
		return fail(err)
	}
	if res.Reason != "" {
		warn("%s%s", res.Reason, notFoundHint(f, args[0], res.Code))
	}
	return res.Code
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
