//go:build unix

package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bawn/internal/policy"
)

func allowed(t testing.TB) policy.NetworkConfig {
	return policy.NetworkConfig{Allow: rules(t, "allowed.test")}
}

func TestB69_CurlWithRootDot(t *testing.T) {
	w := newWorld(t, allowed(t))
	out, err := w.curl(fmt.Sprintf("http://allowed.test.:%d/", hello(t)))
	if err != nil || !strings.HasPrefix(out, "host=allowed.test:") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestB74_HTTPAndHTTPS(t *testing.T) {
	w := newWorld(t, allowed(t))
	secure := origin(t, true, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "secure") })
	for _, c := range []struct{ url, want string }{
		{fmt.Sprintf("http://allowed.test:%d/", hello(t)), "path=/"},
		{fmt.Sprintf("https://allowed.test:%d/", secure), "secure"},
	} {
		for _, proxy := range []string{"http://" + w.addr, "socks5h://" + w.addr} {
			if out, err := w.curl("-k", "-x", proxy, c.url); err != nil || !strings.Contains(out, c.want) {
				t.Errorf("%s by %s: %q, %v", c.url, proxy, out, err)
			}
			evil := strings.Replace(c.url, "allowed", "evil", 1)
			if out, err := w.curl("-k", "-f", "-x", proxy, evil); err == nil {
				t.Errorf("%s by %s: %q", evil, proxy, out)
			}
		}
	}
	out, _ := w.curl("-k", "-v", fmt.Sprintf("https://evil.test:%d/", secure))
	if !strings.Contains(out, "403 blocked by bawn: evil.test is not on the list of allowed hosts") {
		t.Errorf("curl shows no reason: %s", out)
	}
}

func TestB76_WebSocket(t *testing.T) {
	port := listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		req, err := http.ReadRequest(r)
		if err != nil || req.Header.Get("Upgrade") != "websocket" || !strings.EqualFold(req.Header.Get("Connection"), "upgrade") || req.Header.Get("Sec-WebSocket-Key") != "k" {
			io.WriteString(c, "HTTP/1.1 400 no\r\nContent-Length: 0\r\n\r\n")
			return
		}
		io.WriteString(c, "HTTP/1.1 101 ok\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: a\r\n\r\nfirst")
		io.Copy(c, r)
	})
	w := newWorld(t, allowed(t))
	c := w.dial()
	fmt.Fprintf(c, "GET http://allowed.test:%d/ HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: k\r\n\r\n", port)
	r := bufio.NewReader(c)
	tp := textproto.NewReader(r)
	line, _ := tp.ReadLine()
	h, err := tp.ReadMIMEHeader()
	if err != nil || line != "HTTP/1.1 101 ok" || h.Get("Upgrade") != "websocket" || h.Get("Sec-WebSocket-Accept") != "a" {
		t.Fatalf("%q %v %v", line, h, err)
	}
	// A39: what looks like a second request goes to the same server.
	second := "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"
	io.WriteString(c, second)
	c.CloseWrite()
	if got, _ := io.ReadAll(r); string(got) != "first"+second {
		t.Errorf("%q", got)
	}
	if n := len(w.resolved()); n != 1 {
		t.Errorf("%d resolutions", n)
	}
}

func TestA39_OtherUpgrades(t *testing.T) {
	var reached atomic.Int32
	port := listen(t, func(c net.Conn) {
		reached.Add(1)
		http.ReadRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 101 ok\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nfirst")
	})
	w := newWorld(t, allowed(t))
	send := func(fields string) string {
		return w.raw(fmt.Sprintf("GET http://allowed.test:%d/ HTTP/1.1\r\nHost: a\r\n%s\r\n", port, fields))
	}
	for _, fields := range []string{
		"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
		"Upgrade: websocket, h2c\r\nConnection: Upgrade\r\n",
		"Upgrade: websocket\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n",
		"Upgrade: websocket\r\n",
		"Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 3\r\n",
		"Upgrade: TLS/1.0\r\nConnection: Upgrade\r\n",
	} {
		if got := send(fields); status(got) != "501" {
			t.Errorf("%q: %q", fields, got)
		}
	}
	if reached.Load() != 0 {
		t.Errorf("%d requests reached the server", reached.Load())
	}
	// A server that changes the protocol unasked, or to another one.
	for _, fields := range []string{"", "Upgrade: websocket\r\nConnection: Upgrade\r\n"} {
		if got := send(fields); status(got) != "502" || strings.Contains(got, "first") {
			t.Errorf("%q: %q", fields, got)
		}
	}
}

