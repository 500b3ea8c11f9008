//go:build linux

package transparent_test

import (
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// outside runs the same client without a sandbox.
func outside(b *testing.B, args ...string) outcome {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	out, err := exec.Command(self, args[1:]...).CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return outcome{Out: string(out)}
}

// nanoseconds is what a client prints.
func nanoseconds(b *testing.B, r outcome) float64 {
	b.Helper()
	n, err := strconv.ParseFloat(strings.TrimSpace(r.Out), 64)
	if err != nil || r.Code != 0 {
		b.Fatalf("%+v", r)
	}
	return n
}

// BenchmarkBulk compares a download through the engine with the same one
// over the host's loopback.
func BenchmarkBulk(b *testing.B) {
	const size = 512 << 20
	s := serve(b, func(c net.Conn) {
		buf := make([]byte, 256<<10)
		for {
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	})
	device, redirect := newWorld(b, device, map[uint16]string{80: s}), newWorld(b, redirect, map[uint16]string{80: s})
	for _, c := range []struct {
		name string
		run  func() outcome
	}{
		{"direct", func() outcome { return outside(b, "self", "client", "down", s, strconv.Itoa(size)) }},
		{"device", func() outcome { return device.run("self", "client", "down", "allowed.test:80", strconv.Itoa(size)) }},
		{"redirect", func() outcome { return redirect.run("self", "client", "down", "allowed.test:80", strconv.Itoa(size)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var ns float64
			for b.Loop() {
				ns += nanoseconds(b, c.run())
			}
			b.ReportMetric(float64(b.N)*size/ns*8, "Gbit/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkConnect is a connection with a small exchange; the engine's has
// two DNS queries too (A and AAAA).
func BenchmarkConnect(b *testing.B) {
	s := serve(b, echoes)
	device, redirect := newWorld(b, device, map[uint16]string{80: s}), newWorld(b, redirect, map[uint16]string{80: s})
	for _, c := range []struct {
		name string
		run  func() outcome
	}{
		{"direct", func() outcome { return outside(b, "self", "client", "rounds", s, "300") }},
		{"device", func() outcome { return device.run("self", "client", "rounds", "allowed.test:80", "300") }},
		{"redirect", func() outcome { return redirect.run("self", "client", "rounds", "allowed.test:80", "300") }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var ns float64
			for b.Loop() {
				ns += nanoseconds(b, c.run())
			}
			b.ReportMetric(ns/float64(b.N)/1e3, "µs/connection")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func resident(b *testing.B) float64 {
	b.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * float64(os.Getpagesize()) / 1e6
}

// BenchmarkIdle is the memory of 1,000 connections that do nothing, the
// relay's included (and the server's, which only keeps them).
func BenchmarkIdle(b *testing.B) {
	for _, e := range []engineKind{device, redirect} {
		b.Run(string(e), func(b *testing.B) { benchmarkIdle(b, e) })
	}
}

func benchmarkIdle(b *testing.B, e engineKind) {
	const n = 1000
	var mu sync.Mutex
	var conns []net.Conn
	all := make(chan struct{})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			if conns = append(conns, c); len(conns)%n == 0 {
				all <- struct{}{}
			}
			mu.Unlock()
		}
	}()
	w := newWorld(b, e, map[uint16]string{80: l.Addr().String()})
	var used float64
	for b.Loop() {
		before := resident(b)
		r := w.start("self", "client", "idle", "allowed.test:80", strconv.Itoa(n))
		select {
		case <-all:
		case o := <-r:
			b.Fatalf("%+v", o)
		case <-time.After(time.Minute):
			b.Fatal("not all connections came")
		}
		used = max(used, resident(b)-before)
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		conns = conns[:0]
		mu.Unlock()
		if o := <-r; o.Code != 0 {
			b.Fatalf("%+v", o)
		}
	}
	b.ReportMetric(used, "MB/1000")
	b.ReportMetric(0, "ns/op")
}
