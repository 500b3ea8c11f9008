//go:build linux

package main

import (
	"bufio"
	"encoding/base64"
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
	relayAddr    = "127.0.0.1:9001"
	envInside    = "NETBENCH_INSIDE" // the process in that namespace
	envClient    = "NETBENCH_CLIENT" // bulk, conn or idle: a client of the upstream (bawn drops names of its own)
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
	for _, c := range []string{"ip link set lo up", "ip route add local " + upstreamAddr + "/32 dev lo"} {
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
	relay := exec.Command(client)
	relay.Env, relay.Stderr = []string{envClient + "=relay,"}, os.Stderr
	relay.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stop, err := relay.StdinPipe()
	if err == nil {
		err = relay.Start()
	}
	if err != nil {
		return err
	}
	defer relay.Wait()
	defer stop.Close()
	noDevice := []string{"unshare", "-m", "/bin/sh", "-c", `mount --bind /dev/null /dev/net/tun && exec "$@"`, "sh"}
	ways := []*way{
		{name: "direct, no sandbox", args: []string{client}, mode: "direct"},
		{name: "bawn, CONNECT", args: sandbox, mode: "proxy"},
		{name: "bawn, no proxy known", args: sandbox, mode: "direct"},
		{name: "  without a TUN device", args: append(noDevice, sandbox...), mode: "direct"},
		{name: "a bare relay (splice)", args: []string{client}, mode: "relay"},
	}
	if srt != "" {
		settings := filepath.Join(dir, "srt.json")
		text := `{"network":{"allowedDomains":["` + upstreamName + `"],"deniedDomains":[]},"filesystem":{"denyRead":[],"allowWrite":["."],"denyWrite":[]}}`
		if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
			return err
		}
		ways = append(ways, &way{name: "srt, CONNECT", args: []string{srt, "--settings", settings, client}, mode: "env"})
	}
	for range rounds {
		for _, w := range ways {
			for _, what := range []string{"bulk", "conn"} {
				cmd := exec.Command(w.args[0], w.args[1:]...)
				cmd.Dir = ws
				cmd.Env = append(environ(home, ws), envClient+"="+what+","+w.mode)
				// A sandbox is a session of its own, to which a busy machine
				// gives a share of its time: so must the others be.
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
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
	fmt.Printf("         a bare relay of this machine reaches %.2f of direct; CONNECT / bare relay: %.2f\n",
		mid(ways[4].bulk)/mid(direct.bulk), mid(proxy.bulk)/mid(ways[4].bulk))
	if srt != "" {
		least("bulk by CONNECT / srt", mid(proxy.bulk)/mid(ways[5].bulk), 2)
	}
	for _, x := range []struct {
		what  string
		w     *way
		n     int
		limit float64
	}{
		{"1,000 idle connections by CONNECT", proxy, 1000, 20},
		{"1,000 idle connections without a proxy", transparent, 1000, 40},
		{"5,000 idle tunnels", proxy, 4990, 150}, // one is Limits.Conns, which others may use too
	} {
		mb, err := idleMemory(x.w, x.n, ws, home)
		if err != nil {
			return fmt.Errorf("%s: %w", x.what, err)
		}
		verdict(fmt.Sprintf("%s: %.1f MB of the supervisor's memory", x.what, mb), mb <= x.limit, fmt.Sprintf("at most %.0f", x.limit))
	}
	return nil
}

// idleMemory is how much the supervisor grows by n connections that say
// nothing, in MB.
func idleMemory(w *way, n int, ws, home string) (float64, error) {
	cmd := exec.Command(w.args[0], w.args[1:]...)
	cmd.Dir = ws
	cmd.Env = append(environ(home, ws), envClient+"=idle "+strconv.Itoa(n)+","+w.mode)
	cmd.Stderr = os.Stderr
	in, out, err := startPiped(cmd)
	if err != nil {
		return 0, err
	}
	defer cmd.Wait()
	defer in.Close()
	r := bufio.NewReader(out)
	var kb [2]float64
	for i := range kb {
		if line, err := r.ReadString('\n'); line != "ready\n" {
			return 0, fmt.Errorf("%q, %v", line, err)
		}
		if kb[i], err = pss(cmd.Process.Pid); err != nil {
			return 0, err
		}
		fmt.Fprintln(in)
	}
	return (kb[1] - kb[0]) / 1024, nil
}

// idle holds n connections; before all but the first it waits for a line.
func idle(n int, mode string) error {
	in := bufio.NewReader(os.Stdin)
	for i := range n {
		c, err := dialBench(mode)
		if err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		defer c.Close()
		if i == 0 || i == n-1 {
			fmt.Println("ready")
			if _, err := in.ReadString('\n'); err != nil {
				return err
			}
		}
	}
	return nil
}

// relayMain passes connections on to the upstream as simply as can be, until
// its standard input ends.
func relayMain() error {
	l, err := net.Listen("tcp", relayAddr)
	if err != nil {
		return err
	}
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		l.Close()
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			return nil
		}
		go func() {
			defer c.Close()
			s, err := net.Dial("tcp", upstreamAddr+":9000")
			if err != nil {
				return
			}
			defer s.Close()
			go func() {
				_, _ = io.Copy(s, c)
				_ = s.(*net.TCPConn).CloseWrite()
			}()
			_, _ = io.Copy(c, s)
		}()
	}
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
			_, _ = c.Read(b[:]) // the client ends it, when it has all
		}()
	}
}

// clientMain is a client of the upstream, inside a sandbox or not; it prints
// Gbit/s, or the median time of a connection in microseconds.
func clientMain(what, mode string) error {
	if what == "relay" {
		return relayMain()
	}
	if n, ok := strings.CutPrefix(what, "idle "); ok {
		n, err := strconv.Atoi(n)
		if err != nil {
			return err
		}
		return idle(n, mode)
	}
	once := func(request byte) (int64, error) {
		c, err := dialBench(mode)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		if _, err := c.Write([]byte{request}); err != nil {
			return 0, err
		}
		return io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(c, bulkSize), make([]byte, 256<<10))
	}
	if what == "bulk" {
		begin := time.Now()
		n, err := once('b')
		if err != nil || n != bulkSize {
			return fmt.Errorf("%d bytes: %v", n, err)
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
	case "relay":
		return net.Dial("tcp", relayAddr)
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
	for begin := time.Now(); mode == "env" && errors.Is(err, syscall.ECONNREFUSED) && time.Since(begin) < 5*time.Second; {
		time.Sleep(time.Millisecond) // the forwarder starts beside the command
		c, err = net.Dial("tcp", u.Host)
	}
	if err != nil {
		return nil, err
	}
	auth := ""
	if u.User != nil {
		password, _ := u.User.Password()
		auth = "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)) + "\r\n"
	}
	fmt.Fprintf(c, "CONNECT %s:9000 HTTP/1.1\r\nHost: %s:9000\r\n%s\r\n", upstreamName, upstreamName, auth)
	r := bufio.NewReader(io.LimitReader(c, 4096))
	status, err := r.ReadString('\n')
	if err != nil || !strings.Contains(status, " 200 ") {
		c.Close()
		return nil, fmt.Errorf("proxy: %q, %v", status, err)
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
