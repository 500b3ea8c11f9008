//go:build linux

package transparent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/tools/listen"
)

// client is a program inside the sandbox that knows of no proxy.
func client(args []string) {
	num := func(i int) int {
		n, err := strconv.Atoi(args[i])
		if err != nil {
			panic(err)
		}
		return n
	}
	var err error
	switch args[0] {
	case "echo": // ADDR STREAMS BYTES
		err = inParallel(num(2), num(2), func(i int) error { return echo(args[1], uint64(i), num(3)) })
	case "quick": // ADDR CONNECTIONS AT-ONCE
		err = inParallel(num(2), num(3), func(i int) error { return echo(args[1], uint64(i), 100) })
	case "reuse": // ADDR TIMES: always from the same port
		for i := range num(2) {
			if err = reuse(args[1], i); err != nil {
				err = fmt.Errorf("connection %d: %w", i, err)
				break
			}
		}
	case "slow": // ADDR BYTES: reads late what a closed connection left
		err = slow(args[1], num(2))
	case "udp": // ADDR
		err = udp(args[1])
	case "idle": // ADDR CONNECTIONS: until the server ends them
		err = idle(args[1], num(2))
	case "down": // ADDR BYTES
		err = down(args[1], num(2))
	case "rounds": // ADDR TIMES
		begin := time.Now()
		for i := 0; i < num(2) && err == nil; i++ {
			err = echo(args[1], 1, 64)
		}
		fmt.Println(time.Since(begin).Nanoseconds() / int64(num(2)))
	default:
		err = fmt.Errorf("unknown client %q", args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func inParallel(n, atOnce int, work func(int) error) error {
	var wg sync.WaitGroup
	places, errs := make(chan struct{}, atOnce), make(chan error, n)
	for i := range n {
		places <- struct{}{}
		wg.Go(func() { errs <- work(i); <-places })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// echo sends bytes, closes its half, and wants the same ones back.
func echo(addr string, seed uint64, n int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	return exchange(c, seed, n)
}

func exchange(c net.Conn, seed uint64, n int) error {
	sent := make(chan [32]byte, 1)
	fail := make(chan error, 1)
	go func() {
		h := sha256.New()
		src := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
		_, err := io.CopyN(io.MultiWriter(c, h), src, int64(n))
		if err == nil {
			err = c.(*net.TCPConn).CloseWrite()
		}
		fail <- err
		sent <- [32]byte(h.Sum(nil))
	}()
	h := sha256.New()
	m, err := io.Copy(h, c)
	if e := <-fail; e != nil {
		return fmt.Errorf("send: %w", e)
	}
	if err != nil || m != int64(n) {
		return fmt.Errorf("received %d of %d bytes: %v", m, n, err)
	}
	if s := <-sent; !bytes.Equal(h.Sum(nil), s[:]) {
		return fmt.Errorf("received something else than was sent")
	}
	return nil
}

func reuse(addr string, i int) error {
	d := net.Dialer{LocalAddr: &net.TCPAddr{Port: 20000}, Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
		})
	}}
	c, err := d.DialContext(context.Background(), "tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := exchange(c, uint64(i), 1000); err != nil {
		return err
	}
	// The port is free at once only after a reset.
	return c.(*net.TCPConn).SetLinger(0)
}

func slow(addr string, n int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Println("connected")
	time.Sleep(1500 * time.Millisecond) // the server has long closed
	m, err := io.Copy(io.Discard, c)
	if err != nil || m != int64(n) {
		return fmt.Errorf("received %d of %d bytes: %v", m, n, err)
	}
	return nil
}

func udp(addr string) error {
	c, err := net.Dial("udp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 100))
	return err
}

func idle(addr string, n int) error {
	var conns []net.Conn
	for range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return fmt.Errorf("connection %d: %w", len(conns), err)
		}
		conns = append(conns, c)
	}
	for _, c := range conns {
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			return err
		}
		_ = c.Close()
	}
	return nil
}

func down(addr string, n int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	begin := time.Now()
	buf := make([]byte, 256<<10)
	for left := n; left > 0; {
		m, err := c.Read(buf)
		if err != nil {
			return err
		}
		left -= m
	}
	fmt.Println(time.Since(begin).Nanoseconds())
	return nil
}

// The servers are the host's.

func serve(t testing.TB, handle func(net.Conn)) string {
	return listen.On(t, "127.0.0.1", handle).String()
}

func echoes(c net.Conn) {
	_, _ = io.Copy(c, c)
	_ = c.(*net.TCPConn).CloseWrite()
}

func web(c net.Conn) {
	buf := make([]byte, 4096)
	n, _ := c.Read(buf)
	if !strings.HasPrefix(string(buf[:n]), "GET ") {
		return
	}
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n")
}
