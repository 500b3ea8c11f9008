//go:build linux

package egresstest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bawn/internal/sandbox/sandboxtest"
)

// A13, A14: an address is as good as a name to go by the proxy, and no port
// of it is open to everybody, the proxy's own number included.
func TestA13_DirectAddresses(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		b.Flags = []string{"--allow-domain", "allowed.test"}
		for _, addr := range []string{"11.0.0.10/18080", "11.0.0.10/7", "11.0.0.10/80"} {
			if r := b.Sh(t, hello, addr); r.Code == 0 {
				t.Errorf("%s: %s is connected", l, addr)
			}
		}
	}
	for _, addr := range []string{"11.0.0.10:18080", "11.0.0.10:7", "11.0.0.10:80"} {
		if n := w.Hits(t, addr); n != 0 {
			t.Errorf("%s saw %d connections", addr, n)
		}
	}
}

// A16: no datagram and no packet of another kind leaves.
func TestA16_OtherProtocols(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		b.Flags = []string{"--allow-domain", "*"}
		b.Python(t, `import socket, errno
def attempt(name, f):
    try:
        f(); print(name, "PASSED")
    except OSError as e:
        print(name, errno.errorcode.get(e.errno, e))
def udp(addr, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(20)
    s.connect(addr); s.send(b"x"); s.recv(10)
attempt("udp", lambda: udp(("11.0.0.10", 443)))
attempt("udp6", lambda: udp(("2600::1", 443), socket.AF_INET6))
attempt("tcp6", lambda: socket.create_connection(("2600::1", 443), 20))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt("icmp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).sendto(b"\x08\0\0\0\0\0\0\0", ("11.0.0.10", 0)))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("vsock", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
attempt("sctp", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132).connect(("11.0.0.10", 9)))
`)
		r := b.Sh(t, "python3 script.py").OK(t)
		if n := strings.Count(r.Stdout, "\n"); n != 8 || strings.Contains(r.Stdout, "PASSED") || strings.Contains(r.Stdout, "timed out") {
			t.Errorf("%s:\n%s", l, r.Stdout)
		}
	}
}

// A18: a name that is not allowed is looked up nowhere, whoever asks for it.
func TestA18_NoQueryLeaves(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "allowed.test")
	wantStatus(t, b, map[string]string{`CONNECT s3cr3t.evil.test:443 HTTP/1.1\r\n\r\n`: "403"})
	for _, text := range []string{
		"getent hosts s3cr3t.evil.test", hidden + "-sS --fail --max-time 20 http://s3cr3t.evil.test/", noProxy + hidden + "-sS --fail --max-time 20 http://s3cr3t.evil.test/",
		"python3 -c 'import socket; socket.getaddrinfo(\"s3cr3t.evil.test\", 80)'", "curl -sS --socks5-hostname 127.0.0.1:3128 http://s3cr3t.evil.test/",
	} {
		if r := b.Sh(t, "%s", text); r.Code == 0 {
			t.Errorf("%s: exit 0", text)
		}
	}
	if q := w.Queries(t); q != "" {
		t.Errorf("names were looked up: %s", q)
	}
	b.Sh(t, "curl -sS --fail http://allowed.test:18080/").OK(t)
	if q := w.Queries(t); !strings.Contains(q, "allowed.test") {
		t.Error("the name server sees no query at all: the test proves nothing")
	}
}

// A queries the sandbox's resolver: B87, quick answers for both kinds of name.
func TestB87_Getent(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "allowed.test")
	if r := b.Sh(t, "getent ahostsv4 allowed.test").OK(t); !strings.HasPrefix(r.Stdout, "198.1") {
		t.Errorf("%q", r.Stdout)
	}
	if r := b.Sh(t, "getent hosts evil.test"); r.Code != 2 {
		t.Errorf("a denied name: exit %d, want 2 (not found)", r.Code)
	}
	if r := b.Sh(t, "getent hosts localhost && getent hosts $(hostname)").OK(t); !strings.Contains(r.Stdout, "localhost") {
		t.Errorf("%q", r.Stdout)
	}
}

