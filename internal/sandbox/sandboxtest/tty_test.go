//go:build linux

package sandboxtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// B106: nothing is printed but what the command prints.
func TestB106_ExactOutput(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"bash", "--norc", "-ic", "printf works"}, "works"},
			{[]string{"sh", "-c", `printf 'works\n'`}, "works\r\n"},
			{[]string{"bash", "--norc", "-ic", "set -m; true & wait; printf works"}, "works"},
			{[]string{"sh", "-c", "printf out; printf err >&2"}, "outerr"},
			{[]string{"printf", `a\033[31m\000\377b`}, "a\x1b[31m\x00\xffb"},
		} {
			s := New(t, l).onTTY(t, c.args...)
			if code := s.code(t); code != 0 {
				t.Errorf("%q: exit %d", c.args, code)
			}
			got := s.text()
			if i := strings.Index(got, "] "); strings.HasPrefix(got, "[1] ") && i < 4 {
				got = got[strings.Index(got, "\n")+1:]
			}
			if !strings.HasSuffix(got, c.want) || strings.Contains(got, "job control") || strings.Contains(got, "process group") ||
				(!strings.Contains(c.args[len(c.args)-1], "set -m") && got != c.want) {
				t.Errorf("%q: %q, want %q", c.args, got, c.want)
			}
		}
	})
}

// The command has a terminal of its own: a name, a size that follows, and
// the right to hand it to a process group.
func TestTTY_Properties(t *testing.T) {
	const group = `
import os, signal, sys
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.read(r, 1)
    assert os.tcgetpgrp(0) == os.getpgrp()
    os._exit(17)
os.setpgid(pid, pid) if os.getpgid(pid) != pid else None
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
assert os.tcgetpgrp(0) == os.getpgrp()
os.tcsetpgrp(0, pid)
os.write(w, b"x")
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
os.tcsetpgrp(0, os.getpgrp())
print("group", code, os.getsid(0) != os.getpid(), open("/dev/tty", "w").isatty())
`
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Workspace+"/group.py", group)
		s := b.onTTY(t, "sh", "-c", `tty; stty size; python3 group.py
for f in 0 1 2; do test -t $f && echo "tty $f"; done
stty -a | tr ' ' '\n' | grep -x -e isig -e icanon -e echo
until [ "$(stty size)" = "40 100" ]; do sleep 0.01; done; echo resized`)
		if name := strings.TrimSpace(s.wait(t, "\n")); !strings.HasPrefix(name, "/dev/pts/") {
			t.Errorf("tty prints %q", name)
		}
		s.wait(t, "24 80\r\ngroup 17 True True\r\ntty 0\r\ntty 1\r\ntty 2\r\nisig\r\nicanon\r\necho\r\n")
		s.resize(t, 40, 100)
		s.wait(t, "resized\r\n")
		if c := s.code(t); c != 0 {
			t.Errorf("exit %d", c)
		}
	})
}

// With one of the streams elsewhere the command gets the caller's own, byte
// for byte; two different terminals count as elsewhere.
func TestTTY_Partial(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		cmd := b.command("sh", "-c", "test -t 0 && test ! -t 1 && test -t 2 && echo as expected; read x; echo \"got $x\"")
		var out bytes.Buffer
		cmd.Stdout = &out
		s := openTTY(t)
		s.start(t, cmd)
		s.send(t, "typed\n")
		if c := s.code(t); c != 0 || out.String() != "as expected\ngot typed\n" {
			t.Errorf("exit %d, stdout %q, screen %q", c, out.String(), s.text())
		}
		// ^C reaches it all the same.
		cmd = b.command("sh", "-c", "echo up >&2; read x")
		cmd.Stdout = &out
		s = openTTY(t)
		s.start(t, cmd)
		s.wait(t, "up")
		s.send(t, "\x03")
		if c := s.code(t); c != 130 {
			t.Errorf("^C: exit %d", c)
		}
		other := openTTY(t)
		defer other.slave.Close()
		defer other.master.Close()
		b.Flags = []string{"-q"}
		cmd = b.command("sh", "-c", "echo out; echo err >&2")
		cmd.Stderr = other.slave
		s = openTTY(t)
		s.start(t, cmd)
		if c := s.code(t); c != 0 || s.text() != "out\r\n" {
			t.Errorf("exit %d, screen %q", c, s.text())
		}
		other.wait(t, "err\r\n")
	})
}

// Whatever ends the run, the caller's terminal is as it was.
func TestTTY_ModesRestored(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, c := range []struct {
			name string
			end  func(*screen)
			code int
		}{
			{"exit", func(s *screen) { s.send(t, "q\n") }, 0},
			{"^C", func(s *screen) { s.send(t, "\x03") }, 130},
			{"TERM", func(s *screen) { _ = s.cmd.Process.Signal(unix.SIGTERM) }, 143},
			{"HUP", func(s *screen) { _ = s.cmd.Process.Signal(unix.SIGHUP) }, 129},
		} {
			s := openTTY(t)
			b := New(t, l)
			b.Flags = []string{"-q"}
			before := s.modes(t)
			before.Cc[unix.VERASE] = 'E' // the caller's own setting, seen inside as well
			if err := unix.IoctlSetTermios(int(s.slave.Fd()), unix.TCSETS, &before); err != nil {
				t.Fatal(err)
			}
			s.start(t, b.command("sh", "-c", "stty -a | grep -o 'erase = E'; stty -echo -onlcr; echo up; read x"))
			s.wait(t, "erase = E\r\nup")
			until(t, "raw modes", func() bool { return s.modes(t).Lflag&unix.ICANON == 0 })
			c.end(s)
			if code := s.code(t); code != c.code {
				t.Errorf("%s: exit %d", c.name, code)
			}
			if after := s.modes(t); after != before {
				t.Errorf("%s: modes changed from %+v to %+v", c.name, before, after)
			}
		}
	})
}

