//go:build unix

package session

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"bawn/internal/approval"
	"bawn/internal/egress"
	"bawn/internal/hostname"
	"bawn/internal/policy"
)

// maxConnections bounds the decisions that a session remembers.
const maxConnections = 4096

// connections are the latest decisions about the network: a ring.
type connections struct {
	list  []Connection
	first int // of the ring, once it is full
	last  int // the highest ID
	open  map[flow]int
}

// flow names what was decided and has not ended.
type flow struct {
	peer  netip.AddrPort
	start time.Time
	to    policy.Connect
}

func flowOf(e egress.Event) flow { return flow{e.Peer, e.Start, e.Connect} }

// add notes an event: a decision, or the end of one that was noted.
func (c *connections) add(e egress.Event) {
	if e.End {
		f := flowOf(e)
		id, ok := c.open[f]
		delete(c.open, f)
		if i := id - (c.last - len(c.list) + 1); ok && i >= 0 {
			one := &c.list[(c.first+i)%len(c.list)]
			one.Ended, one.Duration, one.Up, one.Down, one.Err = true, e.Duration, e.Up, e.Down, e.Err
		}
		return
	}
	c.last++
	one := Connection{
		ID: c.last, Time: e.Start, Host: e.Connect.Host.String(), Port: e.Connect.Port, Via: e.Via.String(), Decision: e.Decision,
		Task: e.Task, PID: e.PID, Command: e.Command, Ended: e.Complete(), Err: e.Err,
	}
	if len(c.list) < maxConnections {
		c.list = append(c.list, one)
	} else {
		c.list[c.first] = one
		c.first = (c.first + 1) % maxConnections
	}
	if !one.Ended {
		if c.open == nil {
			c.open = map[flow]int{}
		}
		c.open[flowOf(e)] = one.ID
	}
}

// all returns them, oldest first.
func (c *connections) all() []Connection {
	return append(append(make([]Connection, 0, len(c.list)), c.list[c.first:]...), c.list[:c.first]...)
}

// record is told of every event of every egress.
func (s *Session) record(e egress.Event) (err error) {
	err = s.recordOf(e.Task).Connection(e)
	if err != nil && e.Decision.Verdict == policy.Allow {
		e.Decision = egress.Unrecorded(err)
	}
	s.mu.Lock()
	s.connections.add(e)
	if !e.End && e.Decision.Verdict == policy.Allow {
		s.allowed++
	}
	s.mu.Unlock()
	if isDenial(e) {
		s.deny(e.Task, denialOf(e))
	}
	if e.End {
		s.missed(e)
	}
	s.watchers.tell()
	return err
}

// missed notes how an allowed request of a command ended. One whose client gave
// up may end after its command.
func (s *Session) missed(e egress.Event) {
	s.mu.Lock()
	t := s.task(e.Task)
	s.mu.Unlock()
	if t == nil {
		return
	}
	t.missed.end(e)
	if over, code := s.over(t); over && code != 0 && t.client == nil {
		t.reportUnreached()
	}
}

// deny notes a refusal of whatever kind.
func (s *Session) deny(task int, d Denial) {
	d.Count = max(d.Count, 1)
	s.denied.add(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denials += d.Count
	if t := s.task(task); t != nil {
		t.info.Denied += d.Count
		t.denied.add(d)
	}
}

// denyMore counts what was refused to a task and cannot be named.
func (s *Session) denyMore(task, n int) {
	s.denied.addMore(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denials += n
	if t := s.task(task); t != nil {
		t.info.Denied += n
		t.denied.addMore(n)
	}
}

// Connections are the latest decisions about the network, oldest first.
func (s *Session) Connections() []Connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections.all()
}

// Denials are what was refused, each once.
func (s *Session) Denials() []Denial {
	list, _ := s.denied.list()
	return list
}

// AllowHost adds a rule about a host, for the session or, with Always, in the
// user's settings as well. It is at most what a question could allow.
func (s *Session) AllowHost(rule string, scope approval.Scope) error {
	r, err := s.hostRule(rule, scope)
	if err != nil {
		return err
	}
	if s.ask == nil {
		return s.fixed()
	}
	if err := s.mayAllow(r); err != nil {
		return err
	}
	if scope == approval.Always {
		if s.setup.SaveAllowed == nil {
			return errors.New("saving the answer: no folder for your settings is known")
		}
		if err := s.setup.SaveAllowed(r.String()); err != nil {
			return err
		}
	}
	s.ask.allow(r)
	s.ask.rouse()
	s.watchers.tell()
	return nil
}

// DenyHost is the other way round. It holds for new connections at once.
func (s *Session) DenyHost(rule string, scope approval.Scope) error {
	r, err := s.hostRule(rule, scope)
	if err != nil {
		return err
	}
	if s.ask == nil {
		return s.fixed()
	}
	s.ask.deny(r)
	s.watchers.tell()
	if scope != approval.Always {
		return nil
	}
	if s.setup.SaveDenied == nil {
		return fmt.Errorf("%s is denied in this session only: no folder for your settings is known", r)
	}
	return s.setup.SaveDenied(r.String())
}

func (s *Session) fixed() error {
	return &policy.RefusedError{
		What: "a rule about a host", Why: "--sandbox " + s.setup.Mode.String() + " fixes what this session allows", Lift: "start one without --sandbox",
	}
}

// hostRule reads a rule that an answer could make: one host, with what is
// below it, at one port or all.
func (s *Session) hostRule(text string, scope approval.Scope) (policy.HostRule, error) {
	if scope != approval.Session && scope != approval.Always {
		return policy.HostRule{}, fmt.Errorf("a rule about a host holds for the session or always, not %s", scope)
	}
	r, err := hostname.ParseAllowed(text, policy.Origin{File: "an answer in this session"})
	if err != nil {
		return policy.HostRule{}, err
	}
	if r.Wide() {
		return policy.HostRule{}, &policy.RefusedError{
			What: fmt.Sprintf("host rule %q", text), Why: "an answer is about one host", Lift: "write the rule into config.toml",
		}
	}
	return r, nil
}

// mayAllow refuses what no question could have allowed: what a rule denies,
// and internal addresses.
func (s *Session) mayAllow(r policy.HostRule) error {
	p, _, err := s.setup.Settle(policy.Guarded, Command{})
	if err != nil {
		return err
	}
	if !p.HasNetwork() {
		return &policy.RefusedError{What: fmt.Sprintf("host rule %q", r), Why: p.NoNetwork().Text, Lift: p.NoNetwork().Lift}
	}
	if d := p.Network().Decide(policy.Connect{Host: r.Host(), Port: cmp.Or(r.Port(), 443)}); d.Verdict == policy.Deny {
		return &policy.RefusedError{What: fmt.Sprintf("host rule %q", r), Why: d.Rule.Text, Lift: d.Rule.Lift}
	}
	return nil
}

// Connects is what a command that connects now meets: the policy's decision, and
// where that is to ask, what a person said in this session.
func (s *Session) Connects(p policy.Policy, c policy.Connect) policy.Decision {
	d := s.answered(p).Decide(c)
	if s.ask == nil || d.Verdict != policy.Ask {
		return d
	}
	s.ask.mu.Lock()
	defer s.ask.mu.Unlock()
	if said, known := s.ask.known(subject{kind: AboutHost, connect: c}, d); known {
		return said
	}
	return d
}

// answered is p with the rules that a person gave in this session.
func (s *Session) answered(p policy.Policy) policy.Policy {
	if s.ask == nil {
		return p
	}
	with, err := p.WithHosts(s.ask.rules())
	if err != nil {
		return p // each was checked when it was given
	}
	return with
}
