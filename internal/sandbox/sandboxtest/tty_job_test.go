//go:build linux

package sandboxtest

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An interactive shell inside has job control of its own.
func TestB106_JobControlInside(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Env = append(b.Env, "PS1=in> ")
		mark := sleepMarker()
		s := b.onTTY(t, "bash", "--norc", "--noprofile", "-i")
		step := func(typed, want string) {
			t.Helper()
			s.send(t, typed)
			s.wait(t, want)
			s.wait(t, "in> ")
		}
		if first := s.wait(t, "in> "); strings.Contains(first, "bash:") {
			t.Errorf("the shell complains: %q", first)
		}
		step("bind 'set enable-bracketed-paste off'; case $- in *m*) echo job-$((1+1));; esac\n", "job-2\r\n")
		step("sleep "+mark+" &\n", "[1]")
		step("jobs\n", "Running")
		s.send(t, "fg\n")
		s.wait(t, "sleep "+mark+"\r\n")
		until(t, "sleep in the foreground", func() bool {
			for _, p := range processes(mark) {
				return foregroundOf(p)
			}
			return false
		})
		step("\x1a", "Stopped")
		if p := processes(mark); len(p) != 1 || procState(p[0]) != "T" {
			t.Errorf("after ^Z: %v", p)
		}
		step("bg\n", "[1]")
		step("jobs\n", "Running")
		s.send(t, "fg\n")
		s.wait(t, "sleep "+mark+"\r\n")
		until(t, "sleep in the foreground", func() bool {
			p := processes(mark)
			return len(p) == 1 && foregroundOf(p[0])
		})
		step("\x03", "^C")
		until(t, "sleep ended", func() bool { return len(processes(mark)) == 0 })
		step("echo code-$?\n", "code-130\r\n")
		s.send(t, "exit 6\n")
		if c := s.code(t); c != 6 {
			t.Errorf("exit %d", c)
		}
	})
}

// foregroundOf reports whether a process's group is its terminal's foreground.
func foregroundOf(pid int) bool {
	data, _ := os.ReadFile("/proc/" + sprintf("%d", pid) + "/stat")
	_, rest, _ := strings.Cut(string(data), ") ")
	f := strings.Fields(rest)
	return len(f) > 5 && f[2] == f[5]
}

// B103: ^C ends the program, not only bawn.
func TestB103_InterruptEndsAll(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b, mark := New(t, l), sleepMarker()
		s := b.onTTY(t, "sleep", mark)
		until(t, "sleep runs", func() bool { return len(processes(mark)) == 1 })
		until(t, "raw modes", func() bool { return s.modes(t).Lflag&unix.ICANON == 0 })
		s.send(t, "\x03")
		if c := s.code(t); c != 130 {
			t.Errorf("exit %d", c)
		}
		if left := processes(mark); len(left) != 0 {
			t.Errorf("left running: %v", left)
		}
	})
}

// ^Z gives the terminal back to the shell outside, fg goes on.
func TestTTY_StopAndForeground(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, line := range []string{
			"bawn sh -c 'echo u''p; cat; echo over'",
			"sh -c '" + Binary() + " run -q --launcher " + l + " -- sh -c \"echo u\"\"p; cat; echo over\"; echo after'",
		} {
			b := New(t, l)
			s := b.shellTTY(t)
			s.send(t, line+"\n")
			s.wait(t, "up\r\n")
			until(t, "raw modes", func() bool { return s.modes(t).Iflag&unix.ICRNL == 0 && s.modes(t).Oflag&unix.OPOST == 0 })
			s.send(t, "one\n")
			s.wait(t, "one\r\none\r\n")
			s.send(t, "\x1a")
			s.wait(t, "Stopped")
			s.wait(t, "ready> ")
			if s.modes(t).Oflag&unix.OPOST == 0 {
				t.Error("the shell got a raw terminal")
			}
			s.send(t, "echo shell-$((1+1))\n")
			s.wait(t, "shell-2\r\n")
			s.send(t, "fg\n")
			until(t, "raw modes", func() bool { return s.modes(t).Oflag&unix.OPOST == 0 })
			s.send(t, "two\n")
			s.wait(t, "two\r\ntwo\r\n")
			// Stopped again, and on in the background: it must not stop or
			// take what is typed.
			s.send(t, "\x1a")
			s.wait(t, "Stopped")
			s.wait(t, "ready> ")
			s.send(t, "bg; echo bg-$((1+1))\n")
			s.wait(t, "bg-2\r\n")
			s.send(t, "echo shell-$((2+2))\n")
			s.wait(t, "shell-4\r\n")
			s.send(t, "jobs; echo jo''bs\n")
			if list := s.wait(t, "jobs\r\n"); strings.Contains(list, "Stopped") {
				t.Errorf("stopped in the background: %q", list)
			}
			s.send(t, "fg\n")
			until(t, "raw modes", func() bool { return s.modes(t).Oflag&unix.OPOST == 0 })
			s.send(t, "three\n\x04")
			s.wait(t, "three\r\nthree\r\nover\r\n")
			s.wait(t, "ready> ")
			s.send(t, "exit\n")
			s.code(t)
		}
	})
}

// Started in the background, a run neither stops nor takes what is typed, and
// gets the keyboard when it comes to the foreground.
func TestTTY_Background(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		s := b.shellTTY(t)
		s.send(t, "bawn sh -c 'echo u''p; cat; echo over' &\n")
		s.wait(t, "up\r")
		for range 3 {
			s.send(t, "echo shell-$((1+1))\n")
			s.wait(t, "shell-2\r\n")
		}
		s.send(t, "jobs; echo jo''bs\n")
		if list := s.wait(t, "jobs\r\n"); !strings.Contains(list, "Running") {
			t.Errorf("not running: %q", list)
		}
		s.send(t, "fg\n")
		until(t, "raw modes", func() bool { return s.modes(t).Oflag&unix.OPOST == 0 })
		s.send(t, "mine\n\x04")
		s.wait(t, "mine\r\nmine\r\nover\r\n")
		s.wait(t, "ready> ")
		// With the output elsewhere the command has the caller's own terminal
		// as its input, but not in the background.
		s.send(t, "bawn sh -c 'cat; echo end' >out & wait; cat out; echo do''ne\n")
		s.wait(t, "end\r\n")
		s.wait(t, "done\r\n")
		s.send(t, "exit\n")
		s.code(t)
	})
}

// ^Z where no shell could continue it stops nothing, as outside.
func TestTTY_OrphanedGroupNeverStops(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		s := New(t, l).onTTY(t, "sh", "-c", "echo up; cat; echo over")
		s.wait(t, "up\r\n")
		until(t, "raw modes", func() bool { return s.modes(t).Lflag&unix.ICANON == 0 })
		s.send(t, "first\n")
		s.wait(t, "first\r\nfirst\r\n")
		s.send(t, "\x1a")
		s.wait(t, "^Z")
		s.send(t, "on\n")
		s.wait(t, "on\r\non\r\n")
		s.send(t, "\x04")
		if c := s.code(t); c != 0 {
			t.Errorf("exit %d", c)
		}
	})
}