// N3: with a connection to the address of one allowed host nothing else is
// reached: the name in the first bytes must agree.
func TestN3_NamesAgree(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "allowed.test", "--allow-domain", "other.test")
	copyFile(t, filepath.Join(w.Dir, "ca.pem"), filepath.Join(b.Workspace, "ca.pem"))
	addr := "$(getent ahostsv4 allowed.test | awk '{print $1; exit}')"
	r := b.Sh(t, noProxy+"curl -sS --fail --cacert ca.pem --resolve evil.test:18443:%s https://evil.test:18443/", addr)
	if r.Code == 0 || !strings.Contains(r.Stderr, "alert") {
		t.Errorf("TLS to another name: exit %d, %q", r.Code, r.Stderr)
	}
	r = b.Sh(t, noProxy+"curl -sS --fail --resolve evil.test:18080:%s http://evil.test:18080/", addr)
	if r.Code == 0 || strings.Contains(r.Stdout, "hello") {
		t.Errorf("HTTP to another name: exit %d, %q", r.Code, r.Stdout)
	}
	r = b.Sh(t, "curl -sS --fail --cacert ca.pem -x http://127.0.0.1:3128 --connect-to evil.test:18443:allowed.test:18443 https://evil.test:18443/")
	if r.Code == 0 || strings.Contains(r.Stdout, "hello") {
		t.Errorf("through the proxy: exit %d, %q", r.Code, r.Stdout)
	}
	b.Sh(t, noProxy+"curl -sS --fail --cacert ca.pem https://allowed.test:18443/").OK(t)
}

// B67: a rule with a port opens no other port of the host, in either way.
func TestB67_Ports(t *testing.T) {
	w := NewWorld(t)
	eachWay(t, w, func(t *testing.T, b *Box, pre string) {
		b.Flags = []string{"--allow-domain", "allowed.test:18080"}
		b.Sh(t, "%scurl -sS --fail http://allowed.test:18080/", pre).OK(t)
		denied(t, w, "11.0.0.10:80", "another port", func() sandboxtest.Result {
			return b.Sh(t, "%scurl -sS --fail http://allowed.test/", pre)
		})
	})
}

// B69: a dot at the end. B71: an allowed host needs no further switch.
func TestB69_RootDot(t *testing.T) {
	w := NewWorld(t)
	eachWay(t, w, func(t *testing.T, b *Box, pre string) {
		b.Sh(t, "%scurl -sS --fail http://allowed.test.:18080/", pre).OK(t)
		b.Sh(t, "%scurl -sS --fail http://SUB.Allowed.Test:18080/", pre).OK(t)
	})
}

// B86, A26: a private address needs an explicit word.
func TestB86_PrivateAddress(t *testing.T) {
	w := NewWorld(t)
	eachWay(t, w, func(t *testing.T, b *Box, pre string) {
		b.Flags = []string{"--allow-domain", "intra.test"}
		denied(t, w, "10.1.2.3:18080", "without the word", func() sandboxtest.Result {
			return b.Sh(t, "%scurl -sS --fail http://intra.test:18080/", pre)
		})
		b.Flags = append(b.Flags, "--allow-private", "intra.test")
		b.Sh(t, "%scurl -sS --fail http://intra.test:18080/", pre).OK(t)
		b.Flags = []string{"--allow-domain", "meta.test", "--allow-private", "meta.test"}
		denied(t, w, "169.254.169.254:80", "the metadata service", func() sandboxtest.Result {
			return b.Sh(t, "%scurl -sS --fail http://meta.test/", pre)
		})
	})
}

