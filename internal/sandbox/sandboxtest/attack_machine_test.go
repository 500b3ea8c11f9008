//go:build linux

package sandboxtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bawn/internal/tools/tempdir"
)

// A HOME that is a place of the sandbox's own shows nothing of the host's: the
// folder that the password file names stays the home.
func TestF4_F5_OddHomes(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		root := tempdir.ForTest(t, "/tmp")
		symlink(t, "/tmp", b.Home+"/link")
		for _, home := range []string{"/tmp", "/run", "/dev", "/sys", "/proc/self", "/var/tmp", "/", "", "relative", "/nonexistent", b.Home + "/link"} {
			b.Env = []string{"HOME=" + home, "XDG_STATE_HOME=", "BAWN_LOG=off"}
			r := b.Sh(t, `test ! -e `+root+` && test -z "$(ls -A /run /tmp | grep -v :)" && echo x >/tmp/x && echo x >in`)
			if r.Code != 0 || !exists(b.Workspace+"/in") {
				t.Errorf("HOME=%q: %+v", home, r)
			}
			if r := b.Sh(t, "echo x >"+b.Home+"/out; ls /dev/mem /dev/vda /dev/kmsg"); r.Code == 0 || exists(b.Home+"/out") {
				t.Errorf("HOME=%q: %+v", home, r)
			}
			os.Remove(b.Workspace + "/in")
		}
		// Whether there are settings under a file cannot be told apart from those
		// that cannot be read.
		b.Env = []string{"HOME=/nonexistent", "XDG_STATE_HOME="} // nor is a home made for the log
		if r := b.Sh(t, "echo x >in"); r.Code != 125 || exists(b.Workspace+"/in") || exists("/nonexistent") || !strings.Contains(r.Stderr, "cannot be recorded") {
			t.Errorf("%+v", r)
		}
		b.Env = []string{"HOME=/etc/passwd"}
		setupRefused(t, b, b.Sh(t, "echo x >in"), "/etc/passwd/.config/bawn", "not a folder")
		b.Env = nil // and the home that is one is shown
		Write(t, b.Home+"/plain", "TWIN")
		if r := b.Sh(t, "cat ~/plain").OK(t); r.Stdout != "TWIN" {
			t.Errorf("%+v", r)
		}
	})
}

// F4, F5: a home that its owner may not write, or a folder in it, is shown like
// any other: what is in it can be read, nothing new is made there.
func TestF4_F5_HomeOfReadOnlyMode(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		home := b.Home + "/read-only"
		Write(t, home+"/plain", "TWIN")
		Write(t, home+"/.local/share/plain", "TWIN")
		Write(t, home+"/.ssh/id", "SECRET")
		for _, d := range []string{home + "/.local/share", home + "/.local", home} {
			if err := os.Chmod(d, 0o555); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(d, 0o755) })
		}
		b.Env = []string{"HOME=" + home, "XDG_STATE_HOME=" + b.Home + "/state"}
		if r := b.Sh(t, "cat ~/plain ~/.local/share/plain && echo x >in").OK(t); r.Stdout != "TWINTWIN" || !exists(b.Workspace+"/in") {
			t.Errorf("%+v", r)
		}
		if r := b.Sh(t, "cat ~/.ssh/id; chmod 755 ~ ~/.local; echo x >~/new; echo x >~/.local/new"); strings.Contains(r.Stdout, "SECRET") || exists(home+"/new") || exists(home+"/.local/new") {
			t.Errorf("%+v", r)
		}
	})
}

// With few open files allowed the name guard answers fewer calls at a time, and
// none of them fails for that.
func TestManyWritersFewOpenFiles(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		m := setupMachine{name: "few files", prefix: []string{"bash", "-c", `ulimit -n 64 && exec "$@"`, "bash"}}
		const script = `
import os, threading
def work(n):
    for i in range(50):
        os.close(os.open("f%d" % n, os.O_CREAT | os.O_WRONLY))
        os.rename("f%d" % n, "g%d-%d" % (n, i))
threads = [threading.Thread(target=work, args=(n,)) for n in range(40)]
for t in threads: t.start()
for t in threads: t.join()
print(len(os.listdir(".")))`
		if r := m.bawn(t, b, "run", "-q", "--launcher", l, "--", "python3", "-c", script); r.Code != 0 || r.Stderr != "" || r.Stdout != "2000\n" {
			t.Errorf("exit %d, %q, %.300s", r.Code, r.Stdout, r.Stderr)
		}
	})
}

