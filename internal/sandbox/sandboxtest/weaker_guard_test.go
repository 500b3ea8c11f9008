//go:build linux

package sandboxtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// guardReach tries what one process of a user can do to another, by the number
// in its argument, and prints the names of what went well.
const guardReach = `
import ctypes, os, signal, sys, fcntl, resource
c = ctypes.CDLL(None, use_errno=True)
pid, own = int(sys.argv[1]), len(sys.argv) > 2
NR = {'x86_64': (101, 310, 311, 424, 434, 438, 234, 302), 'aarch64': (117, 270, 271, 424, 434, 438, 131, 261)}[os.uname().machine]
ptrace, readv, writev, pidfd_signal, pidfd_open, pidfd_getfd, tgkill, prlimit = NR
def call(*a):
    c.syscall.restype = ctypes.c_long
    r = c.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    if r < 0: raise OSError(ctypes.get_errno(), '')
    return r
class iovec(ctypes.Structure): _fields_ = [('base', ctypes.c_void_p), ('len', ctypes.c_size_t)]
def memory(nr):
    there = int([l for l in open('/proc/self/maps') if 'stack' in l][0].split('-')[0], 16)
    if pid != os.getpid():
        try: there = int(open('/proc/%d/maps' % pid).readline().split('-')[0], 16)
        except OSError: pass
    buf = ctypes.create_string_buffer(8)
    here, far = iovec(ctypes.addressof(buf), 8), iovec(there, 8)
    call(nr, pid, ctypes.byref(here), 1, ctypes.byref(far), 1, 0)
def attach(request):
    call(ptrace, request, pid, 0, 0)
    os.waitpid(pid, 0x40000000)
    call(ptrace, 17, pid, 0, 0)
def threads(sig):
    for t in os.listdir('/proc/%d/task' % pid): call(tgkill, pid, int(t), sig)
def owner():
    r, w = os.pipe()
    fcntl.fcntl(r, fcntl.F_SETOWN, pid); fcntl.fcntl(r, 10, signal.SIGURG) # F_SETSIG
    fcntl.fcntl(r, fcntl.F_SETFL, fcntl.fcntl(r, fcntl.F_GETFL) | os.O_ASYNC)
def fd(): return call(pidfd_open, pid, 0)
tries = {
    'signal': lambda: os.kill(pid, 0),
    'stop': lambda: (os.kill(pid, signal.SIGSTOP), os.kill(pid, signal.SIGCONT)),
    'threads': lambda: threads(signal.SIGURG),
    'group': lambda: os.killpg(os.getpgid(pid), signal.SIGURG),
    'pidfd signal': lambda: call(pidfd_signal, fd(), signal.SIGURG, 0, 0),
    # The filter refuses these two for every process.
    'pidfd getfd': lambda: call(pidfd_getfd, fd(), 0, 0), 'read memory': lambda: memory(readv),
    'attach': lambda: attach(16), 'seize': lambda: call(ptrace, 0x4206, pid, 0, 0),
    'mem': lambda: open('/proc/%d/mem' % pid, 'rb').close(),
    'mem, written': lambda: open('/proc/%d/mem' % pid, 'r+b').close(),
    'maps': lambda: open('/proc/%d/maps' % pid).read(),
    'descriptors': lambda: os.readlink('/proc/%d/fd/0' % pid),
    'root': lambda: os.readlink('/proc/%d/root' % pid),
    'folder': lambda: os.readlink('/proc/%d/cwd' % pid),
    'environment': lambda: open('/proc/%d/environ' % pid).read(),
    'limits': lambda: call(prlimit, pid, 7, ctypes.byref((ctypes.c_ulong * 2)(0, 0)), None),
}
for name, f in tries.items():
    try: f()
    except OSError: continue
    print(name)
owner() # takes a process of which signals do not arrive
if not own:
    for sig in (signal.SIGTERM, signal.SIGKILL):
        try: os.kill(pid, sig)
        except OSError: continue
        print('killed')
    try: threads(signal.SIGKILL)
    except OSError: pass
    else: print('killed by a thread')
`