func TestB76_SilenceIsNoEnd(t *testing.T) {
	const silence = 300 * time.Millisecond // ten times every limit
	sse := origin(t, false, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-time.After(silence):
		case <-r.Context().Done():
			return
		}
		io.WriteString(w, "data: 2\n\n")
	})
	w := newWorld(t, allowed(t), func(o *Options) {
		o.Limits = Limits{IdleTime: silence / 10, HeaderTime: silence / 10}
	})
	if out, err := w.curl("-N", fmt.Sprintf("http://allowed.test:%d/", sse)); err != nil || out != "data: 1\n\ndata: 2\n\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := w.curl("-N", "-p", fmt.Sprintf("http://allowed.test:%d/", sse)); err != nil || out != "data: 1\n\ndata: 2\n\n" {
		t.Errorf("in a tunnel: %q, %v", out, err)
	}
}

func TestB77_FiveHundredQuickRequests(t *testing.T) {
	var n atomic.Int32
	port := origin(t, false, func(w http.ResponseWriter, r *http.Request) { n.Add(1) })
	w := newWorld(t, allowed(t))
	cmd := exec.Command("sh", "-c", fmt.Sprintf("seq 500 | xargs -P20 -n25 sh -c 'for i; do printf \"url=http://allowed.test:%d/%%s\\noutput=/dev/null\\nnext\\n\" $i; done | sed \\$d | curl -q -sSf --max-time 60 -K -' x", port))
	cmd.Env = append(cmd.Environ(), "http_proxy=http://"+w.addr)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s, %v", out, err)
	}
	if n.Load() != 500 {
		t.Errorf("%d of 500", n.Load())
	}
	var decisions, ends int
	for _, e := range w.all() {
		if e.End {
			ends++
		} else {
			decisions++
		}
		if e.Err != "" {
			t.Errorf("%+v", e)
		}
	}
	if decisions != 500 || ends != 500 {
		t.Errorf("%d decisions and %d ends", decisions, ends)
	}
}

func TestB86_PrivateHostByName(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "inner") }))
	inner := []netip.Addr{netip.MustParseAddr("127.0.0.1")}

	rule := fmt.Sprintf("intra.test:%d", port)
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, rule), AllowPrivate: rules(t, rule)})
	w.host("intra.test", inner...)
	if out, err := w.curl(fmt.Sprintf("http://intra.test:%d/", port)); err != nil || out != "inner" {
		t.Errorf("%q, %v", out, err)
	}
	w = newWorld(t, policy.NetworkConfig{Allow: rules(t, rule)})
	w.host("intra.test", inner...)
	out, err := w.curl("-i", fmt.Sprintf("http://intra.test:%d/", port))
	if err != nil || !strings.Contains(out, "403") || !strings.Contains(out, "--allow-private") {
		t.Errorf("%q, %v", out, err)
	}
	// One decision, and it is the one that counts.
	if all := w.all(); len(all) != 1 || all[0].Decision.Verdict != policy.Deny || !strings.HasPrefix(all[0].Decision.Rule.ID, "address:") {
		t.Errorf("%+v", all)
	}
}

func TestB64_LoopbackLiteral(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "local") }))
	w := newWorld(t, policy.NetworkConfig{Allow: rules(t, l.Addr().String())})
	if got := w.raw(fmt.Sprintf("GET http://%s/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", l.Addr())); !strings.HasSuffix(got, "local") {
		t.Errorf("%q", got)
	}
	if got := w.raw("GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); status(got) != "403" {
		t.Errorf("%q", got)
	}
}

