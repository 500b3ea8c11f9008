//go:build linux

package transparent_test

import (
	"context"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"bawn/internal/policy"
	"bawn/internal/sandbox/linux/stage/netns"
)

func wantOut(t *testing.T, r outcome, want string) {
	t.Helper()
	if r.Code != 0 || !strings.Contains(r.Out, want) {
		t.Errorf("exit %d, output %q, errors %q; want %q", r.Code, r.Out, r.Err, want)
	}
}

func wantFail(t *testing.T, r outcome, want string) {
	t.Helper()
	if r.Code == 0 || !strings.Contains(strings.ToLower(r.Out+r.Err), strings.ToLower(want)) {
		t.Errorf("exit %d, output %q, errors %q; want failure with %q", r.Code, r.Out, r.Err, want)
	}
}

// wantRefused is how a client sees a denial: with the device there is no
// connection, without one it ends at once; if that is before the client has
// looked, there was none for it.
func wantRefused(t *testing.T, w *world, r outcome) {
	t.Helper()
	says := []string{"refused", "couldn't connect", "could not connect"}
	if w.kind == redirect {
		says = append(says, "reset by peer", "broken pipe", "not connected")
	}
	for _, s := range says {
		if r.Code != 0 && strings.Contains(strings.ToLower(r.Out+r.Err), s) {
			return
		}
	}
	t.Errorf("exit %d, output %q, errors %q; want failure with one of %q", r.Code, r.Out, r.Err, says)
}

const python = `
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20)
s.sendall(b"GET / HTTP/1.0\r\n\r\n")
print(s.makefile().read())
`

// Real programs, each with an allowed and a denied host.
func TestClients(t *testing.T) { engines(t, testClients) }

func testClients(t *testing.T, e engineKind) {
	w := newWorld(t, e, map[uint16]string{80: serve(t, web), 9999: serve(t, web)})
	for _, c := range []struct {
		name    string
		args    []string // HOST is replaced
		out     string
		failure string
	}{
		{"curl", []string{"curl", "-sS", "--noproxy", "*", "http://HOST/"}, "hello", "could not resolve"},
		{"curl port", []string{"curl", "-sS", "--noproxy", "*", "http://HOST:9999/"}, "hello", "could not resolve"},
		{"curl root dot B69", []string{"curl", "-sS", "--noproxy", "*", "http://HOST./"}, "hello", "could not resolve"},
		{"getent", []string{"getent", "ahostsv4", "HOST"}, "198.18.", ""},
		{"python", []string{"/usr/bin/env", "python3", "-c", python, "HOST", "80"}, "hello", "name or service not known"},
		{"bash", []string{"bash", "-c", "exec 3<>/dev/tcp/HOST/80 || exit 1; echo 'GET / HTTP/1.0' >&3; cat <&3"}, "hello", "name or service not known"},
		{"node", []string{"node", "-e", "require('http').get('http://HOST/', r => r.pipe(process.stdout)).on('error', e => { console.error(e.code); process.exit(1) })"}, "hello", "ENOTFOUND"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.args[0]); err != nil {
				t.Skip(err)
			}
			with := func(host string) []string {
				var out []string
				for _, a := range c.args {
					out = append(out, strings.ReplaceAll(a, "HOST", host))
				}
				return out
			}
			wantOut(t, w.run(with(allowedName)...), c.out)
			w.dialled()
			r := w.run(with("denied.test")...)
			wantFail(t, r, c.failure)
			t.Logf("denied after %v", r.Took)
			if d := w.dialled(); len(d) != 0 {
				t.Errorf("dialled %q", d)
			}
		})
	}
}

// B67: the policy sees the port, and a port that is not allowed is refused.
func TestB67_Ports(t *testing.T) { engines(t, testB67_Ports) }

func testB67_Ports(t *testing.T, e engineKind) {
	w := newWorld(t, e, map[uint16]string{443: serve(t, web)})
	wantOut(t, w.run("curl", "-sS", "--noproxy", "*", "http://allowed.test:443/"), "hello")
	wantRefused(t, w, w.run("curl", "-sS", "--noproxy", "*", "http://allowed.test:9999/"))
	if d := w.dialled(); len(d) != 2 || d[0] != "allowed.test:443" || d[1] != "allowed.test:9999" {
		t.Errorf("dialled %q", d)
	}
}

