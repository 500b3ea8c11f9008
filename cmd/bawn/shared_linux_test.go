//go:build !race

package main

import (
	"testing"

	"bawn/internal/policy"
	"bawn/internal/session"
)

// N4, F5: the commands of a session share their loopback and their temp
// folder; those of another tier the temp alone.
func TestN4_F5_CommandsShareLoopbackAndTemp(t *testing.T) {
	room(t)
	s := newTestSession(t, &runFlags{})
	server := started(t, s, `echo made >/tmp/mark; exec python3 -u -c '
import http.server
s = http.server.HTTPServer(("127.0.0.1", 8123), http.server.SimpleHTTPRequestHandler)
print("up"); s.serve_forever()'`)
	until(t, s, "server", func(session.State) bool { out, _ := s.Output(server, 10); return string(out) == "up\n" })
	const ask = `cat /tmp/mark; curl -s -o /dev/null --noproxy '*' --max-time 20 -w '%{http_code}' http://127.0.0.1:8123/`
	if task, out := ended(t, s, started(t, s, ask)); task.Code != 0 || out != "made\n200" {
		t.Errorf("%+v, %q", task, out)
	}
	if _, err := s.SetTier(policy.Airlock); err != nil {
		t.Fatal(err)
	}
	if task, out := ended(t, s, started(t, s, ask)); task.Code == 0 || out != "made\n000" {
		t.Errorf("%+v, %q", task, out)
	}
}
