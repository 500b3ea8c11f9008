package bawn_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bawn"
	"bawn/internal/tools/listen"
)

// DialContext does what net.Dialer would, for hosts that may be reached.
func TestDialContextAsDialer(t *testing.T) {
	at := listen.On(t, "127.0.0.1", func(c net.Conn) { // answers when the client has ended its half
		b, _ := io.ReadAll(c)
		_, _ = io.WriteString(c, "got "+string(b))
	})
	addr, port := at.String(), strconv.Itoa(int(at.Port()))
	guarded := networkPolicy(t, bawn.Guarded, bawn.Network{Allow: []string{addr, "localhost:" + port, "[::1]:" + port}})
	open := networkPolicy(t, bawn.Open, bawn.Network{})
	for _, p := range []bawn.Policy{guarded, open} {
		for _, c := range []struct {
			network, address string
			ok               bool
		}{
			{"tcp", addr, true}, {"tcp4", addr, true}, {"tcp6", addr, false}, {"tcp4", "[::1]:" + port, false},
			{"tcp", "localhost:" + port, true}, {"tcp4", "localhost:" + port, true}, {"tcp6", "localhost:" + port, false},
		} {
			conn, err := p.DialContext(context.Background(), c.network, c.address)
			if !c.ok {
				var refused *bawn.RefusedError
				var failed *net.OpError
				if err == nil || errors.As(err, &refused) || !errors.As(err, &failed) {
					t.Errorf("%s %s: %v, want a failure that is no denial", c.network, c.address, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s %s: %v", c.network, c.address, err)
				continue
			}
			_, _ = io.WriteString(conn, "hello")
			if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Error(err)
			}
			if b, err := io.ReadAll(conn); string(b) != "got hello" || err != nil {
				t.Errorf("%s %s: %q, %v", c.network, c.address, b, err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestDialContextEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().String()
	full := fullListener(t)
	p := networkPolicy(t, bawn.Guarded, bawn.Network{Allow: []string{addr, full}})

	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if c, err := p.DialContext(gone, "tcp", addr); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v, %v", c, err)
	}
	soon, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	c, err := p.DialContext(soon, "tcp", full)
	var failed net.Error
	if !errors.As(err, &failed) || !failed.Timeout() {
		t.Errorf("a context that ends while connecting: %v, %v", c, err)
	}
	if _, ok := err.(interface{ Timeout() bool }); !ok { // net/http does not unwrap
		t.Errorf("%T says nothing about timeouts", err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	c, err = p.DialContext(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	cancel() // once connected it is of no effect
	_, _ = far.Write([]byte("x"))
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("after the context's end: %d, %v", n, err)
	}
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	_ = c.SetReadDeadline(time.Time{})
	read := make(chan error, 1)
	go func() { _, err := c.Read(make([]byte, 1)); read <- err }()
	c.Close()
	if err := <-read; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read while closing: %v", err)
	}
	if n, err := far.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("the far side: %d, %v", n, err)
	}
}

// fullListener is an address that answers no SYN, since its queue is full.
func fullListener(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(sa.(*unix.SockaddrInet4).Port))
	for { // until one is not answered
		c, err := net.DialTimeout("tcp", addr, 300*time.Millisecond)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { c.Close() })
	}
}
