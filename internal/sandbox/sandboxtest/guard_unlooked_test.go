//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// freed plays with one name, a nested repository's config, while another
// process takes it away again and again, or makes it or its folder something
// else, by calls that no guard sees (unlink, bind, chmod).
const freed = `
import ctypes, os, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
how, name = sys.argv[1], "n/.git/config"
good, evil = b"[core]\n\tbare = false\n", b"[core]\n\tfsmonitor = ./evil\n"
os.makedirs("q", exist_ok=True)
open("evil", "wb").write(evil)

def quietly(f, *args):
    try:
        f(*args)
        return True
    except OSError:
        return False

def judged():
    with open("n/.git/l", "wb") as f:
        f.write(good)
    os.rename("n/.git/l", name)

def freeing():
    quietly(judged)
    quietly(os.unlink, name)

def binding():
    with socket.socket(socket.AF_UNIX) as s:
        quietly(s.bind, name)
    quietly(os.unlink, name)

def closing():
    os.chmod("q", 0)
    os.chmod("q", 0o755)

def renaming():
    quietly(lambda: open("q/c", "wb").write(evil))
    os.rename("q/c", name)

def exchanging():
    if libc.renameat2(-100, b"evil", -100, name.encode(), 2) != 0:
        raise OSError(ctypes.get_errno(), name)

other, act = {
    "symlink": (freeing, lambda: os.symlink("../../evil", name)),
    "link": (freeing, lambda: os.link("evil", name)),
    "exchange": (binding, exchanging),
    "rename": (closing, renaming),
}[how]
pid = os.fork()
while pid == 0:
    other()
done = 0
for i in range(2000):
    done += quietly(act)
    try:
        if open(name, "rb").read() == evil:
            print("EVIL after", i)
            break
    except OSError:
        pass
os.kill(pid, signal.SIGKILL)
os.wait()
os.chmod("q", 0o755)
print("ended", done)
`

// F2: a call that would fail by what the guard sees must not be left to the
// kernel, which looks again: meanwhile the name is free, or can be reached.
func TestF2_NameFreedDuringTheCall(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		for _, how := range []string{"symlink", "link", "exchange", "rename"} {
			b := New(t, l)
			Host(t, b, "git init -q n")
			Write(t, filepath.Join(b.Workspace, "freed.py"), freed)
			r := b.Run(t, "python3", "freed.py", how).OK(t)
			if strings.Contains(r.Stdout, "EVIL") || !strings.Contains(r.Stdout, "ended") {
				t.Errorf("%s: a setting that nobody judged got in: %+v", how, r)
			}
		}
	})
}

// F2: a run that may write in a folder hands descriptors of it to one that may
// not: their guard knows no rule about that place, and its mounts none.
func TestF2_DescriptorsOfAnotherRun(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		added := Dir(t)
		Host(t, b, "git init -q "+added+"/n; mkdir own")
		Write(t, filepath.Join(b.Workspace, "gives.py"), `
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind("s")
s.listen(1)
os.rename("s", "sock")
c, _ = s.accept()
d = os.open(sys.argv[1] + "/n", os.O_RDONLY)
socket.send_fds(c, [b"x"], [d, os.open(".git/config", os.O_RDONLY, dir_fd=d), os.open("own", os.O_RDONLY)])
c.recv(1)
`)
		Write(t, filepath.Join(b.Workspace, "takes.py"), `
import os, socket
s = socket.socket(socket.AF_UNIX)
while True:
    try:
        s.connect("sock")
        break
    except OSError:
        pass
_, (d, config, own), _, _ = socket.recv_fds(s, 1, 3)
def tries(what, f, *args, **more):
    try:
        f(*args, **more)
        print(what, "done")
    except OSError as e:
        print(what, "refused")
tries("write", os.open, "/proc/self/fd/%d" % config, os.O_WRONLY)
tries("truncate", os.truncate, "/proc/self/fd/%d" % config, 0)
tries("create", os.open, "commondir", os.O_WRONLY | os.O_CREAT, dir_fd=d)
tries("mkdir", os.mkdir, "x", dir_fd=d)
tries("rename", os.rename, ".git", "git", src_dir_fd=d, dst_dir_fd=d)
tries("cwd", lambda: (os.fchdir(d), open("x", "w")))
os.chdir("/proc/self/cwd")
tries("proc", os.open, "/proc/self/fd/%d/x" % d, os.O_WRONLY | os.O_CREAT)
s.send(b"x")
`)
		b.Flags = []string{"-q", "--add-dir", added}
		give := *b
		b.Flags = []string{"-q"}
		done := make(chan Result)
		go func() { done <- give.Run(t, "python3", "gives.py", added) }()
		got := b.Run(t, "python3", "takes.py").OK(t).Stdout
		(<-done).OK(t)
		for _, what := range []string{"write", "truncate", "create", "mkdir", "rename", "cwd", "proc"} {
			if !strings.Contains(got, what+" refused\n") {
				t.Errorf("%s: want it refused:\n%s", what, got)
			}
		}
		if entries, err := os.ReadDir(added + "/n"); err != nil || len(entries) != 1 {
			t.Errorf("left %v, %v", entries, err)
		}
	})
}

// What the caller gives as a stream is opened again by its name in /dev, though
// it lies outside; nothing else by it.
func TestF2_StreamIsOpenedAgain(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		out := filepath.Join(Dir(t), "out")
		Host(t, b, Binary()+" run -q --launcher "+l+" -- sh -c 'echo again >>/dev/stdout' >"+out).OK(t)
		if text, err := os.ReadFile(out); err != nil || string(text) != "again\n" {
			t.Errorf("%q, %v", text, err)
		}
	})
}