// The caller's limits leave no room: one line says which, nothing runs.
func TestLimitsOfTheCaller(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		limited := func(limit string) Result {
			m := setupMachine{name: limit, prefix: []string{"bash", "-c", limit + ` && exec "$@"`, "bash"}}
			return m.bawn(t, b, append([]string{"run", "-q", "--launcher", l, "--"}, setupProof...)...)
		}
		for _, n := range []int{3, 5} { // not enough even for the settings, which are read before
			setupRefused(t, b, limited(fmt.Sprintf("ulimit -n %d", n)), "open files")
		}
		for _, n := range []int{8, 10, 16, 24, 40, 63} {
			setupRefused(t, b, limited(fmt.Sprintf("ulimit -n %d", n)), "the limit on open files", "ulimit -n 64")
		}
		setupRan(t, b, limited("ulimit -n 64"))
		if err := os.Remove(b.Workspace + "/in"); err != nil {
			t.Fatal(err)
		}
		// Each other limit, one step too small and just enough.
		steps := []struct{ small, enough, what string }{
			{"ulimit -v 1048575", "ulimit -v 1048576", "virtual memory: it is 1048575 KiB, and a sandbox needs 1048576 KiB; raise it before: ulimit -v 1048576"},
			{"ulimit -f 63", "ulimit -f 64", "the size of files: it is 63 KiB, and a sandbox needs 64 KiB; raise it before: ulimit -f 128"},
			{"trap '' XFSZ; ulimit -f 0", "ulimit -f 128", "the size of files: it is 0 KiB"},
		}
		for _, s := range steps {
			setupRefused(t, b, limited(s.small), "the limit on "+s.what)
			setupRan(t, b, limited(s.enough))
			if err := os.Remove(b.Workspace + "/in"); err != nil {
				t.Fatal(err)
			}
		}
		if os.Getuid() != 0 {
			return
		}
		// Root has no limit on processes, and those of a user all count: one
		// who has no others, and gets the folders.
		uid := 60_000 + os.Getpid()%5_000
		alone := fmt.Sprintf(` && exec setpriv --reuid %d --regid %[1]d --clear-groups "$@"`, uid)
		for _, dir := range []string{b.Workspace, b.Home} {
			if err := os.Chown(dir, uid, uid); err != nil {
				t.Fatal(err)
			}
		}
		for _, dir := range []string{filepath.Dir(b.Workspace), filepath.Dir(filepath.Dir(b.Workspace))} {
			if err := os.Chmod(dir, 0o711); err != nil {
				t.Fatal(err)
			}
		}
		b.Env = append(b.Env, "BAWN_LOG=off") // the limit is of a user who owns no state here
		as := func(limit string) Result {
			m := setupMachine{name: limit, prefix: []string{"bash", "-c", limit + alone, "bash"}}
			return m.bawn(t, b, append([]string{"run", "-q", "--launcher", l, "--"}, setupProof...)...)
		}
		setupRefused(t, b, as("ulimit -u 31"), "the limit on processes: it is 31, and a sandbox needs 32; raise it before: ulimit -u 32")
		setupRan(t, b, as("ulimit -u 4096"))
	})
}

// A umask that would lock the owner out of bawn's own state is refused, before
// anything is made; every other is the command's.
func TestUmask(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		with := func(mask string) Result {
			m := setupMachine{name: mask, prefix: []string{"sh", "-c", "umask " + mask + ` && exec "$@"`, "sh"}}
			return m.bawn(t, b, "run", "-q", "--launcher", l, "--", "sh", "-c", "umask; echo x >"+mask)
		}
		for _, mask := range []string{"0777", "0177", "0277", "0400"} {
			setupRefused(t, b, with(mask), "the umask: it is "+mask, "umask 022")
		}
		if exists(b.State + "/bawn") {
			t.Error("something was made")
		}
		for _, mask := range []string{"0000", "0077", "0027", "0022"} {
			if got := with(mask).OK(t).Stdout; got != mask+"\n" {
				t.Errorf("umask %s inside: %q", mask, got)
			}
			if st, err := os.Stat(b.Workspace + "/" + mask); err != nil || fmt.Sprintf("%04o", 0o666&^st.Mode().Perm()) != fmt.Sprintf("%04o", 0o666&octal(t, mask)) {
				t.Errorf("umask %s: %v, %v", mask, st, err)
			}
		}
	})
}

func octal(t *testing.T, s string) os.FileMode {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil {
		t.Fatal(err)
	}
	return os.FileMode(n)
}

