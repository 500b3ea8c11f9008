//go:build unix

package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bawn/internal/policy"
	"bawn/internal/tools/listen"
)

func TestServerSpeaksFirst(t *testing.T) {
	port := served(t, func(c net.Conn) {
		io.WriteString(c, "220 mail\r\n")
		io.Copy(c, c)
	})
	w := newWorld(t, allowed(t))
	c, r := w.connect(fmt.Sprintf("allowed.test:%d", port))
	if line, err := r.ReadString('\n'); line != "220 mail\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	io.WriteString(c, "EHLO") // no end of line: must not be held
	b := make([]byte, 4)
	if _, err := io.ReadFull(r, b); string(b) != "EHLO" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestHalfClose(t *testing.T) {
	w := newWorld(t, allowed(t))
	// The client ends first, then the server answers.
	port := served(t, func(c net.Conn) {
		b, _ := io.ReadAll(c)
		fmt.Fprintf(c, "got %d", len(b))
	})
	c, r := w.connect(fmt.Sprintf("allowed.test:%d", port))
	io.WriteString(c, "\x00\x00\x00")
	c.CloseWrite()
	if b, err := io.ReadAll(r); string(b) != "got 3" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if e := w.ended(); e.Up != 3 || e.Down != 5 || e.Err != "" || e.Via != ViaConnect || e.Connect.Host.String() != "allowed.test" || e.Addr.Port() != port || e.Peer.String() != c.LocalAddr().String() {
		t.Errorf("%+v", e)
	}
	// The server ends first, then the client sends.
	got := make(chan string, 1)
	port = served(t, func(c net.Conn) {
		c.(*net.TCPConn).CloseWrite()
		b, _ := io.ReadAll(c)
		got <- string(b)
	})
	c, r = w.connect(fmt.Sprintf("allowed.test:%d", port))
	if b, err := io.ReadAll(r); len(b) > 0 || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	io.WriteString(c, "\x00after")
	c.CloseWrite()
	if b := <-got; b != "\x00after" {
		t.Errorf("%q", b)
	}
}

func TestResetGoesThrough(t *testing.T) {
	w := newWorld(t, allowed(t))
	port := served(t, func(c net.Conn) {
		io.ReadFull(c, make([]byte, 1))
		c.(*net.TCPConn).SetLinger(0)
	})
	c, r := w.connect(fmt.Sprintf("allowed.test:%d", port))
	io.WriteString(c, "\x00")
	if _, err := r.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("from the server: %v", err)
	}
	w.wait("a reset", func(e Event) bool { return e.End && e.Err != "" })

	got := make(chan error, 1)
	port = served(t, func(c net.Conn) {
		_, err := io.ReadFull(c, make([]byte, 2))
		got <- err
	})
	c, _ = w.connect(fmt.Sprintf("allowed.test:%d", port))
	io.WriteString(c, "\x00")
	c.SetLinger(0)
	c.Close()
	if err := <-got; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("from the client: %v", err)
	}
}

