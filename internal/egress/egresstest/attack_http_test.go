//go:build linux

package egresstest

import (
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

func newBox(t *testing.T, w *World, flags ...string) *Box {
	b := NewBox(t, w, "native")
	b.Flags = flags
	return b
}

// A04, A22, A30, A31, A33, A38, A40: requests that could be read in two ways
// are refused, and nothing is dialled for them.
func TestA04_OddRequests(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "allowed.test:18080")
	before := w.Hits(t, "11.0.0.10:18080")
	wantStatus(t, b, map[string]string{
		`CONNECT evil.test%00.allowed.test:18080 HTTP/1.1\r\n\r\n`:                                                                                "400",
		`CONNECT evil.test%2eallowed.test:18080 HTTP/1.1\r\n\r\n`:                                                                                 "400",
		`CONNECT evil.test\x00.allowed.test:18080 HTTP/1.1\r\n\r\n`:                                                                               "400",
		`CONNECT evil.test\r.allowed.test:18080 HTTP/1.1\r\n\r\n`:                                                                                 "400",
		`CONNECT evil.test\x7f.allowed.test:18080 HTTP/1.1\r\n\r\n`:                                                                               "400",
		`CONNECT :18080 HTTP/1.1\r\n\r\n`:                                                                                                         "400",
		`GET http://:18080/ HTTP/1.1\r\nHost: :18080\r\n\r\n`:                                                                                     "400",
		`CONNECT /x HTTP/1.1\r\nHost: allowed.test:18080\r\n\r\n`:                                                                                 "400",
		`CONNECT evil.test@allowed.test:18080 HTTP/1.1\r\n\r\n`:                                                                                   "400",
		`GET http://evil.test@allowed.test:18080/ HTTP/1.1\r\nHost: allowed.test:18080\r\n\r\n`:                                                   "400",
		`GET http://allowed.test:18080@evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n`:                                                            "400|403",
		`GET http://evil.test#@allowed.test:18080/ HTTP/1.1\r\nHost: evil.test\r\n\r\n`:                                                           "400|403",
		`GET http://evil.test\\@allowed.test:18080/ HTTP/1.1\r\nHost: evil.test\r\n\r\n`:                                                          "400|403",
		`GET / HTTP/1.1\r\nHost: allowed.test:18080\r\n\r\n`:                                                                                      "400",
		`GET //allowed.test:18080/ HTTP/1.1\r\nHost: allowed.test:18080\r\n\r\n`:                                                                  "400",
		`OPTIONS * HTTP/1.1\r\nHost: allowed.test:18080\r\n\r\n`:                                                                                  "400",
		`GET ftp://allowed.test:18080/ HTTP/1.1\r\nHost: allowed.test:18080\r\n\r\n`:                                                              "400|501",
		`GET https://allowed.test:18080/ HTTP/1.1\r\nHost: allowed.test:18080\r\n\r\n`:                                                            "400|501",
		`GET file:///etc/passwd HTTP/1.1\r\nHost: allowed.test:18080\r\n\r\n`:                                                                     "400|501",
		`CONNECT allowed.test HTTP/1.1\r\n\r\n`:                                                                                                   "400",
		`CONNECT allowed.test:0 HTTP/1.1\r\n\r\n`:                                                                                                 "400",
		`CONNECT allowed.test:99999 HTTP/1.1\r\n\r\n`:                                                                                             "400",
		`CONNECT allowed.test:0x46a0 HTTP/1.1\r\n\r\n`:                                                                                            "400",
		`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`:                                                                                                        "400|505",
		`GET http://allowed.test:18080/\r\n\r\n`:                                                                                                  "400|505",
		`GET http://allowed.test:18080/ HTTP/1.1\r\nHost: allowed.test:18080\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`: "400",
	})
	if n := w.Hits(t, "11.0.0.10:18080"); n != before {
		t.Errorf("%d connections arrived", n-before)
	}
	wantStatus(t, b, map[string]string{
		`CONNECT allowed.test:18080 HTTP/1.1\r\nHost: allowed.test:18080\r\n\r\n`:     "200",
		`CONNECT ALLOWED.test.:18080 HTTP/1.1\r\n\r\n`:                                "200",
		`GET http://allowed.test:18080/ HTTP/1.1\r\nHost: allowed.test:18080\r\n\r\n`: "200",
		`GET http://allowed.test:18080/ HTTP/1.0\r\n\r\n`:                             "200",
		`CONNECT allowed.test:25 HTTP/1.1\r\n\r\n`:                                    "403",
		`CONNECT allowed.test:22 HTTP/1.1\r\n\r\n`:                                    "403",
		`CONNECT evil.test:18080 HTTP/1.1\r\n\r\n`:                                    "403",
	})
}

