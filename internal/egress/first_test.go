//go:build unix

package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"

	"bawn/internal/policy"
)

// Real servers are more tolerant than the standards. None may be led to
// another name by what checkFirst takes for another protocol.
func TestTolerantServersAreNotMisled(t *testing.T) {
	w := newWorld(t, allowed(t))
	through := func(t *testing.T, port uint16, send string) string {
		c, r := w.connect(fmt.Sprintf("allowed.test:%d", port))
		defer c.Close()
		c.SetDeadline(time.Now().Add(20 * time.Second))
		io.WriteString(c, send)
		c.CloseWrite()
		b, _ := io.ReadAll(r)
		return string(b)
	}

	t.Run("http.server", func(t *testing.T) { // splits the request line at any white space
		cmd := exec.Command("python3", "-u", "-c", `import http.server
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        b = b"you reached " + self.headers["Host"].encode()
        self.send_response(200); self.send_header("Content-Length", str(len(b))); self.end_headers(); self.wfile.write(b)
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("`+public.String()+`", 0), H)
print(s.server_port); s.serve_forever()`)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
		var port uint16
		if _, err := fmt.Fscan(out, &port); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			"GET / HTTP/1.1", "GET\t/\tHTTP/1.1", "GET / HTTP/1.1 ", "GET / HTTP/1.1\t", " GET / HTTP/1.1", "GET\v/\vHTTP/1.1", "GET /\tHTTP/1.1",
			"GET  /  HTTP/1.1", "\f GET / HTTP/1.1", "GET / HTTP/1.1\x1c", "GET\x85/\x85HTTP/1.1", "GET\xa0/\xa0HTTP/1.1", "GET / HTTP/01.1",
		} {
			for _, end := range []string{"\r\n", "\n"} {
				if got := through(t, port, line+end+"Host: evil.test"+end+end); strings.Contains(got, "you reached") {
					t.Errorf("%q: %q", line, got)
				}
			}
		}
		if got := through(t, port, "GET / HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n"); !strings.Contains(got, "you reached allowed.test") {
			t.Errorf("%q", got)
		}
	})

	t.Run("net/http", func(t *testing.T) { // takes any token for a method, and a line of a megabyte
		l, err := net.Listen("tcp", public.String()+":0")
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "you reached "+r.Host) })}
		go s.Serve(l)
		defer s.Close()
		port := uint16(l.Addr().(*net.TCPAddr).Port)
		long := strings.Repeat("a", 200<<10)
		for _, line := range []string{"G3T / HTTP/1.1", "A.B / HTTP/1.1", "!#$%&'*+-.^_`|~9 / HTTP/1.1", "1 / HTTP/1.1", "GET /" + long + " HTTP/1.1", long + " / HTTP/1.1"} {
			if got := through(t, port, line+"\r\nHost: evil.test\r\nConnection: close\r\n\r\n"); strings.Contains(got, "you reached") {
				t.Errorf("%.40q: %q", line, got)
			}
		}
		for _, line := range []string{"GET / HTTP/1.1", "M-SEARCH / HTTP/1.1", "G3T / HTTP/1.1"} {
			if got := through(t, port, line+"\r\nHost: allowed.test\r\nConnection: close\r\n\r\n"); !strings.Contains(got, "you reached allowed.test") {
				t.Errorf("%q: %q", line, got)
			}
		}
	})

	t.Run("crypto/tls", func(t *testing.T) { // skips warnings before the handshake
		cert := httptest.NewUnstartedServer(nil)
		cert.StartTLS()
		defer cert.Close()
		names := make(chan string, 100)
		port := served(t, func(c net.Conn) {
			s := tls.Server(c, &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
				names <- h.ServerName
				return &cert.TLS.Certificates[0], nil
			}})
			c.SetDeadline(time.Now().Add(20 * time.Second))
			s.Handshake()
		})
		evil, good := string(clientHello(t, "evil.test")), string(clientHello(t, "allowed.test"))
		for _, before := range []string{
			"", "\x15\x03\x01\x00\x02\x01\x5a", "\x15\x03\x03\x00\x02\x01\x64", "\x15\x03\x00\x00\x02\x01\x5a", "\x14\x03\x03\x00\x01\x01",
			"\x15\x03\x01\x00\x02\x01\x5a\x15\x03\x01\x00\x02\x01\x5a",
		} {
			through(t, port, before+evil)
			for {
				select {
				case n := <-names:
					if n == "evil.test" {
						t.Errorf("%q leads to evil.test", before)
					}
					continue
				default:
				}
				break
			}
		}
		go through(t, port, good)
		if n := <-names; n != "allowed.test" {
			t.Errorf("%q", n)
		}
	})

	t.Run("HTTP/2", func(t *testing.T) { // without TLS, known to be spoken
		l, err := net.Listen("tcp", public.String()+":0")
		if err != nil {
			t.Fatal(err)
		}
		reached := make(chan string, 100)
		var p http.Protocols
		p.SetUnencryptedHTTP2(true)
		s := &http.Server{Protocols: &p, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached <- r.Host
			io.WriteString(w, "hello "+r.Host)
		})}
		go s.Serve(l)
		defer s.Close()
		port := uint16(l.Addr().(*net.TCPAddr).Port)
		get := func(host string) (string, error) {
			var only http.Protocols
			only.SetUnencryptedHTTP2(true)
			tr := &http.Transport{Protocols: &only, DialContext: func(context.Context, string, string) (net.Conn, error) {
				c, _ := w.connect(fmt.Sprintf("allowed.test:%d", port))
				return c, nil
			}}
			defer tr.CloseIdleConnections()
			resp, err := (&http.Client{Transport: tr, Timeout: 20 * time.Second}).Get("http://" + host + "/")
			if err != nil {
				return "", err
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			return string(b), err
		}
		if got, err := get("allowed.test"); got != "hello allowed.test" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		<-reached
		if got, err := get("evil.test"); err == nil {
			t.Errorf("%q", got)
		}
		select {
		case h := <-reached:
			t.Errorf("%s was reached", h)
		default:
		}
	})
}

