//go:build unix

package session

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/approval"
	"bawn/internal/sandbox"
	"bawn/internal/session/hint"
	"bawn/internal/tty"
)

// terminal joins the caller's terminal with the one that the command has in
// the sandbox. All methods work on nil: a run without a terminal.
type terminal struct {
	master  *os.File
	in, out int
	drained chan struct{} // closed when all that the command wrote is passed on
	quit    *os.File      // closing it ends the reader of the keyboard

	// The keyboard is read only while mu is held and isRaw is true, so that
	// after restore nothing typed goes to the command.
	mu     sync.Mutex
	change sync.Cond
	saved  *unix.Termios
	isRaw  bool
	closed bool
	lent   bool // a question has the terminal

	tail hint.Tail // of what the command wrote, once drained is closed

	// screen is held while something is written to the caller's terminal, and
	// while it is lent: what the command writes meanwhile waits.
	screen sync.Mutex
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := getTermios(int(f.Fd()))
	return err == nil
}

// OneTerminal reports whether the three streams are one and the same
// terminal. Only then can another stand for it: with two, what is written to
// one must not appear on the other.
func OneTerminal(s sandbox.Stdio) bool {
	var dev [3]uint64
	for i, f := range []*os.File{s.In, s.Out, s.Err} {
		var st unix.Stat_t
		if !IsTerminal(f) || unix.Fstat(int(f.Fd()), &st) != nil {
			return false
		}
		dev[i] = uint64(st.Rdev)
	}
	return dev[0] == dev[1] && dev[1] == dev[2]
}

// attachTerminal gives the command's terminal the size and modes of the
// caller's, before the command starts.
func attachTerminal(master *os.File, s sandbox.Stdio) (*terminal, error) {
	t := &terminal{master: master, in: int(s.In.Fd()), out: int(s.Out.Fd()), drained: make(chan struct{})}
	t.change.L = &t.mu
	saved, err := getTermios(t.in)
	if err != nil {
		return nil, fmt.Errorf("read the terminal's modes: %w", err)
	}
	t.saved = saved
	modes := *saved
	if !foreground(t.in) {
		cook(&modes) // these are of whoever has the terminal now, often a shell's line editor
	}
	if err := setTermios(int(master.Fd()), &modes); err != nil {
		return nil, fmt.Errorf("set the terminal's modes: %w", err)
	}
	t.resize()
	return t, nil
}

// cook sets the modes in which a shell starts a command.
func cook(m *unix.Termios) {
	m.Iflag |= unix.BRKINT | unix.ICRNL | unix.IXON
	m.Oflag |= unix.OPOST | unix.ONLCR
	m.Lflag |= unix.ISIG | unix.ICANON | unix.IEXTEN | unix.ECHO | unix.ECHOE | unix.ECHOK | unix.ECHOCTL | unix.ECHOKE
	m.Cc[unix.VLNEXT] = 'V' - '@'
}

// relay starts to pass bytes in both directions.
func (t *terminal) relay() error {
	if t == nil {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("relay the terminal: %w", err)
	}
	t.quit = w
	t.raw() // first, or the caller's terminal would process the output again
	go t.output()
	go t.input(r)
	return nil
}

// output passes on what the command writes until its terminal has no one
// left. A terminal that has gone away outside goes away inside as well.
func (t *terminal) output() {
	defer close(t.drained)
	buf := make([]byte, 64<<10)
	for {
		n, err := tty.Read(t.master, buf)
		_, _ = t.tail.Write(buf[:n])
		if n > 0 && t.show(buf[:n]) != nil {
			_ = t.master.Close()
			return
		}
		if err != nil {
			return // EIO: every slave is closed
		}
	}
}

// wrote is the end of what the command wrote, nil while it may write more.
func (t *terminal) wrote() []byte {
	if t == nil {
		return nil
	}
	select {
	case <-t.drained:
		return t.tail.Bytes()
	default:
		return nil
	}
}

func (t *terminal) show(b []byte) error {
	t.screen.Lock()
	defer t.screen.Unlock()
	return tty.WriteAll(t.out, b)
}

