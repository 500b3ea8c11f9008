package mcp

import (
	"testing"
	"time"
)

// The time for which a call was parked with a question is a person's.
func TestParkedTime(t *testing.T) {
	r := &run{begun: time.Now().Add(-time.Hour)}
	a := &asks{parked: map[string]*parked{"s": {run: r, own: true, call: "c", at: r.begun, gone: time.AfterFunc(time.Hour, func() {})}}}
	if got, err := a.resume("s", "c", nil); err != nil || got != r {
		t.Fatal(got, err)
	}
	if spent := time.Since(r.begun) - time.Duration(r.waited.Load()); spent > time.Minute {
		t.Errorf("%v of the command's own time are spent", spent)
	}
}

// A run that is about to start has nothing to look at or to end yet.
func TestRunNotYetThere(t *testing.T) {
	var rs runs
	r := &run{done: make(chan struct{})}
	if err := rs.add(r); err != nil {
		t.Fatal(err)
	}
	if _, err := rs.find(r.id); err == nil {
		t.Error("it was found before it was started")
	}
	rs.began(r)
	if got, err := rs.find(r.id); err != nil || got != r {
		t.Error(got, err)
	}
}

// One command too many is refused, and no more than that.
func TestTooManyRuns(t *testing.T) {
	s := new(server)
	for range maxRuns {
		if err := s.runs.add(&run{done: make(chan struct{})}); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := s.start(nil, start{kept: true}); err == nil || r != nil || len(s.runs.all) != maxRuns {
		t.Errorf("%v, %v, %d runs", r, err, len(s.runs.all))
	}
}