func TestFirstBytesOfHTTP2(t *testing.T) {
	frame := func(kind, flags byte, stream uint32, body string) string {
		b := []byte{byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body)), kind, flags}
		return string(binary.BigEndian.AppendUint32(b, stream)) + body
	}
	block := func(fields ...string) string {
		var b bytes.Buffer
		e := hpack.NewEncoder(&b)
		for i := 0; i < len(fields); i += 2 {
			e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		return b.String()
	}
	head := func(fields ...string) string {
		return block(append([]string{":method", "GET", ":scheme", "http", ":path", "/"}, fields...)...)
	}
	start := h2Preface + frame(4, 0, 0, "") + frame(8, 0, 0, "\x00\x01\x00\x00")
	good, evil := head(":authority", "allowed.test:80"), head(":authority", "evil.test")
	host, err := policy.ParseHost("allowed.test")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		send string
		want First
	}{
		{start, FirstMore},
		{start + frame(1, 5, 1, good), FirstOK},
		{start + frame(1, 5, 1, good)[:20], FirstMore},
		{start + frame(1, 5, 1, evil), FirstHTTP},
		{start + frame(1, 1, 1, good[:3]) + frame(9, 4, 1, good[3:]), FirstOK},
		{start + frame(1, 1, 1, evil[:3]) + frame(9, 4, 1, evil[3:]), FirstHTTP},
		{start + frame(1, 1, 1, good[:3]) + frame(9, 4, 3, good[3:]), FirstHTTP},
		{start + frame(1, 1, 1, good[:3]) + frame(4, 0, 0, ""), FirstHTTP},
		{start + frame(1, 5|8, 1, "\x02"+good+"\x00\x00"), FirstOK},
		{start + frame(1, 5|8, 1, "\xff"+good), FirstHTTP},
		{start + frame(1, 5|0x20, 1, "\x00\x00\x00\x00\x10"+evil), FirstHTTP},
		{start + frame(1, 5|0x20, 1, "\x00\x00\x00\x00\x10"+good), FirstOK},
		{start + frame(1, 5, 1, head(":authority", "allowed.test", "host", "evil.test")), FirstHTTP},
		{start + frame(1, 5, 1, head("host", "allowed.test")), FirstOK},
		{start + frame(1, 5, 1, block(":method", "CONNECT", ":authority", "allowed.test:80")), FirstHTTP},
		{start + frame(1, 5, 1, block(":method", "GET", ":path", "http://evil.test/", ":authority", "allowed.test")), FirstHTTP},
		{start + frame(1, 5, 1, "\xff\xff\xff"), FirstHTTP},
		{start + frame(0, 1, 1, "data"), FirstHTTP},
		{h2Preface + "\xff\xff\xff\x04\x00\x00\x00\x00\x00", FirstHTTP},
		{h2Preface[:20], FirstMore},
		{"PRI * HTTP/2.0\r\n\r\nXX", FirstHTTP},
	} {
		for n := range c.send {
			if got := checkFirst(host, []byte(c.send[:n])); got != FirstMore && got != c.want {
				t.Errorf("%d of %q: %v", n, c.send, got)
			}
		}
		if got := checkFirst(host, []byte(c.send)); got != c.want {
			t.Errorf("%q: %v, want %v", c.send, got, c.want)
		}
	}
	// What a server needs to speak goes on, a request does not.
	if n := passable([]byte(start + frame(1, 5, 1, good)[:12])); n != len(start) {
		t.Errorf("%d of %d bytes may pass", n, len(start))
	}
}
