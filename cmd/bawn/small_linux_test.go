//go:build !race

package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"bawn/internal/sandbox/sandboxtest"
)

// On small terminals a question is asked and answered by keys: what it is about,
// who asks, why, until when, and all of its answers are in sight; where it takes
// pages, a yes counts after the last of them.
func TestN7_QuestionOnSmallScreens(t *testing.T) {
	b := room(t)
	behindProxy(t)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		b.Env = append(b.Env, name+"="+os.Getenv(name))
	}
	sandboxtest.Write(t, b.Workspace+"/ask", "h=new.test; curl -sSp http://$h/; echo ended $?\n")
	term, cmd := onScreenOf(t, b, 40, 12)
	idle(t, term)
	types(t, term, "sh ./ask\r")
	shows(t, term, "bawn asks, no in 4:", "Connect to a host not on the list?", "new.test:80", "who   'sh ./ask'", "why   ", "n  no", "y  this connection", "s  until the session ends", "a  always", "esc no")
	answers(t, term, "bawn asks", "y", "hello")
	shows(t, term, "ended 0")
	idle(t, term)
	// The twin, and where one page is too small.
	if err := term.Resize(30, 8); err != nil {
		t.Fatal(err)
	}
	idle(t, term)
	types(t, term, "sh ./ask\r")
	shows(t, term, "bawn asks, no in 4:", "new.test:80", "n no", "y once", "s session", "a always", "read on 1/")
	says(t, term, "y", func(text string) bool { return strings.Contains(text, "first read on: space") })
	for range 20 {
		types(t, term, " ")
		if _, err := term.Wait(time.Second, func(text string) bool { return strings.Contains(text, "enter picks") }); err == nil {
			break
		}
	}
	answers(t, term, "bawn asks", "y", "hello")
	idle(t, term)
	types(t, term, "sh ./ask\r")
	shows(t, term, "bawn asks", "read on 1/")
	answers(t, term, "bawn asks", "\x1b", "ended ")
	leaves(t, term, cmd)
}
