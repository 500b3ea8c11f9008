package main

import (
	"errors"
	"sync"

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

func runSandboxed(f *runFlags, s *settings, args []string) int {
	if err := linux.CheckLimits(); err != nil {
		return fail(err)
	}
	launcher, err := linux.ParseLauncher(s.config.Launcher())
	if err != nil {
		return fail(err)
	}
	stdio := standardStreams()
	tty := session.OneTerminal(stdio)
	decide := sync.OnceValues(func() (*decided, error) { return f.decideRun(s, stdio, tty) })
	if x := s.config.Exceptions(); len(x.Exclude)+len(x.Hatches) > 0 && !f.stage {
		// What leaves does so before anything is prepared for a sandbox: it keeps
		// all that bawn was started with.
		d, err := decide()
		if err != nil {
			return fail(err)
		}
		if d.program != nil {
			defer d.program.close()
			return f.runOutside(d.asker, d.out, d.program, d.policy)
		}
	}
	// Nothing of the caller's but the three streams reaches the sandbox.
	if err := linux.CloseInherited(); err != nil {
		return fail(err)
	}
	if stdio, err = session.Streams(stdio, tty, true); err != nil {
		return fail(err)
	}
	var early *linux.Early
	if launcher != linux.Bwrap && !f.allowWeaker {
		early = linux.Prepare(tty, stdio, len(s.config.Folders()), f.stage || s.config.Caches() == policy.PrivateCaches)
		defer early.Close()
	}
	stage.Prefault(640 << 10)
	d, err := decide()
	if err != nil {
		return fail(err)
	}
	start := func(gate func() error) sandbox.Backend { return backend(f, launcher, early, gate) }
	return f.runInside(s, d, args, inside{stdio, tty, start, func(e *session.Egress) { e.ProxyOnly = launcher == linux.Bwrap }})
}

// bwrapArgs are bubblewrap's arguments for a run under the policy.
func bwrapArgs(p policy.Policy, host sandbox.Host, env []string) ([]string, error) {
	if !p.Sandboxed() {
		return nil, errors.New("the open tier has no sandbox")
	}
	spec := sandbox.Plan(p, host, sandbox.Command{Environ: env, Net: sandbox.Network{Proxy: true}})
	return linux.ShownBwrapArgs(spec), nil
}

func guardWorks() bool { return guard.Supported() == nil }

// canGuard reports whether names that do not exist yet can be held. Where
// the configuration wants that and the kernel cannot, it is said.
func canGuard(f *runFlags, s *settings) bool {
	if !s.config.Guard() {
		return false
	}
	err := guard.Supported()
	if err == nil && f.allowWeaker {
		err = linux.WeakerGuard()
	}
	if err != nil {
		warn("%v: names that do not exist yet are not held, those that appear are told at the end", err)
		return false
	}
	return true
}

// backend is the boundary that was asked for, where a command starts only if
// gate says so; --allow-weaker adds what to do
// where none can be made.
func backend(f *runFlags, launcher linux.Launcher, early *linux.Early, gate func() error) sandbox.Backend {
	if !f.allowWeaker {
		return linux.Backend{Launcher: launcher, Early: early, Gate: gate}
	}
	b := linux.Fallback{Launcher: launcher}
	if !f.quiet {
		b.Notice = func(line string) { warn("%s", line) }
	}
	if gate == nil {
		return b
	}
	return gated{b, gate}
}
