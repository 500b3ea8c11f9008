//go:build linux

package sandboxtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux"
)

// keeping is a session with its keeper: this process is the supervisor.
type keeping struct {
	sandbox.Keeper
	guarded, airlock sandbox.Shared
	workspace        string
	env              []string
}

func keep(t *testing.T) *keeping { return keepIn(t, filepath.Join(Dir(t), "ws")) }

func keepIn(t *testing.T, workspace string) *keeping {
	t.Helper()
	mkdir(t, workspace)
	k, err := linux.NewKeeper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	out := &keeping{Keeper: k, workspace: workspace, env: []string{"HOME=" + workspace + "-no-home", "PATH=/usr/bin:/bin"}}
	for to, n := range map[*sandbox.Shared]sandbox.Network{
		&out.guarded: {Proxy: true, Transparent: true}, &out.airlock: {Proxy: true},
	} {
		if *to, err = k.Network(n); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// spec is a line of shell text under a policy.
func (k *keeping) spec(t *testing.T, text string, change func(*sandbox.Request)) sandbox.Spec {
	t.Helper()
	r := sandbox.Request{Tier: policy.Guarded, Caches: policy.SharedCaches, Workspace: k.workspace, Environ: k.env, Guard: true}
	if change != nil {
		change(&r)
	}
	cfg, host, err := sandbox.Inspect(r)
	if err != nil {
		t.Fatal(err)
	}
	pol, err := policy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	spec := sandbox.Plan(pol, host, sandbox.Command{Args: []string{"/bin/sh", "-c", text}, Environ: k.env})
	spec.Guard.Locks = []string{k.workspace + "-guard.lock"} // beside it, where no command sees it
	return spec
}

// kept is a command that a keeper started.
type kept struct {
	sandbox.Process
	in  *os.File
	out *bufio.Reader
}

func launch(t *testing.T, b sandbox.Backend, spec sandbox.Spec) *kept {
	t.Helper()
	from, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Start(spec, sandbox.Stdio{In: from, Out: to, Err: to})
	from.Close()
	to.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := out.SetReadDeadline(time.Now().Add(Limit)); err != nil {
		t.Fatal(err)
	}
	c := &kept{p, in, bufio.NewReader(out)}
	t.Cleanup(func() {
		c.Kill()
		in.Close()
		_ = c.Close()
		out.Close()
	})
	return c
}

// begin starts shell text in the network of the guarded tier.
func (k *keeping) begin(t *testing.T, text string) *kept {
	t.Helper()
	return launch(t, k.guarded, k.spec(t, text, nil))
}

// line is the next line that the command writes.
func (c *kept) line(t *testing.T) string {
	t.Helper()
	s, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("output of the command: %q, %v", s, err)
	}
	return strings.TrimSuffix(s, "\n")
}

// exit waits for the end; the rest of the output and the code.
func (c *kept) exit() (out string, code int) {
	c.in.Close()
	code = -1
	for {
		ev, err := c.Next()
		switch {
		case err != nil:
			return err.Error(), code
		case ev.Kind == sandbox.EventFailed:
			return ev.Reason, ev.Code
		case ev.Kind == sandbox.EventExited:
			rest, _ := io.ReadAll(c.out)
			return strings.TrimSuffix(string(rest), "\n"), ev.Code
		}
	}
}

// says runs a command to its end, which must be a good one.
func says(t *testing.T, b sandbox.Backend, spec sandbox.Spec) string {
	t.Helper()
	out, code := launch(t, b, spec).exit()
	if code != 0 {
		t.Errorf("%q: exit code %d: %s", spec.Args, code, out)
	}
	return out
}

func (k *keeping) says(t *testing.T, text string) string {
	t.Helper()
	return says(t, k.guarded, k.spec(t, text, nil))
}

const serve = `exec python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 8765)); print("up", flush=True)
while True:
    c, _ = s.accept(); c.sendall(b"hello\n"); c.close()'`

const fetch = `python3 -c '
import socket
try: print(socket.create_connection(("127.0.0.1", 8765)).makefile().readline().strip())
except OSError as e: print(e.strerror)'`

// N4: commands of one network share its loopback; another tier's, and another
// session's, do not.
func TestN4_KeeperLoopback(t *testing.T) {
	k, other := keep(t), keep(t)
	server := k.begin(t, serve)
	server.line(t)
	if got := k.says(t, fetch); got != "hello" {
		t.Errorf("the next command gets %q", got)
	}
	airlock := func(r *sandbox.Request) { r.Tier = policy.Airlock }
	if got := says(t, k.airlock, k.spec(t, fetch, airlock)); got != "Connection refused" {
		t.Errorf("one in airlock gets %q", got)
	}
	if got := other.says(t, fetch); got != "Connection refused" {
		t.Errorf("one of another session gets %q", got)
	}
	// From outside, only through the keeper.
	f, err := k.guarded.Connect(8765)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.SetNonblock(int(f.Fd()), false); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(f); string(got) != "hello\n" {
		t.Errorf("the supervisor gets %q, %v", got, err)
	}
	if f, err := k.guarded.Connect(8766); err == nil || !strings.Contains(err.Error(), "port 8766 inside") {
		t.Errorf("a port that nobody listens on: %v, %v", f, err)
	}
	// A server ends with its command.
	server.Kill()
	server.Wait()
	if got := k.says(t, fetch); got != "Connection refused" {
		t.Errorf("after the server's end: %q", got)
	}
}

// A100: commands of one session do not see each other's processes, and no
// signal or IPC passes; not even what one hands to another by a socket of the
// network that they share gives a right over its processes.
func TestA100_KeeperCommandsAreApart(t *testing.T) {
	k := keep(t)
	victim := k.begin(t, `ipcmk -M 4096 >/dev/null; ipcs -m | grep -c 0x
exec python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM); s.bind("\0given"); s.listen()
print("up", flush=True)
c, _ = s.accept()
socket.send_fds(c, [str(os.getpid()).encode()], [os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)])
print(c.recv(1).decode(), flush=True)'`)
	if got := victim.line(t); got != "1" {
		t.Fatalf("the victim has %q segments of shared memory", got)
	}
	victim.line(t)
	if got := k.says(t, "cat /proc/[0-9]*/comm | grep -c python; ipcs -m | grep -c 0x; kill -9 -1 2>/dev/null; echo lives"); got != "0\n0\nlives" {
		t.Errorf("another command sees %q", got)
	}
	pid := 0
	for _, p := range commandLines(t, "given") {
		pid = p
	}
	if pid == 0 {
		t.Fatal("the victim is not found from outside")
	}
	attack := fmt.Sprintf(`exec python3 -c '
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(r): return os.strerror(ctypes.get_errno()) if r < 0 else "worked"
outer = %d
print(call(libc.kill(outer, 9)), call(libc.ptrace(16, outer, 0, 0)), call(libc.syscall(434, outer, 0)), sep=", ")
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM); s.connect("\0given")
pid, fds, _, _ = socket.recv_fds(s, 16, 4)
for name in "environ", "mem", "cwd/.", "root/tmp":
    try: os.open(pid.decode() + "/" + name, os.O_RDONLY, dir_fd=fds[0]); print(name, "opened")
    except OSError as e: print(name, e.strerror)
os.open("self/environ", os.O_RDONLY, dir_fd=os.open("/proc", os.O_RDONLY)); print("own opened")
s.send(b"!")'`, pid)
	want := "No such process, No such process, No such process\nenviron Permission denied\nmem Permission denied\ncwd/. Permission denied\nroot/tmp Permission denied\nown opened"
	spec := k.spec(t, attack, nil)
	if got := says(t, k.guarded, spec); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := victim.line(t); got != "!" {
		t.Errorf("the victim gets %q", got)
	}
}

// commandLines are the processes of this machine whose command line holds text.
func commandLines(t *testing.T, text string) (pids []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		line, err := os.ReadFile(d)
		if err == nil && strings.Contains(string(line), text) {
			pid, _ := strconv.Atoi(strings.Split(d, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// Each process finds the owner of a connection among its own.
func TestKeeper_Owner(t *testing.T) {
	k := keep(t)
	s := k.guarded.Sockets()
	defer s.Close()
	if s.Proxy == nil || len(s.DNSPackets) == 0 || s.Relay == nil {
		t.Fatalf("sockets %+v", s)
	}
	if k.guarded.Sockets() != nil {
		t.Error("the sockets come twice")
	}
	l, err := net.FileListener(s.Proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	connect := `exec python3 -c '
import socket, sys
s = socket.create_connection(("127.0.0.1", 3128)); sys.stdin.read()'`
	other := k.begin(t, "read x")
	c := k.begin(t, connect)
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	peer := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	if pid, name := c.Owner(peer); pid == 0 || name != "python3" {
		t.Errorf("its own process: %d, %q", pid, name)
	}
	if pid, name := other.Owner(peer); pid != 0 {
		t.Errorf("another command's: %d, %q", pid, name)
	}
}

// What a command leaves in the background ends with it.
func TestKeeper_BackgroundEnds(t *testing.T) {
	k := keep(t)
	c := k.begin(t, "setsid sleep 1000 & sleep 1000 & exit 4")
	if out, code := c.exit(); out != "" || code != 4 { // the end of the output is waited for
		t.Errorf("%q, exit code %d", out, code)
	}
}

// Many at once: each gets what is its own.
func TestKeeper_ManyAtOnce(t *testing.T) {
	k := keep(t)
	const many = 50
	var wait sync.WaitGroup
	specs := make([]sandbox.Spec, many)
	for i := range specs {
		specs[i] = k.spec(t, fmt.Sprintf("echo $$ >/tmp/m%d; cat; exit %d", i, i), nil)
	}
	for i, spec := range specs {
		wait.Go(func() {
			from, in, err := os.Pipe()
			if err != nil {
				t.Error(err)
				return
			}
			out, to, err := os.Pipe()
			if err != nil {
				t.Error(err)
				return
			}
			defer in.Close()
			defer out.Close()
			p, err := k.guarded.Start(spec, sandbox.Stdio{In: from, Out: to, Err: to})
			from.Close()
			to.Close()
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Close()
			fmt.Fprintln(in, i)
			c := &kept{p, in, bufio.NewReader(out)}
			if said, code := c.exit(); said != strconv.Itoa(i) || code != i {
				t.Errorf("number %d says %q and ends with %d", i, said, code)
			}
		})
	}
	wait.Wait()
	if got := k.says(t, "ls /tmp | wc -l"); got != strconv.Itoa(many) {
		t.Errorf("%s files are in the temp", got)
	}
	// One stage waits in each network, and nothing is left of the others.
	pid, left := keeperPID(t), map[int]bool{}
	for deadline := time.Now().Add(Limit); time.Now().Before(deadline); runtime.Gosched() {
		if left = descendants(pid); len(left) == 2 {
			return
		}
	}
	t.Errorf("%d processes are left", len(left))
}

// keeperPID is the one child of this process that is a keeper.
func keeperPID(t *testing.T) int {
	t.Helper()
	var pids []int
	for _, p := range commandLines(t, "bawn: session") {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
		if _, rest, ok := strings.Cut(string(stat), ") "); ok && strings.Fields(rest)[1] == strconv.Itoa(os.Getpid()) {
			pids = append(pids, p)
		}
	}
	if len(pids) != 1 {
		t.Fatalf("keepers %v", pids)
	}
	return pids[0]
}

// F11: with the keeper goes all that it started, and it says so.
func TestF11_KilledKeeper(t *testing.T) {
	for range rounds(1) {
		killKeeper(t)
	}
}

func killKeeper(t *testing.T) {
	k := keep(t)
	c := k.begin(t, "setsid sleep 1000 & sleep 1000 & echo up; wait")
	c.line(t)
	if ev, err := c.Next(); err != nil || ev.Kind != sandbox.EventStarted {
		t.Errorf("%+v, %v", ev, err)
	}
	if err := unix.Kill(keeperPID(t), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-k.Done():
	case <-time.After(Limit):
		t.Fatal("it does not say that it is gone")
	}
	if _, err := io.ReadAll(c.out); err != nil {
		t.Errorf("something of the command outlived it: %v", err)
	}
	if ev, err := c.Next(); err == nil {
		t.Errorf("its end is %+v", ev)
	}
	spec := k.spec(t, "true", nil)
	for range 2 {
		if _, err := k.guarded.Start(spec, sandbox.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}); err == nil {
			t.Error("a command started without it")
		}
	}
	if _, err := k.guarded.Connect(1); err == nil {
		t.Error("a connection without it")
	}
	if _, err := k.Network(sandbox.Network{}); err == nil {
		t.Error("a network without it")
	}
}