func TestSmuggling(t *testing.T) {
	w := newWorld(t, allowed(t))
	post := func(fields string) string {
		return "POST http://allowed.test/ HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n"
	}
	var cases []rawCase
	for _, f := range []string{
		"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 3\r\nContent-Length: 3\r\n", "Content-Length: 3, 3\r\n",
		"Content-Length: +3\r\n", "Content-Length: 0x3\r\n", "Content-Length: \r\n", "Content-Length: 99999999999999999999\r\n", "Content-Length: -1\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "Content-Length : 3\r\n", " Content-Length: 3\r\n",
		"A: b\r\n c\r\n", "A: b\r\n\tc\r\n", "A: b\rc\r\n", "A: b\nB: c\r\n", "A: b\x00c\r\n", "A\r\n", ": b\r\n", "A b: c\r\n", "A\x00: b\r\n",
		"\x0bTransfer-Encoding: chunked\r\n", "Host: b\r\n",
	} {
		cases = append(cases, rawCase{post(f), "400"})
	}
	for _, f := range []string{"Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: \r\n", "Transfer-Encoding: identity\r\n"} {
		cases = append(cases, rawCase{post(f), "501"})
	}
	cases = append(cases,
		rawCase{"POST http://allowed.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400"},
		rawCase{"GET http://allowed.test/ HTTP/1.1\nHost: a\n\n", "400"},
		rawCase{post("Expect: 200-ok\r\n"), "417"},
		rawCase{"CONNECT allowed.test:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", "400"},
		rawCase{"CONNECT allowed.test:443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		rawCase{"CONNECT allowed.test:443 HTTP/1.1\r\n\r\n", "400"},
	)
	w.cases(cases)
}

// What reaches the server has one framing, the decided host, and nothing of
// the client's own connection.
func TestForwardedRequest(t *testing.T) {
	heads := make(chan string, 10)
	port := listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			var head string
			for !strings.HasSuffix(head, "\r\n\r\n") {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				head += line
			}
			if strings.Contains(head, "chunked") {
				for !strings.HasSuffix(head, "0\r\n\r\n") && !strings.HasSuffix(head, "X-Trail: t\r\n\r\n") {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					head += line
				}
			} else if strings.Contains(head, "Content-Length: 5") {
				b := make([]byte, 5)
				io.ReadFull(r, b)
				head += string(b)
			}
			heads <- head
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive, X-Private\r\nX-Private: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: x\r\nX-Kept: 1\r\n\r\nok")
		}
	})
	w := newWorld(t, allowed(t))
	base := fmt.Sprintf("http://allowed.test:%d", port)
	c := w.dial()
	r := bufio.NewReader(c)
	for _, x := range []struct{ send, want string }{
		{
			"GET " + base + "?q=1 HTTP/1.1\r\nHost: evil.test\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic x\r\nTE: trailers\r\nKeep-Alive: 5\r\nConnection: X-Drop, Host\r\nX-Drop: 1\r\nX-Keep: \xc3\xa9 \r\n\r\n",
			"GET /?q=1 HTTP/1.1\r\nHost: allowed.test:%d\r\nX-Keep: \xc3\xa9\r\n\r\n",
		},
		{
			"POST " + base + "/p HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
			"POST /p HTTP/1.1\r\nHost: allowed.test:%d\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
		},
		{
			"POST " + base + "/p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5;ext=\"a\"\r\nhello\r\n0\r\nX-Trail: t\r\nContent-Length: 9\r\n\r\n",
			"POST /p HTTP/1.1\r\nHost: allowed.test:%d\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Trail: t\r\n\r\n",
		},
		{"OPTIONS " + base + " HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: allowed.test:%d\r\n\r\n"},
		{"DELETE " + base + "/d HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "DELETE /d HTTP/1.1\r\nHost: allowed.test:%d\r\nContent-Length: 0\r\n\r\n"},
	} {
		io.WriteString(c, x.send)
		if got, want := <-heads, fmt.Sprintf(x.want, port); got != want {
			t.Errorf("server got %q, want %q", got, want)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if string(b) != "ok" || err != nil || resp.Header.Get("X-Kept") != "1" || len(resp.Header) != 2 {
			t.Errorf("client got %q %v %v", b, resp.Header, err)
		}
	}
	if n := len(w.resolved()); n != 1 {
		t.Errorf("%d connections for requests one after another, want 1", n)
	}
	// A bad chunk never reaches the server as something else.
	for _, body := range []string{"5\r\nhelloX\r\n", "5 \r\nhello\r\n", "-1\r\n", "0x5\r\nhello\r\n", "\r\n", "5\nhello\r\n", ";x\r\n", "fffffffffffffffff\r\n", "0\r\nA b: c\r\n\r\n", "0\r\n x\r\n\r\n", strings.Repeat("0", 2000)} {
		got := w.raw("POST " + base + "/p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
		if status(got) != "400" {
			t.Errorf("%.30q: %q", body, got)
		}
	}
}

func TestResponses(t *testing.T) {
	answers := make(chan string, 1)
	port := listen(t, func(c net.Conn) {
		http.ReadRequest(bufio.NewReader(c))
		io.WriteString(c, <-answers)
	})
	w := newWorld(t, allowed(t))
	get := func(method, version string) string {
		return fmt.Sprintf("%s http://allowed.test:%d/ HTTP/%s\r\nHost: a\r\nConnection: close\r\n\r\n", method, port, version)
	}
	for _, x := range []struct{ method, version, answer, want string }{
		{"GET", "1.1", "HTTP/1.1 200 OK\r\n\r\ntill the end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nc\r\ntill the end\r\n0\r\n\r\n"},
		{"GET", "1.0", "HTTP/1.1 200 OK\r\n\r\ntill the end", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ntill the end"},
		{"GET", "1.0", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc"},
		{"GET", "1.1", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: 1\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\nT: 1\r\n\r\n"},
		{"GET", "1.1", "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\nConnection: close\r\n\r\n"},
		{"GET", "1.0", "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 304 No\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"},
		{"HEAD", "1.1", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"},
		{"GET", "1.1", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 200 OK\r\n\r\nextra", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab"},
	} {
		answers <- x.answer
		if got := w.raw(get(x.method, x.version)); got != x.want {
			t.Errorf("%s %q: %q, want %q", x.method, x.answer, got, x.want)
		}
	}
	for _, answer := range []string{
		"", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", "HTTP/1.1 200 OK\nA: b\n\n", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
		"HTTP/1.1 407 Auth\r\nProxy-Authenticate: Basic\r\n\r\n", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 1),
	} {
		answers <- answer
		got := w.raw(get("GET", "1.1"))
		if got = strings.TrimPrefix(got, "HTTP/1.1 100 Continue\r\n\r\n"); got != "" && status(got) != "502" {
			t.Errorf("%q: %q", answer, got)
		}
	}
	// A cut body is a cut for the client, not an end.
	for _, answer := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"} {
		answers <- answer
		out, err := w.curl(fmt.Sprintf("http://allowed.test:%d/", port))
		if err == nil {
			t.Errorf("%q: curl sees no error: %q", answer, out)
		}
	}
}

func TestExpectContinue(t *testing.T) {
	port := origin(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(413)
			return
		}
		b, _ := io.ReadAll(r.Body) // this sends 100 Continue
		fmt.Fprintf(w, "%d %v", len(b), r.TransferEncoding)
	})
	w := newWorld(t, allowed(t))
	post := func(path string) (*bufio.Reader, net.Conn) {
		c := w.dial()
		fmt.Fprintf(c, "POST http://allowed.test:%d%s HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", port, path)
		return bufio.NewReader(c), c
	}
	r, c := post("/yes")
	if line, _ := r.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q", line)
	}
	r.ReadString('\n')
	io.WriteString(c, "hello")
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(resp.Body); string(b) != "5 []" {
		t.Errorf("%q", b)
	}
	r, _ = post("/no") // the body never comes
	if line, _ := r.ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 413 ") {
		t.Errorf("%q", line)
	}
	if _, err := io.ReadAll(r); err != nil {
		t.Errorf("%v", err)
	}
}

