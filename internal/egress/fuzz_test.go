//go:build unix

package egress

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"bawn/internal/policy"
)

// source is a connection that gives fixed bytes in pieces of a given size.
type source struct {
	net.Conn
	b []byte
	n int
}

func (s *source) Read(b []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b, s.b[:min(len(s.b), max(s.n, 1))])
	s.b = s.b[n:]
	return n, nil
}

// What we take for one request, net/http takes for the same one.
func FuzzRequestHead(f *testing.F) {
	for _, s := range []string{
		"GET http://allowed.test/a?b HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "CONNECT allowed.test:443 HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST http://a.test:80/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", "POST http://a.test/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET / HTTP/1.1\nHost: a\n\n", "GET http://a@b/ HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n", "\r\n\r\n", "GET http://[::1]:80/ HTTP/1.0\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		f.Add([]byte(s), 7)
	}
	p := New(Options{Limits: Limits{Header: 8 << 10}})
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		c := &reader{Conn: &source{b: b, n: n}, p: p}
		defer c.release()
		h, err := c.readHead()
		if err != nil {
			return
		}
		method, target, minor, err := requestLine(h.line)
		if err != nil || method == "CONNECT" {
			return
		}
		length, err := h.length()
		if err != nil {
			return
		}
		to, path, err := parseTarget(method, target)
		if err != nil {
			return
		}
		if strings.ContainsAny(path, "\r\n \t") || path == "" || to.Port == 0 || to.Host == (policy.Host{}) {
			t.Fatalf("%q: path %q to %v", b, path, to)
		}
		_, named, err := h.one("Host")
		if err != nil || !named && minor == 1 || minor == 0 && length == chunked {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			return // stricter than we are: it looks into paths and user agents too
		}
		other, err := parseAuthority(r.URL.Host, 80)
		if err != nil || other != to || r.Method != method {
			t.Fatalf("%q: we see %v, net/http sees %q", b, to, r.URL.Host)
		}
		switch {
		case length == chunked && (len(r.TransferEncoding) != 1 || r.TransferEncoding[0] != "chunked"),
			length >= 0 && r.ContentLength != length, length == noLength && r.ContentLength != 0:
			t.Fatalf("%q: we see length %d, net/http %d %q", b, length, r.ContentLength, r.TransferEncoding)
		}
	})
}

// A body that we let pass, read again by net/http, is the same one.
func FuzzChunked(f *testing.F) {
	for _, s := range []string{
		"5\r\nhello\r\n0\r\n\r\n", "5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n", "0\r\n\r\n", "1\r\na\r\nA\r\n0123456789\r\n00\r\n\r\n", "5\r\nhelloX\r\n", "5\nhello\n0\n\n",
		"-1\r\n", "fffffffffffffff\r\nx", "0\r\nContent-Length: 5\r\nX: y\r\n\r\n", "\x10\r\n",
	} {
		f.Add([]byte(s), 3)
	}
	p := New(Options{})
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		c := &reader{Conn: &source{b: b, n: n}, p: p}
		defer c.release()
		var framed, plain bytes.Buffer
		if p.copyBody(&framed, c, chunked, true) != nil {
			return
		}
		rest := append(append([]byte(nil), c.buffered()...), c.Conn.(*source).b...)
		again := &reader{Conn: &source{b: b, n: n + 1}, p: p}
		if err := p.copyBody(&plain, again, chunked, false); err != nil {
			t.Fatalf("%q: %v the second time", b, err)
		}
		again.release()
		r := bufio.NewReader(&framed)
		got, err := io.ReadAll(httputil.NewChunkedReader(r))
		if err != nil || !bytes.Equal(got, plain.Bytes()) {
			t.Fatalf("%q: written as %q, %v, want %q", b, got, err, plain.Bytes())
		}
		original := bufio.NewReader(bytes.NewReader(b[:len(b)-len(rest)]))
		if got, err := io.ReadAll(httputil.NewChunkedReader(original)); err == nil && !bytes.Equal(got, plain.Bytes()) {
			t.Fatalf("%q: net/http reads %q, we read %q", b, got, plain.Bytes())
		}
	})
}

func FuzzSOCKS(f *testing.F) {
	for _, s := range []string{
		"\x05\x01\x00\x03\x0callowed.test\x01\xbb", "\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", "\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x50",
		"\x05\x01\x00\x03\x00\x00\x50", "\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00", "\x05\x01\x00\x07\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := socksGreeting(b); n < 0 || n > len(b) || err != nil {
			t.Fatal(n, err)
		}
		n, err := socksRequest(b)
		if n < 0 || n > len(b) {
			t.Fatal(n)
		}
		if err != nil || n == 0 {
			return
		}
		c, err := parseSOCKS(b[:n])
		if err != nil {
			return
		}
		h, err := policy.ParseHost(c.Host.String())
		if b[1] != 1 || c.Port == 0 || err != nil || h != c.Host {
			t.Fatalf("%q: %v", b, c)
		}
	})
}

// More bytes never change an answer, and no answer hides another name.
func FuzzFirst(f *testing.F) {
	for _, s := range [][]byte{
		clientHello(f, "allowed.test"), clientHello(f, "evil.test"), clientHello(f, ""), refragment(clientHello(f, "evil.test"), 9),
		[]byte("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n"), []byte("GET / HTTP/1.1\nHost: evil.test\n\n"), []byte("SSH-2.0-x\r\n"), {0x16, 3, 1, 0, 0},
		[]byte("\r\nPOST http://evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n"), []byte(" GET\t/ HTTP/1.1\r\nHost: evil.test\r\n"),
		[]byte("\x15\x03\x01\x00\x02\x01\x5a"), []byte(h2Preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x02\x01\x05\x00\x00\x00\x01\x82\x84"),
	} {
		f.Add(s, 5)
	}
	host, _ := policy.ParseHost("allowed.test")
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		all := checkFirst(host, b)
		part := b[:min(max(n, 0), len(b))]
		if early := checkFirst(host, part); early != FirstMore && early != all {
			t.Fatalf("%q: %v, then %v after %d bytes", b, all, early, len(part))
		} else if early == FirstMore {
			if n := passable(part); n < 0 || n > len(part) {
				t.Fatalf("%q: %d may pass", part, n)
			}
		}
		if all != FirstOK {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(bytes.TrimLeft(b, "\r\n"))))
		if err == nil && r.ProtoMajor == 1 && r.Host != "" && !names(r.Host, host) {
			t.Fatalf("%q: net/http sees %q", b, r.Host)
		}
	})
}

func FuzzLine(f *testing.F) {
	f.Add("a\nb\x1b[0m\u202e\\")
	f.Add(strings.Repeat("\x00", 200))
	f.Fuzz(func(t *testing.T, s string) {
		got := Line(s, 100)
		if len(got) > 100 {
			t.Fatalf("%d bytes", len(got))
		}
		for i := range len(got) {
			if got[i] < ' ' || got[i] > '~' {
				t.Fatalf("%q", got)
			}
		}
	})
}