// A05, A07: the deny list wins, with a dot at the end too, for exactly the
// port that it names.
func TestA05_DenyWins(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "*", "--deny-domain", "evil.test:18080", "--deny-domain", "other.test")
	wantStatus(t, b, map[string]string{
		`CONNECT evil.test:18080 HTTP/1.1\r\n\r\n`:              "403",
		`CONNECT evil.test.:18080 HTTP/1.1\r\n\r\n`:             "403",
		`CONNECT EVIL.TEST:18080 HTTP/1.1\r\n\r\n`:              "403",
		`CONNECT evil.test:8443 HTTP/1.1\r\n\r\n`:               "200",
		`CONNECT other.test:18080 HTTP/1.1\r\n\r\n`:             "403",
		`CONNECT allowed.test:18080 HTTP/1.1\r\n\r\n`:           "200",
		`CONNECT metadata.google.internal.:80 HTTP/1.1\r\n\r\n`: "403|502",
		`CONNECT meta.test:80 HTTP/1.1\r\n\r\n`:                 "403",
	})
	if n := w.Hits(t, "169.254.169.254:80"); n != 0 {
		t.Errorf("the metadata service saw %d connections", n)
	}
}

// A21, A25: internal addresses in every spelling are refused, though every
// host is allowed; A13, A14: so they are without the proxy.
func TestA21_InternalAddresses(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "*")
	cases := map[string]string{`CONNECT 11.0.0.10:18080 HTTP/1.1\r\n\r\n`: "200"}
	for _, host := range []string{
		"0.0.0.0", "[::]", "0", "[0:0:0:0:0:0:0:0]", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "100.64.0.1", "192.0.0.1", "198.18.0.1", "224.0.0.1",
		"255.255.255.255", "10.1.2.3", "169.254.169.254", "localhost", "localhost.", "a.localhost", "intra.test", "meta.test", "loop.test", "six.test",
	} {
		cases[`CONNECT `+host+`:18080 HTTP/1.1\r\n\r\n`] = "403|400"
	}
	wantStatus(t, b, cases)
	for _, addr := range []string{"127.0.0.1:18080", "[::1]:18080", "10.1.2.3:18080", "169.254.169.254:18080", "100.64.0.1:18080"} {
		if n := w.Hits(t, addr); n != 0 {
			t.Errorf("%s saw %d connections", addr, n)
		}
	}
	for _, addr := range []string{"10.1.2.3/18080", "169.254.169.254/80", "100.64.0.1/18080"} {
		if r := b.Sh(t, hello, addr); r.Code == 0 {
			t.Errorf("%s: connected", addr)
		}
	}
	b.Sh(t, hello, "11.0.0.10/18080").OK(t)
	b.Flags = nil
	if r := b.Sh(t, hello, "11.0.0.10/18080"); r.Code == 0 {
		t.Error("an address that no rule names: connected")
	}
}

// A26: a name that changes its address between the check and the dial never
// leads inside. A28: nor does one with an internal address beside a dead one.
func TestA26_Rebinding(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "rebind.test", "--allow-domain", "mix.test")
	var requests []string
	for range 50 {
		requests = append(requests, `CONNECT rebind.test:18080 HTTP/1.1\r\n\r\n`)
	}
	ok := 0
	for _, s := range raw(t, b, requests...) {
		if s == "200" {
			ok++
		}
	}
	if ok == 0 || ok == 50 {
		t.Errorf("%d of 50 connections were made: the name alternates", ok)
	}
	if n := w.Hits(t, "127.0.0.1:18080"); n != 0 {
		t.Errorf("the host's loopback saw %d connections", n)
	}
	wantStatus(t, b, map[string]string{`CONNECT mix.test:18080 HTTP/1.1\r\n\r\n`: "403|502|504"})
	if n := w.Hits(t, "127.0.0.1:18080"); n != 0 {
		t.Errorf("mixed answers: the host's loopback saw %d connections", n)
	}
}