// What has no name goes to the policy as it is, and is refused at once.
func TestRawAddresses(t *testing.T) { engines(t, testRawAddresses) }

func testRawAddresses(t *testing.T, e engineKind) {
	w := newWorld(t, e, nil)
	for _, addr := range []string{"11.0.0.10:80", "169.254.169.254:80", "198.18.77.77:80", "198.19.0.1:80", "10.1.2.3:443"} {
		r := w.run("self", "client", "quick", addr, "1", "1")
		wantRefused(t, w, r)
		if d := w.dialled(); len(d) != 1 || d[0] != addr {
			t.Errorf("%s: dialled %q", addr, d)
		}
	}
	link := map[engineKind]string{device: netns.Device, redirect: "lo"}[e]
	for _, addr := range []string{"[2001:db8::1]:80", "[fe80::1%" + link + "]:80"} {
		wantFail(t, w.run("self", "client", "quick", addr, "1", "1"), "unreachable")
	}
	if d := w.dialled(); len(d) != 0 {
		t.Errorf("dialled %q", d)
	}
}

func TestDeadUpstreamIsRefused(t *testing.T) { engines(t, testDeadUpstreamIsRefused) }

func testDeadUpstreamIsRefused(t *testing.T, e engineKind) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	w := newWorld(t, e, map[uint16]string{80: l.Addr().String()})
	wantRefused(t, w, w.run("self", "client", "quick", "allowed.test:80", "1", "1"))
}

func TestUDP(t *testing.T) { engines(t, testUDP) }

func testUDP(t *testing.T, e engineKind) {
	w := newWorld(t, e, nil)
	for _, addr := range []string{"11.0.0.10:443", "198.18.77.77:123", "8.8.8.8:5353"} {
		wantFail(t, w.run("self", "client", "udp", addr), "connection refused")
	}
	// SCTP, UDP-Lite and the like.
	wantFail(t, w.run("/usr/bin/env", "python3", "-c", `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)
s.settimeout(60)
s.connect(("11.0.0.10", 1000))
s.send(b"x")
s.recv(10)`), "protocol not available")
}

// A18: whatever resolver a program asks, it is this one that answers.
func TestA18_AnyResolver(t *testing.T) { engines(t, testA18_AnyResolver) }

func testA18_AnyResolver(t *testing.T, e engineKind) {
	w := newWorld(t, e, nil)
	const ask = `
import socket, struct, sys
def ask(server, name, tcp=False):
    q = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\0\0\1\0\1"
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
    s.settimeout(60)
    s.connect((server, 53))
    if tcp:
        s.sendall(struct.pack(">H", len(q)) + q)
        a = s.recv(1000)[2:]
    else:
        s.send(q)
        a = s.recv(1000)
    assert a[:2] == q[:2], a
    return a[3] & 15, a[-4:] if a[7] else b""
want = ask("198.18.0.1", "allowed.test")
assert want[0] == 0 and want[1][:2] == b"\xc6\x12", want
for server in "127.0.0.1", "127.0.0.53", "8.8.8.8", "11.0.0.53":
    assert ask(server, "allowed.test") == want, server
    assert ask(server, "s3cr3t.denied.test") == (3, b""), server
for server in "198.18.0.1", "127.0.0.1", "127.0.0.53":
    assert ask(server, "allowed.test", True) == want, server
print("same")
`
	wantOut(t, w.run("/usr/bin/env", "python3", "-c", ask), "same")
	if d := w.dialled(); len(d) != 0 {
		t.Errorf("dialled %q", d)
	}
}

func TestBulkBothWays(t *testing.T) { engines(t, testBulkBothWays) }

func testBulkBothWays(t *testing.T, e engineKind) {
	w := newWorld(t, e, map[uint16]string{80: serve(t, echoes)})
	r := w.run("self", "client", "echo", "allowed.test:80", "3", "67108864")
	wantOut(t, r, "")
	t.Logf("3 × 64 MiB there and back in %v", r.Took)
}

func TestManyQuick(t *testing.T) { engines(t, testManyQuick) }

func testManyQuick(t *testing.T, e engineKind) {
	w := newWorld(t, e, map[uint16]string{80: serve(t, echoes)})
	r := w.run("self", "client", "quick", "allowed.test:80", "500", "20")
	wantOut(t, r, "")
	t.Logf("500 connections in %v", r.Took)
	wantOut(t, w.run("self", "client", "reuse", "allowed.test:80", "50"), "")
}