// B62, B63, B64, N4: a service of the host's loopback, and only that port.
func TestB62_LocalPort(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		if r := b.Sh(t, "curl -sS --fail http://localhost:18080/"); r.Code == 0 {
			t.Errorf("%s: the host's loopback is open", l)
		}
		b.Flags = []string{"--allow-local-port", "18080"}
		b.Sh(t, "curl -sS --fail http://localhost:18080/; exec 3<>/dev/tcp/127.0.0.1/18080").OK(t)
		if r := b.Sh(t, "curl -sS --fail http://127.0.0.1:18081/"); r.Code == 0 {
			t.Errorf("%s: another port is open", l)
		}
		b.Flags = []string{"--allow-domain", "127.0.0.1:18080"}
		wantStatus(t, b, map[string]string{
			`CONNECT 127.0.0.1:18080 HTTP/1.1\r\n\r\n`: "200", `CONNECT 127.0.0.1:18081 HTTP/1.1\r\n\r\n`: "403",
		})
	}
}

// N4: --publish shows a server of the sandbox on the host.
func TestN4_Publish(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		b.Flags = []string{"--publish", "12345", "--publish", "11.0.0.10:12346"}
		sandboxtest.Write(t, b.Workspace+"/index.html", "from inside\n")
		b.Python(t, `import http.server, sys, threading
for p in (12345, 12346):
    s = http.server.ThreadingHTTPServer(("127.0.0.1", p), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=s.serve_forever, daemon=True).start()
print("up", flush=True); sys.stdin.readline()
`)
		r := b.start(t, "python3", "script.py")
		for _, url := range []string{"http://127.0.0.1:12345/", "http://11.0.0.10:12346/"} {
			if out := w.Outside(t, "curl", "-sS", url); out != "from inside\n" {
				t.Errorf("%s: %s: %q", l, url, out)
			}
		}
		r.end(t, 0)
		if out := w.Outside(t, "sh", "-c", "curl -sS http://127.0.0.1:12345/ 2>&1; true"); !strings.Contains(out, "refused") && !strings.Contains(out, "Could") {
			t.Errorf("%s: published after the end: %q", l, out)
		}
	}
	b := newBox(t, w, "--publish", "18080")
	if r := b.Run(t, "true"); r.Code != 125 || !strings.Contains(r.Stderr, "18080") {
		t.Errorf("a port that is taken: exit %d, %q", r.Code, r.Stderr)
	}
}

// N11: airlock has nothing, and says so at once.
func TestN11_Airlock(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		for _, flags := range [][]string{{"--tier", "airlock"}, {"--sandbox", "read-only"}} {
			b := NewBox(t, w, l)
			b.Flags = append([]string{"--allow-domain", "*", "--allow-local-port", "18080"}, flags...)
			for _, text := range []string{
				hidden + "-sS --fail http://allowed.test:18080/", noProxy + "curl -sS --fail --max-time 20 http://allowed.test:18080/",
				hidden + "-sS --fail http://11.0.0.10:18080/", "getent hosts allowed.test", "curl -sS --fail http://127.0.0.1:18080/",
			} {
				r := b.Sh(t, "%s", text)
				if r.Code == 0 {
					t.Errorf("%s %s: %s: exit 0", l, flags, text)
				}
			}
			if r := b.Sh(t, hidden+"-sS http://allowed.test:18080/"); !strings.Contains(r.Stdout, "has no network") {
				t.Errorf("%s: the reason is %q", flags, r.Stdout)
			}
		}
	}
	if q := w.Queries(t); q != "" {
		t.Errorf("names were looked up: %s", q)
	}
}

