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
	port := served(t, func(c net.Conn) {
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
	port := served(t, func(c net.Conn) {
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
	// A client is gone before its request has ended here.
	count := func(events []Event) (decisions, ends int) {
		for _, e := range events {
			if e.End {
				ends++
			} else {
				decisions++
			}
		}
		return decisions, ends
	}
	w.until("500 ends", func(events []Event) bool { _, ends := count(events); return ends >= 500 })
	w.Close() // nothing comes after it
	for _, e := range w.all() {
		if e.Err != "" {
			t.Errorf("%+v", e)
		}
	}
	decisions, ends := count(w.all())
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
