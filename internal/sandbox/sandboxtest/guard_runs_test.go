//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// F2: two runs of one workspace have a guard each, which know nothing of each
// other. What one has vetted under an ordinary name (git's config.lock), the
// other must not be able to open before it gets the protected one.
func TestF2_TwoRunsRaceAVettedRename(t *testing.T) {
	EachGuarded(t, func(t *testing.T, l string) {
		b := New(t, l)
		Host(t, b, "git init -q .").OK(t)
		Write(t, filepath.Join(b.Workspace, "renames.py"), `
import os
good = b"[core]\n\tbare = false\n[user]\n\tname = me\n" + b"# " + b"x" * 4000 + b"\n"
for i in range(300):
    with open(".git/l", "wb") as f:
        f.write(good)
    try:
        os.rename(".git/l", ".git/config")
    except OSError: # what the other wrote in time is seen, and refused
        pass
    if b"evil" in open(".git/config", "rb").read():
        print("EVIL")
        break
open("done", "w").close()
`)
		Write(t, filepath.Join(b.Workspace, "opens.py"), `
import os, time
won = 0
end = time.time() + 60
while not os.path.exists("done") and time.time() < end:
    try:
        fd = os.open(".git/l", os.O_WRONLY)
    except OSError:
        os.sched_yield() # each look costs its guard a core that the other run needs
        continue
    for _ in range(20):
        os.pwrite(fd, b"[core]\n\tfsmonitor = ./evil\n#", 0)
    os.close(fd)
    won += 1
print("opened", won)
`)
		first, second := twoRuns(t, b, "python3 renames.py", "python3 opens.py")
		second.OK(t)
		config, err := os.ReadFile(filepath.Join(b.Workspace, ".git/config"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(first.Stdout, "EVIL") || strings.Contains(string(config), "evil") {
			t.Errorf("a setting that nobody vetted got in: %+v, %+v", first, second)
		}
		if strings.Contains(second.Stdout, "opened 0\n") {
			t.Error("the other run opened nothing: there was no race")
		}
		if left, _ := filepath.Glob(filepath.Join(b.Workspace, ".git/.bawn-*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// makeConfigs and makeHeads make the two files in each of gitDirTries folders at
// the same moment.
var gitDirTries = rounds(60)

const (
	makeConfigs = `python3 -c '
import os, sys
for i in range(int(sys.argv[1])):
    d = "x%d" % i
    os.mkdir(d)
    while not os.path.exists(d + "/refs"):
        pass
    try:
        open(d + "/config", "w").write("[core]\n\tfsmonitor = ./evil\n")
    except OSError:
        pass
' `
	makeHeads = `python3 -c '
import os, sys
for i in range(int(sys.argv[1])):
    d = "x%d" % i
    while not os.path.exists(d):
        pass
    os.mkdir(d + "/objects")
    os.mkdir(d + "/refs")
    try:
        open(d + "/HEAD", "w").write("ref: refs/heads/x\n")
    except OSError:
        pass
' `
)

// oneOfTwo looks for folders with both files: git directories with settings
// that nobody vetted.
func oneOfTwo(t *testing.T, workspace string) {
	t.Helper()
	configs, heads := 0, 0
	for i := range gitDirTries {
		dir := filepath.Join(workspace, "x"+strconv.Itoa(i))
		text, _ := os.ReadFile(dir + "/config")
		config := len(text) > 0 // beside HEAD comes an empty one at most
		_, head := os.Lstat(dir + "/HEAD")
		if config && head == nil {
			t.Errorf("%s is a git directory with settings that nobody vetted", dir)
		}
		if config {
			configs++
		}
		if head == nil {
			heads++
		}
	}
	if configs+heads != gitDirTries {
		t.Errorf("of each folder's two files one should be there: %d configs and %d HEADs in %d", configs, heads, gitDirTries)
	}
}

// F2: neither may one run make the HEAD of a git directory while the other
// makes the config in it, which nobody judges as long as there is no HEAD.
func TestF2_TwoRunsMakeAGitDirectory(t *testing.T) {
	EachGuarded(t, func(t *testing.T, l string) {
		b := New(t, l)
		first, second := twoRuns(t, b, makeConfigs+strconv.Itoa(gitDirTries), makeHeads+strconv.Itoa(gitDirTries))
		first.OK(t)
		second.OK(t)
		oneOfTwo(t, b.Workspace)
	})
}

// The commands of a session are runs as well.
func TestF2_TwoTasksMakeAGitDirectory(t *testing.T) {
	k := keep(t)
	one, other := launch(t, k.guarded, k.spec(t, makeConfigs+strconv.Itoa(gitDirTries), nil)), launch(t, k.guarded, k.spec(t, makeHeads+strconv.Itoa(gitDirTries), nil))
	for _, c := range []*kept{one, other} {
		if out, code := c.exit(); code != 0 {
			t.Errorf("exit %d: %s", code, out)
		}
	}
	oneOfTwo(t, k.workspace)
}

// A lease on a file makes an open of it wait; that holds up no other run.
func TestF2_LeaseHoldsUpNobody(t *testing.T) {
	EachGuarded(t, func(t *testing.T, l string) {
		b := New(t, l)
		run := b.startWork(t, "python3", "-uc", `
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
open("leased", "w").close()
fd = os.open("leased", os.O_RDONLY)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
r, w = os.pipe()
if os.fork() == 0:
    print("asks")
    f = os.open("leased", os.O_WRONLY | os.O_APPEND)
    print("opened", fcntl.fcntl(f, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND) == os.O_APPEND)
    os._exit(0)
while fcntl.fcntl(fd, fcntl.F_GETLEASE) == fcntl.F_RDLCK: # until the open breaks it
    pass
print("breaks")
open("mine", "w").close() # nor anything else of this run
os.rename("mine", "made")
print("made")
open("go").read()
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
os.wait()
`)
		if err := unix.Mkfifo(filepath.Join(b.Workspace, "go"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"asks", "breaks", "made"} {
			if got := run.line(t); got != want {
				t.Fatalf("%q, want %q", got, want)
			}
		}
		b.Sh(t, "touch a && mv a b").OK(t)
		if err := os.WriteFile(filepath.Join(b.Workspace, "go"), nil, 0); err != nil {
			t.Fatal(err)
		}
		if got := run.line(t); got != "opened True" {
			t.Fatalf("%q: the open should wait for the lease's end, not for its time", got)
		}
	})
}

// Nor does a lease on the nameless file in which git's config.lock is written.
func TestF2_LeaseOnHeldContentHoldsUpNobody(t *testing.T) {
	EachGuarded(t, func(t *testing.T, l string) {
		b := New(t, l)
		Host(t, b, "git init -q .").OK(t)
		if err := unix.Mkfifo(filepath.Join(b.Workspace, "go"), 0o600); err != nil {
			t.Fatal(err)
		}
		run := b.startWork(t, "python3", "-uc", `
import fcntl, os, signal
signal.signal(signal.SIGIO, signal.SIG_IGN)
name = ".git/config.lock"
w = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
fd = os.open("/proc/self/fd/%d" % w, os.O_RDONLY)
os.close(w)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
try:
    os.open(name, os.O_WRONLY | os.O_NONBLOCK)
except BlockingIOError:
    print("would wait")
if os.fork() == 0:
    f = os.open(name, os.O_WRONLY)
    print("opened", fcntl.fcntl(f, fcntl.F_GETFL) & os.O_NONBLOCK == 0)
    os._exit(0)
open("go").read()
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
os.wait()
`)
		if got := run.line(t); got != "would wait" {
			t.Fatalf("%q: an open that may not wait should not", got)
		}
		b.Sh(t, "touch a && mv a b").OK(t)
		if err := os.WriteFile(filepath.Join(b.Workspace, "go"), nil, 0); err != nil {
			t.Fatal(err)
		}
		if got := run.line(t); got != "opened True" {
			t.Fatalf("%q: the open should wait for the lease's end", got)
		}
	})
}

func twoRuns(t *testing.T, b *Box, one, other string) (first, second Result) {
	t.Helper()
	var both sync.WaitGroup
	both.Go(func() { first = b.Sh(t, one) })
	both.Go(func() { second = b.Sh(t, other) })
	both.Wait()
	return first, second
}
