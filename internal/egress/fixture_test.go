//go:build unix

package egress

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bawn/internal/policy"
	"bawn/internal/tools/listen"
)

// public is an address of this machine that stands for a public one in these
// tests: CheckAddr lets it pass. Everything else is decided as it is.
var public = netip.MustParseAddr("127.1.0.1")

// world is a proxy between a client and made-up hosts.
type world struct {
	*Proxy
	t    *testing.T
	addr string // of the proxy
	net  policy.Network

	mu     sync.Mutex
	hosts  map[string][]netip.Addr
	asked  []string // names that were resolved
	dialed []netip.AddrPort
	events []Event
	full   error         // of what keeps events
	change chan struct{} // closed and replaced at each event
}

func rules(t testing.TB, list ...string) []policy.HostRule {
	t.Helper()
	var out []policy.HostRule
	for _, s := range list {
		r, err := policy.ParseHostRule(s, policy.Origin{File: "test", Line: 1})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func network(t testing.TB, c policy.NetworkConfig) policy.Network {
	t.Helper()
	c.NoDefaults = true
	n, err := policy.NewNetwork(c)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func newWorld(t *testing.T, c policy.NetworkConfig, change ...func(*Options)) *world {
	t.Helper()
	w := &world{t: t, net: network(t, c), hosts: map[string][]netip.Addr{}, change: make(chan struct{})}
	for _, h := range []string{"allowed.test", "evil.test", "sub.allowed.test"} {
		w.hosts[h] = []netip.Addr{public}
	}
	o := Options{
		Decide: func(_ context.Context, r Request) policy.Decision { return w.net.Decide(r.Connect) },
		CheckAddr: func(h policy.Host, a netip.AddrPort) policy.Decision {
			w.mu.Lock()
			w.dialed = append(w.dialed, a)
			w.mu.Unlock()
			if a.Addr() == public {
				return policy.Decision{Verdict: policy.Allow, Rule: policy.Rule{ID: "address:public"}}
			}
			return w.net.DecideAddr(h, a)
		},
		Resolve: func(_ context.Context, h policy.Host) ([]netip.Addr, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.asked = append(w.asked, h.String())
			if a := w.hosts[h.String()]; a != nil {
				return a, nil
			}
			return nil, &net.DNSError{Err: "no such host", Name: h.String(), IsNotFound: true}
		},
		Record: func(e Event) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
			close(w.change)
			w.change = make(chan struct{})
			return w.full
		},
	}
	for _, f := range change {
		f(&o)
	}
	w.Proxy = New(o)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- w.Serve(l) }()
	t.Cleanup(func() {
		w.Close()
		if err := <-served; err != nil && err != ErrClosed {
			t.Errorf("Serve: %v", err)
		}
		if n := w.budget.Load(); n != int64(w.limits.Buffers) {
			t.Errorf("the budget of buffers is %d, want %d: some were not given back", n, w.limits.Buffers)
		}
		if n := w.small.used.Load() + w.large.used.Load(); n != 0 {
			t.Errorf("%d buffers were not given back", n)
		}
	})
	return w
}

// wait waits for an event.
func (w *world) wait(what string, ok func(Event) bool) Event {
	w.t.Helper()
	events := w.until(what, func(events []Event) bool { return slices.ContainsFunc(events, ok) })
	return events[slices.IndexFunc(events, ok)]
}

// until waits for events that are enough, all so far.
func (w *world) until(what string, enough func([]Event) bool) []Event {
	w.t.Helper()
	timeout := time.After(time.Minute)
	for {
		w.mu.Lock()
		change := w.change
		w.mu.Unlock()
		events := w.all()
		if enough(events) {
			return events
		}
		select {
		case <-change:
		case <-timeout:
			w.t.Fatalf("no event: %s; have %+v", what, events)
		}
	}
}

func (w *world) ended() Event {
	w.t.Helper()
	return w.wait("an end", func(e Event) bool { return e.End })
}

func (w *world) host(name string, addrs ...netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hosts[name] = addrs
}

func (w *world) all() []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Event(nil), w.events...)
}

func (w *world) resolved() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.asked...)
}

// dial connects to the proxy.
func (w *world) dial() *net.TCPConn {
	w.t.Helper()
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	return c.(*net.TCPConn)
}

// raw sends bytes to the proxy and gives everything it answers.
func (w *world) raw(s string) string {
	w.t.Helper()
	c := w.dial()
	if _, err := io.WriteString(c, s); err != nil {
		w.t.Fatal(err)
	}
	b, _ := io.ReadAll(c)
	return string(b)
}

// connect opens a tunnel.
func (w *world) connect(hostport string) (*net.TCPConn, *bufio.Reader) {
	w.t.Helper()
	c := w.dial()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", hostport)
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 200 ") {
		w.t.Fatalf("CONNECT %s: %q, %v", hostport, line, err)
	}
	if end, err := r.ReadString('\n'); err != nil || end != "\r\n" {
		w.t.Fatalf("CONNECT %s: %q, %v", hostport, end, err)
	}
	return c, r
}

// served runs f for each connection to a port of the public address.
func served(t testing.TB, f func(net.Conn)) uint16 {
	t.Helper()
	return listen.On(t, public.String(), f).Port()
}

// echo is a server that sends back what it gets.
func echo(t testing.TB) uint16 {
	return served(t, func(c net.Conn) {
		io.Copy(c, c)
		c.(*net.TCPConn).CloseWrite()
	})
}

// origin is an HTTP server on the public address.
func origin(t testing.TB, secure bool, h http.HandlerFunc) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", public.String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = l
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return netip.MustParseAddrPort(l.Addr().String()).Port()
}

// curl runs the real curl through the proxy.
func (w *world) curl(args ...string) (out string, err error) {
	w.t.Helper()
	cmd := exec.Command("curl", append([]string{"-q", "-sS", "--max-time", "20"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "http_proxy=http://" + w.addr, "https_proxy=http://" + w.addr}
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err = cmd.Run()
	return both.String(), err
}

// TestMain fails if a goroutine of the package outlives its tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if left := leaked(); left != "" {
			fmt.Fprintln(os.Stderr, "goroutines are left:\n"+left)
			code = 1
		}
	}
	os.Exit(code)
}

func leaked() string {
	var left string
	for range 100 {
		left = ""
		b := make([]byte, 4<<20)
		for g := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
			if strings.Contains(g, "bawn/internal/egress.") && !strings.Contains(g, "egress.TestMain") {
				left += g + "\n\n"
			}
		}
		if left == "" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return left
}
