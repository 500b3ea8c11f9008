//go:build linux

package screen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// openPTY opens a pair of terminals of the kernel.
func openPTY(t testing.TB, cols, rows int) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(cols)})
	}
	if err != nil {
		t.Fatal(err)
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close(); slave.Close() })
	return master, slave
}

// host is the user's terminal: an emulator at the other side of a pty.
type host struct {
	t             testing.TB
	master, slave *os.File
	start         *term.State

	mu    sync.Mutex
	vt    *vt.Emulator
	modes map[ansi.Mode]bool
	log   bytes.Buffer // all that it got
	fresh chan struct{}
}

func newHost(t testing.TB, cols, rows int) *host {
	h := &host{t: t, vt: vt.NewEmulator(cols, rows), modes: map[ansi.Mode]bool{}, fresh: make(chan struct{}, 1)}
	h.master, h.slave = openPTY(t, cols, rows)
	h.start, _ = term.GetState(h.slave.Fd())
	h.vt.SetCallbacks(vt.Callbacks{
		EnableMode:  func(m ansi.Mode) { h.modes[m] = true },
		DisableMode: func(m ansi.Mode) { delete(h.modes, m) },
	})
	go func() { // what it answers
		buf := make([]byte, 4096)
		for {
			n, err := h.vt.Read(buf)
			if err != nil {
				return
			}
			h.master.Write(buf[:n])
		}
	}()
	t.Cleanup(func() { h.vt.InputPipe().(io.Closer).Close() })
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := h.master.Read(buf)
			h.mu.Lock()
			h.log.Write(buf[:n])
			h.vt.Write(buf[:n])
			h.mu.Unlock()
			select {
			case h.fresh <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	return h
}

// lines are the rows of the screen, without spaces at their end.
func (h *host) lines() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rows()
}

func (h *host) rows() []string {
	out := make([]string, h.vt.Height())
	for y := range out {
		var b strings.Builder
		for x := 0; x < h.vt.Width(); x++ {
			if c := h.vt.CellAt(x, y); c != nil && c.Content != "" {
				b.WriteString(c.Content)
			}
		}
		out[y] = strings.TrimRight(b.String(), " ")
	}
	return out
}

// wait waits until the screen is as ok wants it.
func (h *host) wait(what string, ok func(lines []string) bool) {
	h.t.Helper()
	deadline := time.After(patience)
	look := time.NewTicker(5 * time.Millisecond) // at what shows nothing: modes
	defer look.Stop()
	for {
		if ok(h.lines()) {
			return
		}
		select {
		case <-h.fresh:
		case <-look.C:
		case <-deadline:
			h.t.Fatalf("%s: the screen stays\n%s", what, strings.Join(h.lines(), "\n"))
		}
	}
}

// waitFor waits for a line that is exactly text.
func (h *host) waitFor(text string) {
	h.t.Helper()
	h.wait(fmt.Sprintf("a line %q", text), func(lines []string) bool {
		for _, l := range lines {
			if l == text {
				return true
			}
		}
		return false
	})
}

func (h *host) mode(m ansi.Mode) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.modes[m]
}

func (h *host) cursor() uv.Position {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.vt.CursorPosition()
}

func (h *host) got() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

func (h *host) typed(keys string) {
	h.t.Helper()
	if _, err := h.master.WriteString(keys); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) resize(cols, rows int) {
	h.mu.Lock()
	h.vt.Resize(cols, rows)
	h.mu.Unlock()
	if err := unix.IoctlSetWinsize(int(h.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(cols)}); err != nil {
		h.t.Fatal(err)
	}
	_ = unix.Kill(os.Getpid(), unix.SIGWINCH) // it is not this process's controlling terminal
}

// footer is what open shows, one line of it, in the last row.
const footer = "== footer =="

func (h *host) open(o Options, lines ...string) *Screen {
	h.t.Helper()
	s, err := Open(h.slave, o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { s.Close() })
	if lines == nil {
		lines = []string{footer}
	}
	s.SetFooter(lines, nil)
	return s
}

// run attaches a command of its own terminal; the function waits for its end.
type run struct {
	*exec.Cmd
	h      *host
	s      *Screen
	master *os.File
	task   int
}

func (h *host) run(s *Screen, task int, args ...string) *run {
	h.t.Helper()
	master, slave := openPTY(h.t, 80, 24)
	if err := s.Attach(task, master); err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	slave.Close()
	h.t.Cleanup(func() { cmd.Process.Kill() })
	return &run{cmd, h, s, master, task}
}

func (r *run) end() error {
	r.h.t.Helper()
	overdue := time.AfterFunc(patience, func() { r.Process.Kill() })
	err := r.Wait()
	if !overdue.Stop() {
		r.h.t.Fatalf("the command does not end: the screen is\n%s", strings.Join(r.h.lines(), "\n"))
	}
	r.s.Drain(r.task)
	if err := r.master.Close(); !errors.Is(err, os.ErrClosed) {
		r.h.t.Errorf("the screen left the command's terminal open: %v", err)
	}
	return err
}

// isLast reports whether the last row is the footer and no other has it.
func isLast(lines []string) bool {
	for i, l := range lines {
		if strings.Contains(l, footer) != (i == len(lines)-1) {
			return false
		}
	}
	return lines[len(lines)-1] == footer
}

// typedKeys collects what Options.Idle gets.
type typedKeys struct {
	mu   sync.Mutex
	keys []string
	more chan struct{}
}

func newTypedKeys() *typedKeys { return &typedKeys{more: make(chan struct{}, 1)} }

func (k *typedKeys) add(s string) {
	k.mu.Lock()
	k.keys = append(k.keys, s)
	k.mu.Unlock()
	select {
	case k.more <- struct{}{}:
	default:
	}
}

func (k *typedKeys) key(e uv.KeyPressEvent) { k.add(e.String()) }

func (k *typedKeys) wait(t testing.TB, want ...string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		k.mu.Lock()
		got := strings.Join(k.keys, " ")
		k.mu.Unlock()
		if got == strings.Join(want, " ") {
			return
		}
		select {
		case <-k.more:
		case <-deadline:
			t.Fatalf("keys %q, want %q", got, want)
		}
	}
}

// The end of what the last command wrote is kept, also what takes no space.
func TestTail(t *testing.T) {
	h := newHost(t, 60, 12)
	s := h.open(Options{})
	h.run(s, 7, "sh", "-c", "seq 22000; printf '\\033[31mlast\\033[m\\n'").end()
	text := string(s.Tail(7))
	if len(text) != maxTail || !strings.HasSuffix(text, "22000\r\n\x1b[31mlast\x1b[m\r\n") {
		t.Errorf("%d bytes, %q", len(text), text[max(0, len(text)-60):])
	}
	if other := s.Tail(8); other != nil {
		t.Errorf("another command's: %q", other)
	}
	h.run(s, 8, "true").end()
	if text := s.Tail(8); len(text) != 0 {
		t.Errorf("of a silent one: %q", text)
	}
}
