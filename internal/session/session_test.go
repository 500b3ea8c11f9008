//go:build unix

package session

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"bawn/internal/approval"
	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Stop is SIGTERM, then SIGKILL.
func TestStopTwice(t *testing.T) {
	b := &stub{}
	s := open(t, testSetup(t, b))
	id := typed(t, s, "x")
	b.awaitStarts(t, 1)
	for range 2 {
		if err := s.Stop(id); err != nil {
			t.Fatal(err)
		}
	}
	st := await(t, s, "the end", running(0))
	if p := b.process(0); !slices.Contains(p.sent, int(unix.SIGTERM)) || st.Tasks[0].Code != 128+int(unix.SIGKILL) {
		t.Errorf("sent %v, %+v", p.sent, st.Tasks[0])
	}
	if s.Stop(99) == nil {
		t.Error("there is a command 99")
	}
}

// The output of a background command is kept, its end if there is much, and
// leaves no name behind.
func TestOutputIsBounded(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if o, err := NewOutput(""); err == nil || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
		t.Errorf("without a folder: %v, %v", o, err)
	}
	o, err := NewOutput(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	line := []byte(strings.Repeat("x", 1<<20-1) + "\n")
	for i := range 20 {
		line[0] = byte('a' + i)
		if _, err := o.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	all, err := o.tail(1 << 30)
	if err != nil || len(all) != maxOutput || all[0] != 'a'+4 || all[15<<20] != 'a'+19 || o.Size() != 20<<20 {
		t.Errorf("%d bytes, %v", len(all), err)
	}
	st, err := o.f.Stat()
	if err != nil || st.Size() > maxOutput || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	for _, n := range []int{0, -1, 1, 1000} {
		if b, err := o.tail(n); err != nil || len(b) != max(n, 0) || n > 0 && b[len(b)-1] != '\n' {
			t.Errorf("%d: %d bytes, %v", n, len(b), err)
		}
	}
}

// The ring is what was written last, whatever was written before.
func TestOutputIsARing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var c connections
		n := rapid.IntRange(0, 3*maxConnections).Draw(rt, "n")
		end := rapid.IntRange(0, max(0, n-1)).Draw(rt, "end")
		for i := range n {
			c.add(egress.Event{Request: egress.Request{Connect: policy.Connect{Port: uint16(i)}}, Start: time.Unix(int64(i), 0), Decision: policy.Decision{Verdict: policy.Allow}})
		}
		if n > 0 {
			c.add(egress.Event{Request: egress.Request{Connect: policy.Connect{Port: uint16(end)}}, Start: time.Unix(int64(end), 0), Decision: policy.Decision{Verdict: policy.Allow}, End: true, Down: 9})
		}
		all := c.all()
		if len(all) != min(n, maxConnections) {
			rt.Fatalf("%d of %d", len(all), n)
		}
		for i, one := range all {
			want := n - len(all) + i
			if one.ID != want+1 || one.Port != uint16(want) || one.Ended != (want == end) || one.Ended && one.Down != 9 {
				rt.Fatalf("%d: %+v", want, one)
			}
		}
	})
}

// Whatever a person adds, a rule of the policy that denies stays, and nothing
// wider than a host with what is below it is added.
func TestRulesOfAPersonStayWithinBounds(t *testing.T) {
	s := open(t, testSetup(t, &stub{}))
	for _, bad := range []string{"*", "*.a.test", "com", "github.io", "evil.test", "x.evil.test", "127.0.0.1", "10.0.0.1:80", "169.254.169.254", "localhost", "a.test!", "", "a b", "http://a.test"} {
		for _, scope := range []approval.Scope{approval.Session, approval.Always} {
			if err := s.AllowHost(bad, scope); err == nil {
				t.Errorf("%q was allowed", bad)
			}
		}
	}
	for _, scope := range []approval.Scope{approval.No, approval.Once} {
		if s.AllowHost("a.test", scope) == nil || s.DenyHost("a.test", scope) == nil {
			t.Errorf("%v is a scope of a rule", scope)
		}
	}
	l, _ := asks(t, s)
	decide := func(at string) policy.Verdict {
		return l.net.decide(t.Context(), egress.Request{Connect: connect(t, at)}).Verdict
	}
	if err := s.DenyHost("listed.test", approval.Session); err != nil || decide("x.listed.test:443") != policy.Deny || s.Policy().Decide(connect(t, "listed.test:1")).Verdict != policy.Deny {
		t.Errorf("what a person denied goes on: %v", err)
	}
	if err := s.AllowHost("listed.test", approval.Session); err != nil || decide("x.listed.test:443") != policy.Allow {
		t.Errorf("the later word does not hold: %v", err)
	}
	if err := s.AllowHost("test", approval.Session); err == nil && decide("evil.test:443") == policy.Allow {
		t.Error("a wider answer overturned a denial")
	}
}

