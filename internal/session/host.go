//go:build unix

package session

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// hostBackend starts commands of the open tier, and those that leave the
// sandbox: with the user's own permissions, seen as a sandbox is. program is
// what is executed; "" looks Args[0] up in the command's PATH.
type hostBackend struct{ program string }

// hostProcess leads a session of its own, which ends with it.
type hostProcess struct {
	cmd    *exec.Cmd
	master *os.File // of its terminal
	events chan sandbox.Event
	acked  chan struct{}
	ack    sync.Once

	mu    sync.Mutex
	state hostState
	end   chan struct{} // closed when all is over
}

type hostState uint8

const (
	hostWaits hostState = iota // for the terminal to be attached
	hostRuns
	hostEnded
)

// Start implements sandbox.Backend; of the Spec only what the command is
// counts.
func (b hostBackend) Start(spec sandbox.Spec, stdio sandbox.Stdio) (sandbox.Process, error) {
	path := b.program
	if path == "" {
		var err error
		if path, err = sandbox.LookPath(spec.Args[0], spec.Path, spec.Dir); err != nil {
			code, why := 126, "permission denied"
			if errors.Is(err, fs.ErrNotExist) {
				code, why = 127, "command not found"
			}
			p := &hostProcess{events: make(chan sandbox.Event, 1), end: make(chan struct{}), state: hostEnded}
			p.fail(code, why, spec.Args[0])
			return p, nil
		}
	}
	p := &hostProcess{events: make(chan sandbox.Event, 3), acked: make(chan struct{}), end: make(chan struct{})}
	p.cmd = &exec.Cmd{
		Path: path, Args: spec.Args, Env: spec.Env, Dir: spec.Dir, Stdin: stdio.In, Stdout: stdio.Out, Stderr: stdio.Err,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	dieWithParent(p.cmd.SysProcAttr)
	var slave *os.File
	if spec.TTY {
		var err error
		if p.master, slave, err = openPTY(); err != nil {
			return nil, err
		}
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
		p.cmd.SysProcAttr.Setctty = true
		p.events <- sandbox.Event{Kind: sandbox.EventTTY, TTY: p.master}
	} else {
		p.ack.Do(func() { close(p.acked) })
	}
	started := make(chan struct{})
	go p.run(slave, started)
	if !spec.TTY {
		<-started // the caller may close its copies of the streams
	}
	return p, nil
}

// run starts the command once its terminal is attached, and waits for it. Its
// thread is kept: the kernel ends the child with the thread that made it.
func (p *hostProcess) run(slave *os.File, started chan<- struct{}) {
	defer close(p.end)
	lockThread()
	<-p.acked
	p.mu.Lock()
	var err error
	if p.state == hostEnded {
		err = errors.New("it was ended before it could start")
	} else if err = p.cmd.Start(); err == nil {
		p.state = hostRuns
	} else {
		p.state = hostEnded
	}
	p.mu.Unlock()
	if slave != nil {
		slave.Close()
	}
	close(started)
	if err != nil {
		code := 126
		if errors.Is(err, fs.ErrNotExist) {
			code = 127
		}
		p.fail(code, err.Error(), p.cmd.Args[0])
		return
	}
	p.events <- sandbox.Event{Kind: sandbox.EventStarted}
	awaitExit(p.cmd.Process.Pid)
	p.mu.Lock()
	endGroup(p.cmd.Process.Pid)
	p.state = hostEnded
	_ = p.cmd.Wait() // from here on the number may be another's
	p.mu.Unlock()
	code := p.cmd.ProcessState.ExitCode()
	if st, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		code = 128 + int(st.Signal())
	}
	p.events <- sandbox.Event{Kind: sandbox.EventExited, Code: code}
}

func (p *hostProcess) fail(code int, why, name string) {
	p.events <- sandbox.Event{Kind: sandbox.EventFailed, Code: code, Reason: strconv.Quote(name) + ": " + why}
	if p.cmd == nil {
		close(p.end)
	}
}

// Next implements sandbox.Process.
func (p *hostProcess) Next() (sandbox.Event, error) { return <-p.events, nil }

// Signal implements sandbox.Process.
func (p *hostProcess) Signal(sig int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != hostRuns || sig == 0 {
		return nil
	}
	return unix.Kill(-p.cmd.Process.Pid, syscall.Signal(sig))
}

// Connect implements sandbox.Process: there is no inside.
func (p *hostProcess) Connect(uint16) error { return errors.New("the command is not in a sandbox") }

// Owner implements sandbox.Process.
func (p *hostProcess) Owner(netip.AddrPort) (int, string) { return 0, "" }

// Ack implements sandbox.Process.
func (p *hostProcess) Ack() error {
	p.ack.Do(func() { close(p.acked) })
	return nil
}

// Kill implements sandbox.Process.
func (p *hostProcess) Kill() {
	p.mu.Lock()
	switch {
	case p.state == hostRuns:
		_ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL)
	case p.state == hostWaits:
		p.state = hostEnded
	}
	p.mu.Unlock()
	if p.acked != nil {
		_ = p.Ack()
	}
}

// Wait implements sandbox.Process.
func (p *hostProcess) Wait() { <-p.end }

// Close implements sandbox.Process.
func (p *hostProcess) Close() error {
	p.Kill()
	<-p.end
	return nil
}