// The guard is a process of the command's user. Neither it nor the stage can
// be reached from the command, which can do all of that to a process of its own.
func TestF2_WeakerGuardIsOutOfReach(t *testing.T) {
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b := New(t, "auto")
		b.Flags = []string{"-q"}
		Write(t, b.Workspace+"/reach.py", guardReach)
		r := m.sh(t, b, `python3 reach.py $PPID; stage=$(awk '/^PPid/{print $2}' /proc/$PPID/status); python3 reach.py $stage
echo guard: $(tr '\0' ' ' </proc/$PPID/cmdline); mkdir .codex 2>/dev/null; echo x >after; cat after`)
		if r.Stdout != "guard: bawn: name guard \nx\n" && r.Stdout != "guard: bawn: name guard\nx\n" {
			t.Errorf("reached:\n%s%s", r.Stdout, r.Stderr)
		}
		if exists(b.Workspace + "/.codex") {
			t.Error("the guard holds no more")
		}
		r = m.sh(t, b, `sleep 100 & python3 reach.py $! own; kill $!`).OK(t)
		for _, want := range []string{"signal", "stop", "threads", "group", "pidfd signal", "attach", "mem", "maps", "descriptors", "root", "folder", "environment"} {
			if !strings.Contains(r.Stdout, want+"\n") {
				t.Errorf("own process: %q did not go: the check proves nothing\n%s", want, r.Stdout)
			}
		}
	})
}

// weakerPPID is a process's parent.
func weakerPPID(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "\nPPid:\t")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(line)
	if err != nil || n < 2 {
		t.Fatalf("parent of %d: %q", pid, line)
	}
	return n
}

// weakerPIDs waits for a command that wrote its parent's number, and gives the
// guard's and the stage's.
func weakerPIDs(t *testing.T, b *Box) (guard, stage int) {
	t.Helper()
	until(t, "the guard is known", func() bool { s, _ := os.ReadFile(b.Workspace + "/guard"); return bytes.HasSuffix(s, []byte("\n")) })
	s, _ := os.ReadFile(b.Workspace + "/guard")
	guard, err := strconv.Atoi(strings.TrimSpace(string(s)))
	if err != nil || guard < 2 {
		t.Fatalf("guard: %q", s)
	}
	return guard, weakerPPID(t, guard)
}

// Without its guard the command's calls fail, and the run ends with the reason.
func TestF2_WeakerGuardEnds(t *testing.T) {
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b := New(t, "auto")
		Host(t, b, "git init -q .").OK(t)
		log := filepath.Dir(b.Workspace) + "/log"
		w := weakerTo(t, m, b, log, `echo x >before; echo $PPID >guard; read -r go
for f in plain .codex .git/hooks/post-checkout .git/commondir; do (echo x >$f) 2>&1; done; mv before after 2>&1; ln before after 2>&1; rm before 2>&1; mkdir d 2>&1; echo tried; read -r go; echo late`)
		w.ready(t)
		guard, stage := weakerPIDs(t, b)
		// So that it cannot end the command at once.
		if err := unix.Kill(stage, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(guard, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		w.send(t, "go")
		until(t, "all was tried", func() bool { data, _ := os.ReadFile(log); return bytes.Contains(data, []byte("tried\n")) })
		for _, f := range []string{"plain", ".codex", ".git/hooks/post-checkout", ".git/commondir", "after", "d"} {
			if exists(b.Workspace + "/" + f) {
				t.Errorf("%s was made without the guard", f)
			}
		}
		if !exists(b.Workspace + "/before") {
			t.Error("a file was removed without the guard, or never made with it")
		}
		if err := unix.Kill(stage, unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		w.wait(t)
		data, _ := os.ReadFile(log)
		if w.cmd.ProcessState.ExitCode() != 125 || !bytes.Contains(data, []byte("the name guard ended")) || bytes.Contains(data, []byte("late")) {
			t.Errorf("exit %d: %s", w.cmd.ProcessState.ExitCode(), data)
		}
	})
}

// When both the supervisor and the stage are killed, the guard ends the command.
func TestF2_WeakerGuardEndsTheRest(t *testing.T) {
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b, mark := New(t, "auto"), weakerMark()
		w := weakerBegin(t, m, b, `echo $PPID >guard; setsid -f sleep `+mark+`; sleep `+mark)
		until(t, "both sleep", func() bool { return len(weakerFind(mark)) >= 2 })
		_, stage := weakerPIDs(t, b)
		_ = w.cmd.Process.Signal(unix.SIGSTOP)
		if err := unix.Kill(stage, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = w.cmd.Process.Kill()
		w.wait(t)
		until(t, "all ended", func() bool { return len(weakerFind(mark)) == 0 })
	})
}