// A49: what runs inside does not steer the supervisor, nor does a file in the
// workspace; the host's environment does. N12, B84: both forms of its value.
func TestN12_Upstream(t *testing.T) {
	w := NewWorld(t)
	for _, form := range []string{"11.0.0.10:3129", "http://11.0.0.10:3129", "http://user:s3cret@11.0.0.10:3129/"} {
		b := newBox(t, w, "--allow-domain", "allowed.test")
		b.Env = append(b.Env, "HTTPS_PROXY="+form, "HTTP_PROXY="+form, "NO_PROXY=other.test")
		copyFile(t, filepath.Join(w.Dir, "ca.pem"), filepath.Join(b.Workspace, "ca.pem"))
		w.Ask(t, "clear")
		b.Sh(t, "curl -sS --fail --cacert ca.pem https://allowed.test:18443/").OK(t)
		log := w.Ask(t, "connects")
		if !strings.Contains(log, "CONNECT allowed.test:18443 ") {
			t.Errorf("%s: the upstream saw %q", form, log)
		}
		if strings.Contains(form, "@") != strings.Contains(log, "Basic dXNlcjpzM2NyZXQ=") {
			t.Errorf("%s: credentials: %q", form, log)
		}
		if r := b.Sh(t, "env"); strings.Contains(r.Stdout, "s3cret") || strings.Contains(r.Stdout, "3129") {
			t.Errorf("the upstream shows inside: %s", r.Stdout)
		}
		if r := b.Sh(t, "curl -sS --fail http://evil.test:18080/"); r.Code == 0 {
			t.Error("an unlisted host through the upstream")
		}
	}
	if q := w.Queries(t); strings.Contains(q, "allowed.test") {
		t.Errorf("a name that the upstream resolves was looked up here: %s", q)
	}
	b := newBox(t, w, "--allow-domain", "allowed.test")
	sandboxtest.Write(t, b.Workspace+"/.env", "HTTP_PROXY=http://11.0.0.10:3129\nHTTPS_PROXY=http://11.0.0.10:3129\n")
	w.Ask(t, "clear")
	b.Sh(t, "export HTTP_PROXY=http://11.0.0.10:3129 NO_PROXY='*'; curl -sS --fail -x http://127.0.0.1:3128 http://allowed.test:18080/").OK(t)
	if log := w.Ask(t, "connects"); log != "" {
		t.Errorf("the sandbox chose the upstream: %q", log)
	}
}

// B77: 500 quick requests, 20 at a time, all answered.
func TestB77_ManyRequests(t *testing.T) {
	t.Parallel()
	w := NewWorld(t)
	n := 500 // once; the other ways, and root, show that they share the bounds
	if os.Getuid() == 0 {
		n = 100
	}
	eachWay(t, w, func(t *testing.T, b *Box, pre string) {
		before := w.Hits(t, "11.0.0.10:18080")
		r := b.Sh(t, "%sseq %d | xargs -P20 -I{} curl -sf http://allowed.test:18080/{} | grep -c hello", pre, n).OK(t)
		if strings.TrimSpace(r.Stdout) != strconv.Itoa(n) {
			t.Errorf("%s of %d answers", strings.TrimSpace(r.Stdout), n)
		}
		if got := w.Hits(t, "11.0.0.10:18080") - before; got != n {
			t.Errorf("the server saw %d connections of %d", got, n)
		}
		n = 100
	})
}

// Three transfers of 64 MiB each way at once, through the proxy and without.
func TestN3_Bulk(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "allowed.test")
	b.Python(t, bulk)
	for _, mode := range []string{"proxy", "direct"} {
		r := b.Sh(t, "python3 script.py %s", mode).OK(t)
		if strings.TrimSpace(r.Stdout) != "3 equal" {
			t.Errorf("%s: %s%s", mode, r.Stdout, r.Stderr)
		}
	}
}

