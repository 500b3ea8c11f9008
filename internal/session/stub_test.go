//go:build unix

package session

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// stub is a backend whose sandboxes do what a test says.
type stub struct {
	mu      sync.Mutex
	started []*stubProcess
	specs   []sandbox.Spec
	fail    error
}

type stubProcess struct {
	events chan sandbox.Event
	dead   chan struct{}
	kill   sync.Once
	mu     sync.Mutex
	sent   []int
	acks   int
}

func (b *stub) Start(spec sandbox.Spec, _ sandbox.Stdio) (sandbox.Process, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return nil, b.fail
	}
	p := &stubProcess{events: make(chan sandbox.Event, 16), dead: make(chan struct{})}
	p.events <- sandbox.Event{Kind: sandbox.EventStarted}
	b.started, b.specs = append(b.started, p), append(b.specs, spec)
	return p, nil
}

func (p *stubProcess) Next() (sandbox.Event, error) {
	select {
	case ev := <-p.events:
		return ev, nil
	case <-p.dead:
		return sandbox.Event{}, errors.New("killed")
	}
}

func (p *stubProcess) Signal(n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, n)
	return nil
}

func (p *stubProcess) Connect(uint16) error { return nil }

func (p *stubProcess) Owner(netip.AddrPort) (int, string) { return 77, "curl" }

func (p *stubProcess) Ack() error { p.acks++; return nil }

func (p *stubProcess) Kill() { p.kill.Do(func() { close(p.dead) }) }

func (p *stubProcess) Wait() {}

func (p *stubProcess) Close() error { return nil }

func (p *stubProcess) exit(code int) {
	p.events <- sandbox.Event{Kind: sandbox.EventExited, Code: code}
}

func (b *stub) process(i int) *stubProcess {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.started[i]
}

// testSetup is a session over a stub in a temporary workspace.
func testSetup(t testing.TB, b sandbox.Backend) Setup {
	t.Helper()
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return Setup{
		Workspace: ws, Trusted: true, Tier: policy.Guarded, Environ: []string{"PATH=/usr/bin:/bin"}, Backend: b, Folder: t.TempDir(),
		Settle: func(tier policy.Tier, _ Command) (policy.Policy, sandbox.Host, error) {
			p, err := policy.New(policy.Config{Tier: tier, Workspace: ws, Network: policy.NetworkConfig{NoDefaults: true, Allow: []policy.HostRule{rule(t, "listed.test")}, Deny: []policy.HostRule{rule(t, "evil.test")}}})
			return p, sandbox.Host{}, err
		},
		Decide: decideByName,
		Shell:  func(text string) []string { return []string{"/bin/sh", "-c", text} },
	}
}

func rule(t testing.TB, s string) policy.HostRule {
	t.Helper()
	r, err := policy.ParseHostRule(s, policy.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func open(t testing.TB, setup Setup) *Session {
	t.Helper()
	s, err := New(setup)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// await reads the state until it is as wanted.
func await(t testing.TB, s *Session, what string, ok func(State) bool) State {
	t.Helper()
	tokens, stop := s.Changes()
	defer stop()
	limit := time.After(time.Minute)
	for {
		if st := s.State(); ok(st) {
			return st
		}
		select {
		case <-tokens:
		case <-limit:
			t.Fatalf("%s: not in time: %+v", what, s.State())
		}
	}
}

func typed(t testing.TB, s *Session, text string) int {
	t.Helper()
	id, err := s.Start(Start{Text: text, Kind: Background})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func running(n int) func(State) bool {
	return func(st State) bool {
		k := 0
		for _, t := range st.Tasks {
			if t.Ended.IsZero() {
				k++
			}
		}
		return k == n
	}
}

func (b *stub) awaitStarts(t testing.TB, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		k := len(b.started)
		b.mu.Unlock()
		if k >= n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d commands started", k, n)
		}
	}
}

func tierOf(s sandbox.Spec) string {
	for _, e := range s.Env {
		if v, ok := strings.CutPrefix(e, "BAWN_TIER="); ok {
			return v
		}
	}
	return ""
}

// stubKeeper counts what it is asked for.
type stubKeeper struct {
	stub
	mu       sync.Mutex
	networks int
	done     chan struct{}
	closed   bool
}

type stubShared struct{ *stubKeeper }

func (k *stubKeeper) Network(sandbox.Network) (sandbox.Shared, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.networks++
	return stubShared{k}, nil
}

func (k *stubKeeper) Stage([]sandbox.Mount) (sandbox.Layers, error) {
	return nil, errors.New("nothing to lay over")
}

func (stubShared) Close() {}

func (k *stubKeeper) Done() <-chan struct{} { return k.done }

func (k *stubKeeper) Close() error { k.closed = true; return nil }

func (stubShared) Sockets() *sandbox.Sockets { return &sandbox.Sockets{} }

func (stubShared) Connect(uint16) (*os.File, error) { return nil, errors.New("nothing") }
