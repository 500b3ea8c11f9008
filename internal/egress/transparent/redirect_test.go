//go:build linux

package transparent_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"bawn/internal/egress/transparent"
	"bawn/internal/policy"
)

// A server inside that listens on all addresses is there for those inside, and
// never for what was meant for the outside, be it allowed or refused.
func TestServerInsideIsNotOutside(t *testing.T) { engines(t, testServerInsideIsNotOutside) }

func testServerInsideIsNotOutside(t *testing.T, e engineKind) {
	w := newWorld(t, e, map[uint16]string{8080: serve(t, web)})
	wantOut(t, w.run("/usr/bin/env", "python3", "-c", `
import socket, select
l = socket.create_server(("0.0.0.0", 8080))
l.settimeout(60)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("0.0.0.0", 8080))
u.settimeout(60)
for host in "127.0.0.1", "127.1.2.3", "198.18.0.1", "0.0.0.0", "localhost":
    c = socket.create_connection((host, 8080), timeout=60)
    s, _ = l.accept()
    c.sendall(b"in"); assert s.recv(2) == b"in", host
    d = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    d.sendto(b"in", (host, 8080)); assert u.recv(2) == b"in", host
c = socket.create_connection(("allowed.test", 8080), timeout=60)
c.sendall(b"GET / HTTP/1.0\r\n\r\n")
assert b"hello" in c.makefile("rb").read()
for host in "11.0.0.10", "10.1.2.3", "198.19.0.1", "169.254.169.254":
    try:
        c = socket.create_connection((host, 8080), timeout=60)
        assert c.recv(1) == b"", host
    except (ConnectionResetError, ConnectionRefusedError):
        pass
    d = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    d.settimeout(60)
    d.connect((host, 8080))
    d.send(b"out")
    try:
        d.recv(1)
        raise SystemExit("an answer from " + host)
    except ConnectionRefusedError:
        pass
r, _, _ = select.select([l, u], [], [], 0)
assert r == [], r
print("apart")
`), "apart")
	for _, d := range w.dialled() {
		if d == "127.0.0.1:8080" || d == "198.18.0.1:8080" {
			t.Errorf("dialled %q", d)
		}
	}
}

// One client port, two destinations: the kernel has to tell them apart, though
// both lead to the same listener.
func TestOnePortTwoDestinations(t *testing.T) { engines(t, testOnePortTwoDestinations) }

func testOnePortTwoDestinations(t *testing.T, e engineKind) {
	says := func(s string) string {
		return serve(t, func(c net.Conn) { _, _ = io.WriteString(c, s) })
	}
	w := newWorld(t, e, map[uint16]string{1: says("one"), 2: says("two"), 3: says("three")})
	wantOut(t, w.run("/usr/bin/env", "python3", "-c", `
import socket
conns = []
for port in 1, 2, 3:
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("198.18.0.1", 40000))
    s.settimeout(60)
    s.connect(("allowed.test", port))
    conns.append(s)
print(*[s.makefile().read() for s in conns])
`), "one two three")
}

// What a client sends early, and that it then closes its half, is no giving
// up; a reset is.
func TestHeldClients(t *testing.T) { engines(t, testHeldClients) }

func testHeldClients(t *testing.T, e engineKind) {
	w := newWorld(t, e, map[uint16]string{80: serve(t, echoes)})
	asked, answer := make(chan context.Context, 9), make(chan error)
	w.gate = func(ctx context.Context, _ policy.Host, _ uint16) error {
		asked <- ctx
		select {
		case err := <-answer:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r := w.start("self", "client", "echo", "asked.test:80", "1", "100000")
	<-asked
	time.Sleep(500 * time.Millisecond) // a moment, in which all is sent
	answer <- nil
	wantOut(t, <-r, "")

	r = w.start("/usr/bin/env", "python3", "-c", `
import socket, struct
s = socket.socket()
s.settimeout(1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
try:
    s.connect(("asked.test", 80))
    s.sendall(b"x")
except TimeoutError:
    pass
s.close()
`)
	ctx := <-asked
	select {
	case <-ctx.Done():
	case <-time.After(30 * time.Second):
		t.Error("still asking for a client that is gone")
	}
	wantOut(t, <-r, "")
}

// The end of the engine ends the decisions too, and their clients.
func TestCloseEndsHeld(t *testing.T) { engines(t, testCloseEndsHeld) }

func testCloseEndsHeld(t *testing.T, e engineKind) {
	w := newWorld(t, e, map[uint16]string{80: serve(t, echoes)})
	asked := make(chan struct{})
	w.gate = func(ctx context.Context, _ policy.Host, _ uint16) error {
		close(asked)
		<-ctx.Done()
		return ctx.Err()
	}
	open := w.start("self", "client", "idle", "allowed.test:80", "1")
	held := w.start("self", "client", "echo", "asked.test:80", "1", "100")
	<-asked
	for begin := time.Now(); w.engine.Flows() != 2; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("%d flows", w.engine.Flows())
		}
	}
	if err := w.engine.Close(); err != nil {
		t.Error(err)
	}
	if n := w.engine.Flows(); e == redirect && n != 0 {
		t.Errorf("%d flows left", n)
	}
	if e == redirect { // without its engine the device answers nothing at all
		wantRefused(t, w, <-held)
		wantRefused(t, w, <-open)
	}
}

// A connection that the kernel knows nothing of is none, and so is one that
// was redirected by nobody.
func TestRedirectNeedsTheKernelsWord(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	no := func(context.Context, policy.Host) policy.Decision { return policy.Decision{} }
	e, err := transparent.New(transparent.Options{
		Relay: l, Name: no, Join: join,
		Dial: func(_ context.Context, h policy.Host, port uint16, _ netip.AddrPort) (net.Conn, error) {
			t.Errorf("dialled %v:%d", h, port)
			return nil, errDenied
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v, want a reset", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
