//go:build unix

package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"bawn/internal/policy"
)

// benchProxy is a proxy that lets everything pass.
func benchProxy(b testing.TB) string {
	yes := policy.Decision{Verdict: policy.Allow}
	p := New(Options{
		Decide:    func(context.Context, Request) policy.Decision { return yes },
		CheckAddr: func(policy.Host, netip.AddrPort) policy.Decision { return yes },
		Resolve:   func(context.Context, policy.Host) ([]netip.Addr, error) { return []netip.Addr{public}, nil },
		Record:    func(Event) error { return nil },
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go p.Serve(l)
	b.Cleanup(func() { p.Close() })
	return l.Addr().String()
}

func benchTunnel(b testing.TB, proxy string, port uint16) net.Conn {
	if proxy == "" {
		c, err := net.Dial("tcp", netip.AddrPortFrom(public, port).String())
		if err != nil {
			b.Fatal(err)
		}
		return c
	}
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		b.Fatal(err)
	}
	fmt.Fprintf(c, "CONNECT allowed.test:%d HTTP/1.1\r\nHost: a\r\n\r\n", port)
	answer := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	if _, err := io.ReadFull(c, answer); err != nil || string(answer[9:12]) != "200" {
		b.Fatalf("%q, %v", answer, err)
	}
	return c
}

func BenchmarkBulkDown(b *testing.B) {
	port := served(b, func(c net.Conn) {
		buf := make([]byte, 256<<10)
		io.ReadFull(c, buf[:1])
		for {
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	})
	for _, way := range []string{"direct", "proxy"} {
		b.Run(way, func(b *testing.B) {
			proxy := ""
			if way == "proxy" {
				proxy = benchProxy(b)
			}
			c := benchTunnel(b, proxy, port)
			defer c.Close()
			c.Write([]byte{0})
			buf := make([]byte, 1<<20)
			b.SetBytes(1 << 20)
			b.ResetTimer()
			for b.Loop() {
				if _, err := io.ReadFull(c, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkConnectRequestClose(b *testing.B) {
	port := served(b, func(c net.Conn) {
		buf := make([]byte, 64)
		if _, err := io.ReadFull(c, buf); err == nil {
			c.Write(buf)
		}
	})
	for _, way := range []string{"direct", "proxy"} {
		b.Run(way, func(b *testing.B) {
			proxy := ""
			if way == "proxy" {
				proxy = benchProxy(b)
			}
			buf := make([]byte, 64)
			for b.Loop() {
				c := benchTunnel(b, proxy, port)
				c.Write(make([]byte, 64))
				if _, err := io.ReadFull(c, buf); err != nil {
					b.Fatal(err)
				}
				c.Close()
			}
		})
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	port := echo(b)
	for _, way := range []string{"direct", "proxy"} {
		b.Run(way, func(b *testing.B) {
			proxy := ""
			if way == "proxy" {
				proxy = benchProxy(b)
			}
			c := benchTunnel(b, proxy, port)
			defer c.Close()
			buf := make([]byte, 64)
			for b.Loop() {
				c.Write(make([]byte, 64))
				if _, err := io.ReadFull(c, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkIdleTunnels runs the proxy in a process of its own and reports
// what its resident memory grows by. Each tunnel has moved some bytes.
func BenchmarkIdleTunnels(b *testing.B) {
	port := served(b, func(c net.Conn) { // io.Copy would hold a pipe for each
		buf := make([]byte, 64)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			c.Write(buf[:n])
		}
	})
	for _, n := range []int{1000, 5000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command("/proc/self/exe", "-test.run=^TestProxyProcess$")
				cmd.Env = append(os.Environ(), "BAWN_TEST_PROXY=1")
				in, _ := cmd.StdinPipe()
				out, _ := cmd.StdoutPipe()
				if err := cmd.Start(); err != nil {
					b.Fatal(err)
				}
				r := bufio.NewReader(out)
				addr, err := r.ReadString('\n')
				if err != nil {
					b.Fatal(err)
				}
				ask := func() float64 {
					io.WriteString(in, "\n")
					line, err := r.ReadString('\n')
					if err != nil {
						b.Fatal(err)
					}
					v, _ := strconv.ParseFloat(strings.TrimSpace(line), 64)
					return v
				}
				before := ask()
				conns := make([]net.Conn, n)
				for i := range conns {
					conns[i] = benchTunnel(b, strings.TrimSpace(addr), port)
					conns[i].Write(make([]byte, 64))
					if _, err := io.ReadFull(conns[i], make([]byte, 64)); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(ask()-before, "MB")
				for _, c := range conns {
					c.Close()
				}
				in.Close()
				cmd.Wait()
			}
		})
	}
}

// TestProxyProcess is the other process of BenchmarkIdleTunnels.
func TestProxyProcess(t *testing.T) {
	if os.Getenv("BAWN_TEST_PROXY") == "" {
		return
	}
	fmt.Println(benchProxy(t))
	in := bufio.NewReader(os.Stdin)
	for {
		if _, err := in.ReadByte(); err != nil {
			return
		}
		runtime.GC()
		b, _ := os.ReadFile("/proc/self/statm")
		pages, _ := strconv.ParseFloat(strings.Fields(string(b))[1], 64)
		fmt.Println(pages * float64(os.Getpagesize()) / 1e6)
	}
}