func TestBigBodiesBothWays(t *testing.T) {
	port := origin(t, false, func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		io.Copy(w, r.Body)
	})
	w := newWorld(t, allowed(t))
	file := filepath.Join(t.TempDir(), "body")
	body := make([]byte, 6_000_000)
	rand.New(rand.NewSource(1)).Read(body)
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"-H", "Transfer-Encoding: chunked"}, {"-H", "Expect:"}, {"-p"}} {
		out, err := w.curl(append(args, "-T", file, fmt.Sprintf("http://allowed.test:%d/", port))...)
		if err != nil || out != string(body) {
			t.Errorf("%q: %d bytes, %v", args, len(out), err)
		}
	}
}

func TestHeldClient(t *testing.T) {
	asked := make(chan context.Context, 1)
	release := make(chan policy.Decision)
	w := newWorld(t, policy.NetworkConfig{}, func(o *Options) {
		o.Decide = func(ctx context.Context, r Request) policy.Decision {
			asked <- ctx
			select {
			case d := <-release:
				return d
			case <-ctx.Done():
				return policy.Decision{Rule: policy.Rule{ID: "test:gone"}}
			}
		}
	})
	port := hello(t)
	for _, send := range []string{
		fmt.Sprintf("CONNECT allowed.test:%d HTTP/1.1\r\nHost: a\r\n\r\n\x16\x03early bytes", port),
		fmt.Sprintf("GET http://allowed.test:%d/ HTTP/1.1\r\nHost: a\r\n\r\n", port),
		"\x05\x01\x00\x05\x01\x00\x03\x0callowed.test\x00\x50",
	} {
		c := w.dial()
		io.WriteString(c, send)
		ctx := <-asked
		c.Close()
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
			t.Fatalf("%.20q: the question outlives its client", send)
		}
	}
	if n := w.resolved(); len(n) > 0 {
		t.Errorf("resolved %q", n)
	}
	// One who waits, with the next request already sent, gets both answers.
	c := w.dial()
	fmt.Fprintf(c, "GET http://allowed.test:%d/1 HTTP/1.1\r\nHost: a\r\n\r\n", port)
	<-asked
	fmt.Fprintf(c, "GET http://allowed.test:%d/2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", port)
	time.Sleep(3 * heldAfter) // so that the second is read while the first is held
	release <- policy.Decision{Verdict: policy.Allow}
	<-asked
	release <- policy.Decision{Verdict: policy.Allow}
	if b, _ := io.ReadAll(c); strings.Count(string(b), "200 OK") != 2 || !strings.Contains(string(b), "path=/1") || !strings.Contains(string(b), "path=/2") {
		t.Errorf("%q", b)
	}
}

