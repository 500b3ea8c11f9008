package main

import (
	"context"
	"errors"
	"os"
	"sync"

	"bawn/internal/approval"
	"bawn/internal/config"
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
	if x := s.config.Exceptions(); len(x.Exclude)+len(x.Hatches) > 0 {
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
		early = linux.Prepare(tty, stdio, len(s.config.Folders()), s.config.Caches() == policy.PrivateCaches)
		defer early.Close()
	}
	stage.Prefault(640 << 10)
	d, err := decide()
	if err != nil {
		return fail(err)
	}
	p, host, out := d.policy, d.host, d.out
	if err := f.report.check(p); err != nil {
		return fail(err)
	}
	if out.Place != session.Inside {
		return f.refused(out.Decision)
	}
	if code, ok := f.consented(d.asker, out, p); !ok {
		return code
	}
	way, err := f.egress(s)
	if err != nil {
		return fail(err)
	}
	if way != nil {
		way.ProxyOnly = launcher == linux.Bwrap
	}
	if !f.quiet {
		s.notices(append(p.Warnings(), host.Warnings...))
		if out.Stays.ID != "" {
			warn("in the sandbox: %s", out.Stays.Text)
		}
	}
	if f.log != nil {
		if err := f.log.start(f.command, p, "sandbox"); err != nil {
			return fail(err)
		}
		if way != nil {
			way.Record = f.log.connection
		}
	}
	res, err := session.Run(context.Background(), session.Options{
		Policy: p, Host: host,
		Command:    sandbox.Command{Args: args, Environ: commandEnv(f), Dir: f.dir, TTY: tty, Exchange: f.exchange},
		Backend:    backend(f, launcher, early),
		Egress:     way,
		Named:      f.log.named,
		Ask:        d.hosts,
		Save:       func(rule string) error { return config.SaveAllowed(config.UserDir(os.Environ(), ""), rule) },
		Stdio:      stdio,
		Foreground: true,
	})
	f.log.end(res, err)
	if err != nil {
		return fail(err)
	}
	f.tell(res, denialsOf(res), &res.Code)
	printUnheld(res)
	if !f.quiet {
		tellLost(res.Lost)
	}
	if !f.quiet && res.Code != 0 {
		printDenials(res)
		printUnreached(res)
	}
	if !f.quiet && (res.Code != 0 || session.IsTerminal(os.Stderr)) {
		printWatched(res)
	}
	if res.Reason != "" {
		warn("%s%s", res.Reason, notFoundHint(f, args[0], res.Code))
	}
	return res.Code
}

// decided is what becomes of one run, and what it was decided by.
type decided struct {
	policy  policy.Policy
	host    sandbox.Host
	asker   approval.Asker
	hosts   approval.Asker // who answers about hosts while it runs; nil is nobody
	out     session.Outcome
	program *program // of a command that runs outside
}

func (f *runFlags) decideRun(s *settings, stdio sandbox.Stdio, tty bool) (*decided, error) {
	d := new(decided)
	var err error
	if d.policy, d.host, err = s.settle(canGuard(f, s)); err != nil {
		return nil, err
	}
	var canAsk bool
	if d.asker, canAsk = f.asker(); canAsk && session.CanAsk(stdio, tty) {
		d.hosts = d.asker
	}
	d.out, d.program = f.decide(f.commandFacts(s.config, d.policy, canAsk, d.hosts != nil))
	return d, nil
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
	if !s.config.Guard() || f.allowWeaker {
		return false
	}
	if err := guard.Supported(); err != nil {
		warn("%v: names that do not exist yet are not held, those that appear are told at the end", err)
		return false
	}
	return true
}

// egress is the run's way to the network. The host's own environment, or the
// user's settings, say whether another proxy lies on it.
func (f *runFlags) egress(s *settings) (*session.Egress, error) {
	if f.noEgress {
		if len(f.publish) > 0 {
			return nil, &policy.RefusedError{What: "--publish", Why: "with --no-egress the command has no network", Lift: "leave out one of them"}
		}
		return nil, nil
	}
	e := &session.Egress{Publish: f.publish}
	if !f.quiet {
		e.Notice = func(line string) { warn("%s", line) }
	}
	var err error
	switch _, how, url := s.config.Egress(); how {
	case config.UpstreamEnv:
		e.Upstream, err = egress.UpstreamFromEnv(os.Getenv)
	case config.UpstreamURL:
		e.Upstream, err = egress.UpstreamAt(url, s.config.Items("sandbox.proxy.upstream")[0].Origin.String())
	}
	if err != nil {
		return nil, &policy.RefusedError{What: "the host's proxy setting", Why: err.Error(), Lift: "mend it, or unset it"}
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
