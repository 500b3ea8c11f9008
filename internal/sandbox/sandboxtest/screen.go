//go:build linux

package sandboxtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// screen is a pseudo-terminal with a program on it, as a terminal emulator
// has it.
type screen struct {
	master, slave *os.File
	cmd           *exec.Cmd
	done          chan struct{} // closed when the program has been waited for

	mu   sync.Mutex
	out  []byte
	seen int // what wait has gone past
}

func openTTY(t *testing.T) *screen {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0) // a Close ends a Read
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{master: os.NewFile(uintptr(fd), "master"), done: make(chan struct{})}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		s.slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.resize(t, 24, 80)
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := s.master.Read(buf)
			s.mu.Lock()
			s.out = append(s.out, buf[:n]...)
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// start runs cmd as the leader of the terminal's session.
func (s *screen) start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if cmd.Stdin == nil {
		cmd.Stdin = s.slave
	}
	if cmd.Stdout == nil {
		cmd.Stdout = s.slave
	}
	if cmd.Stderr == nil {
		cmd.Stderr = s.slave
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.cmd = cmd
	go func() {
		_ = cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-s.done
		s.slave.Close()
		s.master.Close()
	})
}

func (s *screen) resize(t *testing.T, rows, cols uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}); err != nil {
		t.Fatal(err)
	}
}

// send types text.
func (s *screen) send(t *testing.T, text string) {
	t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// wait reads on until text appears, and returns what came before it.
func (s *screen) wait(t *testing.T, text string) string {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		s.mu.Lock()
		rest := s.out[s.seen:]
		i := bytes.Index(rest, []byte(text))
		if i >= 0 {
			s.seen += i + len(text)
			before := string(rest[:i])
			s.mu.Unlock()
			return before
		}
		shown := string(rest)
		s.mu.Unlock()
		if time.Now().After(end) {
			t.Fatalf("%q did not appear; the screen has %q", text, shown)
		}
	}
}

// code waits for the end of the program; all it wrote is in text then.
func (s *screen) code(t *testing.T) int {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		t.Fatalf("the program did not end; the screen has %q", s.text())
	}
	// What the program wrote is in the line discipline already: a byte of our
	// own comes after it.
	if _, err := s.slave.WriteString("\x05"); err != nil {
		t.Fatal(err)
	}
	until(t, "end of output", func() bool { return strings.HasSuffix(s.text(), "\x05") })
	s.mu.Lock()
	s.out = s.out[:len(s.out)-1]
	s.mu.Unlock()
	return s.cmd.ProcessState.ExitCode()
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.out)
}

func (s *screen) modes(t *testing.T) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

// pending is what was typed, or pushed by force, and nobody has read.
func (s *screen) pending(t *testing.T) string {
	t.Helper()
	fd := int(s.slave.Fd())
	m := s.modes(t)
	raw := m
	raw.Lflag &^= unix.ICANON
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 0, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &raw); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, &m) }()
	buf := make([]byte, 4096)
	n, err := unix.Read(fd, buf)
	if err != nil && !errors.Is(err, unix.EAGAIN) {
		t.Fatal(err)
	}
	return string(buf[:max(n, 0)])
}

const patience = Limit

// until polls a condition of the host.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// Screen is a pseudo-terminal for the tests of other packages.
type Screen struct{ s *screen }

// OpenScreen makes one of 24 lines and 80 columns.
func OpenScreen(t *testing.T) Screen { return Screen{openTTY(t)} }

// Start runs cmd as the leader of the terminal's session, on the terminal but
// for the streams that cmd has already.
func (s Screen) Start(t *testing.T, cmd *exec.Cmd) { t.Helper(); s.s.start(t, cmd) }

// Send types text, Wait reads on until text appears and returns what came
// before it, and Code waits for the end of the program.
func (s Screen) Send(t *testing.T, text string)        { t.Helper(); s.s.send(t, text) }
func (s Screen) Wait(t *testing.T, text string) string { t.Helper(); return s.s.wait(t, text) }
func (s Screen) Code(t *testing.T) int                 { t.Helper(); return s.s.code(t) }

// Text is all that was shown so far.
func (s Screen) Text() string { return s.s.text() }

// Modes are the terminal's modes now, and Pending what was typed and nobody
// has read.
func (s Screen) Modes(t *testing.T) unix.Termios { t.Helper(); return s.s.modes(t) }
func (s Screen) Pending(t *testing.T) string     { t.Helper(); return s.s.pending(t) }

// HangUp closes the terminal, as when its window is closed.
func (s Screen) HangUp() { s.s.master.Close() }

// Command is `bawn run FLAGS -- args` in the workspace, not started.
func (b *Box) Command(args ...string) *exec.Cmd {
	all := append([]string{"run", "--launcher", b.Launcher}, b.Flags...)
	cmd := exec.Command(Binary(), append(append(all, "--"), args...)...)
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	return cmd
}

// Until waits for a file of the host.
func Until(t *testing.T, path string) {
	t.Helper()
	until(t, path, func() bool { st, err := os.Stat(path); return err == nil && st.Size() > 0 })
}
