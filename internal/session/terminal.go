//go:build unix

package session

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// terminal joins the caller's terminal with the one that the command has in
// the sandbox. All methods work on nil: a run without a terminal.
type terminal struct {
	master  *os.File
	in, out *os.File
	saved   *unix.Termios
	isRaw   bool
	reading bool
	drained chan struct{}
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := getTermios(int(f.Fd()))
	return err == nil
}

// attachTerminal gives the command's terminal the size and modes of the
// caller's, before the command starts.
func attachTerminal(master *os.File, s sandbox.Stdio) (*terminal, error) {
	t := &terminal{master: master, in: s.In, out: s.Out, drained: make(chan struct{})}
	saved, err := getTermios(int(t.in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("read the terminal's modes: %w", err)
	}
	t.saved = saved
	if err := setTermios(int(master.Fd()), saved); err != nil {
		return nil, fmt.Errorf("set the terminal's modes: %w", err)
	}
	t.resize()
	return t, nil
}

// relay starts to pass bytes in both directions.
func (t *terminal) relay() {
	if t == nil {
		return
	}
	go func() {
		// EIO is the end: every slave is closed.
		_, _ = io.CopyBuffer(onlyWriter{t.out}, onlyReader{t.master}, make([]byte, 32<<10))
		close(t.drained)
	}()
	t.raw()
}

// raw hands the keyboard to the command, if this process is in the
// foreground; in the background it would be stopped for trying.
func (t *terminal) raw() {
	if t == nil || t.isRaw || !foreground(int(t.in.Fd())) {
		return
	}
	m := *t.saved
	m.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	m.Oflag &^= unix.OPOST
	m.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	m.Cflag = m.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	m.Cc[unix.VMIN], m.Cc[unix.VTIME] = 1, 0
	if setTermios(int(t.in.Fd()), &m) != nil {
		return
	}
	t.isRaw = true
	t.resize()
	if !t.reading {
		t.reading = true
		go func() { _, _ = io.CopyBuffer(onlyWriter{t.master}, onlyReader{t.in}, make([]byte, 4<<10)) }()
	}
}

// restore gives the terminal back as it was.
func (t *terminal) restore() {
	if t != nil && t.isRaw {
		_ = setTermios(int(t.in.Fd()), t.saved)
		t.isRaw = false
	}
}

func (t *terminal) resize() {
	if t == nil {
		return
	}
	if ws, err := unix.IoctlGetWinsize(int(t.in.Fd()), unix.TIOCGWINSZ); err == nil {
		_ = unix.IoctlSetWinsize(int(t.master.Fd()), unix.TIOCSWINSZ, ws)
	}
}

// drain waits until all that the command wrote has been passed on.
func (t *terminal) drain() {
	if t != nil {
		<-t.drained
	}
}

func foreground(fd int) bool {
	pgrp, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && pgrp == unix.Getpgrp()
}

// onlyReader and onlyWriter keep io.Copy from splicing: the bytes go through
// a buffer here, one direction at a time.
type onlyReader struct{ io.Reader }
type onlyWriter struct{ io.Writer }