// A full disk, and a system that cannot be written at all: bawn itself needs
// neither to start a sandbox, and what the command lacks the command says.
func TestNoRoomOnDisk(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		args := func(text string) []string { return []string{"run", "-q", "--launcher", l, "--", "sh", "-c", text} }
		machine := func(script string) setupMachine {
			return setupMachine{name: script, prefix: []string{"unshare", "-Urm", "sh", "-c", script + ` && exec "$@"`, "sh"}}
		}
		fill := `for d in /tmp "$PWD"; do mount -t tmpfs -o size=16k none "$d"; cat /dev/zero >"$d/full" 2>&1; done; cd "$PWD"`
		r := machine(fill+"; true").bawn(t, b, args(`echo x >in; echo "in $?"; cat in; echo x >/tmp/t && cat /tmp/t`)...).OK(t)
		if strings.Contains(r.Stdout, "in 0\n") || r.Stderr == "" || !strings.HasSuffix(r.Stdout, "x\n") {
			t.Errorf("full: %+v", r)
		}
		readOnly := "mount -o remount,bind,ro / && mount -o remount,bind,ro /tmp 2>/dev/null; true"
		setupRefused(t, b, machine(readOnly).bawn(t, b, args(`echo x >in`)...), "cannot be recorded", "BAWN_LOG=off")
		b.Env = []string{"BAWN_LOG=off"}
		r = machine(readOnly).bawn(t, b, args(`echo x >in; echo "in $?"; echo x >/tmp/t && cat /tmp/t`)...).OK(t)
		if strings.Contains(r.Stdout, "in 0\n") || !strings.Contains(r.Stderr, "Read-only file system") || !strings.HasSuffix(r.Stdout, "x\n") {
			t.Errorf("read-only: %+v", r)
		}
		// Another file system, and a bind mount, as the workspace.
		for _, mount := range []string{`mount -t tmpfs none "$PWD"`, `mkdir -p sub && mount --bind "$PWD/sub" "$PWD"`} {
			r = machine(mount+` && cd "$PWD"`).bawn(t, b, args(`echo x >in && cat in && echo x >../out`)...)
			if r.Code == 0 || r.Stdout != "x\n" {
				t.Errorf("%s: %+v", mount, r)
			}
		}
	})
}

// A workspace that goes away, or that its owner may not enter.
func TestWorkspaceGoesAway(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		top := b.Workspace
		b.Workspace = top + "/sub"
		mkdir(t, b.Workspace)
		p := probeIn(t, b)
		p.want("ok", "creat", b.Workspace+"/before")
		p.flush()
		if err := os.RemoveAll(b.Workspace); err != nil {
			t.Fatal(err)
		}
		mkdir(t, b.Workspace) // another one by the same name: not what was given
		p.want("ENOENT|"+denied, "creat", b.Workspace+"/after")
		p.want("ENOENT|"+denied, "creat", top+"/after")
		p.want("ok", "creat", "/tmp/after")
		p.end()
		if names, err := os.ReadDir(b.Workspace); err != nil || len(names) > 0 {
			t.Errorf("%v, %v", names, err)
		}
		b.Workspace = top
		for _, mode := range []os.FileMode{0, 0o600} {
			if err := os.Chmod(top+"/sub", mode); err != nil {
				t.Fatal(err)
			}
			b.Flags = []string{"-q", "-C", "sub"}
			if r := b.Run(t, "sh", "-c", "echo ran"); r.Code != 125 || r.Stdout != "" || strings.Count(r.Stderr, "\n") != 1 {
				t.Errorf("mode %o: %+v", mode, r)
			}
		}
		if err := os.Chmod(top+"/sub", 0o700); err != nil {
			t.Fatal(err)
		}
		if r := b.Sh(t, "umask; umask 777; echo x >f; ls f").OK(t); !strings.Contains(r.Stdout, "f\n") {
			t.Errorf("%+v", r)
		}
	})
}

// A sandbox inside a sandbox is refused, also where the inner one is not told.
func TestNestedRun(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Flags = []string{"-q"}
		for _, more := range [][]string{{Binary()}, {"env", "-u", "BAWN_SANDBOXED", "-u", "BAWN_TIER", "BAWN_LOG=off", Binary()}} {
			for _, inner := range []string{"auto", "native", "bwrap"} {
				r := b.Run(t, append(append([]string(nil), more...), append([]string{"run", "-q", "--launcher", inner, "--"}, setupProof...)...)...)
				want := "no sandbox can be made here"
				if len(more) == 1 {
					want = "run it without bawn"
				}
				if r.Code != 125 || exists(b.Workspace+"/in") || !strings.Contains(r.Stderr, want) {
					t.Errorf("%q %s: %+v", more, inner, r)
				}
			}
		}
		setupRan(t, b, b.Run(t, setupProof...))
	})
}