// guardHolds are attempts on names that mounts hold elsewhere, in a repository
// with a file that the settings protect. Each fails with the guard, and goes
// without it.
var guardHolds = []struct{ name, text string }{
	{".git renamed", "os.rename('.git','g')"},
	{".git exchanged", "os.mkdir('o');exchange('.git','o')"},
	{"exchanged with .git", "os.mkdir('o');exchange('o','.git')"},
	{"hooks renamed", "os.rename('.git/hooks','.git/h')"},
	{"hooks exchanged", "os.mkdir('o');exchange('o','.git/hooks')"},
	{"hooks removed", "os.unlink('.git/hooks/x.sample');os.rmdir('.git/hooks')"},
	{"sample hook written", "open('.git/hooks/x.sample','w')"},
	{"sample hook renamed", "os.rename('.git/hooks/x.sample','.git/hooks/y.sample')"},
	{"sample hook replaced", "os.rename('README','.git/hooks/x.sample')"},
	{"sample hook made by a link", "os.link('README','.git/hooks/y.sample')"},
	{"folder in hooks", "os.mkdir('.git/hooks/x.sample.d')"},
	{"hook made", "open('.git/hooks/post-checkout','w')"},
	{"agent's settings removed", "os.unlink('.claude/settings.json')"},
	{"agent's settings written", "open('.claude/settings.json','w')"},
	{"agent's settings cut", "os.truncate('.claude/settings.json',0)"},
	{"agent's settings replaced", "open('n','w');os.rename('n','.claude/settings.json')"},
	{"folder above renamed", "os.rename('.claude','c')"},
	{"folder above exchanged", "os.mkdir('o');exchange('o','.claude')"},
	{"protected file removed", "os.unlink('a/b/keep')"},
	{"folder above a protected file renamed", "os.rename('a','c')"},
	{"deeper folder above a protected file renamed", "os.rename('a/b','a/c')"},
	{"folder above a protected file exchanged", "os.mkdir('o');exchange('a','o')"},
	{"nameless file linked", "f=os.open('.',os.O_TMPFILE|os.O_WRONLY,0o755);link('/proc/self/fd/%d'%f,'.git/hooks/post-checkout')"},
	{"nameless file in hooks linked", "f=os.open('.git',os.O_TMPFILE|os.O_WRONLY,0o755);link('/proc/self/fd/%d'%f,'.git/hooks/post-checkout')"},
	{"nameless file linked by its descriptor", "f=os.open('.',os.O_TMPFILE|os.O_WRONLY,0o755);linkfd(f,'.git/commondir')"},
	{"magic link to a protected file", "f=os.open('a/b/keep',os.O_RDONLY);link('/proc/self/fd/%d'%f,'l');open('l','w')"},
	{"protected file opened anew", "f=os.open('a/b/keep',os.O_RDONLY);open('/proc/self/fd/%d'%f,'w')"},
	{"protected file through the folder's link", "f=os.open('a/b',os.O_RDONLY);open('/proc/self/fd/%d/keep'%f,'w')"},
	{"magic link of a thread", "open('/proc/thread-self/cwd/a/b/keep','w')"},
	{"folder exchanged by the root link", "os.mkdir('o');exchange('/proc/self/root'+os.getcwd()+'/.git','o')"},
}