// A32: what the upstream gets as Host is what was decided on.
func TestA32_HostHeader(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "allowed.test")
	got := raw(t, b, `GET http://allowed.test:18080/ HTTP/1.1\r\nHost: evil.test\r\n\r\n`)[0]
	if h := w.Ask(t, "headers"); got == "200" && !strings.Contains(h, "Host=allowed.test:18080 ") {
		t.Errorf("status %s, the server saw %s", got, h)
	}
}

// A39: an upgrade stays with its host, and HTTP/2 is not tunnelled in.
// B76: WebSocket works.
func TestA39_Upgrade(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "allowed.test")
	b.Python(t, wsClient)
	for _, pre := range []string{"", noProxy} {
		r := b.Sh(t, "%spython3 script.py", pre).OK(t)
		if strings.TrimSpace(r.Stdout) != "echo: hello websocket" {
			t.Errorf("%q%q", r.Stdout, r.Stderr)
		}
	}
	before := w.Hits(t, "11.0.0.10:18080")
	got := raw(t, b, `GET http://allowed.test:18080/ HTTP/1.1\r\nHost: allowed.test:18080\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`)[0]
	if got == "101" || got == "200" && strings.Contains(w.Ask(t, "headers"), "h2c") {
		t.Errorf("h2c: %s, %s (%d hits)", got, w.Ask(t, "headers"), w.Hits(t, "11.0.0.10:18080")-before)
	}
}

const wsClient = `import base64, os, socket
proxy = os.environ.get("http_proxy")
if proxy:
    s = socket.create_connection(("127.0.0.1", 3128)); target = "http://allowed.test:18080/ws"
else:
    s = socket.create_connection(("allowed.test", 18080)); target = "/ws"
key = base64.b64encode(os.urandom(16)).decode()
s.sendall((f"GET {target} HTTP/1.1\r\nHost: allowed.test:18080\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
           f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
f = s.makefile("rb")
assert f.readline().startswith(b"HTTP/1.1 101"), "no upgrade"
while f.readline().strip(): pass
mask = os.urandom(4); text = b"hello websocket"
s.sendall(bytes([0x81, 0x80 | len(text)]) + mask + bytes(c ^ mask[i % 4] for i, c in enumerate(text)))
head = f.read(2); print("echo:", f.read(head[1]).decode())
`

// A42: what a client sends is not written raw into the refusal.
func TestA42_Escapes(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w)
	wantStatus(t, b, map[string]string{
		`GET http://evil%0d%0aX:1.test/ HTTP/1.1\r\n\r\n`:                     "400",
		`CONNECT ev\x1bil.test:80 HTTP/1.1\r\n\r\n`:                           "400",
		`CONNECT ` + strings.Repeat("a", 20000) + `.test:80 HTTP/1.1\r\n\r\n`: "400|414|431",
		`GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n`:           "403",
		`GET http://evil.test/<script> HTTP/1.1\r\nHost: evil.test\r\n\r\n`:   "403",
	})
	r := b.Sh(t, hidden+"-si http://evil.test/").OK(t)
	if !strings.Contains(r.Stdout, "text/plain") || !strings.Contains(r.Stdout, "evil.test") || !strings.Contains(r.Stdout, "--allow-domain") {
		t.Errorf("the refusal says too little: %q", r.Stdout)
	}
	if strings.ContainsAny(r.Stderr, "\x1b\x00\r") {
		t.Errorf("stderr holds raw bytes: %q", r.Stderr)
	}
}

// A44: nobody outside can use the way out: it listens in the sandbox only.
func TestA44_NotOnTheHost(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "allowed.test")
	b.Sh(t, "(exec 3<>/dev/tcp/127.0.0.1/3128)").OK(t)
	before := w.Outside(t, "ss", "-Hltn")
	r := b.start(t, "sh", "-c", "echo up; read line; true")
	during := w.Outside(t, "ss", "-Hltn")
	r.end(t, 0)
	if before != during {
		t.Errorf("a run listens on the host\nbefore %s\nduring %s", before, during)
	}
}

var _ = sandboxtest.Limit
