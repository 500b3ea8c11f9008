//go:build unix

package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

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
	port := served(t, func(c net.Conn) {
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
	port := served(t, func(c net.Conn) {
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

// A server may close a connection just when the next request is sent on it.
func TestStaleServerConnection(t *testing.T) {
	var conns atomic.Int32
	port := served(t, func(c net.Conn) {
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