const guardHoldsHead = `
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
def ok(r):
    if r < 0: raise OSError(ctypes.get_errno(), '')
def exchange(a, b): ok(c.renameat2(-100, a.encode(), -100, b.encode(), 2))
def link(a, b): ok(c.linkat(-100, a.encode(), -100, b.encode(), 0x400))
def linkfd(f, to): ok(c.linkat(f, b'', -100, to.encode(), 0x1000))
`

func TestF2_WeakerGuardHoldsWhatMountsDo(t *testing.T) {
	t.Parallel()
	for _, c := range guardHolds {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, guard := range []bool{true, false} {
				b := gitBox(t, Weaker, smallRepo+"mkdir -p a/b .claude; echo kept >a/b/keep; echo '{}' >.claude/settings.json; rm -f .git/hooks/*; echo x >.git/hooks/x.sample")
				b.settings(t, "[sandbox]\nprotect = ['a/b/keep']\n")
				const look = "find .git/hooks .claude a -ls | awk '{print $1,$3,$7,$11}'; ls -di .git; cat a/b/keep; ls .git/commondir 2>&1"
				before := Host(t, b, look)
				b.Flags = []string{"-q"}
				if !guard {
					b.Flags = append(b.Flags, byMounts...)
				}
				Write(t, b.Workspace+"/try.py", guardHoldsHead+c.text+"\n")
				r := b.Run(t, "python3", "try.py")
				after := Host(t, b, look)
				if guard && (r.Code == 0 || after != before) {
					t.Errorf("it went with the guard, exit %d %s\nbefore %s\nafter %s", r.Code, r.Stderr, before.Stdout, after.Stdout)
				}
				if !guard && r.Code != 0 && !strings.Contains(r.Stderr, "Errno 1]") { // a descriptor's link needs rights on some kernels
					t.Errorf("it fails without the guard: %s", r.Stderr)
				}
			}
		})
	}
}

// Ordinary names beside those keep all their calls.
func TestF2_WeakerGuardOrdinaryWork(t *testing.T) {
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b := gitBox(t, "auto", smallRepo+"mkdir -p a/b .claude; echo kept >a/b/keep")
		b.settings(t, "[sandbox]\nprotect = ['a/b/keep']\n")
		Write(t, b.Workspace+"/work.py", guardHoldsHead+`
os.mkdir('d'); os.mkdir('e'); exchange('d', 'e'); os.rename('d', 'e/d'); os.rename('e/d', 'f'); os.rmdir('f'); os.mkdir('a/b/d'); os.rmdir('a/b/d')
f = os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o640); os.write(f, b'x'); link('/proc/self/fd/%d' % f, 'e/t'); os.unlink('e/t')
os.umask(0o027); open('m', 'w'); os.mkdir('n'); os.mkfifo('p')
print(*[oct(os.stat(x).st_mode & 0o777) for x in ('m', 'n', 'p')])
os.umask(0); open('m2', 'w'); print(oct(os.stat('m2').st_mode & 0o777))
t = os.environ['TMPDIR']; open(t + '/x', 'w').write('x')
try: os.rename(t + '/x', 'x')
except OSError as e: print(e.errno)
`)
		r := m.sh(t, b, "python3 work.py && mv \"$TMPDIR/x\" x && mkdir $TMPDIR/q && mv $TMPDIR/q q && ls -d x q && git add x && git commit -qm two && git worktree add -q wt && rm -rf e").OK(t)
		if want := "0o640 0o750 0o640\n0o666\n18\nq\nx\n"; r.Stdout != want {
			t.Errorf("%q, want %q", r.Stdout, want)
		}
	})
}

