//go:build linux

package sandboxtest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// weakerRun is a run in the weaker mode that the test talks to.
type weakerRun struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *weakerBuffer
	b   *Box
}

// weakerBuffer is written by the command and read by the test.
type weakerBuffer struct{ v atomic.Value }

func (b *weakerBuffer) Write(p []byte) (int, error) {
	b.v.Store(b.String() + string(p))
	return len(p), nil
}

func (b *weakerBuffer) String() string {
	s, _ := b.v.Load().(string)
	return s
}

// weakerBegin starts a text; it tells when it runs by the file "up".
func weakerBegin(t *testing.T, m setupMachine, b *Box, text string) *weakerRun {
	return weakerTo(t, m, b, "", text)
}

func weakerTo(t *testing.T, m setupMachine, b *Box, log, text string) *weakerRun {
	t.Helper()
	args := append(append([]string(nil), m.prefix...), Binary(), "run", "-q", "--allow-weaker")
	args = append(append(args, b.Flags...), "--", "sh", "-c", "echo >up; "+text)
	w := &weakerRun{cmd: exec.Command(args[0], args[1:]...), out: new(weakerBuffer), b: b}
	w.cmd.Dir, w.cmd.Env = b.Workspace, b.Environ()
	w.cmd.Stdout, w.cmd.Stderr = w.out, w.out
	if log != "" {
		f, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w.cmd.Stdout, w.cmd.Stderr = f, f
	}
	w.cmd.WaitDelay = 20 * time.Second
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	m.start(t, w.cmd)
	return w
}

func (w *weakerRun) ready(t *testing.T) {
	t.Helper()
	until(t, "the command runs", func() bool { _, err := os.Stat(w.b.Workspace + "/up"); return err == nil })
}

func (w *weakerRun) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (w *weakerRun) wait(t *testing.T) string {
	t.Helper()
	limit := time.AfterFunc(Limit, func() { _ = w.cmd.Process.Kill() })
	defer limit.Stop()
	_ = w.cmd.Wait()
	return w.out.String()
}

var weakerCount atomic.Int64

// weakerMark is an argument of sleep that no other process has.
func weakerMark() string {
	return fmt.Sprintf("9%07d.%04d", os.Getpid()%10000000, weakerCount.Add(1))
}

// weakerFind lists the processes with this word among their arguments.
func weakerFind(mark string) (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, d := range dirs {
		data, _ := os.ReadFile(d)
		for _, arg := range bytes.Split(data, []byte{0}) {
			if string(arg) == mark {
				pid, _ := strconv.Atoi(strings.Split(d, "/")[2])
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// weakerSleeper is a process of the host, by the same user.
func weakerSleeper(t *testing.T) (pid int, mark string) {
	t.Helper()
	mark = weakerMark()
	// Without privileges, also where the tests run as root.
	cmd := exec.Command("setpriv", "--no-new-privs", "sleep", mark)
	if os.Getuid() == 0 {
		cmd = exec.Command("setpriv", "--bounding-set=-all", "--inh-caps=-all", "sleep", mark)
	}
	cmd.Env = append(os.Environ(), "HOST_SECRET=hostsecret")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	until(t, "it sleeps", func() bool {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid))
		return err == nil && string(data) == "sleep\n"
	})
	return cmd.Process.Pid, mark
}

// What the command leaves ends with it, however it hides, and the temp goes.
func TestB108_WeakerEndsAll(t *testing.T) {
	machines := append(setupNoNamespaces(), setupLandlock(5))
	for _, m := range machines {
		for name, leave := range map[string]string{
			"background":  "sleep %s & echo",
			"own session": "setsid -f sleep %s",
			"deaf":        "(trap '' TERM HUP INT; sleep %s) & echo",
			"orphans":     "for i in 1 2 3 4 5; do (setsid sh -c 'setsid sleep %s & setsid sleep %s & wait' &) ; done",
			"stopped":     "sh -c 'kill -STOP $$; exec sleep %s' & echo",
		} {
			t.Run(m.name+"/"+name, func(t *testing.T) {
				b, mark := New(t, "auto"), weakerMark()
				temp := Dir(t)
				b.Env = append(b.Env, "TMPDIR="+temp)
				r := m.sh(t, b, strings.ReplaceAll(leave, "%s", mark)+`; echo x >"$TMPDIR/x"; exit 7`)
				if r.Code != 7 {
					t.Errorf("exit %d: %s", r.Code, r.Stderr)
				}
				if left := weakerFind(mark); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
				if left, _ := os.ReadDir(temp); len(left) > 0 {
					t.Errorf("left in the temp: %v", left)
				}
			})
		}
	}
}

// Chains of processes, each of which forks the next and ends, must not outrun
// the end of the run.
func TestWeaker_EndsForkChain(t *testing.T) {
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b := New(t, "auto")
		Write(t, b.Workspace+"/chain.c", `#include <unistd.h>
#include <time.h>
#include <fcntl.h>
int main(int n, char **v) {
	time_t end = time(0) + 60;
	close(creat(v[1], 0600));
	while (time(0) < end) {
		if (fork() > 0) _exit(0);
		setsid();
	}
	close(creat("late", 0600));
}
`)
		if out, err := exec.Command("gcc", "-O1", "-static", "-o", b.Workspace+"/chain", b.Workspace+"/chain.c").CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v %s", err, out)
		}
		start := time.Now()
		m.sh(t, b, `for i in 1 2 3 4 5 6 7 8; do setsid -f ./chain up$i </dev/null >/dev/null 2>&1; done; until [ -e up1 ] && [ -e up8 ]; do :; done`).OK(t)
		left, took := weakerChains(b.Workspace), time.Since(start)
		if _, err := os.Stat(b.Workspace + "/late"); err == nil || len(left) > 0 || took > 59*time.Second {
			t.Errorf("left %v after %v", left, took)
		}
	})
}

