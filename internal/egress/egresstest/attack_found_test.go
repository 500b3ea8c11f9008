//go:build linux

package egresstest

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// A44, A70: a network socket as a standard stream belongs to the host's
// network: a command could connect it anew, to anything there.
func TestA44_SocketStream(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		sandboxtest.Write(t, b.Workspace+"/inner.py", reconnect)
		name := b.Python(t, socketStream)
		for kind, want := range map[string]string{
			"pipe": "no socket", "pair": "refused", "tcp": "125", "udp": "125", "listen": "125", "unixgram": "125",
		} {
			ctx, cancel := context.WithTimeout(t.Context(), sandboxtest.Limit)
			run := append([]string{sandboxtest.Binary(), "run", "--launcher", l}, b.Flags...)
			run = append(run, "--", "python3", "inner.py")
			argv := w.inside(b.Workspace, append([]string{"python3", name, kind}, run...)...)
			cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
			cmd.Dir, cmd.Env = b.Workspace, b.Environ()
			before := w.Hits(t, "11.0.0.10:18080")
			out, err := cmd.CombinedOutput()
			cancel()
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%s %s: %v: %q, want %q", l, kind, err, out, want)
			}
			if n := w.Hits(t, "11.0.0.10:18080") - before; n != 0 {
				t.Errorf("%s %s: the host's network was reached", l, kind)
			}
		}
	}
}

// N4: a storm of connections to published ports neither stops them for good
// nor keeps the run from ending.
func TestN4_PublishStorm(t *testing.T) {
	w := NewWorld(t)
	b := NewBox(t, w, "native")
	b.Flags = []string{"--publish", "12345", "--publish", "12346"}
	b.Python(t, publishOne)
	sandboxtest.Write(t, b.Workspace+"/index.html", "from inside\n")
	sandboxtest.Write(t, w.Dir+"/storm.py", storm)
	r := b.start(t, "python3", "script.py")
	w.Outside(t, "python3", w.Dir+"/storm.py")
	if out := w.Outside(t, "sh", "-c", "curl -m 60 -sS http://127.0.0.1:12345/ 2>&1; true"); out != "from inside\n" {
		t.Errorf("after the storm: %q", out)
	}
	r.end(t, 0)
}

// N4: a command that leaves pid 1 no descriptor to send cannot make it forget
// a client: the next answer would be taken for that one's.
func TestN4_PublishWithoutDescriptors(t *testing.T) {
	w := NewWorld(t)
	b := NewBox(t, w, "native")
	b.Flags = []string{"--publish", "12345"}
	b.Python(t, hoard+publishOne)
	argv := b.command(t.Context(), "python3", "script.py").Args
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `ulimit -n 512; exec "$@"`, "sh"}, argv...)...)
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	r := start(t, cmd)
	if out := w.Outside(t, "sh", "-c", "curl -m 60 -sS http://127.0.0.1:12345/ 2>&1; true"); out == "" || strings.Contains(out, "timed out") {
		t.Errorf("a client waits for a socket that will not come: %q", out)
	}
	r.end(t, 0)
}

// N4: on a published port, too, one side may end what it sends and go on
// reading.
func TestN4_PublishHalfClosed(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		b.Flags = append(b.Flags, "--publish", "12345", "--publish", "12346")
		b.Python(t, halfServers)
		sandboxtest.Write(t, w.Dir+"/half.py", halfClients)
		r := b.start(t, "python3", "script.py")
		out := w.Outside(t, "python3", w.Dir+"/half.py")
		if want := "b'got 3000000' b'hello'\n"; out != want {
			t.Errorf("%s: %q, want %q", l, out, want)
		}
		if line, err := r.out.ReadString('\n'); line != "after the end: 3000000\n" {
			t.Errorf("%s: %q, %v", l, line, err)
		}
		r.end(t, 0)
	}
}

// halfServers has a server that answers at the end of what it reads, and one
// that ends its half first.
const halfServers = `import socket, sys, threading
def all(c):
    n = 0
    while b := c.recv(65536): n += len(b)
    return n
def one(c): c.sendall(b"got %d" % all(c)); c.close()
def two(c): c.sendall(b"hello"); c.shutdown(socket.SHUT_WR); print("after the end:", all(c), flush=True); c.close()
def serve(s, f):
    while True: f(s.accept()[0])
for port, f in (12345, one), (12346, two):
    s = socket.create_server(("127.0.0.1", port))
    threading.Thread(target=serve, args=(s, f), daemon=True).start()
print("up", flush=True); sys.stdin.readline()
`

const halfClients = `import socket
def rest(c):
    out = b""
    while b := c.recv(65536): out += b
    return out
c = socket.create_connection(("127.0.0.1", 12345), 60); c.sendall(b"x" * 3000000); c.shutdown(socket.SHUT_WR)
a = rest(c)
c = socket.create_connection(("127.0.0.1", 12346), 60)
b = rest(c); c.sendall(b"y" * 3000000); c.shutdown(socket.SHUT_WR)
print(a, b)
`

const publishOne = `import http.server, sys, threading
s = http.server.ThreadingHTTPServer(("127.0.0.1", 12345), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
print("up", flush=True); sys.stdin.readline()
`

const storm = `import multiprocessing, socket
def one():
    for _ in range(3):
        all = []
        for k in range(800):
            s = socket.socket(); s.setblocking(False)
            s.connect_ex(("127.0.0.1", 12345 + k % 2)); all.append(s)
        for s in all: s.close()
ps = [multiprocessing.Process(target=one) for _ in range(6)]
[p.start() for p in ps]; [p.join() for p in ps]
`

