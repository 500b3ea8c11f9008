package session

import (
	"fmt"
	"testing"

	"bawn/internal/policy"
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
