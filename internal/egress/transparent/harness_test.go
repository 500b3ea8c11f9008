//go:build linux

package transparent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/egress/transparent"
	"bawn/internal/policy"
	"bawn/internal/sandbox/linux/stage/netns"
)

// The test binary, started again in namespaces of its own, is the sandbox: it
// makes its network, passes the sockets out and runs the commands it is told.
const (
	insideMark = "BAWN_TEST_TRANSPARENT"
	engineMark = "BAWN_TEST_ENGINE"
)

// engineKind is how connections inside come to the engine.
type engineKind string

const (
	device   engineKind = "device"
	redirect engineKind = "redirect"
)

// engines runs a test with each engine that this user may use.
func engines(t *testing.T, test func(*testing.T, engineKind)) {
	for _, e := range []engineKind{device, redirect} {
		t.Run(string(e), func(t *testing.T) {
			need(t, e)
			test(t, e)
		})
	}
}

// need skips what takes a device where an ordinary user must not have one.
func need(t testing.TB, e engineKind) {
	t.Helper()
	if err := unix.Access("/dev/net/tun", unix.R_OK|unix.W_OK); e == device && os.Getuid() != 0 && err != nil {
		t.Skipf("/dev/net/tun: %v", err)
	}
}

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(insideMark) != "":
		if err := inside(os.Getenv(insideMark)); err != nil {
			fmt.Fprintln(os.Stderr, "inside:", err)
			os.Exit(1)
		}
	case len(os.Args) > 2 && os.Args[1] == "client":
		client(os.Args[2:])
	default:
		os.Exit(m.Run())
	}
}

const insideFD = 3

type order struct {
	ID   int
	Args []string
}

type outcome struct {
	ID       int
	Out, Err string
	Code     int
	Took     time.Duration
}

func inside(resolvConf string) error {
	runtime.LockOSThread()
	_ = os.Unsetenv(insideMark)
	unix.CloseOnExec(insideFD)
	if err := unix.Mount(resolvConf, "/etc/resolv.conf", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("resolv.conf: %w", err)
	}
	c := netns.Config{Capable: true}
	if engineKind(os.Getenv(engineMark)) == redirect {
		null, err := unix.Open("/dev/null", unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		c.Node = null // no TUN device
	}
	set, err := netns.Open(c).Make()
	if err != nil {
		return err
	}
	kinds, fds := set.Message()
	if err := unix.Sendmsg(insideFD, kinds, unix.UnixRights(fds...), nil, 0); err != nil {
		return err
	}
	set.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	buf := make([]byte, 1<<16)
	for {
		n, err := unix.Read(insideFD, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return err
		}
		var o order
		if err := json.Unmarshal(buf[:n], &o); err != nil {
			return err
		}
		if o.Args[0] == "self" {
			o.Args[0] = self
		}
		go func() {
			begin := time.Now()
			cmd := exec.Command(o.Args[0], o.Args[1:]...)
			var stderr writerTail
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			r := outcome{ID: o.ID, Out: string(out[:min(len(out), 20000)]), Err: string(stderr), Took: time.Since(begin)}
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				r.Code = exit.ExitCode()
			} else if err != nil {
				r.Code, r.Err = 127, err.Error()
			}
			b, _ := json.Marshal(r)
			_, _ = unix.Write(insideFD, b)
		}()
	}
}

type writerTail []byte

func (w *writerTail) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	*w = (*w)[max(0, len(*w)-4000):]
	return len(p), nil
}

// world is a sandbox with an engine, and what it may reach.
type world struct {
	t      testing.TB
	kind   engineKind
	engine *transparent.Engine
	conn   *net.UnixConn
	port   map[uint16]string // allowed port → where it really goes
	proc   *exec.Cmd

	mu    sync.Mutex
	next  int
	wait  map[int]chan outcome
	dials []string
	gate  func(ctx context.Context, h policy.Host, port uint16) error
}

var errDenied = errors.New("denied")

// allowed names resolve and connect: to the port's server. asked ones pass
// world.gate.
const (
	allowedName = "allowed.test"
	askedName   = "asked.test"
)

func (w *world) name(_ context.Context, h policy.Host) policy.Decision {
	switch h.String() {
	case allowedName:
		return policy.Decision{Verdict: policy.Allow}
	case askedName:
		return policy.Decision{Verdict: policy.Ask}
	}
	return policy.Decision{Rule: policy.Rule{ID: "test", Text: "no rule allows " + h.String()}}
}