// A client that ended its half and then vanished would leave a silent server
// connected for ever.
func TestClientGoneAfterHalfClose(t *testing.T) {
	gone := make(chan error, 1)
	port := served(t, func(c net.Conn) {
		io.ReadAll(c)
		for { // silent, until the connection is reset
			if _, err := c.Write(nil); err != nil {
				gone <- err
				return
			}
			raw, _ := c.(*net.TCPConn).SyscallConn()
			var e int
			raw.Control(func(fd uintptr) { e, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR) })
			if e != 0 {
				gone <- syscall.Errno(e)
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	w := newWorld(t, allowed(t))
	c, _ := w.connect(fmt.Sprintf("allowed.test:%d", port))
	c.CloseWrite()
	c.SetLinger(0)
	c.Close() // a reset, as the kernel answers a keep-alive for a forgotten half
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Fatal("the server is still connected")
	}
}

func TestBackPressure(t *testing.T) {
	stuck := make(chan int64, 1)
	port := served(t, func(c net.Conn) {
		b := make([]byte, 64<<10)
		sent := int64(0)
		for { // until nothing has been taken for a while
			c.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
			n, err := c.Write(b)
			if sent += int64(n); err != nil {
				stuck <- sent
				return
			}
		}
	})
	w := newWorld(t, allowed(t))
	c, r := w.connect(fmt.Sprintf("allowed.test:%d", port))
	sent := <-stuck
	w.tunnelWorks(fmt.Sprintf("allowed.test:%d", echo(t))) // others are served meanwhile
	n, err := io.Copy(io.Discard, r)
	if n != sent || err != nil || n > 64<<20 {
		t.Errorf("the server sent %d, the client got %d, %v", sent, n, err)
	}
	c.Close()
}

// What little follows a flow in the kernel's pipe is not kept until there is more.
func TestFewBytesAfterMany(t *testing.T) {
	const bulk, rounds = 2 << 20, 60
	port := served(t, func(c net.Conn) {
		data := make([]byte, bulk)
		for i := range rounds {
			if _, err := c.Write(data); err != nil {
				return
			}
			// The client has all of it, so the copy waits for more.
			if _, err := io.ReadFull(c, data[:1]); err != nil {
				return
			}
			if _, err := c.Write([]byte{byte(i)}); err != nil {
				return
			}
			if _, err := io.ReadFull(c, data[:1]); err != nil {
				return
			}
			data[0] = 0
		}
	})
	w := newWorld(t, allowed(t))
	c, r := w.connect(fmt.Sprintf("allowed.test:%d", port))
	c.SetDeadline(time.Now().Add(30 * time.Second)) // a round that must wait for the pause takes a second
	for i := range rounds {
		if _, err := io.CopyN(io.Discard, r, bulk); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		c.Write([]byte{0})
		if b, err := r.ReadByte(); err != nil || b != byte(i) {
			t.Fatalf("round %d: %d, %v", i, b, err)
		}
		c.Write([]byte{0})
	}
}

// Both ways at once, through buffers and the kernel's pipes.
func TestBulkIntegrity(t *testing.T) {
	w := newWorld(t, allowed(t), func(o *Options) { o.Limits.Splices = 3 })
	port := echo(t)
	var wg sync.WaitGroup
	for i := range 4 {
		c, r := w.connect(fmt.Sprintf("allowed.test:%d", port))
		data := make([]byte, 6<<20+i)
		rand.New(rand.NewSource(int64(i))).Read(data)
		data[0] = 0
		wg.Go(func() {
			c.Write(data)
			c.CloseWrite()
		})
		wg.Go(func() {
			if b, err := io.ReadAll(r); !bytes.Equal(b, data) || err != nil {
				t.Errorf("%d bytes of %d, %v", len(b), len(data), err)
			}
		})
	}
	wg.Wait()
	for range 4 {
		w.wait("the ends", func(e Event) bool {
			ends := 0
			for _, e := range w.events {
				if e.End && e.Up >= 6<<20 && e.Up == e.Down {
					ends++
				}
			}
			return ends == 4
		})
	}
}

func TestA41_Bounds(t *testing.T) {
	const conns = 40
	w := newWorld(t, allowed(t), func(o *Options) {
		o.Limits = Limits{Conns: conns, HeaderTime: 200 * time.Millisecond, Buffers: 256 << 10}
	})
	port := served(t, func(c net.Conn) {
		for { // an endless status line
			if _, err := io.WriteString(c, strings.Repeat("HTTP/1.1 200 ", 100)); err != nil {
				return
			}
		}
	})
	get := fmt.Sprintf("GET http://allowed.test:%d/ HTTP/1.1\r\nHost: a\r\n\r\n", port)
	if got := w.raw(get); status(got) != "502" {
		t.Errorf("an endless status line: %.100q", got)
	}
	slow := w.dial()
	io.WriteString(slow, "GET http://allowed.test/ HTTP/1.1\r\nHo")
	if b, _ := io.ReadAll(slow); status(string(b)) != "408" {
		t.Errorf("a slow head: %q", b)
	}
	if got := w.raw("GET http://allowed.test/" + strings.Repeat("a", 65<<10)); status(got) != "431" {
		t.Errorf("a long head: %.100q", got)
	}
	// Many at once share one budget; the rest is told so.
	var busy int
	var heads []*net.TCPConn
	for range 10 {
		c := w.dial()
		io.WriteString(c, "GET http://allowed.test/"+strings.Repeat("a", 60<<10))
		heads = append(heads, c)
	}
	for _, c := range heads {
		if b, _ := io.ReadAll(c); status(string(b)) == "503" {
			busy++
		}
	}
	if busy == 0 {
		t.Error("the budget of buffers has no end")
	}
	// Idle connections make way for those with a request.
	for range 2 * conns {
		w.dial()
	}
	open := echo(t)
	var tunnels []*net.TCPConn
	for range conns {
		c, _ := w.connect(fmt.Sprintf("allowed.test:%d", open))
		tunnels = append(tunnels, c)
	}
	if got := w.raw(""); status(got) != "503" {
		t.Errorf("one too many: %q", got)
	}
	for _, c := range tunnels { // and nobody was cut
		io.WriteString(c, "\x00")
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	tunnels[0].Close()
	w.ended()
	for { // the place is free a moment after the end is recorded
		if got := w.raw(connectLine("evil.test:443")); status(got) == "403" {
			break
		} else if status(got) != "503" {
			t.Fatalf("%q", got)
		}
	}
}

func TestPanicEndsOneConnection(t *testing.T) {
	w := newWorld(t, allowed(t), func(o *Options) {
		decide := o.Decide
		o.Decide = func(ctx context.Context, r Request) policy.Decision {
			if r.Connect.Host.String() == "panic.test" {
				panic("a\nbug")
			}
			return decide(ctx, r)
		}
	})
	if got := w.raw(connectLine("panic.test:443")); got != "" {
		t.Errorf("%q", got)
	}
	w.wait("the panic", func(e Event) bool {
		return e.Decision.Rule.ID == "egress:panic" && strings.Contains(e.Err, `a\x0abug`)
	})
	w.tunnelWorks(fmt.Sprintf("allowed.test:%d", echo(t)))
}

func TestZeroValueDenies(t *testing.T) {
	p := New(Options{})
	defer p.Close()
	_, err := p.Dial(context.Background(), Request{Connect: policy.Connect{Host: policy.HostAddr(public), Port: 80}})
	var denied *DeniedError
	if !errors.As(err, &denied) {
		t.Errorf("%v", err)
	}
	p = New(Options{Decide: func(context.Context, Request) policy.Decision { return policy.Decision{Verdict: policy.Allow} }})
	defer p.Close()
	if _, err := p.Dial(context.Background(), Request{Connect: policy.Connect{Host: policy.HostAddr(public), Port: 80}}); !errors.As(err, &denied) {
		t.Errorf("%v", err)
	}
	p = New(Options{Decide: func(context.Context, Request) policy.Decision { return policy.Decision{Verdict: policy.Ask} }})
	defer p.Close()
	if _, err := p.Dial(context.Background(), Request{}); !errors.As(err, &denied) {
		t.Errorf("%v", err)
	}
}

func TestDialAndRelay(t *testing.T) {
	w := newWorld(t, allowed(t))
	h, _ := policy.ParseHost("allowed.test")
	r := Request{Connect: policy.Connect{Host: h, Port: echo(t)}, Via: ViaTCP, Peer: netip.MustParseAddrPort("198.18.0.7:1")}
	s, err := w.Dial(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	outside, inside := net.Pipe() // an engine's connection is none of the kernel's
	done := make(chan error, 1)
	go func() { done <- w.Relay(inside, s, h) }()
	io.WriteString(outside, "\x00ping")
	b := make([]byte, 5)
	if _, err := io.ReadFull(outside, b); string(b) != "\x00ping" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	outside.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if e := w.ended(); e.Request != r || e.Up != 5 || e.Down != 5 {
		t.Errorf("%+v", e)
	}
	s.Close()
	if n := len(w.all()); n != 2 {
		t.Errorf("%d events, want a decision and an end", n)
	}
	r.Connect.Host, _ = policy.ParseHost("evil.test")
	var denied *DeniedError
	if _, err := w.Dial(context.Background(), r); !errors.As(err, &denied) || denied.Decision.Rule.ID != "host:unlisted" {
		t.Errorf("%v", err)
	}
}

func TestServeFixed(t *testing.T) {
	at := listen.On(t, "127.0.0.1", func(c net.Conn) { io.Copy(c, c) })
	for _, open := range []bool{true, false} {
		c := policy.NetworkConfig{}
		if open {
			c.LocalPorts = []uint16{at.Port()}
		}
		w := newWorld(t, c)
		door, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go w.ServeFixed(door, at.String())
		conn, err := net.Dial("tcp", door.Addr().String())
		if err != nil && !open {
			continue // reset before the call returned
		}
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: whatever\r\n\r\n")
		conn.(*net.TCPConn).CloseWrite()
		b, err := io.ReadAll(conn)
		if (len(b) > 0 && err == nil) != open {
			t.Errorf("open %v: %q, %v", open, b, err)
		}
		if open {
			if e := w.ended(); e.Via != ViaLocal || e.Up != int64(len(b)) {
				t.Errorf("%+v", e)
			}
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := New(Options{}).ServeFixed(l, "localhost:1"); err == nil {
		t.Error("a name was taken")
	}
}

func TestClosed(t *testing.T) {
	var events atomic.Int32
	p := Closed(policy.Rule{ID: "tier:airlock", Text: "airlock has no network", Lift: "Alt+S changes the tier"}, Options{Record: func(Event) error { events.Add(1); return nil }})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- p.Serve(l) }()
	w := &world{Proxy: p, t: t, addr: l.Addr().String()}
	for _, send := range []string{connectLine("allowed.test:443"), "GET http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n"} {
		if got := w.raw(send); !strings.HasPrefix(got, "HTTP/1.1 403 blocked by bawn: airlock has no network; Alt+S changes the tier\r\n") {
			t.Errorf("%q", got)
		}
	}
	if got := w.raw("\x05\x01\x00\x05\x01\x00\x03\x0callowed.test\x00\x50"); got != "\x05\x00"+socksReply(socksDenied) {
		t.Errorf("%q", got)
	}
	p.Close()
	if err := <-done; err != nil || events.Load() != 3 {
		t.Errorf("%v, %d events", err, events.Load())
	}
	if err := p.Serve(l); err != ErrClosed {
		t.Errorf("%v", err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	w := newWorld(t, allowed(t))
	_, r := w.connect(fmt.Sprintf("allowed.test:%d", echo(t)))
	half, _ := w.connect(fmt.Sprintf("allowed.test:%d", served(t, func(c net.Conn) {
		io.ReadAll(c)
		io.Copy(io.Discard, c)
		<-w.ctx.Done() // silent after the end of the other side
	})))
	half.CloseWrite()
	idle := w.dial()
	w.Close()
	for _, f := range []func() error{
		func() error { _, err := r.ReadByte(); return err },
		func() error { _, err := idle.Read(make([]byte, 1)); return err },
	} {
		if err := f(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v", err)
		}
	}
}
