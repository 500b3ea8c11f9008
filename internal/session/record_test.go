//go:build unix

package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// memory is a record in memory that refuses what fail names.
type memory struct {
	mu    sync.Mutex
	lines []string
	fail  string
}

func (m *memory) add(format string, a ...any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	line := fmt.Sprintf(format, a...)
	m.lines = append(m.lines, line)
	if m.fail != "" && strings.HasPrefix(line, m.fail) {
		return errors.New("the disk is full")
	}
	return nil
}

func (m *memory) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lines)
}

func (m *memory) Decided(c Command, d policy.Decision) error {
	return m.add("decided %s %s", c, d.Verdict)
}
func (m *memory) Start(c Command, _ policy.Policy, place string) error {
	return m.add("start %s %s", c, place)
}
func (m *memory) Connection(e egress.Event) error { return m.add("connection %s", e.Connect.Host) }
func (m *memory) Seen([]sandbox.Ancestor)         {}
func (m *memory) Named(e sandbox.NameEvent)       { _ = m.add("named %s", e.Path) }
func (m *memory) End(code int, reason string, denied int) {
	_ = m.add("end %d %q %d", code, reason, denied)
}

// A command of a session has a record of its own, from its decision to its end;
// one that cannot be recorded does not run.
func TestCommandsAreRecorded(t *testing.T) {
	b := new(stub)
	m := new(memory)
	setup := testSetup(t, b)
	setup.Recorder = func() Recorder { return m }
	s := open(t, setup)
	typed(t, s, "true")
	b.awaitStarts(t, 1)
	b.process(0).events <- denied("/etc/x")
	b.process(0).exit(3)
	await(t, s, "the end", running(0))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"start  session", "start true sandbox", "named /etc/x", `end 3 "" 1`, `end 0 "" 1`}
	if got := m.all(); !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}

	m = &memory{fail: "start true"}
	setup.Recorder = func() Recorder { return m }
	s = open(t, setup)
	id := typed(t, s, "true")
	st := await(t, s, "the end", running(0))
	if task := st.Tasks[id-1]; task.Code != 125 || !strings.Contains(task.Reason, "the disk is full") || len(b.started) != 1 {
		t.Errorf("%+v, %d started", task, len(b.started))
	}
	m = &memory{fail: "start  session"}
	setup.Recorder = func() Recorder { return m }
	if _, err := New(setup); err == nil {
		t.Error("a session began without a record")
	}
}

// A connection that cannot be recorded is refused.
func TestConnectionsOfASessionAreRecorded(t *testing.T) {
	b, m := new(stub), &memory{fail: "connection full"}
	setup := testSetup(t, b)
	setup.Recorder = func() Recorder { return m }
	s := open(t, setup)
	for _, host := range []string{"listed.test", "full.test"} {
		h, err := policy.ParseHost(host)
		if err != nil {
			t.Fatal(err)
		}
		e := egress.Event{Request: egress.Request{Connect: policy.Connect{Host: h, Port: 443}}, Decision: policy.Decision{Verdict: policy.Allow}}
		if err := s.record(e); (err != nil) != (host == "full.test") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if st := s.State(); st.Allowed != 1 || st.Denied != 1 {
		t.Errorf("%d allowed, %d denied", st.Allowed, st.Denied)
	}
}