// What the command does to the limits and the priority of pid 1, in which the
// name guard answers, opens nothing; processes outside are not touched.
func TestA100_FirstProcessWithoutMeans(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		victim := exec.Command("sleep", "300")
		if err := victim.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = victim.Process.Kill(); _ = victim.Wait() })
		nice := func() string {
			data, err := os.ReadFile("/proc/" + strconv.Itoa(victim.Process.Pid) + "/stat")
			if err != nil {
				t.Fatal(err)
			}
			return strings.Fields(string(data[strings.LastIndexByte(string(data), ')'):]))[16]
		}
		before := nice()
		r := b.Run(t, "python3", "-uc", `
import os, resource
os.makedirs("r/.git")
def tried(f):
    try: f()
    except OSError as e: return e.strerror
    return "done"
print("plain", tried(lambda: open("r/plain", "w")))
tried(lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19))
for r in "NOFILE FSIZE NPROC MEMLOCK CORE".split():
    tried(lambda: resource.prlimit(1, getattr(resource, "RLIMIT_" + r), (0, 0)))
tried(lambda: open("/proc/1/oom_score_adj", "w").write("1000"))
tried(lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
for n in range(300):
    tried(lambda: os.makedirs("r/.git/hooks/x"))
    tried(lambda: open("r/.git/hooks/pre-commit", "w"))
    tried(lambda: open(".bashrc", "w"))
    tried(lambda: os.symlink("x", ".mcp.json"))
`)
		if !strings.Contains(r.Stdout, "plain done") {
			t.Errorf("%+v", r)
		}
		for _, f := range []string{"/r/.git/hooks/pre-commit", "/.bashrc", "/.mcp.json"} {
			if exists(b.Workspace + f) {
				t.Errorf("%s was made", f)
			}
		}
		if now := nice(); now != before {
			t.Errorf("the priority outside: %s, was %s", now, before)
		}
	})
}

// A bomb of processes ends with its sandbox, whoever ends it.
func TestF11_ForkBombEnds(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for _, how := range []string{"command", "bawn"} {
			cmd := exec.Command(Binary(), "run", "-q", "--launcher", l, "--", "python3", "-c", `
import os, resource, sys, time
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
top = os.getpid()
for _ in range(4):  # 16 processes, each making more as fast as it can
    if os.fork() == 0 or os.getpid() == top: continue
if os.getpid() == top:
    print("up", flush=True)
    sys.stdin.read()
    os._exit(7)
for _ in range(5000):
    if os.fork() == 0: os._exit(0)
    try: os.waitpid(-1, os.WNOHANG)
    except ChildProcessError: pass
`)
			cmd.Dir, cmd.Env = b.Workspace, b.Environ()
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd.Stdout = w
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if err := r.SetReadDeadline(time.Now().Add(Limit)); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 64)
			if n, err := r.Read(buf); err != nil || string(buf[:n]) != "up\n" {
				t.Fatalf("%q, %v", buf[:n], err)
			}
			if how == "bawn" {
				_ = cmd.Process.Kill()
			} else {
				in.Close()
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); how == "command" && code != 7 {
				t.Errorf("exit %d", code)
			}
			// Every process of it holds the pipe.
			if n, err := r.Read(buf); n != 0 || err == nil || err.Error() != "EOF" {
				t.Errorf("%s: the pipe: %q, %v", how, buf[:n], err)
			}
		}
	})
}

// Sixty at once, under the program itself: all run, each in a boundary of its
// own, and nothing is left.
func TestB14_SixtyAtOnce(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		before := listing(t, b.Home)
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range 60 {
			wg.Go(func() {
				<-start
				cmd := exec.Command(Binary(), "run", "-q", "--launcher", l, "--", "sh", "-c", `echo $0 >out-$0; ls /proc | grep -c '^[0-9]'; echo x >../out; exit 9`, strconv.Itoa(i))
				cmd.Dir, cmd.Env = b.Workspace, b.Environ()
				out, _ := cmd.Output()
				if n, err := strconv.Atoi(strings.TrimSpace(string(out))); cmd.ProcessState.ExitCode() != 9 || err != nil || n > 6 {
					t.Errorf("%d: %q, exit %d", i, out, cmd.ProcessState.ExitCode())
				}
			})
		}
		close(start)
		wg.Wait()
		if names, err := os.ReadDir(b.Workspace); err != nil || len(names) != 60 || exists(b.Workspace+"/../out") {
			t.Errorf("%d files, %v", len(names), err)
		}
		sameListing(t, before, listing(t, b.Home))
	})
}
