//go:build unix

package egress

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A second ClientHello, which a server may ask for, names the host as the first
// one did, whatever comes between them. What is no hello goes on untouched.
func TestSecondHello(t *testing.T) {
	got := make(chan string, 1)
	port := served(t, func(c net.Conn) {
		c.Write([]byte("\x16\x03\x03\x00\x04\x02\x00\x00\x00")) // as if it asked
		b, _ := io.ReadAll(c)
		got <- string(b)
	})
	w := newWorld(t, allowed(t))
	good, evil := string(clientHello(t, "allowed.test")), string(clientHello(t, "evil.test"))
	const cipher, warning = "\x14\x03\x03\x00\x01\x01", "\x15\x03\x03\x00\x02\x01\x5a"
	early := "\x17\x03\x03\x40\x00" + strings.Repeat("e", 1<<14)
	finished := "\x17\x03\x03\x00\x35" + strings.Repeat("f", 0x35)
	one := string(refragment([]byte(evil), 1))
	for _, c := range []struct{ name, hidden, rest string }{
		{"none", "", ""},
		{"the same name", "", good},
		{"the same name in pieces", "", cipher + string(refragment([]byte(good), 3)) + finished},
		{"TLS 1.3", "", cipher + finished + strings.Repeat(early, 9)},
		{"TLS 1.2", "", "\x16\x03\x03\x00\x05\x10\x00\x00\x01\x00" + cipher + evil},
		{"much data", "", strings.Repeat(early, 40) + "end"},
		{"a part of a record", "", finished[:20]},
		{"a part of a head", "", "\x17\x03"},
		{"an empty record", "", "\x17\x03\x03\x00\x00" + finished},
		{"another name", evil, ""},
		{"another name in pieces", one, ""},
		{"behind a change of ciphers", evil, cipher},
		{"behind a warning", evil, warning},
		{"behind early data", evil, cipher + early + early},
		{"behind an empty record", evil, "\x16\x03\x03\x00\x00"},
		{"a part of a hello", evil[:100], cipher},
		{"of another version", "\x16\x02\x03" + evil[3:], ""},
		{"no name", string(clientHello(t, "")), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, r := w.connect(fmt.Sprintf("allowed.test:%d", port))
			go func() {
				conn.Write([]byte(good + c.rest + c.hidden))
				conn.CloseWrite()
			}()
			io.Copy(io.Discard, r)
			switch b := <-got; {
			case c.hidden == "" && b != good+c.rest:
				t.Errorf("the server got %d bytes of %d", len(b), len(good+c.rest))
			case c.hidden != "" && !strings.HasPrefix(good+c.rest, b):
				t.Errorf("the server got %d bytes, %d were to pass", len(b), len(good+c.rest))
			}
		})
	}
}

// A second message in the records of a ClientHello is none that a client sends.
func TestHelloAlone(t *testing.T) {
	w := newWorld(t, allowed(t))
	good, evil := clientHello(t, "allowed.test"), clientHello(t, "evil.test")
	both := append(bytes.Clone(good[5:]), evil[5:]...)
	for _, n := range []int{len(both), len(good) - 5 + 1, 100} {
		c, r := w.connect(fmt.Sprintf("allowed.test:%d", echo(t)))
		c.Write(refragment(both, n))
		if b, _ := io.ReadAll(r); string(b) != "\x15\x03\x03\x00\x02\x02\x31" {
			t.Errorf("records of %d: %q", n, b)
		}
	}
}

// A server that asks for another key serves a client that has it, and nobody
// waits for the part of a second hello.
func TestServerAsksForAnotherKey(t *testing.T) {
	certificate := certificate()
	port := served(t, func(c net.Conn) {
		s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate}, CurvePreferences: []tls.CurveID{tls.CurveP384}})
		io.Copy(s, s)
		s.Close()
	})
	w := newWorld(t, allowed(t), func(o *Options) { o.Limits.HeaderTime = time.Second })
	conn, _ := w.connect(fmt.Sprintf("allowed.test:%d", port))
	c := tls.Client(conn, &tls.Config{ServerName: "allowed.test", InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP384}})
	data := strings.Repeat("x", 1<<20)
	go func() {
		c.Write([]byte(data))
		c.CloseWrite()
	}()
	if b, err := io.ReadAll(c); err != nil || string(b) != data {
		t.Errorf("%d bytes of %d, %v", len(b), len(data), err)
	}
	if s := c.ConnectionState(); s.Version != tls.VersionTLS13 || s.CurveID != tls.CurveP384 {
		t.Errorf("not what was to be tested: %x %v", s.Version, s.CurveID)
	}
	c.Close()

	conn, r := w.connect(fmt.Sprintf("allowed.test:%d", echo(t)))
	hello := clientHello(t, "allowed.test")
	conn.Write(hello)
	conn.Write(hello[:50])
	io.Copy(io.Discard, r) // ends
}