func (w *world) dial(ctx context.Context, h policy.Host, port uint16, peer netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dials = append(w.dials, net.JoinHostPort(h.String(), strconv.Itoa(int(port))))
	to, ok := w.port[port]
	gate := w.gate
	w.mu.Unlock()
	if peer.Addr() != netip.AddrFrom4(netns.Address) {
		return nil, fmt.Errorf("peer %v", peer)
	}
	switch {
	case h.String() == askedName && gate != nil:
		if err := gate(ctx, h, port); err != nil {
			return nil, err
		}
	case h.String() != allowedName:
		return nil, errDenied
	}
	if !ok {
		return nil, errDenied
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to)
}

func join(_ policy.Host, a, b net.Conn) {
	var wg sync.WaitGroup
	one := func(dst, src net.Conn) {
		_, _ = io.Copy(dst, src)
		if c, ok := dst.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite()
		}
	}
	wg.Go(func() { one(b, a) })
	one(a, b)
	wg.Wait()
	_ = a.Close()
	_ = b.Close()
}

// newWorld starts a sandbox.
func newWorld(t testing.TB, e engineKind, ports map[uint16]string) *world {
	t.Helper()
	return newWorldJoin(t, e, ports, join)
}

func newWorldJoin(t testing.TB, e engineKind, ports map[uint16]string, join func(policy.Host, net.Conn, net.Conn)) *world {
	t.Helper()
	resolv := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(resolv, []byte("nameserver 198.18.0.1\noptions edns0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "inside")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), insideMark+"="+resolv, engineMark+"="+string(e))
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	id := func(n int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: 0, HostID: n, Size: 1}}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{ // the clients end with it, hence the namespace of pids
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID, UidMappings: id(os.Getuid()), GidMappings: id(os.Getgid()),
		Pdeathsig: unix.SIGKILL,
	}
	runtime.LockOSThread() // the death signal is the thread's
	t.Cleanup(runtime.UnlockOSThread)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	conn, err := net.FileConn(mine)
	_ = mine.Close()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, kind: e, conn: conn.(*net.UnixConn), port: ports, proc: cmd, wait: map[int]chan outcome{}}
	t.Cleanup(func() {
		_ = w.conn.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	o := receive(t, w.conn)
	if (o.TUN != nil) != (e == device) || o.Relay == nil {
		t.Fatalf("%s: device %v, relay %v", e, o.TUN, o.Relay)
	}
	o.Dial, o.Name, o.Join = w.dial, w.name, join
	if w.engine, err = transparent.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.engine.Close(); err != nil {
			t.Errorf("engine: %v", err)
		}
	})
	go w.read()
	return w
}

func receive(t testing.TB, conn *net.UnixConn) (o transparent.Options) {
	t.Helper()
	kinds, oob := make([]byte, 64), make([]byte, 1024)
	n, m, _, _, err := conn.ReadMsgUnix(kinds, oob)
	if err != nil || n == 0 {
		t.Fatalf("the sandbox did not start: %v", err)
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:m])
	if err != nil {
		t.Fatal(err)
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) != n {
		t.Fatalf("%d descriptors for %q: %v", len(fds), kinds[:n], err)
	}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "inside")
		switch netns.Kind(kinds[i]) {
		case netns.TUN:
			o.TUN = f
			continue
		case netns.DNSPacket:
			c, err := net.FilePacketConn(f)
			if err != nil {
				t.Fatal(err)
			}
			o.Packet = append(o.Packet, c)
		default:
			l, err := net.FileListener(f)
			if err != nil {
				t.Fatal(err)
			}
			switch netns.Kind(kinds[i]) {
			case netns.Relay:
				o.Relay = l
			case netns.DNSStream:
				o.Stream = append(o.Stream, l)
			default:
				_ = l.Close()
			}
		}
		_ = f.Close()
	}
	return o
}

func (w *world) read() {
	buf := make([]byte, 1<<17)
	for {
		n, err := w.conn.Read(buf)
		if err != nil || n == 0 {
			return
		}
		var r outcome
		if json.Unmarshal(buf[:n], &r) == nil {
			w.mu.Lock()
			c := w.wait[r.ID]
			w.mu.Unlock()
			c <- r
		}
	}
}

// start runs a command inside; its outcome comes from the channel.
func (w *world) start(args ...string) <-chan outcome {
	w.t.Helper()
	c := make(chan outcome, 1)
	w.mu.Lock()
	w.next++
	o := order{w.next, args}
	w.wait[o.ID] = c
	w.mu.Unlock()
	b, err := json.Marshal(o)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.conn.Write(b); err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) run(args ...string) outcome {
	w.t.Helper()
	select {
	case r := <-w.start(args...):
		return r
	case <-time.After(2 * time.Minute):
		w.t.Fatalf("%q does not end", args)
		panic("unreachable")
	}
}

// dialled returns the destinations asked for since the last call.
func (w *world) dialled() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.dials
	w.dials = nil
	return d
}
