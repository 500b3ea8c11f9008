//go:build linux

// Package vterm is a terminal without a window, for tests and for pictures: a
// program runs on a real pseudo-terminal, and what it draws is on a grid.
package vterm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
)

// Terminal is one. Close it.
type Terminal struct {
	Master, Slave *os.File

	mu   sync.Mutex
	emu  *vt.Emulator
	drew chan struct{} // a token after output
	work sync.WaitGroup
}

// Open makes a terminal of w columns and h lines.
func Open(w, h int) (*Terminal, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	fd := int(master.Fd())
	_ = unix.SetNonblock(fd, true) // Fd has made it block
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("unlock the terminal: %w", err), master.Close())
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("name the terminal: %w", err), master.Close())
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the terminal's other side: %w", err), master.Close())
	}
	t := &Terminal{Master: master, Slave: slave, emu: vt.NewEmulator(w, h), drew: make(chan struct{}, 1)}
	if err := t.Resize(w, h); err != nil {
		return nil, errors.Join(err, slave.Close(), master.Close())
	}
	t.work.Go(t.show)
	t.work.Go(t.reply)
	return t, nil
}

// show draws what programs write.
func (t *Terminal) show() {
	buf := make([]byte, 32<<10)
	for {
		n, err := t.Master.Read(buf)
		t.mu.Lock()
		_, _ = t.emu.Write(buf[:n])
		t.mu.Unlock()
		select {
		case t.drew <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// reply sends what the terminal answers to programs that ask it something.
func (t *Terminal) reply() {
	buf := make([]byte, 1024)
	for {
		n, err := t.emu.Read(buf)
		if _, werr := t.Master.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

// Start runs a program on the terminal, as the leader of its session.
func (t *Terminal) Start(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.Slave, t.Slave, t.Slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return cmd.Start()
}

// Type sends keys, as the bytes that a terminal sends.
func (t *Terminal) Type(keys string) error {
	_, err := t.Master.WriteString(keys)
	return err
}

// Resize changes the size, and tells the program.
func (t *Terminal) Resize(w, h int) error {
	t.mu.Lock()
	t.emu.Resize(w, h)
	t.mu.Unlock()
	return unix.IoctlSetWinsize(int(t.Slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(h), Col: uint16(w)})
}

// Text is what the screen shows, without spaces at the ends of lines.
func (t *Terminal) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := make([]string, t.emu.Height())
	for y := range lines {
		var b strings.Builder
		for x := 0; x < t.emu.Width(); x++ {
			if c := t.emu.CellAt(x, y); c != nil && c.Width > 0 {
				b.WriteString(c.Content)
			}
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// AltScreen reports whether a program has taken the whole screen.
func (t *Terminal) AltScreen() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emu.IsAltScreen()
}

// Wait returns the screen once ok says that it is what was waited for. After
// patience it is an error that shows the screen.
func (t *Terminal) Wait(patience time.Duration, ok func(text string) bool) (string, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		text := t.Text()
		if ok(text) {
			return text, nil
		}
		select {
		case <-t.drew:
		case <-late.C:
			return text, fmt.Errorf("not on the screen after %v:\n%s", patience, text)
		}
	}
}

// cell is a copy of one; outside the screen it is empty.
func (t *Terminal) cell(x, y int) uv.Cell {
	if c := t.emu.CellAt(x, y); c != nil {
		return *c
	}
	return uv.Cell{Content: " ", Width: 1}
}

// Close ends the terminal; programs on it are hung up.
func (t *Terminal) Close() error {
	err := errors.Join(t.Slave.Close(), t.Master.Close())
	if replies, ok := t.emu.InputPipe().(io.Closer); ok { // its own Close races with Read
		err = errors.Join(err, replies.Close())
	}
	t.work.Wait()
	return err
}