func weakerChains(dir string) (pids []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, d := range dirs {
		if l, err := os.Readlink(d); err == nil && l == dir {
			pids = append(pids, d)
		}
	}
	return pids
}

// The same when bawn is killed in the middle.
func TestWeaker_KilledSupervisor(t *testing.T) {
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b, mark, temp := New(t, "auto"), weakerMark(), Dir(t)
		b.Env = append(b.Env, "TMPDIR="+temp)
		w := weakerBegin(t, m, b, `setsid -f sleep `+mark+`; mkdir -p "$TMPDIR/a/b"; echo >ready; sleep `+mark)
		until(t, "both sleep", func() bool { return len(weakerFind(mark)) >= 2 })
		if err := w.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		w.wait(t)
		until(t, "all ended", func() bool { return len(weakerFind(mark)) == 0 })
		until(t, "the temp is gone", func() bool { left, err := os.ReadDir(temp); return err == nil && len(left) == 0 })
	})
}

func TestB110_WeakerSignals(t *testing.T) {
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b := New(t, "auto")
		w := weakerBegin(t, m, b, `trap 'echo bye; exit 7' TERM; echo >set; while :; do sleep 0.05; done`)
		until(t, "the trap is set", func() bool { _, err := os.Stat(b.Workspace + "/set"); return err == nil })
		if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if out := w.wait(t); !strings.HasSuffix(out, "bye\n") || w.cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("%q, exit %d", out, w.cmd.ProcessState.ExitCode())
		}
		for text, want := range map[string]int{"kill -9 $$": 137, "exit 255": 255, "/nonexistent": 127, "/etc/passwd": 126} {
			if r := m.sh(t, b, text); r.Code != want {
				t.Errorf("%q: exit %d, want %d", text, r.Code, want)
			}
		}
		for arg, want := range map[string]int{"/nonexistent": 127, "/etc/passwd": 126} {
			if r := m.weaker(t, b, arg); r.Code != want {
				t.Errorf("%q: exit %d, want %d", arg, r.Code, want)
			}
		}
	})
}

// Processes of the host can be neither signalled nor looked into (A100).
func TestA100_WeakerOtherProcesses(t *testing.T) {
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b := New(t, "auto")
		pid, _ := weakerSleeper(t)
		p := strconv.Itoa(pid)
		for _, c := range []struct {
			name, text string
			allowed    bool
		}{
			{"signal", "kill -TERM " + p, false},
			{"signal own", "sleep 60 & kill -TERM $!", true},
			{"signal all", "kill -TERM -1; kill -0 " + p, false},
			{"signal the stage", "kill -KILL $PPID", false},
			{"environment", "grep -a HOST_SECRET /proc/" + p + "/environ", false},
			{"environment, own", "X=1 sh -c 'grep -a X=1 /proc/self/environ >/dev/null'", true},
			{"memory", "dd if=/proc/" + p + "/mem of=/dev/null count=1", false},
			{"root", "ls /proc/" + p + "/root", false},
			{"descriptor", "readlink /proc/" + p + "/fd/0", false},
			{"descriptor, open", "(: </proc/" + p + "/fd/0)", false},
			{"descriptor, own", "readlink /proc/self/fd/0 && : </proc/self/fd/0", true},
			{"stage's memory", "dd if=/proc/$PPID/mem of=/dev/null count=1", false},
			{"limit", "prlimit --pid " + p + " --cpu=1", false},
			{"limit, own", "ulimit -n 64", true},
			{"trace", "strace -qq -o t -p " + p + " -e none", false},
			{"trace own", "strace -qq -o t true", true},
		} {
			r := m.sh(t, b, "if { "+c.text+"\n}; then exit 0; else exit 9; fi")
			if r.Code != map[bool]int{true: 0, false: 9}[c.allowed] || strings.Contains(r.Stdout, "hostsecret") {
				t.Errorf("%s: exit %d\n%s%s", c.name, r.Code, r.Stdout, r.Stderr)
			}
			if unix.Kill(pid, 0) != nil {
				t.Fatalf("%s: the host's process is gone", c.name)
			}
		}
	})
}

// The temp is private, and goes whatever is in it.
func TestWeaker_Temp(t *testing.T) {
	weakerMachines(t, func(t *testing.T, m setupMachine) {
		b, temp := New(t, "auto"), Dir(t)
		b.Env = append(b.Env, "TMPDIR="+temp, "TMP=/elsewhere")
		b.Flags = []string{"--guard", "off"} // under it nothing can be made as deep as deep.py does
		Write(t, b.Workspace+"/deep.py", `import os
os.chdir(os.environ['TMPDIR'])
for i in range(3000): os.mkdir('d'); os.chdir('d')
`)
		r := m.sh(t, b, `set -e
echo "$TMPDIR"; [ "$TMP" = "$TMPDIR" ]; stat -c %a "$TMPDIR"
mkdir -p "$TMPDIR/shut/in"; echo >"$TMPDIR/shut/in/f"; chmod 0 "$TMPDIR/shut/in" "$TMPDIR/shut"
ln -s "$HOME" "$TMPDIR/link"; mkfifo "$TMPDIR/fifo"
python3 deep.py`).OK(t)
		lines := strings.Split(r.Stdout, "\n")
		if filepath.Dir(lines[0]) != temp || lines[1] != "700" {
			t.Errorf("%q", r.Stdout)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left: %v %v", left, err)
		}
		if _, err := os.Stat(b.Home); err != nil {
			t.Error("a link was followed")
		}
	})
}
