package session

import (
	"fmt"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

func TestDenials(t *testing.T) {
	var l denials
	rule := policy.Rule{ID: "host:unlisted"}
	for range 3 {
		l.add(Denial{Host: "a.test", Port: 443, Rule: rule})
	}
	l.add(Denial{Host: "a.test", Rule: rule}) // its name, asked for before
	l.add(Denial{Host: "b.test", Rule: rule})
	got, more := l.list()
	if len(got) != 2 || more != 0 || got[0].String() != "a.test:443" || got[0].Count != 3 || got[1].String() != "b.test" {
		t.Errorf("%+v, %d more", got, more)
	}
	for i := range maxDenials + 10 {
		l.add(Denial{Host: fmt.Sprint("h", i), Port: 1, Rule: rule})
	}
	if got, more := l.list(); len(got) > maxDenials || more != 13 {
		t.Errorf("%d kept, %d more", len(got), more)
	}
}

// What the guard counts belongs to the names that it denied, not to what the
// kernel refused, nor to what it did not tell.
func TestNameCounts(t *testing.T) {
	var l nameList
	rule := policy.Rule{ID: "name:x"}
	l.add(&sandbox.NameEvent{Path: "/kernel", Failed: true, Rule: rule})
	l.add(&sandbox.NameEvent{Path: "/a", Rule: rule})
	l.add(&sandbox.NameEvent{Path: "/written", Allowed: true, Rule: rule})
	l.add(&sandbox.NameEvent{Path: "/b", Rule: rule})
	again := l.count(&sandbox.NameCounts{More: 7, Again: []sandbox.NameAgain{{Number: 1, Times: 4}, {Number: 2, Times: 9}}})
	if len(again) != 1 || again[0].Path != "/b" || again[0].Count != 4 || l.more != 7 {
		t.Errorf("%+v, %d more", again, l.more)
	}
	for i, want := range []int{1, 1, 5} {
		if l.denied[i].Count != want {
			t.Errorf("%+v", l.denied[i])
		}
	}
}
