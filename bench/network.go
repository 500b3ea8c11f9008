//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The network is measured in a namespace of the bench's own, in which
// upstreamAddr stands for a host of the internet: nothing leaves the machine.
const (
	upstreamAddr = "11.0.0.10"
	upstreamName = "bench.test"
	envInside    = "NETBENCH_INSIDE" // the process in that namespace
	envClient    = "NETBENCH_CLIENT" // bulk or conn: a client of the upstream (bawn drops names of its own)
	bulkSize     = 256 << 20
	connections  = 300
)

// network runs the section in its namespace.
func (b *bench) network(rounds int, srt string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// go run's program lies below /tmp, which is private in the sandbox.
	client := filepath.Join(b.dir, "client")
	data, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(client, data, 0o755)
	}
	if err != nil {
		return err
	}
	cmd := exec.Command(client, b.dir, strconv.Itoa(rounds), srt)
	cmd.Env = append(os.Environ(), envInside+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	uid, gid := os.Getuid(), os.Getgid()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN},
	}
	return cmd.Run()
}

// insideNetwork is the process in the namespace: it serves and measures.
func insideNetwork(dir string, rounds int, srt string) error {
	for _, c := range []string{"ip link set lo up", "ip addr add " + upstreamAddr + "/32 dev lo"} {
		f := strings.Fields(c)
		if out, err := exec.Command(f[0], f[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", c, err, out)
		}
	}
	hosts := filepath.Join(dir, "hosts")
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost\n"+upstreamAddr+" "+upstreamName+"\n"), 0o644); err != nil {
		return err
	}
	if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount(hosts, "/etc/hosts", "", unix.MS_BIND, "")); err != nil {
		return err
	}
	l, err := net.Listen("tcp", upstreamAddr+":9000")
	if err != nil {
		return err
	}
	go serveBench(l)
	home, ws := filepath.Join(dir, "home"), filepath.Join(dir, "home", "src", "project")
	client := filepath.Join(dir, "client")
	sandbox := []string{filepath.Join(dir, "bawn"), "run", "--allow-domain", upstreamName, "--", client}
	ways := []*way{
		{name: "direct, no sandbox", args: []string{client}, mode: "direct"},
		{name: "bawn, CONNECT", args: sandbox, mode: "proxy"},
		{name: "bawn, no proxy known", args: sandbox, mode: "direct"},
	}
	if srt != "" {
		ways = append(ways, &way{name: "srt, CONNECT", args: []string{srt, client}, mode: "env"})
	}
	for range rounds {
		for _, w := range ways {
			for _, what := range []string{"bulk", "conn"} {
				cmd := exec.Command(w.args[0], w.args[1:]...)
				cmd.Dir = ws
				cmd.Env = append(environ(home, ws), envClient+"="+what+","+w.mode)
				var said strings.Builder
				cmd.Stderr = &said
				out, err := cmd.Output()
				if err != nil {
					return fmt.Errorf("%s, %s: %w\n%s%s", w.name, what, err, out, said.String())
				}
				v, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
				if err != nil {
					return fmt.Errorf("%s, %s: %q", w.name, what, out)
				}
				if what == "bulk" {
					w.bulk = append(w.bulk, v)
				} else {
					w.conn = append(w.conn, v)
				}
			}
		}
	}
	fmt.Printf("\nNetwork: %d MiB down, and %d connections with a request each; medians of %d rounds\n", bulkSize>>20, connections, rounds)
	for _, w := range ways {
		fmt.Printf("  %-22s  %6.2f Gbit/s  %6.0f µs\n", w.name, mid(w.bulk), mid(w.conn))
	}
	direct, proxy, transparent := ways[0], ways[1], ways[2]
	least := func(what string, r, limit float64) {
		verdict(fmt.Sprintf("%s: %.2f", what, r), r >= limit, fmt.Sprintf("at least %.2f", limit))
	}
	least("bulk by CONNECT / direct", mid(proxy.bulk)/mid(direct.bulk), 0.6)
	least("bulk without a proxy / direct", mid(transparent.bulk)/mid(direct.bulk), 0.35)
	r := mid(proxy.conn) / mid(direct.conn)
	verdict(fmt.Sprintf("CONNECT, request, close / direct: %.2f", r), r <= 4, "at most 4.00")
	if srt != "" {
		least("bulk by CONNECT / srt", mid(proxy.bulk)/mid(ways[3].bulk), 2)
	}
	return nil
}

type way struct {
	name       string
	args       []string
	mode       string
	bulk, conn []float64
}

func mid(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// serveBench answers "b" with bulkSize bytes and anything else with itself.
func serveBench(l net.Listener) {
	piece := make([]byte, 256<<10)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			var b [1]byte
			if _, err := io.ReadFull(c, b[:]); err != nil {
				return
			}
			if b[0] != 'b' {
				_, _ = c.Write(b[:])
				return
			}
			for n := 0; n < bulkSize; n += len(piece) {
				if _, err := c.Write(piece); err != nil {
					return
				}
			}
		}()
	}
}

// clientMain is a client of the upstream, inside a sandbox or not; it prints
// Gbit/s, or the median time of a connection in microseconds.
func clientMain(what, mode string) error {
	once := func(request byte) (int64, error) {
		c, err := dialBench(mode)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		if _, err := c.Write([]byte{request}); err != nil {
			return 0, err
		}
		return io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 256<<10))
	}
	if what == "bulk" {
		begin := time.Now()
		n, err := once('b')
		if err != nil || n != bulkSize {
			return fmt.Errorf("%d bytes, %w", n, err)
		}
		fmt.Println(float64(n) * 8 / time.Since(begin).Seconds() / 1e9)
		return nil
	}
	var took []float64
	for range connections {
		begin := time.Now()
		if _, err := once('c'); err != nil {
			return err
		}
		took = append(took, float64(time.Since(begin).Microseconds()))
	}
	fmt.Println(mid(took))
	return nil
}

func dialBench(mode string) (net.Conn, error) {
	proxy := ""
	switch mode {
	case "direct":
		return net.Dial("tcp", upstreamName+":9000")
	case "proxy":
		proxy = "http://127.0.0.1:3128"
	case "env":
		proxy = os.Getenv("HTTP_PROXY")
	}
	u, err := url.Parse(proxy)
	if err != nil {
		return nil, err
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(c, "CONNECT %s:9000 HTTP/1.1\r\nHost: %s:9000\r\n\r\n", upstreamName, upstreamName)
	r := bufio.NewReader(io.LimitReader(c, 4096))
	status, err := r.ReadString('\n')
	if err != nil || !strings.Contains(status, " 200 ") {
		c.Close()
		return nil, fmt.Errorf("proxy: %q, %w", status, err)
	}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			c.Close()
			return nil, err
		}
		if line == "\r\n" {
			return c, nil // the upstream does not speak first: nothing is buffered
		}
	}
}
