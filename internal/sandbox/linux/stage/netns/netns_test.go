//go:build linux

package netns

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const insideMark = "BAWN_TEST_NETNS"

// inNamespace runs the test that calls it again in a user and a network
// namespace of its own, and reports whether this is that second run.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideMark) != "" {
		runtime.LockOSThread()
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET, Pdeathsig: unix.SIGKILL}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE}
	cmd.SysProcAttr = attr
	cmd.Env = append(os.Environ(), insideMark+"=1")
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "--- SKIP: "+t.Name()) {
		t.Skipf("inside:\n%s", out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("inside: %v\n%s", err, out)
	}
	t.Logf("%s", out)
	return false
}

func setup(t *testing.T, c Config) Set {
	t.Helper()
	s, err := Open(c).Make()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// where is the address of a socket, as the kernel knows it.
func where(t *testing.T, fd int) string {
	t.Helper()
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	a := sa.(*unix.SockaddrInet4)
	return net.IP(a.Addr[:]).String() + ":" + strconv.Itoa(a.Port)
}

func (s Set) text(t *testing.T) string {
	t.Helper()
	var out []string
	for _, k := range s.Sockets {
		flags, err := unix.FcntlInt(uintptr(k.FD), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor of %c is not closed on exec (%v)", k.Kind, err)
		}
		fl, err := unix.FcntlInt(uintptr(k.FD), unix.F_GETFL, 0)
		if err != nil || fl&unix.O_NONBLOCK == 0 {
			t.Errorf("descriptor of %c blocks (%v)", k.Kind, err)
		}
		switch k.Kind {
		case TUN:
			out = append(out, "t")
		case Relay:
			host, _, _ := strings.Cut(where(t, k.FD), ":")
			out = append(out, "r "+host)
		default:
			out = append(out, fmt.Sprintf("%c %s", k.Kind, where(t, k.FD)))
		}
	}
	return strings.Join(out, ", ")
}

const (
	deviceSockets = "t, r 198.18.0.1, "
	plainSockets  = "p 127.0.0.1:3128, l 127.0.0.1:5432, l 127.0.0.1:80, "
	dnsSockets    = "u 198.18.0.1:53, s 198.18.0.1:53, u 127.0.0.1:53, s 127.0.0.1:53, u 127.0.0.53:53, s 127.0.0.53:53"
)

func TestMake(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	if err := unix.Access("/dev/net/tun", unix.R_OK|unix.W_OK); err != nil {
		t.Skipf("/dev/net/tun: %v", err)
	}
	s := setup(t, Config{Capable: true, Ports: []uint16{5432, 80}})
	if got, want := s.text(t), deviceSockets+plainSockets+dnsSockets; got != want || len(s.Lacking) != 0 {
		t.Errorf("made %s\nwant %s\nlacking %q", got, want, s.Lacking)
	}
	if b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_syn_retries"); err != nil || strings.TrimSpace(string(b)) != strconv.Itoa(SynRetries) {
		t.Errorf("tcp_syn_retries is %q, %v", b, err)
	}
	dev, err := net.InterfaceByName(Device)
	if err != nil {
		t.Fatal(err)
	}
	addrs, err := dev.Addrs()
	if err != nil || len(addrs) != 0 || dev.MTU != MTU || dev.Flags&net.FlagUp == 0 {
		t.Errorf("device is %+v with addresses %v, %v", dev, addrs, err)
	}
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	if addrs, err = lo.Addrs(); err != nil || !strings.Contains(fmt.Sprint(addrs), "127.0.0.1/8 198.18.0.1/32") {
		t.Errorf("loopback has %v, %v", addrs, err)
	}

	// Loopback works, everything else goes into the device, from Address.
	c, err := net.Dial("tcp", "127.0.0.1:3128")
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	u, err := net.Dial("udp", "11.0.0.10:443")
	if err != nil {
		t.Fatal(err)
	}
	if host, _, _ := net.SplitHostPort(u.LocalAddr().String()); host != "198.18.0.1" {
		t.Errorf("packets come from %v", host)
	}
	if _, err := u.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	tun := os.NewFile(uintptr(s.Sockets[0].FD), "tun")
	defer tun.Close()
	s.Sockets = s.Sockets[1:]
	if err := tun.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 2000)
	n, err := tun.Read(buf)
	if err != nil || n != 10+20+8+5 || string(buf[n-5:n]) != "hello" || [4]byte(buf[10+12:]) != Address {
		t.Errorf("the device has % x, %v; want the one packet alone, and no IPv6", buf[:n], err)
	}
	for _, addr := range []string{"[2001:db8::1]:80", "[fe80::1%bawn0]:80"} {
		if _, err := net.Dial("tcp", addr); !errors.Is(err, unix.ENETUNREACH) && !errors.Is(err, unix.EADDRNOTAVAIL) {
			t.Errorf("%s: %v, want unreachable", addr, err)
		}
	}
}