// Threads that rename folders while others make files in them get no protected
// name past the guard.
func TestF2_WeakerGuardRaces(t *testing.T) {
	for _, guard := range []bool{true, false} {
		b := gitBox(t, Weaker, smallRepo+"mkdir -p n/git n/x; rm -f .git/hooks/*")
		b.Flags = []string{"-q"}
		if !guard {
			b.Flags = append(b.Flags, byMounts...)
		}
		Write(t, b.Workspace+"/race.py", guardHoldsHead+`
import multiprocessing
def loop(f):
    for i in range(150):
        try: f(i)
        except OSError: pass
def flip(i):
    for a, b in (('n/git', 'n/.git'), ('n/.git', 'n/git'), ('n/x', 'n/git'), ('.git', 'g'), ('g', '.git')):
        try: os.rename(a, b)
        except OSError: pass
        try: exchange(a, b)
        except OSError: pass
def plant(i):
    for d in ('n/git', 'n/.git', 'n/x', '.git', 'g'):
        for n in ('config', 'commondir', 'hooks/post-checkout'):
            try: os.makedirs(os.path.dirname(d + '/' + n), exist_ok=True)
            except OSError: pass
            try: open(d + '/' + n, 'w').write('[core]\n\tfsmonitor = ./evil\n')
            except OSError: pass
ps = [multiprocessing.Process(target=loop, args=(f,)) for f in (flip, plant, flip, plant)]
for p in ps: p.start()
for p in ps: p.join()
`)
		b.Run(t, "python3", "race.py").OK(t)
		got := Host(t, b, `grep -rlsi evil .git n/.git || true; ls .git/hooks .git/commondir n/.git/commondir 2>/dev/null || true`).OK(t)
		if planted := strings.Contains(got.Stdout, "config") || strings.Contains(got.Stdout, "commondir"); planted == guard {
			t.Errorf("guard %v: planted %v: %s", guard, planted, got.Stdout)
		}
	}
}

// What is refused is told as under the native launcher: path, command, rule.
func TestF2_WeakerGuardTellsTheSame(t *testing.T) {
	var all []string
	for _, l := range []string{"native", Weaker} {
		b := gitBox(t, l, smallRepo)
		b.Flags = []string{"-q", "--report", "../report.json"}
		b.Run(t, "bash", "-c", `mkdir .codex; git config core.fsmonitor x; mv .git g; echo x >.git/hooks/h; (echo x >.mcp.json); echo x >.envrc; exit 3`)
		data, err := os.ReadFile(filepath.Dir(b.Workspace) + "/report.json")
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Denials []map[string]any
			Written []string
		}
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintln(r.Written)
		for _, d := range r.Denials {
			if pid, _ := d["pid"].(float64); pid < 2 {
				t.Errorf("%s: no process in %v", l, d)
			}
			delete(d, "pid")
			line, _ := json.Marshal(d)
			text += string(line) + "\n"
		}
		all = append(all, strings.ReplaceAll(text, filepath.Dir(b.Workspace), "ROOT"))
	}
	if all[0] != all[1] || strings.Count(all[0], "\n") < 6 {
		t.Errorf("native:\n%s\nweaker:\n%s", all[0], all[1])
	}
}

// Where the kernel has no name guard that is said once, with what is open then,
// and the run goes on.
func TestF2_WeakerWithoutKernelSupport(t *testing.T) {
	for how, why := range map[string]string{"nested": "inside another one", "old": "needs Linux 5.19"} {
		b := New(t, Weaker)
		words := b.running()
		at := len(words) - 3 // bawn itself
		words = append(append(append([]string(nil), words[:at]...), tool(t, "old"), how), words[at:]...)
		words = append(words, "--", "sh", "-c", "mkdir .codex && echo ran")
		ctx, cancel := context.WithTimeout(t.Context(), Limit)
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		var out, errb bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.Workspace, b.Environ(), &out, &errb
		err := cmd.Run()
		cancel()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		said := errb.String()
		if out.String() != "ran\n" || strings.Count(said, "not held") != 1 || !strings.Contains(said, why) ||
			!strings.Contains(said, "protected names in the workspace") || !strings.Contains(said, "/.codex appeared") {
			t.Errorf("%s: %v %q\n%s", how, err, out.String(), said)
		}
	}
	// The pair.
	b := New(t, Weaker)
	if r := b.Sh(t, "mkdir .codex"); r.Code == 0 || strings.Contains(r.Stderr, "protected names in the workspace") || strings.Contains(r.Stderr, "not held") {
		t.Errorf("with the guard: %+v", r)
	}
}