// N4: the commands of a tier share one network; without a keeper each has its
// own, and an egress that fails leaves them without one, which is said.
func TestN4_NetworksAreShared(t *testing.T) {
	k := &stubKeeper{done: make(chan struct{})}
	b := &stub{}
	setup := testSetup(t, b)
	keepers := 0
	setup.Keeper = func() (sandbox.Keeper, error) { keepers++; return k, nil }
	s := open(t, setup)
	for range 3 {
		typed(t, s, "x")
	}
	if _, err := s.Start(Start{Text: "y", Kind: Background, NoEgress: true}); err != nil {
		t.Fatal(err)
	}
	k.awaitStarts(t, 4)
	if _, err := s.SetTier(policy.Airlock); err != nil {
		t.Fatal(err)
	}
	typed(t, s, "z")
	k.awaitStarts(t, 5)
	if k.networks != 3 || keepers != 1 || len(b.started) != 0 {
		t.Errorf("%d networks by %d keepers, %d commands beside", k.networks, keepers, len(b.started))
	}
	setup.Keeper = func() (sandbox.Keeper, error) { return nil, &sandbox.Unavailable{Mechanism: "native"} }
	alone := open(t, setup)
	typed(t, alone, "x")
	b.awaitStarts(t, 1)
	if alone.State().NoNetwork != "" {
		t.Error("no network")
	}
}

// N9: an egress that cannot start is told, and the command runs without one.
func TestN9_EgressThatCannotStart(t *testing.T) {
	b := &stub{}
	setup := testSetup(t, b)
	var said []string
	var mu sync.Mutex
	setup.Notice = func(l string) { mu.Lock(); defer mu.Unlock(); said = append(said, l) }
	setup.Settle = func(tier policy.Tier, _ Command) (policy.Policy, sandbox.Host, error) {
		p, err := policy.New(policy.Config{Tier: tier, Workspace: setup.Workspace, Network: policy.NetworkConfig{LocalPorts: []uint16{53}}})
		return p, sandbox.Host{}, err
	}
	s := open(t, setup)
	typed(t, s, "x")
	b.awaitStarts(t, 1)
	if st := s.State(); !strings.Contains(st.NoNetwork, "local port 53") || b.specs[0].Net.Proxy {
		t.Errorf("%q, %+v", st.NoNetwork, b.specs[0].Net)
	}
	typed(t, s, "x")
	b.awaitStarts(t, 2)
	mu.Lock()
	defer mu.Unlock()
	if len(said) != 1 || !strings.HasPrefix(said[0], "no network: ") {
		t.Errorf("told %q", said)
	}
	// Who has a screen for the command is told there, before it starts, and may
	// take a while with it.
	s = open(t, setup)
	before := ""
	if _, err := s.Start(Start{Text: "x", Kind: Background, Notice: func(line string) {
		if _, err := s.SetTier(policy.Airlock); err != nil { // from a page, which holds up the notice
			t.Error(err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		before += fmt.Sprint(len(b.started), " ", line)
	}}); err != nil {
		t.Fatal(err)
	}
	b.awaitStarts(t, 3)
	if !strings.HasPrefix(before, "2 no network: ") || len(said) != 1 {
		t.Errorf("told %q, and %q", before, said)
	}
}

// After Close nothing starts, and what ran is dead.
func TestCloseEndsAll(t *testing.T) {
	b := &stub{}
	s, err := New(testSetup(t, b))
	if err != nil {
		t.Fatal(err)
	}
	typed(t, s, "x")
	b.awaitStarts(t, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.process(0).dead:
	default:
		t.Error("it lives")
	}
	if _, err := s.Start(Start{Text: "y", Kind: Background}); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}
