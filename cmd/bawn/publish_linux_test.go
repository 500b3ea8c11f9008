//go:build !race

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bawn/internal/policy"
	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/session"
)

// freePort is a port that nobody has on the host's loopback just now.
func freePort(t *testing.T) session.Publish {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at, err := session.ParsePublish(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// server serves "inside" at a port of the sandbox's loopback.
func server(port uint16) string {
	return fmt.Sprintf(`exec python3 -u -c '
import http.server
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "6"); self.end_headers(); self.wfile.write(b"inside")
    def log_message(self, *a): pass
s = http.server.HTTPServer(("127.0.0.1", %d), H)
print("up"); s.serve_forever()'`, port)
}

func isUp(t *testing.T, s *session.Session, id int) {
	t.Helper()
	until(t, s, "server", func(session.State) bool { out, _ := s.Output(id, 10); return string(out) == "up\n" })
}

func get(at session.Publish) (string, error) {
	c := http.Client{Timeout: sandboxtest.Limit / 5, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Get("http://" + at.String() + "/")
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return string(b), err
}

// N4: a published port leads into the network of guarded commands, whichever
// serves there, for as long as the session lives; never into airlock.
func TestN4_PublishOfASession(t *testing.T) {
	room(t)
	first, second := freePort(t), freePort(t)
	s := newTestSession(t, &runFlags{publish: []session.Publish{first}})
	if _, err := get(first); err == nil {
		t.Error("something answers before a command serves")
	}
	id := started(t, s, server(first.Port))
	isUp(t, s, id)
	for range 3 {
		if text, err := get(first); text != "inside" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if err := s.Publish(second); err != nil {
		t.Fatal(err)
	}
	if st := s.State(); len(st.Published) != 2 || st.Published[1] != second {
		t.Errorf("%v", st.Published)
	}
	if _, err := get(second); err == nil {
		t.Error("something answers where nothing serves")
	}
	// Twice, or where the host has a server: refused.
	if err := s.Publish(second); !errors.Is(err, policy.ErrRefused) || !strings.Contains(err.Error(), "the host cannot listen there") {
		t.Errorf("%v", err)
	}
	if err := s.Publish(session.Publish{Addr: first.Addr, Port: 3128}); !errors.Is(err, policy.ErrRefused) || !strings.Contains(err.Error(), "sandbox's own") {
		t.Errorf("%v", err)
	}
	// What airlock serves is never shown; guarded commands go on.
	if _, err := s.SetTier(policy.Airlock); err != nil {
		t.Fatal(err)
	}
	strict := started(t, s, server(second.Port))
	isUp(t, s, strict)
	if text, err := get(second); err == nil {
		t.Errorf("airlock is shown: %q", text)
	}
	if text, err := get(first); text != "inside" {
		t.Errorf("the twin: %q, %v", text, err)
	}
	for tier, why := range map[policy.Tier]string{policy.Airlock: "airlock has no network, and a published port is a way in and out", policy.Open: "the host's own"} {
		if _, err := s.SetTier(tier); err != nil {
			t.Fatal(err)
		}
		if err := s.Publish(freePort(t)); !errors.Is(err, policy.ErrRefused) || !strings.Contains(err.Error(), why) {
			t.Errorf("%v: %v", tier, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", first.String())
	if err != nil {
		t.Fatalf("the port is kept: %v", err)
	}
	l.Close()
	if err := s.Publish(freePort(t)); err == nil {
		t.Error("published after the end")
	}
}

// Where each command has a network of its own there is none to show, and a start
// that asks for it fails whole.
func TestN4_PublishThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		file, says string
		flags      *runFlags
	}{
		"bwrap":   {"launcher = 'bwrap'", "each command of a session has a network of its own", &runFlags{}},
		"airlock": {"default_tier = 'airlock'", "airlock has no network", &runFlags{}},
		"open":    {"default_tier = 'open'", "the host's own", &runFlags{}},
		"off":     {"proxy = { enabled = false }", "config.toml", &runFlags{}},
		"mode":    {"", "read-only has no network", &runFlags{mode: policy.ReadOnlyMode}},
	} {
		b := room(t)
		if c.file != "" {
			sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[sandbox]\n"+c.file+"\n")
		}
		at := freePort(t)
		c.flags.publish = []session.Publish{at}
		s, err := c.flags.newSession(func(string) {})
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, policy.ErrRefused) || !strings.Contains(err.Error(), c.says) && name != "off" {
			t.Errorf("%s: %v", name, err)
		}
		if l, err := net.Listen("tcp", at.String()); err != nil {
			t.Errorf("%s: the port is kept: %v", name, err)
		} else {
			l.Close()
		}
	}
}

// A storm of clients neither stops the port for good nor keeps commands from
// starting.
func TestN4_PublishedPortUnderAStorm(t *testing.T) {
	room(t)
	at := freePort(t)
	s := newTestSession(t, &runFlags{publish: []session.Publish{at}})
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	isUp(t, s, started(t, s, server(at.Port)))
	for range 300 { // who says nothing keeps the one server busy, and its queue full
		c, err := net.DialTimeout("tcp", at.String(), 10*time.Second)
		if err != nil {
			break
		}
		held = append(held, c)
	}
	if task, out := ended(t, s, started(t, s, "echo ran")); out != "ran\n" || task.Code != 0 {
		t.Errorf("%+v, %q", task, out)
	}
	for _, c := range held {
		c.Close()
	}
	held = nil
	for end := time.Now().Add(sandboxtest.Limit); ; time.Sleep(10 * time.Millisecond) {
		text, err := get(at)
		if text == "inside" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%q, %v", text, err)
		}
	}
}

// /publish at the input line, and --publish at the start.
func TestN4_PublishOnTheScreen(t *testing.T) {
	b := room(t)
	first, second := freePort(t), freePort(t)
	term, cmd := sessionOn(t, b, "--publish", fmt.Sprint(first.Port))
	types(t, term, fmt.Sprintf("/publish %d\r", second.Port))
	shows(t, term, fmt.Sprintf("%s leads to port %d", second, second.Port))
	idle(t, term)
	sandboxtest.Write(t, filepath.Join(b.Workspace, "second"), server(second.Port))
	types(t, term, "sh ./second\r")
	shows(t, term, "\nup")
	if text, err := get(second); text != "inside" {
		t.Errorf("%q, %v", text, err)
	}
	types(t, term, "\x03")
	idle(t, term)
	sandboxtest.Write(t, filepath.Join(b.Workspace, "first"), server(first.Port))
	types(t, term, "sh ./first\r")
	shows(t, term, "\nup", "1 running")
	for end := time.Now().Add(sandboxtest.Limit / 5); ; time.Sleep(10 * time.Millisecond) { // "up" may be the first's
		text, err := get(first)
		if text == "inside" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%q, %v", text, err)
		}
	}
	types(t, term, "\x03")
	idle(t, term)
	types(t, term, "/publish 3128\r")
	shows(t, term, "the port is the sandbox's own")
	leaves(t, term, cmd)
}
