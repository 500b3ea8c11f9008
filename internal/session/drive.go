//go:build unix

package session

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/shell/plain"
)

// run does all of it. A reason says why the command did not run.
func (t *task) run(tier policy.Tier, who Asking) (code int, reason string) {
	s := t.s
	if len(t.start.Keep) > 0 {
		return t.keep()
	}
	s.mu.Lock()
	t.rec = s.recorder()
	s.mu.Unlock()
	c := t.command()
	c.Environ = t.asking()
	p, host, err := s.setup.Settle(tier, c)
	if err != nil {
		return 125, err.Error()
	}
	words := t.start.Args
	if t.start.Text != "" {
		words = append(s.setup.Shell(t.start.Text), words...)
	}
	spec := sandbox.Command{Args: words, Environ: t.environ(), Dir: t.info.Dir, TTY: t.tty()}
	if t.start.outside { // as a person just said of this one
		if reason := t.decided(policy.Decision{Verdict: policy.Allow, Rule: policy.Rule{ID: "answer:once", Text: "a person said to run it outside"}}); reason != "" {
			return 125, reason
		}
		if reason := t.begins(p, "outside"); reason != "" {
			return 125, reason
		}
		return t.runHost(spec, "")
	}
	who.Policy, t.policy = p, p
	out := s.setup.Decide(t.command(), who)
	if out.Place == Nowhere {
		return 125, t.decided(out.Decision)
	}
	if out.Stays.ID != "" {
		t.warn("in the sandbox: " + out.Stays.Text)
	}
	if out.Decision.Verdict == policy.Ask && !(t.start.Web && s.webAllowed.Load()) {
		prompt := Consent(t.command(), out, t.info.Dir)
		if t.start.Web {
			prompt = webConsent(t.command(), out)
		}
		if d := s.ask.consent(t.ctx, AboutCommand, t.source(), prompt); t.decided(d) != "" {
			return 125, said(d)
		}
		if t.start.Web {
			s.webAllowed.Store(true)
		}
	}
	if t.start.Web {
		if p, err = p.WithPublicHosts(); err != nil {
			return 125, err.Error()
		}
		t.policy = p
	}
	switch {
	case out.Place == Outside:
		path, release, err := s.setup.Program(out.Program, p)
		if err != nil {
			return 125, fmt.Sprintf("%q would run outside the sandbox, but %v", out.Program.Program, err)
		}
		defer release()
		spec.Args = out.Program.Args
		if reason := t.decided(policy.Decision{Verdict: policy.Allow, Rule: out.Decision.Rule}); reason != "" {
			return 125, reason
		}
		if reason := t.begins(p, "outside"); reason != "" {
			return 125, reason
		}
		return t.runHost(spec, path)
	case !p.Sandboxed():
		if reason := t.begins(p, "open"); reason != "" {
			return 125, reason
		}
		if t.start.NoEgress {
			t.warn("the open tier has no sandbox: with the ! too " + t.info.Command + " has the network")
		}
		return t.runHost(spec, "")
	}
	if reason := t.begins(p, "sandbox"); reason != "" {
		return 125, reason
	}
	if t.staged != nil {
		if err := t.staged.Admit(p, host); err != nil {
			return 125, err.Error()
		}
		spec.Staged = t.staged.Layers()
		if t.client != nil && t.info.Kind == Attached {
			t.warn("what it writes is staged in the session " + s.id + ", and not in the workspace yet")
		}
	}
	lane, err := s.lanes.enter(p, t.start, t.staged)
	if err != nil {
		return 125, err.Error()
	}
	defer lane.close()
	lane.net.describe(&spec)
	defer t.siblings(p, &spec)()
	if t.start.Preset && s.setup.Agent != nil {
		s.setup.Agent(p, &spec)
	}
	held := newUnheld(sandbox.Unheld(p, host))
	plan := sandbox.Plan(p, host, spec)
	if lane.own {
		ownTemp(plan.Mounts)
	}
	code, reason = t.drive(lane.backend, lane.net, plan)
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
	path, shown, end, err := inner(Sibling{Tier: t.info.Tier, NoEgress: t.start.NoEgress, Asking: t.asking()})
	if err != nil {
		t.warn("bawn run inside this command will refuse: " + err.Error())
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

// asking is Client.Asking, if there is a client.
func (t *task) asking() []string {
	if t.client == nil {
		return nil
	}
	return t.client.Asking
}

func (t *task) tty() bool {
	if t.client != nil {
		return t.client.TTY
	}
	return t.start.Terminal != nil
}

// warn is notice before the command starts.
func (t *task) warn(line string) {
	if t.client == nil && t.start.Notice != nil {
		t.start.Notice(line)
		return
	}
	t.notice(line)
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
	entered := net.begin()
	p, err := b.Start(spec, stdio)
	if err == nil {
		t.p = p
		net.enter(p, t.source())
	}
	entered()
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
			t.exited(ev.Code)
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
		case sandbox.EventProcesses:
			t.rec.Seen(ev.Processes)
		case sandbox.EventCounts:
			t.counted(ev.Counts)
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
		t.client.Event(ev, Ended{})
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
	if !explain(t.policy, e) {
		return
	}
	t.rec.Named(*e)
	t.mu.Lock()
	t.names.add(e)
	t.mu.Unlock()
	if !e.Allowed {
		t.s.deny(t.info.ID, nameDenial(e))
		t.s.watchers.tell()
	}
}

// counted adds what the guard refused beyond what it told.
func (t *task) counted(c *sandbox.NameCounts) {
	t.mu.Lock()
	again := t.names.count(c)
	t.mu.Unlock()
	for _, d := range again {
		t.s.deny(t.info.ID, d)
	}
	t.s.denyMore(t.info.ID, c.More)
	t.s.watchers.tell()
}

// lose tells, once in a session, of a cache folder that is not there outside.
func (t *task) lose(folder string) {
	if !t.s.first("lost " + folder) {
		return
	}
	if t.policy.Files().Lookup(folder).IsPreset() {
		t.notice("the agent keeps its state in a folder that does not exist outside, and what it writes there is lost: start it once without bawn, or: " + plain.Quote([]string{"mkdir", "-p", folder}))
		return
	}
	t.notice("a cache folder that does not exist outside is kept for this command alone; to keep it from now on: " + plain.Quote([]string{"mkdir", "-p", folder}))
}
