//go:build linux

package sandboxtest

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// B110: a stop signal lets the command end in its own way.
func TestB110_CleanShutdown(t *testing.T) {
	const prog = `
import os, signal, sys
def bye(n, f):
    os.write(1, b"bye\n")
    sys.exit(7)
signal.signal(signal.SIGTERM, bye)
os.write(1, b"ready\n")
while True: signal.pause()
`
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		r := begin(t, b.command("python3", "-c", prog))
		r.expect(t, "ready")
		r.signal(t, unix.SIGTERM)
		r.expect(t, "bye")
		if c := r.code(t); c != 7 {
			t.Errorf("exit %d", c)
		}
		// The twin: a command without a handler ends by the signal.
		for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGALRM} {
			r := begin(t, b.command("sh", "-c", "ulimit -c 0; echo ready; read x"))
			r.expect(t, "ready")
			r.signal(t, sig)
			if c := r.code(t); c != 128+int(sig) {
				t.Errorf("%v: exit %d", sig, c)
			}
		}
	})
}

// Signals reach the command and its children, in order, once each.
func TestB103_SignalsReachTheGroup(t *testing.T) {
	const prog = `
import os, signal, sys, time
r, w = os.pipe()
child = os.fork() == 0
def got(n, f):
    os.write(1, b"%s %s\n" % (b"child" if child else b"parent", signal.Signals(n).name.encode()))
# A signal between two steps of Python would wait for the next one in pause().
woken, wake = os.pipe()
os.set_blocking(wake, False)
signal.set_wakeup_fd(wake)
for s in "INT TERM HUP QUIT USR1 USR2 ALRM CONT WINCH".split():
    signal.signal(getattr(signal, "SIG" + s), got)
if child:
    os.write(w, b"x")
else:
    os.read(r, 1)
    os.write(1, b"ready\n")
while True: os.read(woken, 1)
`
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		r := begin(t, b.command("python3", "-c", prog))
		r.expect(t, "ready")
		for _, sig := range []syscall.Signal{
			unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGCONT, unix.SIGWINCH,
		} {
			r.signal(t, sig)
			got := map[string]bool{<-r.lines: true, <-r.lines: true}
			name := unix.SignalName(sig)
			if !got["parent "+name] || !got["child "+name] {
				t.Fatalf("%s: %v", name, got)
			}
		}
		// Nothing came twice: the next line is that of the last signal.
		r.signal(t, unix.SIGUSR2)
		if a, c := <-r.lines, <-r.lines; !strings.Contains(a, "USR2") || !strings.Contains(c, "USR2") {
			t.Errorf("more than once: %q, %q", a, c)
		}
	})
}

// A signal that was ignored from the start stays ignored, in bawn and in the
// command.
func TestIgnoredSignals(t *testing.T) {
	// What this test itself was started with stays, inside as outside.
	out, err := exec.Command("grep", "SigIgn", "/proc/self/status").Output()
	if err != nil {
		t.Fatal(err)
	}
	var outside uint64
	if _, err := fmt.Sscanf(string(out), "SigIgn:\t%x", &outside); err != nil {
		t.Fatal(err)
	}
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for _, sig := range []string{"HUP", "INT", "TSTP"} {
			cmd := b.command("sh", "-c", "echo ready; read x; echo \"lives $x\"; grep SigIgn /proc/self/status")
			cmd = exec.Command("bash", append([]string{"-c", "trap '' " + sig + "; exec \"$@\"", "-", cmd.Path}, cmd.Args[1:]...)...)
			cmd.Dir, cmd.Env = b.Workspace, b.Environ()
			r := begin(t, cmd)
			r.expect(t, "ready")
			n := unix.SignalNum("SIG" + sig)
			r.signal(t, n)
			fmt.Fprintln(r.in, "on")
			r.expect(t, "lives on")
			r.expect(t, fmt.Sprintf("SigIgn:\t%016x", outside|1<<(n-1)))
			if c := r.code(t); c != 0 {
				t.Errorf("%s: exit %d", sig, c)
			}
		}
		if r := b.Run(t, "grep", "SigIgn", "/proc/self/status").OK(t); r.Stdout != fmt.Sprintf("SigIgn:\t%016x\n", outside) {
			t.Errorf("ignored by itself: %s", r.Stdout)
		}
	})
}

// Bawn is seen stopped when the command stops, whoever stopped it, and both
// go on together.
func TestStopAndContinue(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		mark := sleepMarker()
		r := begin(t, b.command("sh", "-c", "sleep "+mark+" & echo ready; while read x; do case $x in stop) kill -STOP $$;; *) echo $x;; esac; done"))
		r.expect(t, "ready")
		until(t, "the command's child", func() bool { return len(processes(mark)) == 1 })
		pid := r.cmd.Process.Pid
		awaitStop := func() {
			t.Helper()
			until(t, "bawn stopped", func() bool {
				var st unix.WaitStatus
				p, err := unix.Wait4(pid, &st, unix.WUNTRACED|unix.WNOHANG, nil)
				return err == nil && p == pid && st.Stopped()
			})
		}
		for range 3 {
			r.signal(t, unix.SIGTSTP)
			awaitStop()
			p := processes(mark)
			until(t, "the child stopped", func() bool { return procState(p[0]) == "T" })
			r.signal(t, unix.SIGCONT)
			fmt.Fprintln(r.in, "on")
			r.expect(t, "on")
			until(t, "the child goes on", func() bool { return procState(p[0]) == "S" })
			fmt.Fprintln(r.in, "stop")
			awaitStop()
			r.signal(t, unix.SIGCONT)
			fmt.Fprintln(r.in, "again")
			r.expect(t, "again")
		}
		r.in.Close()
		if c := r.code(t); c != 0 {
			t.Errorf("exit %d", c)
		}
	})
}

// After kill -9 of bawn, running or stopped, nothing of the run is left.
func TestKillLeavesNothing(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, stopped := range []bool{false, true} {
			b, mark := New(t, l), sleepMarker()
			r := begin(t, b.command("sh", "-c", fmt.Sprintf(
				"sleep %[1]s & setsid -f sleep %[1]s; (trap '' HUP TERM; exec sleep %[1]s) & (sleep %[1]s &); echo ready; read x", mark)))
			r.expect(t, "ready")
			until(t, "four sleeps", func() bool { return len(processes(mark)) == 4 })
			if stopped {
				r.signal(t, unix.SIGSTOP)
				until(t, "bawn stopped", func() bool { return procState(r.cmd.Process.Pid) == "T" })
			}
			all := descendants(r.cmd.Process.Pid)
			if len(all) < 6 { // pid 1, the shell, the sleeps
				t.Fatalf("only %d processes below bawn", len(all))
			}
			r.signal(t, unix.SIGKILL)
			r.code(t)
			until(t, "all processes gone", func() bool {
				for pid := range all {
					if s := procState(pid); s != "" && s != "Z" {
						return false
					}
				}
				return len(processes(mark)) == 0
			})
		}
	})
}

// A109: a daemon ends with the run that started it.
func TestA109_Daemon(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b, mark := New(t, l), sleepMarker()
		r := b.Sh(t, fmt.Sprintf(`
setsid -f sleep %[1]s
python3 -c 'import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "%[1]s"])
    os._exit(0)
os.wait()'
until [ "$(pgrep -fc '^sleep %[1]s')" = 2 ]; do sleep 0.01; done; echo both`, mark)).OK(t)
		if r.Stdout != "both\n" {
			t.Fatalf("stdout %q: the daemons did not run", r.Stdout)
		}
		if left := processes(mark); len(left) != 0 {
			t.Errorf("left running: %v", left)
		}
	})
}