// lend takes the terminal from the command for a question; the function gives
// it back. An error says why that cannot be: nothing is lent then.
func (t *terminal) lend() (giveBack func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	t.settle()
	t.screen.Lock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isRaw || t.closed || !foreground(t.in) {
		t.screen.Unlock()
		return nil, approval.ErrBackground
	}
	t.isRaw, t.lent = false, true
	if err := setTermios(t.in, t.saved); err != nil {
		t.lent = false
		t.screen.Unlock()
		return nil, fmt.Errorf("the terminal's modes cannot be set: %w", err)
	}
	return func() {
		t.mu.Lock()
		t.lent = false
		t.mu.Unlock()
		t.raw() // first, or what the command wrote would be processed twice
		t.screen.Unlock()
	}, nil
}

// settle waits for what the command has written already, so that it stands
// before the question; not for ever, as it may write without end.
func (t *terminal) settle() {
	for range 50 {
		fds := []unix.PollFd{{Fd: int32(t.master.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 0); n == 0 && err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// input passes on what is typed, for as long as the keyboard is ours.
func (t *terminal) input(quit *os.File) {
	defer quit.Close()
	buf := make([]byte, 4<<10)
	for {
		t.mu.Lock()
		for !t.isRaw && !t.closed {
			t.change.Wait()
		}
		closed := t.closed
		t.mu.Unlock()
		if closed {
			return
		}
		fds := []unix.PollFd{{Fd: int32(t.in), Events: unix.POLLIN}, {Fd: int32(quit.Fd())}}
		if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
			return
		}
		if fds[1].Revents != 0 {
			return
		}
		if fds[0].Revents == 0 {
			continue
		}
		n, err := t.read(buf)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
		case err != nil || n == 0: // the terminal was hung up
			_ = t.master.Close()
			return
		default:
			if _, err := t.master.Write(buf[:n]); err != nil {
				return
			}
		}
	}
}

// read takes what is there to read, if it is for the command: in the
// background this process would be stopped for it.
func (t *terminal) read(buf []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isRaw {
		return 0, unix.EAGAIN
	}
	if !foreground(t.in) {
		t.isRaw = false // another has the terminal, and its modes, now
		return 0, unix.EAGAIN
	}
	// A question may have read what was there when input looked: this must not
	// wait with mu held.
	fds := []unix.PollFd{{Fd: int32(t.in), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 0); n == 0 || err != nil {
		return 0, unix.EAGAIN
	}
	return unix.Read(t.in, buf)
}

// raw hands the keyboard to the command, if this process is in the
// foreground; in the background it would be stopped for trying.
func (t *terminal) raw() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.lent || !foreground(t.in) {
		return
	}
	if !t.isRaw {
		// What it was at the start, or what a shell has set since.
		if now, err := getTermios(t.in); err == nil {
			t.saved = now
		}
	}
	m := *t.saved
	m.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	m.Oflag &^= unix.OPOST
	m.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	m.Cflag = m.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	m.Cc[unix.VMIN], m.Cc[unix.VTIME] = 1, 0
	if setTermios(t.in, &m) != nil {
		return
	}
	t.isRaw = true
	t.resize()
	t.change.Broadcast()
}

// waiting reports whether the keyboard is not ours yet: a shell says nothing
// when it moves a running job into the foreground.
func (t *terminal) waiting() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.isRaw && !t.closed && !t.lent
}

// restore gives the terminal back as it was, and reports whether it was ours.
func (t *terminal) restore() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isRaw {
		return false
	}
	t.isRaw = false
	if foreground(t.in) {
		_ = setTermios(t.in, t.saved)
	}
	return true
}

// close ends the relay.
func (t *terminal) close() {
	if t == nil {
		return
	}
	t.restore()
	t.mu.Lock()
	t.closed = true
	t.change.Broadcast()
	t.mu.Unlock()
	if t.quit != nil {
		_ = t.quit.Close()
	}
	_ = t.master.Close()
}

func (t *terminal) resize() {
	if t == nil {
		return
	}
	if ws, err := unix.IoctlGetWinsize(t.in, unix.TIOCGWINSZ); err == nil {
		_ = unix.IoctlSetWinsize(int(t.master.Fd()), unix.TIOCSWINSZ, ws)
	}
}

// foreground reports whether this process may read the terminal fd. One that
// is not this session's own has no foreground.
func foreground(fd int) bool {
	pgrp, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err == unix.ENOTTY {
		return true
	}
	return err == nil && pgrp == unix.Getpgrp()
}
