//go:build unix

package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bawn/internal/egress"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

func TestWatchedLine(t *testing.T) {
	var many []sandbox.NameEvent
	for i := range maxLines + 2 {
		many = append(many, sandbox.NameEvent{Path: fmt.Sprintf("/w/%d/Makefile", i)})
	}
	var most []sandbox.NameEvent
	for i := range sandbox.MaxWatched {
		most = append(most, sandbox.NameEvent{Path: fmt.Sprintf("/w/%03d/Makefile", i)})
	}
	all := "000/Makefile, 001/Makefile, 002/Makefile, 003/Makefile, 004/Makefile, 005/Makefile, 006/Makefile, 007/Makefile and 24"
	for _, c := range []struct {
		written []sandbox.NameEvent
		want    string
	}{
		{nil, ""},
		{[]sandbox.NameEvent{{Path: "/w/Makefile"}, {Path: "/w/Makefile"}}, "wrote 1 name that runs code outside later: Makefile"},
		{[]sandbox.NameEvent{{Path: "/w/a/.envrc"}, {Path: "/wx/Makefile"}}, "wrote 2 names that run code outside later: a/.envrc, /wx/Makefile"},
		{many, "wrote 10 names that run code outside later: 0/Makefile, 1/Makefile, 2/Makefile, 3/Makefile, 4/Makefile, 5/Makefile, 6/Makefile, 7/Makefile and 2 more"},
		{most[:len(most)-1], "wrote 255 names that run code outside later: " + all + "7 more"},
		{most, "wrote at least 256 names that run code outside later: " + all + "8 more"},
	} {
		if got := WatchedLine(c.written, "/w"); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}

// F3: what a command leaves is told at its end, once in a session; what is a
// client's is told there, each time, by the rules of bawn run.
func TestF3_EndOfACommandIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &stub{}
		setup := testSetup(t, b)
		var here []string
		setup.Notice = func(l string) { here = append(here, l) }
		s := open(t, setup)
		n := 0
		ends := func(code int, client *Client, names ...string) {
			t.Helper()
			var id int
			var err error
			if client == nil {
				id = typed(t, s, "x")
			} else if id, err = s.Serve(Start{Text: "x", Kind: Attached, Dir: setup.Workspace}, *client); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			p := b.process(n)
			n++
			for _, name := range names {
				if host, is := strings.CutPrefix(name, "host "); is {
					e := egress.Event{Request: egress.Request{Connect: connect(t, host)}, Task: id, End: true, Unreached: "connection refused", Decision: policy.Decision{Verdict: policy.Allow}}
					if err := s.record(e); err != nil {
						t.Error(err)
					}
					continue
				}
				p.events <- sandbox.Event{Kind: sandbox.EventName, Name: &sandbox.NameEvent{Allowed: true, Path: setup.Workspace + "/" + name}}
			}
			p.exit(code)
			synctest.Wait()
		}
		told := func(list *[]string, want ...string) {
			t.Helper()
			if !slices.Equal(*list, want) {
				t.Errorf("told %q\nwant %q", *list, want)
			}
			*list = nil
		}
		const wrote, missed = "wrote 1 name that runs code outside later: ", ": connection refused; it is allowed"
		ends(0, nil, "Makefile", "Makefile", "host a.test:443")
		told(&here, wrote+"Makefile") // nobody missed the host
		ends(1, nil, "Makefile", ".envrc", "host a.test:443", "host a.test:443")
		told(&here, wrote+".envrc", "could not reach a.test:443 (2 times)"+missed)
		ends(1, nil, "Makefile", "host a.test:443", "host b.test:443")
		told(&here, "could not reach b.test:443"+missed)

		var there []string
		client := Client{Stdio: nullStdio(t), Tier: policy.Guarded, Event: func(sandbox.Event, Ended) {}, Notice: func(l string) { there = append(there, l) }}
		for range 2 {
			ends(1, &client, "Makefile", "host a.test:443")
			told(&there, wrote+"Makefile", "could not reach a.test:443"+missed)
		}
		ends(0, &client, "Makefile")
		told(&there)
		client.TTY = true
		ends(0, &client, "Makefile")
		told(&there, wrote+"Makefile")
		told(&here)

		// A client that gave up is found to have done so a little later.
		id := typed(t, s, "x")
		synctest.Wait()
		b.process(n).exit(1)
		synctest.Wait()
		for range 2 {
			_ = s.record(egress.Event{Request: egress.Request{Connect: connect(t, "late.test:443")}, Task: id, End: true, Unreached: egress.GivenUp, Duration: time.Minute, Decision: policy.Decision{Verdict: policy.Allow}})
		}
		told(&here, "could not reach late.test:443: "+egress.GivenUp+"; it is allowed")
	})
}
