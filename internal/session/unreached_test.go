package session

import (
	"fmt"
	"testing"
	"time"

	"bawn/internal/egress"
	"bawn/internal/policy"
)

func TestUnreachedHosts(t *testing.T) {
	var l unreached
	end := func(host, cause string, took time.Duration) {
		t.Helper()
		h, err := policy.ParseHost(host)
		if err != nil {
			t.Fatal(err)
		}
		l.end(egress.Event{Request: egress.Request{Connect: policy.Connect{Host: h, Port: 443}}, End: true, Unreached: cause, Duration: took})
	}
	end("a.test", "connection refused", 0)
	end("a.test", "no such name", 0)
	end("b.test", "connection refused", 0)
	end("b.test", "", time.Second) // in the end it was reached
	end("c.test", egress.GivenUp, 10*time.Millisecond)
	end("d.test", egress.GivenUp, 2*time.Second)
	end("e.test", "", 0)
	got := ""
	for _, u := range l.list() {
		got += fmt.Sprintf("%s %d %s; ", u.At.Host, u.Count, u.Cause)
	}
	if want := "a.test 2 no such name; d.test 1 no answer; "; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for i := range 2 * maxDenials {
		end(fmt.Sprintf("h%d.test", i), "connection refused", 0)
	}
	if n := len(l.all); n != maxDenials {
		t.Errorf("%d are kept, want %d", n, maxDenials)
	}
}
