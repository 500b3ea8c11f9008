//go:build linux

package screen

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// asProgram runs the test binary as a program that has the screen on its
// controlling terminal: see program.
const asProgram = "BAWN_TEST_SCREEN"

func TestMain(m *testing.M) {
	if script, ok := os.LookupEnv(asProgram); ok {
		program(script)
	}
	os.Exit(m.Run())
}

// program runs script on a screen. Keys while nothing is attached: z stops
// it, p panics, d panics while something is drawn, q quits.
func program(script string) {
	done := make(chan struct{})
	var s *Screen
	s, err := Open(os.Stdin, Options{Idle: func(e uv.KeyPressEvent) {
		switch e.String() {
		case "z":
			s.Stop()
		case "p":
			panic("on purpose")
		case "d":
			s.mu.Lock()
			panic("on purpose")
		case "q":
			close(done)
		}
	}})
	if err != nil {
		panic(err)
	}
	s.SetFooter([]string{footer}, nil)
	if script != "" {
		master, slave := openPTY(noCleanup{&testing.T{}}, 80, 24)
		if err := s.Attach(1, master); err != nil {
			panic(err)
		}
		cmd := exec.Command("sh", "-c", script)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	}
	<-done
	s.Close()
	os.Exit(0)
}

type noCleanup struct{ testing.TB }

func (noCleanup) Cleanup(func()) {}
func (noCleanup) Helper()        {}

// program starts the program on the host, from a shell that has the terminal
// after it. It returns the program's process.
func (h *host) program(script string) (pid int) {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `"$SELF"; echo "ended $?"; exec sleep 60`)
	cmd.Env = append(os.Environ(), asProgram+"="+script, "SELF="+self)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = h.slave, h.slave, h.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		_ = cmd.Wait()
	})
	h.wait("the footer", isLast)
	return h.child(cmd.Process.Pid)
}

// sane waits for the modes of a terminal that is nobody's.
func (h *host) sane() {
	h.t.Helper()
	h.wait("the modes of a line", func([]string) bool {
		now, err := term.GetState(h.slave.Fd())
		return err == nil && now.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) == unix.ICANON|unix.ECHO|unix.ISIG && now.Oflag&unix.OPOST != 0
	})
}

func TestKilled(t *testing.T) {
	for name, script := range map[string]string{
		"idle":            "",
		"a command runs":  setAll + "; sleep 60",
		"on another page": `printf '\033[?1049h\033[2;2H'; ` + setAll + "; sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, 60, 12)
			// As nobody's stty sane has them.
			h.start.Iflag = h.start.Iflag&^(unix.IXON|unix.ICRNL) | unix.INLCR
			h.start.Lflag = h.start.Lflag&^(unix.IEXTEN|unix.ECHO) | unix.ECHONL
			h.start.Cc[unix.VTIME], h.start.Cc[unix.VERASE] = 3, 8
			if err := term.SetState(h.slave.Fd(), h.start); err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(h.slave, "\n\nbefore\n")
			pid := h.program(script)
			if script != "" {
				h.wait("the command's text", func(lines []string) bool { return strings.Contains(strings.Join(lines, ""), "│") })
			}
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			h.wait("the end without a footer", func(lines []string) bool {
				return strings.Contains(h.got(), "ended 137") && !slices.Contains(lines, footer) && (script != "" || slices.Contains(lines, "before"))
			})
			h.wait("the modes of before", func([]string) bool {
				now, err := term.GetState(h.slave.Fd())
				return err == nil && *now == *h.start
			})
			h.atRest(false)
		})
	}
}

func TestPanic(t *testing.T) {
	for _, key := range []string{"p", "d"} {
		h := newHost(t, 100, 30)
		h.program("")
		h.typed(key)
		h.wait("the panic and its end", func([]string) bool {
			return strings.Contains(h.got(), "goroutine ") && strings.Contains(h.got(), "ended 2")
		})
		h.sane()
		h.atRest(false)
		got := h.got()
		if at := strings.Index(got, "panic: on purpose"); at < 0 || !strings.Contains(got[:max(at, 0)], "\x1b[?2004l") {
			t.Errorf("the terminal was not given back before the panic was printed: %q", got)
		}
	}
}

// Ctrl+Z in a shell with job control: the shell has its terminal, and fg
// brings the footer back.
func TestStopAndContinue(t *testing.T) {
	h := newHost(t, 60, 12)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "--norc", "-i")
	cmd.Env = append(os.Environ(), asProgram+"=", "PS1=$ ", "SELF="+self, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = h.slave, h.slave, h.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	h.waitFor("$")
	h.typed("$SELF\r")
	h.wait("the footer", isLast)
	for i := range 2 {
		if i == 0 {
			h.typed("z")
		} else {
			pid := h.child(cmd.Process.Pid)
			if err := unix.Kill(pid, unix.SIGTSTP); err != nil {
				t.Fatal(err)
			}
		}
		h.wait("the shell", func(lines []string) bool {
			all := strings.Join(lines, "\n")
			return strings.Contains(all, "Stopped") && strings.HasSuffix(strings.TrimRight(all, "\n"), "\n$") && !slices.Contains(lines, footer)
		})
		h.typed("clear; echo $((40+2))\r")
		h.wait("a command of the shell", func(lines []string) bool { return lines[0] == "42" || lines[1] == "42" })
		h.typed("fg\r")
		h.wait("the footer again", isLast)
	}
	h.typed("q")
	h.wait("the shell at the end", func(lines []string) bool {
		return !slices.Contains(lines, footer) && strings.HasSuffix(strings.TrimRight(strings.Join(lines, "\n"), "\n"), "\n$")
	})
	h.typed("exit\r")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// child is the first child of process pid.
func (h *host) child(pid int) int {
	h.t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		h.t.Fatal(err)
	}
	defer f.Close()
	var child int
	if _, err := fmt.Fscan(bufio.NewReader(f), &child); err != nil {
		h.t.Fatal(err)
	}
	return child
}
