//go:build unix

package egress

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func withSecret(o *Options) { o.Secret = "s3cret" }

func basic(login string) string {
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(login)) + "\r\n"
}

// Only who knows the secret is heard, by all three ways; nobody else learns
// even what is allowed.
func TestSecret(t *testing.T) {
	w := newWorld(t, allowed(t), withSecret)
	port := hello(t)
	get := fmt.Sprintf("GET http://allowed.test:%d/ HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n", port)
	tunnel := fmt.Sprintf("CONNECT allowed.test:%d HTTP/1.1\r\nHost: allowed.test\r\n", port)
	for _, request := range []string{get, tunnel, "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n", "nonsense\r\n"} {
		for _, login := range []string{"", basic("bawn:s3cre"), basic("bawn:s3cret2"), basic("other:s3cret"), basic("s3cret"), basic(""), "Proxy-Authorization: Basic %%\r\n", "Proxy-Authorization: Bearer s3cret\r\n", "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("bawn:s3cret")) + "\r\n", basic("bawn:s3cret") + basic("bawn:s3cret")} {
			got := w.raw(request + login + "\r\n")
			if !strings.HasPrefix(got, "HTTP/1.1 407 ") || !strings.Contains(got, "\r\nProxy-Authenticate: Basic realm=\"bawn\"\r\n") || strings.Contains(got, "s3cret") {
				t.Fatalf("%q %q: %q", request, login, got) // each further one would wait out its time
			}
		}
	}
	if len(w.resolved()) > 0 {
		t.Errorf("names were asked for: %v", w.resolved())
	}
	if got := w.raw(get + basic("bawn:s3cret") + "\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200 ") || !strings.Contains(got, "path=/") {
		t.Errorf("with the secret: %q", got)
	}
	if got := w.raw("CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n" + basic("bawn:s3cret") + "\r\n"); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Errorf("a host that is not allowed, with the secret: %q", got)
	}
}

func TestSecretBySOCKS(t *testing.T) {
	w := newWorld(t, allowed(t), withSecret)
	port := hello(t)
	request := append(append([]byte{5, 1, 0, 3, 12}, "allowed.test"...), byte(port>>8), byte(port))
	login := func(user, password string) []byte {
		return append(append([]byte{1, byte(len(user))}, user...), append([]byte{byte(len(password))}, password...)...)
	}
	for _, c := range []struct {
		what  string
		sent  []byte
		reply string
	}{
		{"no method", []byte{5, 0}, "\x05\xff"},
		{"without a login", append([]byte{5, 1, 0}, request...), "\x05\xff"},
		{"wrong password", append([]byte{5, 1, 2}, login("bawn", "s3cre")...), "\x05\x02\x01\x01"},
		{"wrong user", append([]byte{5, 2, 0, 2}, login("x", "s3cret")...), "\x05\x02\x01\x01"},
		{"moved colon", append([]byte{5, 1, 2}, login("bawn:s3", "cret")...), "\x05\x02\x01\x01"},
		{"another version", append([]byte{5, 1, 2}, append([]byte{5}, login("bawn", "s3cret")[1:]...)...), "\x05\x02\x01\x01"},
	} {
		if got := w.raw(string(c.sent)); got != c.reply {
			t.Fatalf("%s: %q, want %q", c.what, got, c.reply)
		}
	}
	if len(w.resolved()) > 0 {
		t.Errorf("names were asked for: %v", w.resolved())
	}
	conn := w.dial()
	for _, step := range []struct{ send, want []byte }{
		{[]byte{5, 1, 2}, []byte{5, 2}}, {login("bawn", "s3cret"), []byte{1, 0}}, {request, []byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}},
	} {
		conn.Write(step.send)
		got := make([]byte, len(step.want))
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, step.want) {
			t.Fatalf("%q, %v, want %q", got, err, step.want)
		}
	}
}

// The real curl sends what Env gives it without being asked, by both schemes.
func TestSecretCurl(t *testing.T) {
	w := newWorld(t, allowed(t), withSecret)
	env := Env(netip.MustParseAddrPort(w.addr), "s3cret")
	i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, "http_proxy=") })
	proxy := strings.TrimPrefix(env[i], "http_proxy=")
	url := fmt.Sprintf("http://allowed.test:%d/", hello(t))
	for _, p := range []string{proxy, strings.Replace(proxy, "http://", "socks5h://", 1)} {
		if out, err := w.curl("-f", "-x", p, url); err != nil || !strings.Contains(out, "path=/") {
			t.Errorf("%s: %q, %v", p, out, err)
		}
		if out, err := w.curl("-f", "-p", "-x", p, url); err != nil || !strings.Contains(out, "path=/") {
			t.Errorf("%s by a tunnel: %q, %v", p, out, err)
		}
	}
	if out, err := w.curl("-f", url); err == nil {
		t.Errorf("without it: %q", out)
	}
	for _, e := range env {
		if strings.Contains(strings.ToUpper(e), "NO_PROXY") != !strings.Contains(e, "s3cret") && !strings.HasPrefix(e, "NODE") && !strings.Contains(strings.ToUpper(e), "NO_GRPC") {
			t.Errorf("%s", e)
		}
	}
}

// The end of a login is found wherever it is cut.
func TestSOCKSLoginEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		user, password := rapid.SliceOfN(rapid.Byte(), 0, 255).Draw(t, "user"), rapid.SliceOfN(rapid.Byte(), 0, 255).Draw(t, "password")
		b := append(append([]byte{1, byte(len(user))}, user...), append([]byte{byte(len(password))}, password...)...)
		more := append(bytes.Clone(b), rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "more")...)
		cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		if n, err := socksLogin(more); n != len(b) || err != nil {
			t.Fatalf("%d, %v, want %d", n, err, len(b))
		}
		if n, err := socksLogin(b[:cut]); n != 0 || err != nil {
			t.Fatalf("cut at %d: %d, %v", cut, n, err)
		}
	})
}