// A question holds the connection; the answer decides it, either way.
func TestHeld(t *testing.T) { engines(t, testHeld) }

func testHeld(t *testing.T, e engineKind) {
	w := newWorld(t, e, map[uint16]string{80: serve(t, web)})
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
	get := []string{"curl", "-sS", "--noproxy", "*", "http://asked.test/"}

	r := w.start(get...)
	<-asked
	select {
	case <-r:
		t.Fatal("connected without an answer")
	case <-time.After(2500 * time.Millisecond): // two more SYNs, merged
	}
	answer <- nil
	wantOut(t, <-r, "hello")

	r = w.start(get...)
	<-asked
	answer <- errDenied
	wantRefused(t, w, <-r)
	if d := w.dialled(); len(d) != 2 {
		t.Errorf("asked for %q, want two", d)
	}

	// When the client gives up, so does the question.
	r = w.start(append(get, "--max-time", "1")...)
	ctx := <-asked
	if o := <-r; o.Code != 28 {
		t.Errorf("gave up: exit %d, errors %q", o.Code, o.Err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Second):
		t.Error("still asking for a client that is gone")
	}
	for begin := time.Now(); w.engine.Flows() != 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("%d flows left", w.engine.Flows())
		}
	}
}

// A program that dials the relay's listener, or one that was not asked for,
// is no client of anybody.
func TestRelayListenerIsNoWayOut(t *testing.T) { engines(t, testRelayListenerIsNoWayOut) }

func testRelayListenerIsNoWayOut(t *testing.T, e engineKind) {
	w := newWorld(t, e, map[uint16]string{80: serve(t, web)})
	wantOut(t, w.run("/usr/bin/env", "python3", "-c", `
import socket
ports = [int(l.split()[1].split(":")[1], 16) for l in open("/proc/net/tcp") if l.split()[3] == "0A" and l.split()[1].startswith("010012C6")]
ports.remove(53)
assert len(ports) == 1, ports
for src in None, ("127.0.0.1", 0):
    try:
        s = socket.create_connection(("198.18.0.1", ports[0]), timeout=60, source_address=src)
        assert s.recv(1) == b"", "data"
    except ConnectionResetError:
        pass
s = socket.socket()
s.setsockopt(0, 15, 1) # IP_FREEBIND
s.bind(("198.19.0.0", 40001))
try:
    s.settimeout(5)
    s.connect(("198.18.0.1", ports[0]))
    assert s.recv(1) == b"", "data"
except OSError as e:
    print(e)
print("closed")
`), "closed")
	if d := w.dialled(); len(d) != 0 {
		t.Errorf("dialled %q", d)
	}
}

// What was sent before a close arrives, however late it is read.
func TestSlowReader(t *testing.T) { engines(t, testSlowReader) }

func testSlowReader(t *testing.T, e engineKind) {
	const n = 300 << 10
	closed := make(chan struct{})
	s := serve(t, func(c net.Conn) {
		_, _ = c.Write(make([]byte, n))
		_ = c.Close()
		close(closed)
	})
	w := newWorld(t, e, map[uint16]string{80: s})
	wantOut(t, w.run("self", "client", "slow", "allowed.test:80", "307200"), "")
	<-closed
}

// A panic in what the engine calls ends one connection, refused.
func TestPanicRefuses(t *testing.T) { engines(t, testPanicRefuses) }

func testPanicRefuses(t *testing.T, e engineKind) {
	w := newWorldJoin(t, e, map[uint16]string{80: serve(t, echoes)}, func(h policy.Host, a, b net.Conn) {
		buf := make([]byte, 3)
		if _, err := io.ReadFull(a, buf); err == nil && string(buf) == "GET" {
			panic("join")
		}
		join(h, a, b)
	})
	w.gate = func(context.Context, policy.Host, uint16) error { panic("dial") }
	wantRefused(t, w, w.run("self", "client", "quick", "asked.test:80", "1", "1"))
	if r := w.run("curl", "-sS", "--noproxy", "*", "http://allowed.test/"); r.Code == 0 {
		t.Errorf("exit %d", r.Code)
	}
	select {
	case <-w.engine.Done():
		t.Error("the engine ended")
	default:
	}
}
