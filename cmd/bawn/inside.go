//go:build linux || darwin

package main

import (
	"context"
	"fmt"
	"os"

	"bawn/internal/approval"
	"bawn/internal/config"
	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
	"bawn/internal/shell/plain"
)

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
	// What is to be learned is tried, whatever its text says.
	facts := f.commandFacts(s.config, d.policy, canAsk, d.hosts != nil || f.learn != nil)
	if f.stage { // outside the sandbox nothing would be staged
		facts.Exceptions = plain.Exceptions{}
	}
	d.out, d.program = f.decide(facts)
	return d, nil
}

// inside is how a command runs in the sandbox of this system.
type inside struct {
	stdio   sandbox.Stdio
	tty     bool
	backend func(gate func() error) sandbox.Backend // the command starts only if gate says so
	way     func(*session.Egress)                   // what the backend asks of the egress
}

// gated asks gate before it makes anything.
type gated struct {
	sandbox.Backend
	gate func() error
}

func (g gated) Start(spec sandbox.Spec, stdio sandbox.Stdio) (sandbox.Process, error) {
	if err := g.gate(); err != nil {
		return nil, err
	}
	return g.Backend.Start(spec, stdio)
}

// runInside runs a command that is decided about, unless it was refused.
func (f *runFlags) runInside(s *settings, d *decided, args []string, in inside) int {
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
		in.way(way)
	}
	if !f.quiet {
		s.notices(f.notice, append(p.Warnings(), host.Warnings...))
		if out.Stays.ID != "" {
			warn("in the sandbox: %s", out.Stays.Text)
		}
	}
	st, err := f.beginStage(p, host)
	if err != nil {
		return fail(err)
	}
	if f.log != nil && way != nil {
		way.Record = f.log.connection
	}
	if f.learn != nil && way != nil {
		way.Record = f.learn.watch(way.Record)
	}
	defer st.close()
	gate := func() error { return f.log.start(f.command, p, "sandbox") }
	res, err := session.Run(context.Background(), session.Options{
		Policy: p, Host: host,
		Command:    sandbox.Command{Args: args, Environ: commandEnv(f), Dir: f.dir, TTY: in.tty, Exchange: f.exchange, Staged: st.layers()},
		Backend:    in.backend(gate),
		Egress:     way,
		Named:      f.log.named,
		Seen:       f.log.saw,
		Ask:        d.hosts,
		Save:       func(rule string) error { return config.SaveAllowed(config.UserDir(os.Environ(), ""), rule) },
		Stdio:      in.stdio,
		Foreground: true,
		Ended:      f.log.end,
	})
	if err != nil {
		return fail(st.abandon(err))
	}
	st.end(f, res.Code)
	f.tell(res, denialsOf(res), &res.Code)
	printUnheld(res)
	if !f.quiet {
		tellLost(res.Lost)
	}
	if !f.quiet && res.Code != 0 {
		printDenials(res)
		for _, line := range session.UnreachedLines(res.Unreached) {
			warn("%s", line)
		}
	}
	if !f.quiet && (res.Code != 0 || session.IsTerminal(os.Stderr)) {
		dir, _ := os.Getwd()
		if line := session.WatchedLine(res.Watched, dir); line != "" {
			warn("%s", line)
		}
	}
	if res.Reason != "" {
		warn("%s%s", res.Reason, notFoundHint(f, args[0], res.Code))
		return res.Code
	}
	if f.learn != nil {
		if err := f.learned(args, res); err != nil {
			return fail(fmt.Errorf("learn: %w", err))
		}
	}
	return res.Code
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
