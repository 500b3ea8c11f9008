//go:build unix

package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"bawn/internal/policy"
)

// Whatever the way, an allowed connection gives one decision and one complete
// event: who, what and why. A denied one gives the latter alone.
func TestEachRequestIsOneCompleteEvent(t *testing.T) {
	origin := policy.Origin{File: "/etc/bawn.toml", Line: 7}
	port := served(t, func(c net.Conn) { // "ping" and 4 bytes back, or HTTP
		r := bufio.NewReader(c)
		if b, _ := r.Peek(4); string(b) == "\x00png" {
			r.Discard(4)
			io.WriteString(c, "pong")
			io.Copy(io.Discard, r)
			return
		}
		if _, err := http.ReadRequest(r); err == nil {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npong")
		}
	})
	rule := func(host string) policy.HostRule {
		r, err := policy.ParseHostRule(host, origin)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	cfg := policy.NetworkConfig{Allow: []policy.HostRule{rule("allowed.test")}, Deny: []policy.HostRule{rule("evil.test")}}
	target := netip.AddrPortFrom(public, port)
	ping := func(t *testing.T, c io.ReadWriteCloser) {
		io.WriteString(c, "\x00png")
		b := make([]byte, 4)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "pong" {
			t.Errorf("%q, %v", b, err)
		}
		c.Close()
	}
	ways := []struct {
		name string
		via  Via
		ask  func(*testing.T, *world, string) // for the host
		addr bool                             // by address: no rule for evil.test
	}{
		{"CONNECT", ViaConnect, func(t *testing.T, w *world, host string) {
			c := w.dial()
			fmt.Fprintf(c, "CONNECT %s:%d HTTP/1.1\r\nHost: x\r\n\r\n", host, port)
			r := bufio.NewReader(c)
			if resp, err := http.ReadResponse(r, &http.Request{Method: "CONNECT"}); err == nil && resp.StatusCode == 200 {
				ping(t, c)
			}
			c.Close()
		}, false},
		{"HTTP", ViaHTTP, func(t *testing.T, w *world, host string) {
			w.raw(fmt.Sprintf("GET http://%s:%d/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", host, port))
		}, false},
		{"SOCKS", ViaSOCKS, func(t *testing.T, w *world, host string) {
			c := w.dial()
			defer c.Close()
			io.WriteString(c, "\x05\x01\x00\x05\x01\x00\x03"+string([]byte{byte(len(host))})+host+string([]byte{byte(port >> 8), byte(port)}))
			b := make([]byte, 12)
			if _, err := io.ReadFull(c, b); err == nil && b[3] == 0 {
				ping(t, c)
			}
		}, false},
		{"transparent", ViaTCP, func(t *testing.T, w *world, host string) {
			h, _ := policy.ParseHost(host)
			peer := netip.MustParseAddrPort("198.18.0.1:4000")
			s, err := w.Dial(context.Background(), Request{policy.Connect{Host: h, Port: port}, ViaTCP, peer})
			if err != nil {
				return
			}
			near, far := net.Pipe()
			done := make(chan struct{})
			go func() { w.Relay(far, s, h); close(done) }()
			ping(t, near)
			<-done
		}, false},
		{"local port", ViaLocal, func(t *testing.T, w *world, host string) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go w.ServeFixed(l, target.String())
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			ping(t, c)
		}, true},
	}
	for _, way := range ways {
		for _, host := range []string{"allowed.test", "evil.test"} {
			if way.addr && host == "evil.test" {
				continue
			}
			t.Run(way.name+" "+host, func(t *testing.T) {
				w := newWorld(t, cfg, func(o *Options) {
					o.Who = func(e Event) (int, int, string) {
						if !e.Peer.IsValid() {
							t.Errorf("no client's address: %+v", e)
						}
						return 3, 42, "npm"
					}
				})
				way.ask(t, w, host)
				e := w.wait("a complete one", Event.Complete)
				w.Close() // nothing comes after it
				decisions, complete := 0, 0
				for _, e := range w.events {
					if !e.End {
						decisions++
					}
					if e.Complete() {
						complete++
					}
				}
				if decisions != 1 || complete != 1 {
					t.Errorf("%d decisions, %d complete events: %+v", decisions, complete, w.events)
				}
				if e.PID != 42 || e.Command != "npm" || e.Via != way.via || e.Connect.Port != port || e.Start.IsZero() {
					t.Errorf("who and what: %+v", e)
				}
				if !way.addr && (e.Connect.Host.String() != host || e.Decision.Rule.Origin != origin) {
					t.Errorf("what and why: %+v", e)
				}
				allow := host == "allowed.test"
				if allow != (e.Decision.Verdict == policy.Allow) || allow != e.End || e.Decision.Rule.ID == "" {
					t.Errorf("the verdict: %+v", e)
				}
				if allow && (e.Up < 4 || e.Down < 4 || e.Addr.Port() != port || e.Duration <= 0 || e.Duration > time.Hour || e.Err != "") {
					t.Errorf("the end: %+v", e)
				}
				if !allow && (e.Up != 0 || e.Down != 0 || e.Addr.IsValid()) {
					t.Errorf("a denied one: %+v", e)
				}
			})
		}
	}
}

// What finds no place is recorded too.
func TestBusyIsRecorded(t *testing.T) {
	w := newWorld(t, allowed(t), func(o *Options) { o.Limits.Conns = 1 })
	w.connect(fmt.Sprintf("allowed.test:%d", echo(t)))
	if got := w.raw("GET http://allowed.test/ HTTP/1.1\r\nHost: x\r\n\r\n"); status(got) != "503" {
		t.Errorf("%q", got)
	}
	if _, err := w.Dial(context.Background(), Request{Connect: policy.Connect{Host: policy.HostAddr(public), Port: 1}}); err != ErrBusy {
		t.Error(err)
	}
	w.wait("the first", func(e Event) bool { return e.Decision.Rule.ID == "egress:busy" && e.Connect.Port == 0 })
	w.wait("the second", func(e Event) bool { return e.Decision.Rule.ID == "egress:busy" && e.Connect.Port == 1 })
}

// A connection that has said nothing makes way, and is told; one that has a
// tunnel does not.
func TestSilentMakesWay(t *testing.T) {
	w := newWorld(t, allowed(t), func(o *Options) { o.Limits.Conns = 1 })
	silent := w.dial()
	target := fmt.Sprintf("allowed.test:%d", echo(t))
	w.connect(target)
	if b, _ := io.ReadAll(silent); status(string(b)) != "503" {
		t.Errorf("the silent one: %q", b)
	}
	c := w.dial()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", target)
	if b, _ := io.ReadAll(c); status(string(b)) != "503" {
		t.Errorf("beside a tunnel: %q", b)
	}
}

func TestLimitsForFiles(t *testing.T) {
	full := Limits{}.withDefaults()
	for n := uint64(8); n < 25000; n++ {
		l := Limits{}.ForFiles(n)
		if need := 2*l.Conns + 2*l.Splices + l.Lingers + int(min(n/2, otherFiles)); l.Conns < 1 || l.Splices < 1 || l.Lingers < 1 || n >= 16 && uint64(need) > n {
			t.Fatalf("%d files: %+v", n, l)
		}
		if got := l == full; got != (n >= 2*5000+2*128+64+256) {
			t.Fatalf("%d files: %+v", n, l)
		}
	}
}