// A94, A95: nothing can be typed into the caller's terminal by force, whether
// the command has it or one of its own.
func TestA94_A95_NoForcedInput(t *testing.T) {
	const prog = `
import fcntl, os
def call(fd, request, arg):
    try:
        fcntl.ioctl(fd, request, arg)
        return "done"
    except OSError as e:
        return os.strerror(e.errno).replace(" ", "-")
for high in (0, 1 << 32):  # the kernel looks at the low half alone
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    for fd in (0, 2):
        for request, arg in ((0x5412, b"I"), (0x541C, b"\x03" * 16)):
            r = libc.syscall(SYS, fd, ctypes.c_ulong(request | high), ctypes.create_string_buffer(arg))
            print("done" if r == 0 else os.strerror(ctypes.get_errno()).replace(" ", "-"), end=" ")
print()
`
	number := map[string]string{"x86_64": "16", "aarch64": "29"}[machine(t)]
	text := strings.Replace(prog, "SYS", number, 1)
	const refused = "Operation-not-permitted "
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Workspace+"/sti.py", text)
		s := b.onTTY(t, "python3", "sti.py")
		s.code(t)
		if want := strings.Repeat(refused, 8) + "\r\n"; s.text() != want {
			t.Errorf("own terminal: %q", s.text())
		}
		if p := s.pending(t); p != "" {
			t.Errorf("own terminal: %q was typed", p)
		}

		var out bytes.Buffer
		cmd := b.command("python3", "sti.py")
		cmd.Stdout = &out
		s = openTTY(t)
		s.start(t, cmd)
		s.code(t)
		if want := strings.Repeat(refused, 8) + "\n"; out.String() != want {
			t.Errorf("the caller's terminal: %q", out.String())
		}
		if p := s.pending(t); p != "" {
			t.Errorf("the caller's terminal: %q was typed", p)
		}

		// The twin: outside it works wherever the kernel still allows it.
		legacy, _ := os.ReadFile("/proc/sys/dev/tty/legacy_tiocsti")
		out.Reset()
		cmd = b.command()
		cmd.Path, cmd.Args = "/usr/bin/python3", []string{"python3", "sti.py"}
		cmd.Stdout = &out
		s = openTTY(t)
		s.start(t, cmd)
		s.code(t)
		want := "IIII"
		if string(legacy) == "0\n" && os.Getuid() != 0 {
			want = ""
		}
		if p := s.pending(t); p != want {
			t.Errorf("outside: %q was typed, want %q; %q", p, want, out.String())
		}
		if !strings.Contains(out.String(), "Inappropriate-ioctl") {
			t.Errorf("outside: TIOCLINUX on a pseudo-terminal gives %q", out.String())
		}
	})
}

// Ten megabytes come out complete and in order, though the command ends
// before they are read.
func TestTTY_LargeOutput(t *testing.T) {
	raw := make([]byte, 7_500_000)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(raw)
	data := base64.StdEncoding.EncodeToString(raw)
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		Write(t, b.Workspace+"/big", data)
		s := b.onTTY(t, "sh", "-c", "cat big; printf end")
		if c := s.code(t); c != 0 {
			t.Errorf("exit %d", c)
		}
		if s.text() != data+"end" {
			t.Errorf("%d bytes arrived, or others than the %d written", len(s.text()), len(data)+3)
		}
	})
}

// A large paste arrives complete in raw mode, and the end of input is seen.
func TestTTY_Input(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		paste := strings.Repeat("0123456789abcdef", 6250)
		s := b.onTTY(t, "sh", "-c", "stty raw -echo; printf up; head -c 100000 | sha256sum")
		s.wait(t, "up")
		until(t, "raw modes", func() bool { return s.modes(t).Lflag&unix.ICANON == 0 })
		s.send(t, paste)
		s.wait(t, fmt.Sprintf("%x", sha256.Sum256([]byte(paste))))
		s.code(t)

		s = b.onTTY(t, "sh", "-c", "echo up; cat; echo \"end $?\"")
		s.wait(t, "up\r\n")
		until(t, "raw modes", func() bool { return s.modes(t).Lflag&unix.ICANON == 0 })
		s.send(t, "line\n\x04")
		s.wait(t, "line\r\nline\r\nend 0\r\n")
		if c := s.code(t); c != 0 {
			t.Errorf("exit %d", c)
		}
	})
}

// A terminal that goes away outside goes away inside as well.
func TestTTY_Hangup(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b, mark := New(t, l), sleepMarker()
		s := b.onTTY(t, "sh", "-c", "trap '' HUP; echo up; sleep "+mark+" & while echo tick; do sleep 0.02; done; wait")
		s.wait(t, "up")
		slave := s.slave
		s.slave, _ = os.Open(os.DevNull)
		slave.Close()
		s.master.Close()
		// The command ignores the signal, but its writes fail.
		until(t, "failing writes", func() bool { return len(processes("0.02")) == 0 })
		_ = s.cmd.Process.Kill()
		<-s.done
		until(t, "all gone", func() bool { return len(processes(mark)) == 0 })
	})
}

// A signal that comes while the terminal is being made is not lost, and does
// not upset the start.
func TestTTY_EarlySignal(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for range 3 {
			s := New(t, l).onTTY(t, "printf", "up")
			for !strings.Contains(s.text(), "up") {
				if err := s.cmd.Process.Signal(unix.SIGCONT); err != nil {
					break
				}
			}
			if c := s.code(t); c != 0 || s.text() != "up" {
				t.Errorf("exit %d, screen %q", c, s.text())
			}
		}
	})
}
