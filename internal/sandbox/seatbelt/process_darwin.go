package seatbelt

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/seatbelt/stage"
)

// process is a command under a profile. Its pid is its process group and its
// session too.
type process struct {
	pid       int
	spec      *os.File // the stage reads what it is to run
	status    *os.File // and tells how it went
	described []byte   // for spec
	master    *os.File // of the command's terminal, until it is handed over
	made      []string // folders to remove

	events chan sandbox.Event
	done   chan struct{} // closed by Close
	ended  chan struct{} // closed when the command and its session are gone

	mu      sync.Mutex
	reaped  bool // pid may be another's
	stopped bool
	closed  bool
}

// describe tells the stage what to run, which it then does.
func (p *process) describe() {
	spec, data := p.spec, p.described
	p.spec, p.described = nil, nil
	if spec == nil {
		return
	}
	go func() {
		_, _ = spec.Write(data) // a stage that is gone is seen by watch
		spec.Close()
	}()
}

// Ack implements sandbox.Process.
func (p *process) Ack() error {
	p.describe()
	return nil
}

// watch tells what happens until the end.
func (p *process) watch() {
	defer close(p.ended)
	said, _ := io.ReadAll(io.LimitReader(p.status, 4<<10))
	failed := len(said) > 0 && said[0] == stage.Failed
	if !failed {
		p.tell(sandbox.Event{Kind: sandbox.EventStarted})
	}
	code := p.wait()
	p.killSession()
	if failed {
		code, reason := failure(said[1:])
		p.tell(sandbox.Event{Kind: sandbox.EventFailed, Code: code, Reason: reason})
		return
	}
	p.tell(sandbox.Event{Kind: sandbox.EventExited, Code: code})
}

// failure reads what a stage says that could not become the command.
func failure(said []byte) (code int, reason string) {
	number, reason, _ := strings.Cut(string(said), " ")
	if code, err := strconv.Atoi(number); err == nil && code >= 125 && code <= 127 {
		return code, reason
	}
	return 125, string(said)
}

// wait reaps the command and gives its exit code.
func (p *process) wait() int {
	for {
		var st unix.WaitStatus
		_, err := unix.Wait4(p.pid, &st, unix.WUNTRACED|unix.WCONTINUED, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			p.setReaped()
			return 125
		case st.Stopped():
			p.setStopped(true)
			p.tell(sandbox.Event{Kind: sandbox.EventStopped, Code: int(st.StopSignal())})
			continue
		case st.Continued():
			p.setStopped(false)
			continue
		}
		p.setReaped()
		if st.Signaled() {
			return 128 + int(st.Signal())
		}
		return st.ExitStatus()
	}
}

func (p *process) setStopped(yes bool) {
	p.mu.Lock()
	p.stopped = yes
	p.mu.Unlock()
}

func (p *process) setReaped() {
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
}

// tell gives up when nobody listens any more.
func (p *process) tell(ev sandbox.Event) {
	select {
	case p.events <- ev:
	case <-p.done:
	}
}

// killTries bounds how long killSession looks for what is left.
const killTries = 200

// killSession ends what the command left behind in its session, whatever group
// it is in. The session keeps its number while it has members, so that it is
// nobody else's. What made a session of its own is not found.
func (p *process) killSession() {
	for range killTries {
		all, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Getuid())
		if err != nil {
			_ = unix.Kill(-p.pid, unix.SIGKILL)
			return
		}
		left := false
		for i := range all {
			pid := int(all[i].Proc.P_pid)
			if sid, err := unix.Getsid(pid); err == nil && sid == p.pid && pid > 1 {
				left = true
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		if !left {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// Next implements sandbox.Process.
func (p *process) Next() (sandbox.Event, error) {
	select {
	case ev := <-p.events:
		return ev, nil
	case <-p.done:
		return sandbox.Event{}, os.ErrProcessDone
	}
}

// Signal implements sandbox.Process. 0 asks whether the command is stopped.
func (p *process) Signal(sig int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.reaped || p.pid == 0:
		return os.ErrProcessDone
	case sig == 0:
		if p.stopped {
			go p.tell(sandbox.Event{Kind: sandbox.EventStopped})
		}
		return nil
	}
	return unix.Kill(-p.pid, unix.Signal(sig))
}

// Connect implements sandbox.Process: the command's loopback is the host's.
func (p *process) Connect(uint16) error {
	return errors.New("the command's loopback is the host's own")
}

// Owner implements sandbox.Process: macOS does not tell.
func (p *process) Owner(netip.AddrPort) (int, string) { return 0, "" }

// Kill implements sandbox.Process.
func (p *process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped && p.pid > 0 {
		_ = unix.Kill(-p.pid, unix.SIGKILL)
		_ = unix.Kill(p.pid, unix.SIGKILL)
	}
}

// Wait implements sandbox.Process.
func (p *process) Wait() { <-p.ended }

// Close implements sandbox.Process.
func (p *process) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.mu.Unlock()
	close(p.done)
	if p.spec != nil { // it was never told what to run
		p.Kill()
	}
	<-p.ended
	p.clean()
	for {
		select {
		case ev := <-p.events:
			if ev.TTY != nil { // nobody took it over
				ev.TTY.Close()
			}
		default:
			return nil
		}
	}
}

// clean gives back what start took. Before watch runs, the child is its too.
func (p *process) clean() {
	for _, f := range []*os.File{p.spec, p.status, p.master} {
		if f != nil {
			f.Close()
		}
	}
	if !p.reaped && p.pid > 0 {
		p.Kill()
		p.wait()
	}
	for _, dir := range p.made {
		_ = os.RemoveAll(dir)
	}
}

// openTerminal makes the command's terminal; the slave's name is what the
// profile opens.
func (p *process) openTerminal() (slave *os.File, name string, err error) {
	if p.master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, "", err
	}
	fd := p.master.Fd()
	var buf [128]byte
	for _, request := range []uint{unix.TIOCPTYGRANT, unix.TIOCPTYUNLK} {
		if err := unix.IoctlSetInt(int(fd), request, 0); err != nil {
			return nil, "", err
		}
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, unix.TIOCPTYGNAME, uintptr(unsafe.Pointer(&buf))); errno != 0 {
		return nil, "", errno
	}
	name = unix.ByteSliceToString(buf[:])
	slave, err = os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	return slave, name, err
}