func TestClientGoneEndsTheExchange(t *testing.T) {
	gone := make(chan struct{})
	started := make(chan struct{})
	port := origin(t, false, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "x")
		w.(http.Flusher).Flush()
		close(started)
		<-r.Context().Done()
		close(gone)
	})
	w := newWorld(t, allowed(t))
	c := w.dial()
	fmt.Fprintf(c, "GET http://allowed.test:%d/ HTTP/1.1\r\nHost: a\r\n\r\n", port)
	<-started
	c.Close()
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Fatal("the server's side lives on")
	}
	if e := w.ended(); e.Err == "" || e.Down == 0 || e.Up == 0 {
		t.Errorf("%+v", e)
	}
}

// A server may close a connection just when the next request is sent on it.
func TestStaleServerConnection(t *testing.T) {
	var conns atomic.Int32
	port := listen(t, func(c net.Conn) {
		conns.Add(1)
		r := bufio.NewReader(c)
		if req, err := http.ReadRequest(r); err != nil || req == nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		http.ReadRequest(r) // and says nothing to it
	})
	w := newWorld(t, allowed(t))
	c := w.dial()
	r := bufio.NewReader(c)
	for range 3 {
		fmt.Fprintf(c, "GET http://allowed.test:%d/ HTTP/1.1\r\nHost: a\r\n\r\n", port)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(resp.Body); string(b) != "ok" {
			t.Errorf("%d %q", resp.StatusCode, b)
		}
	}
	if conns.Load() != 3 {
		t.Errorf("%d connections", conns.Load())
	}
}
