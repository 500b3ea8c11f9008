//go:build unix

package session

import (
	"errors"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// owned is a sandbox that counts how often its processes are looked through.
type owned struct {
	sandbox.Process
	asked int
}

func (p *owned) Owner(netip.AddrPort) (int, string) { p.asked++; return 42, "curl\n\x1b" }

// busy is a sandbox that notes how many look through its processes at once.
type busy struct {
	sandbox.Process
	now, most, done atomic.Int32
}

func (p *busy) Owner(netip.AddrPort) (int, string) {
	defer p.done.Add(1)
	now := p.now.Add(1)
	defer p.now.Add(-1)
	for {
		most := p.most.Load()
		if now <= most || p.most.CompareAndSwap(most, now) {
			break
		}
	}
	for range 1000 {
		runtime.Gosched()
	}
	return 42, "curl"
}

// Of a flood of connections few are looked for at a time, and all are found.
func TestLooksOfAFlood(t *testing.T) {
	p, n := &busy{}, &network{e: &Egress{}}
	n.enter(p, source{task: 5})
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if s := n.find(netip.MustParseAddrPort("127.0.0.1:4000")); s.pid != 42 || s.task != 5 {
				t.Errorf("found %+v", s)
			}
		})
	}
	all.Wait()
	if most, done := p.most.Load(), p.done.Load(); most > maxLooks || done != 200 {
		t.Errorf("%d at once, %d in all", most, done)
	}
}

func host(t *testing.T, name string) policy.Host {
	t.Helper()
	h, err := policy.ParseHost(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestEventsAndDenials(t *testing.T) {
	peer := netip.MustParseAddrPort("127.0.0.1:4000")
	event := func(name string, v policy.Verdict) egress.Event {
		return egress.Event{
			Request:  egress.Request{Connect: policy.Connect{Host: host(t, name), Port: 443}, Peer: peer},
			Decision: policy.Decision{Verdict: v, Rule: policy.Rule{ID: "r"}},
		}
	}
	var got []egress.Event
	var full error
	for _, recorded := range []bool{true, false} {
		p := &owned{}
		n := &network{e: &Egress{}}
		if recorded {
			n.e.Record = func(e egress.Event) error { got = append(got, e); return full }
		}
		n.enter(p, source{task: 5})
		say := func(e egress.Event) {
			if e.Task, e.PID, e.Command = n.who(e); !e.End {
				_ = n.record(e)
			}
		}
		for range 3 {
			say(event("allowed.test", policy.Allow))
			say(event("evil.test", policy.Deny))
		}
		end := event("allowed.test", policy.Allow)
		end.End, end.Down = true, 7
		_ = n.record(end)
		_ = n.record(egress.Event{Decision: policy.Decision{Rule: policy.Rule{ID: "request:malformed"}}})
		d, more := n.denied.list()
		if len(d) != 1 || more != 0 || d[0].String() != "evil.test:443" || d[0].Count != 3 || d[0].PID != 42 || d[0].Command != `curl\x0a\x1b` {
			t.Errorf("recorded %v: denials %+v, %d more", recorded, d, more)
		}
		if want := map[bool]int{true: 6, false: 1}[recorded]; p.asked != want {
			t.Errorf("recorded %v: looked for the client %d times, want %d", recorded, p.asked, want)
		}
	}
	full = errors.New("disk full") // what cannot be recorded is denied
	n := &network{e: &Egress{Record: func(egress.Event) error { return full }}}
	if err := n.record(event("allowed.test", policy.Allow)); err == nil {
		t.Error("what is not recorded passed")
	}
	if d, _ := n.denied.list(); len(d) != 1 || d[0].Rule.ID != "log:unwritten" || d[0].Host != "allowed.test" {
		t.Errorf("%+v", d)
	}
	if len(got) != 8 || got[0].PID != 42 || got[0].Decision.Verdict != policy.Allow || !got[6].End || got[6].Down != 7 {
		t.Errorf("%+v", got)
	}
}

// Names are refused before there is a connection: those are events too.
func TestDeniedNameIsAnEvent(t *testing.T) {
	var got []egress.Event
	n := &network{e: &Egress{Record: func(e egress.Event) error { got = append(got, e); return nil }}}
	rule, err := policy.ParseHostRule("allowed.test", policy.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if n.policy, err = policy.New(policy.Config{
		Tier: policy.Guarded, Workspace: t.TempDir(), Network: policy.NetworkConfig{NoDefaults: true, Allow: []policy.HostRule{rule}},
	}); err != nil {
		t.Fatal(err)
	}
	if d := n.name(t.Context(), host(t, "allowed.test")); d.Verdict != policy.Allow || len(got) != 0 {
		t.Errorf("%+v, %+v", d, got)
	}
	if d := n.name(t.Context(), host(t, "evil.test")); d.Verdict != policy.Deny || len(got) != 1 || !got[0].Complete() || got[0].Via != egress.ViaName {
		t.Errorf("%+v, %+v", d, got)
	}
}
