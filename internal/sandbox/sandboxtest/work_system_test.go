//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What programs expect of the system around them: temp folders, /dev,
// sockets, loopback, processes.
func TestWork_System(t *testing.T) {
	testJobs(t, nil, []job{
		{
			name:  "B27_HereDocument",
			setup: `{ echo "wc -c <<'E'"; head -c 200000 /dev/zero | tr '\0' x; printf '\nE\n'; } >big.sh`,
			run:   `bash big.sh; sh big.sh; cat <<<"$(head -c 100000 /dev/zero | tr '\0' y)" | wc -c`, want: "200001\n200001\n100001\n", after: `ls -A .; ls -A $TMPDIR`,
		},
		{
			name: "B98_ProcessSubstitution",
			run:  `cat <(echo hi); diff <(echo a) <(echo a); tee >(cat >t) <<<x >/dev/null; echo x | cat /dev/stdin; echo y >/dev/stdout; ls /dev/fd/ >/dev/null; exec 5>f; echo z >/dev/fd/5; cat f`,
			want: "hi\nx\ny\nz\n",
		},
		{
			name: "Mktemp",
			run: `f=$(mktemp); echo 1 >$f; cat $f; d=$(mktemp -d); mv $f $d/x; cat $d/x; rm -r $d; p=$(mktemp -p .); rm $p; [[ $f == "$TMPDIR"/* ]] && test -w "$TMPDIR" && echo "in temp"
python3 -c 'import tempfile as t; f = t.NamedTemporaryFile(); f.write(b"x"); print("named")'; sort -S 16k <(seq 20000) | wc -l`,
			want: "in temp", after: `ls -A $TMPDIR`,
		},
		{
			name: "B96_Forkserver", setup: `cat >p.py <<'E'
import multiprocessing as m
from multiprocessing import shared_memory
if __name__ == '__main__':
    for how in ('forkserver', 'spawn', 'fork'):
        c = m.get_context(how)
        with c.Pool(2) as p: print(how, p.map(abs, [-1]))
    with m.Manager() as g: l = g.list([1]); l.append(2); print(list(l))
    s = shared_memory.SharedMemory(create=True, size=64); s.close(); s.unlink()
    q = m.Queue(); q.put(1); print(q.get())
E`,
			run: `python3 p.py`, want: "forkserver [1]",
		},
		{
			name: "Loopback", setup: `cat >s.py <<'E'
import http.server, socket, subprocess, threading
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
for host in ('127.0.0.1', 'localhost'):
    print(subprocess.run(['curl', '-sS', 'http://%s:%d/hello' % (host, s.server_port)], capture_output=True, text=True))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('127.0.0.1', 0)); u.sendto(b'x', u.getsockname()); print(u.recv(9))
E
echo hello >hello`,
			run: `python3 s.py 2>/dev/null | sed -E 's/:[0-9]+//'`, want: "hello\\n",
		},
		{
			name: "B31_UnixSocket", setup: `cat >s.js <<'E'
const net = require('node:net'), path = require('node:path'), os = require('node:os'), fs = require('node:fs');
const p = path.join(process.argv[2] || fs.mkdtempSync(path.join(os.tmpdir(), 't-')), 's');
const s = net.createServer(c => c.end('pong')).listen(p, () => net.connect(p).on('data', d => { console.log(String(d)); s.close() }));
E`,
			run: `node s.js; node s.js .; python3 -c 'import asyncio
async def main():
    async def h(r, w): w.write(b"pong"); w.close()
    s = await asyncio.start_unix_server(h, "p"); r, w = await asyncio.open_unix_connection("p"); print(await r.read()); s.close()
asyncio.run(main())'`, want: "pong\npong\nb'pong'\n", after: `rm -f p s; ls`,
		},
		{
			name: "B56_RenameAcrossFolders", setup: `mkdir -p d sub .git/hooks; touch .bashrc f g`, flags: []string{"--add-dir", "sub"},
			run: `python3 -c "import os
os.rename('f', 'd/f'); os.rename('d', 'sub/d'); os.link('g', 'sub/g'); os.rename('sub/g', 'h'); os.rename('sub/d/f', 'i')"; mv -n i sub/; find . | sort`,
			want: "./sub/i", after: `find . | sort`,
		},
		{
			name: "Processes",
			run: `trap 'echo got' USR1; kill -USR1 $$; (sleep 0.01; exit 3) & wait $! || echo $?; seq 40 | xargs -P8 -I{} sh -c 'exit 0'; timeout -s KILL 9 true; nohup true 2>/dev/null; setsid -w echo sid
ulimit -n 512; ulimit -c 0; nice -n 5 true; taskset -c 0 true; flock f true; id -u; umask; stat -c %u:%a .; getent passwd "$(id -u)" | cut -d: -f1`,
			want: "got\n3\nsid\n",
		},
		{
			name: "Files",
			run: `mkfifo p; (echo fifo >p &); cat p; ln -s f l; echo x >f; cat l; chmod 755 f; touch -d @1 f; stat -c '%a %Y' f; ln f h; truncate -s 1M s; fallocate -l 1000 a; dd if=/dev/zero of=b bs=1k count=1 2>/dev/null
tar cf t.tar f l p; mkdir x; tar xf t.tar -C x; gzip -k t.tar; cp -a x y; rm -r x; ls -A; python3 -c 'import mmap; f = open("s", "r+b"); m = mmap.mmap(f.fileno(), 0); m[0] = 65; m.flush()'; head -c1 s; df . >/dev/null; sync f`,
			want: "fifo", after: `find . | sort; stat -c '%n %s %a' s f a`,
		},
	})
}

// A long TMPDIR of the host is no obstacle: inside it is short.
func TestB29_LongTMPDIR(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		long := filepath.Join(shortDir(t), strings.Repeat("x", 110))
		if err := os.Mkdir(long, 0o700); err != nil {
			t.Fatal(err)
		}
		b.Env = []string{"TMPDIR=" + long}
		b.Run(t, "true").OK(t)
		b.Run(t, bash(`python3 -c 'import socket, os; socket.socket(socket.AF_UNIX).bind(os.environ["TMPDIR"] + "/s")'; f=$(mktemp); echo x >"$f"; cat "$f"`)...).OK(t)
		if got := dirNames(t, long); got != "" {
			t.Errorf("left in the host's TMPDIR: %q", got)
		}
		// Its twin: the host's own folder, by name, is not writable.
		b.Env = append(b.Env, "LONG="+long)
		wantRefused(t, "a write to the host's TMPDIR", b.Sh(t, `echo x >"$LONG/y"`))
	})
}

// Work passes although the user has many processes already.
func TestB100_ManyProcesses(t *testing.T) {
	t.Parallel()
	b := New(t, "native")
	many := b.hostProcesses(t, 300)
	EachLauncher(t, func(t *testing.T, l string) {
		for _, tier := range []string{"guarded", "airlock"} {
			b.Launcher, b.Flags = l, []string{"--tier", tier}
			b.Sh(t, "for i in 1 2 3; do true & done; wait; /bin/true").OK(t)
			b.Run(t, bash("ulimit -u 100 2>/dev/null || true; for i in 1 2 3; do /bin/true & done; wait")...).OK(t)
		}
		if r := b.Sh(t, "ls /proc | grep -c '^[0-9]'").OK(t); len(r.Stdout) > len("99\n") {
			t.Errorf("processes seen inside: %q", r.Stdout)
		}
	})
	many()
}