// hoard keeps as many descriptors on their way as the user may have.
const hoard = `import array, socket
pair = socket.socketpair()
try:
    while True: pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 200))])
except OSError as e:
    assert e.errno == 109, e # ETOOMANYREFS
`

// N4: a local port named twice is one, and one that the sandbox needs itself
// is refused with a way out that works.
func TestN4_LocalPortTwice(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		b.Flags = []string{"--allow-local-port", "18081", "--allow-local-port", "18080", "--allow-local-port", "18081"}
		b.Sh(t, "curl -sS --fail http://localhost:18080/ http://127.0.0.1:18081/").OK(t)
		for _, port := range []string{"3128", "53"} {
			b.Flags = []string{"--allow-local-port", port}
			if r := b.Run(t, "true"); r.Code != 125 || !strings.Contains(r.Stderr, "localhost:"+port) {
				t.Errorf("%s %s: exit %d, %q", l, port, r.Code, r.Stderr)
			}
		}
	}
}

// socketStream runs a command with a stream of some kind as its input.
const socketStream = `import os, socket, subprocess, sys
kind, cmd = sys.argv[1], sys.argv[2:]
keep = None
if kind == "pipe":
    fd = subprocess.PIPE
elif kind == "pair":
    keep, fd = socket.socketpair()
elif kind == "unixgram":
    fd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
elif kind == "udp":
    fd = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
else:
    fd = socket.socket(); fd.bind(("127.0.0.1", 0)); fd.listen()
    if kind == "tcp":
        keep = socket.create_connection(fd.getsockname()); fd = fd.accept()[0]
p = subprocess.run(cmd, stdin=fd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
print(p.returncode, p.stdout.decode(), flush=True)
`

// reconnect makes the stream it was given lead to a host that no rule allows.
const reconnect = `import os, socket, struct, ctypes
try:
    s = socket.socket(fileno=os.dup(0))
except OSError:
    print("no socket"); raise SystemExit
c = ctypes.CDLL(None, use_errno=True)
c.connect(0, struct.pack("=H14x", socket.AF_UNSPEC), 16) # dissolves what is connected
try:
    to = ("11.0.0.10", 18080) if s.family == socket.AF_INET else "\0abstract"
    s.connect(to)
    print("CONNECTED", s.family, s.type)
except OSError as e:
    print("refused", e)
`

// With few files to open, every client is answered, and the command gets the
// limits that bawn was started with.
func TestA41_FewFiles(t *testing.T) {
	w := NewWorld(t)
	for _, l := range []string{"native", "bwrap"} {
		b := NewBox(t, w, l)
		b.Flags = append(b.Flags, "--allow-domain", "allowed.test")
		run := func(limit string, args ...string) string {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), sandboxtest.Limit)
			defer cancel()
			argv := append([]string{"sh", "-c", limit + `; exec "$@" 2>&1`, "sh"}, b.command(ctx, args...).Args...)
			cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
			cmd.Dir, cmd.Env = b.Workspace, b.Environ()
			out, err := cmd.CombinedOutput()
			if err != nil {
				out = append(out, err.Error()...)
			}
			return string(out)
		}
		for limit, want := range map[string]string{
			"ulimit -Sn 64; ulimit -Hn 1000": "64 1000", "ulimit -Sn 256; ulimit -Hn 1024": "256 1024", "ulimit -n 64": "64 64",
		} {
			if out := run(limit, "sh", "-c", "echo $(ulimit -Sn) $(ulimit -Hn)"); out != want+"\n" {
				t.Errorf("%s: %s: %q, want %q", l, limit, out, want)
			}
		}
		if out := run("ulimit -n 20", "true"); !strings.Contains(out, "the limit on open files: it is 20, and a sandbox needs 64") || !strings.Contains(out, "exit status 125") {
			t.Errorf("%s: %q", l, out)
		}
		name := b.Python(t, manyClients)
		for _, limit := range []string{"ulimit -n 64", "ulimit -Sn 64; ulimit -Hn 256"} {
			out := run(limit, "python3", name)
			if !strings.HasSuffix(out, "then 200\n") || !strings.Contains(out, "200") || strings.Contains(out, "hang") || strings.Contains(out, "nothing") {
				t.Errorf("%s: %s: %q", l, limit, out)
			}
		}
	}
}

// manyClients counts the answers to 120 tunnels that are asked for at once
// and held, and then asks for one more.
const manyClients = `import collections, os, socket, sys
def connect():
    s = socket.create_connection(("127.0.0.1", 3128), 60)
    s.sendall(b"CONNECT allowed.test:7 HTTP/1.1\r\nHost: x\r\n\r\n")
    return s
def answer(s):
    try: return (s.recv(100).split(b" ") + [b"nothing"])[1].decode()
    except TimeoutError: return "hang"
    except OSError as e: return "nothing " + str(e)
r, w = os.pipe()
go, hold = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        os.close(hold)
        held = [connect() for _ in range(30)]
        for s in held: os.write(w, (answer(s) + "\n").encode())
        os.read(go, 1)
        os._exit(0)
text = b""
while text.count(b"\n") < 120: text += os.read(r, 4096)
print(sorted(collections.Counter(text.decode().split("\n")).items()))
os.close(hold)
for _ in range(4): os.wait()
while (a := answer(connect())) == "503": pass
print("then", a)
`