const bulk = `import hashlib, os, socket, sys, threading
SIZE, PIECE = 64 << 20, os.urandom(1 << 20)
def one(out, i):
    if sys.argv[1] == "proxy":
        s = socket.create_connection(("127.0.0.1", 3128))
        s.sendall(b"CONNECT allowed.test:7 HTTP/1.1\r\nHost: allowed.test:7\r\n\r\n")
        head = b""
        while not head.endswith(b"\r\n\r\n"): head += s.recv(1)
        assert b" 200 " in head, head
    else:
        s = socket.create_connection(("allowed.test", 7))
    sent, got = hashlib.sha256(), hashlib.sha256()
    def send():
        for _ in range(SIZE // len(PIECE)):
            sent.update(PIECE); s.sendall(PIECE)
        s.shutdown(socket.SHUT_WR)
    t = threading.Thread(target=send); t.start()
    n = 0
    while True:
        d = s.recv(1 << 18)
        if not d: break
        got.update(d); n += len(d)
    t.join()
    out[i] = n == SIZE and sent.digest() == got.digest()
out = [False] * 3
ts = [threading.Thread(target=one, args=(out, i)) for i in range(3)]
for t in ts: t.start()
for t in ts: t.join()
print(sum(out), "equal")
`

// B76: a stream that is silent for 70 seconds goes on.
func TestB76_SilentStream(t *testing.T) {
	t.Parallel()
	w := NewWorld(t)
	b := newBox(t, w, "--allow-domain", "allowed.test")
	b.Limit = 3 * time.Minute
	r := b.Sh(t, "curl -sSN 'http://allowed.test:18080/sse?pause=70s' & "+noProxy+"curl -sSN 'http://allowed.test:18080/sse?pause=70s' & wait")
	if n := strings.Count(r.Stdout, "data: two"); n != 2 {
		t.Errorf("%d of 2 streams went on: %q %q", n, r.Stdout, r.Stderr)
	}
}

// B119, T8: without a terminal nothing asks: the refusal says how to allow.
func TestB119_Headless(t *testing.T) {
	w := NewWorld(t)
	b := newBox(t, w)
	want := "--allow-domain new.test"
	// What the text says is refused before anything runs (C2).
	r := b.Sh(t, "touch ran; curl -sS --fail http://new.test:18080/")
	if r.Code != 125 || !strings.HasPrefix(r.Stderr, "bawn: not run: new.test") || !strings.Contains(r.Stderr, want) {
		t.Errorf("exit %d, %q", r.Code, r.Stderr)
	}
	b.Sh(t, "! test -e ran").OK(t)
	r = b.Sh(t, hidden+"-sS --fail http://new.test:18080/")
	if r.Code == 0 || !strings.Contains(r.Stderr, "denied new.test:18080 to curl") || !strings.Contains(r.Stderr, want) {
		t.Errorf("exit %d, %q", r.Code, r.Stderr)
	}
	r = b.Sh(t, hidden+"-sS http://new.test:18080/").OK(t)
	if !strings.Contains(r.Stdout, want) || r.Stderr != "" {
		t.Errorf("stdout %q, stderr %q", r.Stdout, r.Stderr)
	}
	r = b.Sh(t, noProxy+hidden+"-sS --fail http://new.test:18080/")
	if r.Code == 0 || !strings.Contains(r.Stderr, want) {
		t.Errorf("transparent: exit %d, %q", r.Code, r.Stderr)
	}
	b.Flags = []string{"-q"}
	if r := b.Sh(t, noProxy+hidden+"-s --fail http://new.test:18080/"); strings.Contains(r.Stderr, "bawn") {
		t.Errorf("-q: %q", r.Stderr)
	}
}

// N1: the built-in list holds without any flag, a bare public suffix does not.
func TestA09_PublicSuffix(t *testing.T) {
	w := NewWorld(t)
	for _, rule := range []string{"com", "*.com", "*.co.uk", "*.github.io", "io"} {
		b := newBox(t, w, "--allow-domain", rule)
		if r := b.Run(t, "true"); r.Code != 125 || !strings.Contains(r.Stderr, "public suffix") {
			t.Errorf("%s: exit %d, %q", rule, r.Code, r.Stderr)
		}
	}
	for _, rule := range []string{"*.github.io!", "example.com", "*.example.co.uk", "*", "example.com:443"} {
		newBox(t, w, "--allow-domain", rule).Run(t, "true").OK(t)
	}
}