// The device is opened by a descriptor when the path is out of sight. One
// that is open already belongs to the namespace that opened it.
func TestSetupByDescriptor(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	node, err := unix.Open("/dev/net/tun", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil || unix.Access("/dev/net/tun", unix.R_OK|unix.W_OK) != nil {
		t.Skipf("/dev/net/tun: %v", err)
	}
	defer unix.Close(node)
	if s := setup(t, Config{Capable: true, Node: node}); !s.has(TUN) || !s.has(Relay) {
		t.Errorf("made %s, lacking %q", s.text(t), s.Lacking)
	}
}

// A launcher that gives no capability gets what needs none.
func TestSetupWithoutCapability(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	var b batch // as the launcher does
	b.linkUp(loIndex, 0)
	if err := b.run(unix.NETLINK_ROUTE); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&hdr, &none[0]); err != nil {
		t.Fatal(err)
	}
	// A port that cannot be offered is no port fewer, but an error.
	if s, err := Open(Config{Ports: []uint16{5432, 80}}).Make(); err == nil || !strings.Contains(err.Error(), "port 80") || len(s.Sockets) != 0 {
		t.Errorf("made %s, %v", s.text(t), err)
	}
	s := setup(t, Config{Ports: []uint16{5432}})
	if got := s.text(t); got != "p 127.0.0.1:3128, l 127.0.0.1:5432" {
		t.Errorf("made %s", got)
	}
	if len(s.Lacking) != 1 {
		t.Errorf("lacking %q", s.Lacking)
	}
	// Claiming capabilities that are not there fails, and leaves nothing.
	if s, err := Open(Config{Capable: true}).Make(); !errors.Is(err, unix.EPERM) || len(s.Sockets) != 0 {
		t.Errorf("made %s, %v", s.text(t), err)
	}
}

func TestSetupClosesOnFailure(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	count := func() int {
		e, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(e)
	}
	before := count()
	if _, err := Open(Config{Capable: true, Ports: []uint16{ProxyPort}}).Make(); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("a port twice: %v", err)
	}
	if after := count(); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	// A second set-up of one namespace is refused: the device is taken.
	if _, err := Open(Config{Capable: true}).Make(); !errors.Is(err, unix.EEXIST) {
		t.Errorf("second set-up: %v", err)
	}
}

func TestReplies(t *testing.T) {
	var b batch
	b.begin(unix.NLMSG_ERROR, 0, step{})
	b.u32(0)
	b.end()
	if seq, errno, ok := parseReply(b.buf); !ok || seq != 1 || errno != 0 {
		t.Errorf("done: %d, %v, %v", seq, errno, ok)
	}
	for n := range len(b.buf) {
		if _, _, ok := parseReply(b.buf[:n]); ok {
			t.Errorf("a reply of %d bytes was taken", n)
		}
	}
}

// What a start pays. Each round is a new namespace of a new process, which
// the time does not include.
func BenchmarkMake(b *testing.B) {
	if os.Getenv(insideMark) != "" {
		runtime.LockOSThread()
		begin := time.Now()
		s, err := Open(Config{Capable: true, Node: nodeFromEnv()}).Make()
		took := time.Since(begin)
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
		fmt.Printf("took=%d\n", took.Nanoseconds())
		return
	}
	for _, c := range []struct{ name, env string }{{"tun", "1"}, {"redirect", "null"}} {
		b.Run(c.name, func(b *testing.B) {
			var took []int64
			for b.Loop() {
				cmd := exec.Command("/proc/self/exe", "-test.run=^$", "-test.bench=^BenchmarkMake$", "-test.benchtime=1x")
				cmd.SysProcAttr = &syscall.SysProcAttr{
					Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
					UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
					GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
				}
				cmd.Env = append(os.Environ(), insideMark+"="+c.env)
				out, err := cmd.Output()
				_, rest, ok := strings.Cut(string(out), "took=")
				text, _, _ := strings.Cut(rest, "\n")
				n, e := strconv.ParseInt(text, 10, 64)
				if err != nil || !ok || e != nil {
					b.Fatalf("%v %v %q", err, e, out)
				}
				took = append(took, n)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2])/1e3, "µs/setup") // the median
			b.ReportMetric(0, "ns/op")
		})
	}
}

// nodeFromEnv is a descriptor of no TUN device, if the benchmark wants one.
func nodeFromEnv() int {
	if os.Getenv(insideMark) != "null" {
		return 0
	}
	fd, err := unix.Open("/dev/null", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	return fd
}

// has reports whether a socket of the kind was made.
func (s Set) has(k Kind) bool {
	for _, sock := range s.Sockets {
		if sock.Kind == k {
			return true
		}
	}
	return false
}
