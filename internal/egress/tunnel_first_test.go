//go:build unix

package egress

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"bawn/internal/policy"
)

func clientHello(t testing.TB, name string) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer b.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		tls.Client(a, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
	}()
	buf := make([]byte, 8<<10)
	n, err := b.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	<-done
	return buf[:n]
}

// refragment splits the one record of a hello into records of n bytes.
func refragment(hello []byte, n int) []byte {
	var out []byte
	for body := hello[5:]; len(body) > 0; {
		part := body[:min(n, len(body))]
		body = body[len(part):]
		out = append(out, 0x16, 3, 1, byte(len(part)>>8), byte(len(part)))
		out = append(out, part...)
	}
	return out
}

func TestFirstBytes(t *testing.T) {
	host := func(s string) policy.Host {
		h, err := policy.ParseHost(s)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	good, evil, none := clientHello(t, "Allowed.test"), clientHello(t, "evil.test"), clientHello(t, "")
	for _, c := range []struct {
		host, send string
		want       First
	}{
		{"allowed.test", string(good), FirstOK},
		{"allowed.test", string(good) + "\x17\x03\x03early data", FirstOK},
		{"allowed.test", string(refragment(good, 1)), FirstOK},
		{"allowed.test", string(refragment(good, 100)), FirstOK},
		{"allowed.test", string(evil), FirstTLS},
		{"allowed.test", string(refragment(evil, 7)), FirstTLS},
		{"allowed.test", string(none), FirstTLS},
		{"allowed.test", "\x16\x03\x01\x00\x00", FirstTLS},
		{"allowed.test", "\x16\x03\x01\x00\x04\x02\x00\x00\x00", FirstTLS},
		{"allowed.test", "\x16\x03\x01\x40\x00\x01\xff\xff\xff", FirstTLS},
		{"allowed.test", string(good[:len(good)-1]), FirstMore},
		{"127.1.0.1", string(none), FirstOK},
		{"127.1.0.1", string(evil), FirstTLS},
		{"allowed.test", "", FirstMore},
		{"allowed.test", "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n", FirstOK},
		{"allowed.test", "GET / HTTP/1.1\r\nhOsT:\tALLOWED.test.:8080\r\n\r\n", FirstOK},
		{"allowed.test", "GET / HTTP/1.0\r\n\r\n", FirstOK},
		{"allowed.test", "GET / HTTP/1.1\nHost: allowed.test\n\n", FirstOK},
		{"allowed.test", "GET / HTTP/1.1\r\nHost: evil.test\r\n", FirstHTTP},
		{"allowed.test", "GET / HTTP/1.1\r\nHost : evil.test\r\n", FirstHTTP},
		{"allowed.test", "GET / HTTP/1.1\nHost: evil.test\n", FirstHTTP},
		{"allowed.test", "\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n", FirstHTTP},
		{"allowed.test", "FOO /  HTTP/1.1\r\nHost: evil.test\r\n", FirstHTTP},
		{"allowed.test", "get / HTTP/1.1\r\nHost: evil.test\r\n", FirstHTTP},
		{"allowed.test", "GET / HTTP/1.1\r\nHost: allowed.test\r\nHost: evil.test\r\n", FirstHTTP},
		{"allowed.test", "GET / HTTP/1.1\r\nHost:\r\n evil.test\r\n", FirstHTTP},
		{"allowed.test", "GET / HTTP/1.1\r\nA: b\rHost: evil.test\r\n", FirstHTTP},
		{"allowed.test", "GET http://evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", FirstHTTP},
		{"allowed.test", "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", FirstOK},
		{"allowed.test", "CONNECT evil.test:443 HTTP/1.1\r\nHost: allowed.test\r\n\r\n", FirstHTTP},
		{"allowed.test", "GET / HTTP/1.1\r\nHost: allowed.test@evil.test\r\n", FirstHTTP},
		{"allowed.test", "GET / HTTP/1.1\r\nHost: \r\n", FirstHTTP},
		{"allowed.test", "GET / HTTP/1.1\r\nX: Host: evil.test\r\n\r\n", FirstOK},
		{"allowed.test", "GE", FirstMore},
		{"allowed.test", "GET / HTTP/1.1\r\nHos", FirstMore},
		{"allowed.test", "SSH-2.0-OpenSSH_9.2\r\n", FirstOK},
		{"allowed.test", "EHLO me\r\n", FirstOK},
		{"allowed.test", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", FirstMore},
		{"allowed.test", "GET\t/\tHTTP/1.1\r\nHost: allowed.test\r\n", FirstHTTP},
		{"allowed.test", "GET /a HTTP/1.1 \r\nHost: allowed.test\r\n", FirstHTTP},
		{"allowed.test", "GET /\xa0b HTTP/1.1\r\nHost: allowed.test\r\n\r\n", FirstOK},
		{"allowed.test", " GET / HTTP/1.1\r\n", FirstHTTP},
		{"allowed.test", " \r\n\tGET / HTTP/1.1\r\n", FirstHTTP},
		{"allowed.test", "GET / http/1.1\r\n", FirstHTTP},
		{"allowed.test", "GET /http/1.1\r\n", FirstOK},
		{"allowed.test", "GET /", FirstMore},
		{"allowed.test", "OPTIONS rtsp://allowed.test/ RTSP/1.0\r\n", FirstOK},
		{"allowed.test", "\x15\x03\x01\x00\x02\x01\x5a", FirstTLS},
		{"allowed.test", "\x15\x03\x01\x00\x02", FirstMore},
		{"allowed.test", "\x15\x03\x00\x00\x02\x00\x00\x00", FirstOK},
		{"allowed.test", "\x14\x03\x03\x00\x01\x01", FirstTLS},
		{"allowed.test", "\x15\x02\x01\x00\x02\x01\x5a", FirstTLS},
		{"allowed.test", "\x15\x03\x05\x00\x02\x01\x5a", FirstTLS},
		{"allowed.test", "\x15\x10\x00\x00\x02\x01\x5a", FirstOK},
		{"allowed.test", "\x16\x02\x01" + string(good[3:]), FirstTLS},
		{"allowed.test", "\x16\x0f\xff" + string(evil[3:]), FirstTLS},
		{"allowed.test", "\x16\x10\x00" + string(evil[3:]), FirstOK},
		{"allowed.test", "\x16\x02\x01\x00\x05", FirstMore},
		{"allowed.test", "\x16\x00\x00\x01\x85\xa6\xff", FirstOK},
		{"allowed.test", "\x00\x00\x00T\x00\x03\x00\x00user\x00", FirstOK},
		{"allowed.test", "0\x0c\x02\x01\x01\x60\x07", FirstOK},
		{"allowed.test", "*1\r\n$4\r\nPING\r\n", FirstOK},
		{"allowed.test", "\x00\x00\x00\x08\x04\xd2\x16\x2f", FirstOK},
		{"allowed.test", "\x16\x02not TLS\n", FirstOK},
	} {
		if got := checkFirst(host(c.host), []byte(c.send)); got != c.want {
			t.Errorf("%s: %.60q: %v, want %v", c.host, c.send, got, c.want)
		}
	}
}

// Every split of the first bytes over segments gives the same end.
func TestFirstBytesInSegments(t *testing.T) {
	got := make(chan string, 1)
	port := served(t, func(c net.Conn) {
		b, _ := io.ReadAll(c)
		got <- string(b)
	})
	w := newWorld(t, allowed(t))
	send := func(parts ...[]byte) string {
		c, r := w.connect(fmt.Sprintf("allowed.test:%d", port))
		c.SetNoDelay(true)
		for _, p := range parts {
			c.Write(p)
			time.Sleep(time.Millisecond) // a segment of its own
		}
		c.CloseWrite()
		b, _ := io.ReadAll(r)
		return string(b)
	}
	split := func(b []byte) (out [][]byte) {
		for len(b) > 0 {
			n := min(len(b), 1+len(b)/3)
			out = append(out, b[:n])
			b = b[n:]
		}
		return out
	}
	const alert = "\x15\x03\x03\x00\x02\x02\x31"
	good, evil := clientHello(t, "allowed.test"), clientHello(t, "evil.test")
	if answer := send(split(good)...); answer != "" {
		t.Errorf("%q", answer)
	}
	if b := <-got; b != string(good) {
		t.Errorf("the server got %d bytes of %d", len(b), len(good))
	}
	if answer := send(split(evil)...); answer != alert {
		t.Errorf("%q", answer)
	}
	if b := <-got; b != "" {
		t.Errorf("the server got %q", b)
	}
	if answer := send(good[:50]); answer != alert { // an end in the middle
		t.Errorf("%q", answer)
	}
	if b := <-got; b != "" {
		t.Errorf("the server got %q", b)
	}
	text := "POST / HTTP/1.1\r\nHost: evil.test\r\n\r\nsecret"
	if answer := send(split([]byte(text))...); status(answer) != "403" {
		t.Errorf("%q", answer)
	}
	if b := <-got; strings.Contains(b, "evil") || strings.Contains(b, "secret") {
		t.Errorf("the server got %q", b)
	}
	w.wait("a mismatch", func(e Event) bool { return e.End && strings.Contains(e.Err, "TLS server name is not allowed.test") })
	text = "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\nrest"
	send(split([]byte(text))...)
	if b := <-got; b != text {
		t.Errorf("the server got %q", b)
	}
}

func TestUnfinishedHelloIsTimed(t *testing.T) {
	w := newWorld(t, allowed(t), func(o *Options) { o.Limits.HeaderTime = 50 * time.Millisecond })
	c, r := w.connect(fmt.Sprintf("allowed.test:%d", echo(t)))
	c.Write(clientHello(t, "allowed.test")[:50])
	if b, _ := io.ReadAll(r); string(b) != "\x15\x03\x03\x00\x02\x02\x31" {
		t.Errorf("%q", b)
	}
}

func TestCurlToAnotherName(t *testing.T) {
	secure := origin(t, true, func(http.ResponseWriter, *http.Request) {})
	w := newWorld(t, allowed(t))
	out, err := w.curl("-k", "--connect-to", fmt.Sprintf("evil.test:%d:allowed.test:%[1]d", secure), fmt.Sprintf("https://evil.test:%d/", secure))
	if err == nil || !strings.Contains(out, "access denied") {
		t.Errorf("%q, %v", out, err)
	}
}

// Servers differ in what they take for the first record of TLS: with none of
// them is another name reached than the one that was asked for.
func TestOtherNameInOddRecords(t *testing.T) {
	certificate, names := certificate(), make(chan string, 1)
	port := served(t, func(c net.Conn) {
		s := tls.Server(c, &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			names <- h.ServerName
			return &certificate, nil
		}})
		if s.Handshake() == nil {
			s.Write([]byte("served"))
		}
		s.Close()
	})
	w := newWorld(t, allowed(t))
	for _, c := range []struct {
		name, before string
		version      [2]byte
		ok           bool
	}{
		{"allowed.test", "", [2]byte{3, 1}, true},
		{"evil.test", "", [2]byte{3, 1}, false},
		{"evil.test", "", [2]byte{2, 1}, false},
		{"evil.test", "", [2]byte{15, 255}, false},
		{"evil.test", "\x15\x02\x00\x00\x02\x01\x5a", [2]byte{3, 1}, false},
		{"evil.test", "\x15\x03\x07\x00\x02\x01\x5a", [2]byte{3, 1}, false},
	} {
		conn, _ := w.connect(fmt.Sprintf("allowed.test:%d", port))
		k := tls.Client(&firstRecord{Conn: conn, before: c.before, version: c.version}, &tls.Config{ServerName: c.name, InsecureSkipVerify: true})
		b, _ := io.ReadAll(k)
		k.Close()
		served := ""
		select {
		case served = <-names:
		default:
		}
		if ok := string(b) == "served"; ok != c.ok || (served != "") != c.ok {
			t.Errorf("%s as %q %v: %q, the server was asked for %q", c.name, c.before, c.version, b, served)
		}
	}
}

// certificate is one that no client trusts.
func certificate() tls.Certificate {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return s.TLS.Certificates[0]
}

// firstRecord sends the first record with another version, behind other bytes.
type firstRecord struct {
	net.Conn
	before  string
	version [2]byte
	sent    bool
}

func (f *firstRecord) Write(b []byte) (int, error) {
	if f.sent {
		return f.Conn.Write(b)
	}
	f.sent = true
	n, err := f.Conn.Write(slices.Concat([]byte(f.before), b[:1], f.version[:], b[3:]))
	return n - len(f.before), err
}
