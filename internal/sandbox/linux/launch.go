//go:build linux

// Package linux starts sandboxes on Linux. Two launchers make the same
// boundary from one Spec: native clones the namespaces itself, bwrap lets
// bubblewrap make them. What runs inside is package stage for both.
package linux

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/stage"
)

// Launcher names who makes the namespaces. The zero value is Auto.
type Launcher string

const (
	Auto   Launcher = ""
	Native Launcher = "native"
	Bwrap  Launcher = "bwrap"
)

// ParseLauncher reads the value of --launcher.
func ParseLauncher(s string) (Launcher, error) {
	switch s {
	case "auto":
		return Auto, nil
	case "native", "bwrap":
		return Launcher(s), nil
	}
	return Auto, fmt.Errorf("unknown launcher %q: it is auto, native or bwrap", s)
}

// Backend starts Specs with one launcher; Auto takes native, and bwrap where
// native cannot work.
type Backend struct {
	Launcher Launcher
	// Early is a native stage started ahead by Prepare, or nil. The Backend
	// takes it over: it serves the first Start.
	Early *Early
	// Gate, if set, says whether the command may start. It is asked once the
	// sandbox is described, and so costs no time where one is being made beside;
	// with its error nothing runs.
	Gate func() error
}

// WithGate implements sandbox.Gated.
func (b Backend) WithGate(gate func() error) sandbox.Backend {
	if then := b.Gate; then != nil {
		first := gate
		gate = func() error {
			if err := first(); err != nil {
				return err
			}
			return then()
		}
	}
	b.Gate = gate
	return b
}

// Start implements sandbox.Backend.
func (b Backend) Start(spec sandbox.Spec, stdio sandbox.Stdio) (sandbox.Process, error) {
	defer b.Early.Close() // unless it was taken: a stage that nobody describes would wait on
	data, err := encode(spec)
	if err != nil {
		return nil, err
	}
	gate := func() error { return nil }
	if b.Gate != nil {
		gate = sync.OnceValue(b.Gate)
	}
	bwrap := func() (sandbox.Process, error) {
		if err := gate(); err != nil {
			return nil, err
		}
		return startBwrap(spec, stdio)
	}
	switch b.Launcher {
	case Native:
		return b.Early.start(data, spec, stdio, gate)
	case Bwrap:
		b.Early.Close()
		return bwrap()
	}
	p, err := b.Early.start(data, spec, stdio, gate)
	var native, neither *sandbox.Unavailable
	if !errors.As(err, &native) {
		return p, err
	}
	if err := unstaged(spec.Mounts, native.Error()); err != nil {
		return nil, err
	}
	p, err = bwrap()
	if errors.As(err, &neither) {
		return nil, &sandbox.Unavailable{Mechanism: native.Error(), Reason: neither.Error()}
	}
	return p, err
}

// encode writes what a stage is told, once it is clear that one can start and
// what it needs is there.
func encode(spec sandbox.Spec) ([]byte, error) {
	if len(spec.Args) == 0 || spec.Args[0] == "" {
		return nil, errors.New("no command given")
	}
	if err := checkLocal(spec.Net.Local); err != nil {
		return nil, err
	}
	if err := CheckLimits(); err != nil {
		return nil, err
	}
	if err := makeStores(spec.Mounts); err != nil {
		return nil, err
	}
	return sandbox.MarshalSpec(spec)
}

func checkLocal(ports []uint16) error {
	if n := len(ports); n > stage.MaxLocal {
		return fmt.Errorf("%d local ports are let in: at most %d can be", n, stage.MaxLocal)
	}
	return nil
}

// process is a sandbox started by either launcher, or by a keeper.
type process struct {
	pid     int // of the launcher's child: pid 1 itself, or bwrap
	kept    int // pidfd of pid 1, which is a keeper's child, or 0
	control int
	spec    int      // the Spec file, until it is described
	stderr  *os.File // bwrap's own messages
	pending []sandbox.Event
	local   []uint16      // Spec.Net.Local
	bwrap   bool          // pid is bubblewrap, and its child pid 1
	ended   chan struct{} // closed by Close
	apart   bool          // has a pid namespace: after MsgExited pid 1 alone is left
	exited  atomic.Bool   // MsgExited was read

	// Numbers of descriptors and processes are given out anew: a call that
	// came after Close would reach another sandbox, or another's process.
	mu      sync.RWMutex // held for reading while control and pid are used
	closing atomic.Bool
	closed  bool // control is no longer ours
	reaped  bool // nor is pid
}

// child describes the launcher's process.
type child struct {
	mechanism Launcher
	role      string // what it is started as (stage.Mark), if not mechanism's stage
	path      string
	args      []string
	files     []uintptr // from descriptor 0; the control and Spec slots are filled in
	room      int       // size of the table of descriptors, at least
	sys       *syscall.SysProcAttr
}

// launch starts the child and describes the sandbox to it.
func launch(data []byte, c child, g sandbox.Guard) (*process, error) {
	f := <-fork(c, func() {})
	if f.err != nil {
		return nil, f.err
	}
	if err := f.p.describe(data, g); err != nil {
		return nil, err
	}
	return f.p, nil
}

type forked struct {
	p   *process
	err error
}

// fork starts the child with the control socket and an empty Spec file, where
// it waits to be described. done is called when it has its descriptors.
func fork(c child, done func()) <-chan forked {
	out := make(chan forked, 1)
	go func() {
		// The kernel sends the parent-death signal when the creating thread
		// ends: it is kept for the life of the sandbox, and is not the
		// caller's, which need not wait while the namespaces are made.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		p, err := c.fork()
		done()
		out <- forked{p, err}
		if err == nil {
			<-p.ended
		}
	}()
	return out
}

func (c child) fork() (*process, error) {
	spec, err := unix.MemfdCreate("bawn-spec", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("describe the sandbox: %w", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		unix.Close(spec)
		return nil, fmt.Errorf("control socket: %w", err)
	}
	c.files[stage.ControlFD], c.files[stage.SpecFD] = uintptr(pair[1]), uintptr(spec)
	c.files = stage.Widen(c.files, c.room, uintptr(pair[1]))
	if c.role == "" {
		c.role = string(c.mechanism)
	}
	mark := stage.Mark{Launcher: c.role, UID: os.Getuid(), GID: os.Getgid()}
	pid, err := syscall.ForkExec(c.path, c.args, &syscall.ProcAttr{
		Env:   mark.Environ(),
		Files: c.files,
		Sys:   c.sys,
	})
	unix.Close(pair[1])
	if err != nil {
		unix.Close(pair[0])
		unix.Close(spec)
		if err == unix.EAGAIN {
			return nil, noProcess()
		}
		if err == unix.ENOSPC {
			err = errors.New("there are as many as user.max_*_namespaces allow, or they lie too deep in each other")
			return nil, &sandbox.Unavailable{Mechanism: string(c.mechanism), Reason: "cannot make namespaces: " + err.Error()}
		}
		if stage.NoNamespaces(err) {
			return nil, &sandbox.Unavailable{Mechanism: string(c.mechanism), Reason: "cannot make namespaces: " + err.Error()}
		}
		return nil, unstartable(fmt.Errorf("start %s: %w", c.mechanism, err))
	}
	return &process{pid: pid, control: pair[0], spec: spec, ended: make(chan struct{})}, nil
}

// describe gives the waiting child its Spec, or ends it.
func (p *process) describe(data []byte, g sandbox.Guard) error {
	err := stage.WriteAll(p.spec, data)
	unix.Close(p.spec)
	if err == nil {
		err = p.sendSpec(nil, nil, g)
	}
	if err != nil {
		_ = p.Close()
		return fmt.Errorf("describe the sandbox: %w", err)
	}
	return nil
}

// sendSpec says that the Spec is complete, with the stage's own descriptors, the
// session's layers and the file by which the guard takes turns with others. A
// child that is gone has said why, or will be found to have said nothing.
func (p *process) sendSpec(own, layers []int, g sandbox.Guard) error {
	msg := []byte{stage.MsgSpec, byte(len(own)), 0}
	fds := slices.Concat(own, layers)
	lock, notice := openTurn(g)
	if lock >= 0 {
		defer unix.Close(lock)
		fds = append(fds, lock)
		msg[2] = 1
	}
	if notice != "" {
		p.pending = append(p.pending, sandbox.Event{Kind: sandbox.EventNotice, Reason: notice})
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	if err := unix.Sendmsg(p.control, msg, rights, nil, 0); err != unix.EPIPE {
		return err
	}
	return nil
}

// specFile is stage.SpecFile.
func specFile(data []byte) (int, error) {
	fd, err := stage.SpecFile(data)
	if err != nil {
		return -1, fmt.Errorf("describe the sandbox: %w", err)
	}
	return fd, nil
}

// await reads the first message: ready, or why not.
func (p *process) await(mechanism Launcher) error {
	ev, err := p.read()
	if err == nil && ev.Kind == sandbox.EventNetwork {
		p.pending = append(p.pending, ev)
		ev, err = p.read()
	}
	switch {
	case err != nil:
		reason := p.launcherOutput()
		if reason == "" {
			reason = "ended before the boundary stood"
		}
		_ = p.Close()
		if p.kept != 0 { // the mechanism has worked before
			return fmt.Errorf("%s: the sandbox %s", mechanism, reason)
		}
		return &sandbox.Unavailable{Mechanism: string(mechanism), Reason: reason}
	case ev.Kind == eventReady && ev.Reason != "":
		p.pending = append(p.pending, sandbox.Event{Kind: sandbox.EventNotice, Reason: ev.Reason})
	case ev.Kind == sandbox.EventFailed:
		_ = p.Close()
		return failed(ev, mechanism)
	}
	return nil
}

// failed is the error that a message of failure stands for.
func failed(ev sandbox.Event, mechanism Launcher) error {
	if ev.Code == stage.CodeUnavailable {
		return &sandbox.Unavailable{Mechanism: string(mechanism), Reason: ev.Reason}
	}
	return errors.New(ev.Reason)
}

// Next implements sandbox.Process.
func (p *process) Next() (sandbox.Event, error) {
	if len(p.pending) > 0 {
		ev := p.pending[0]
		p.pending = p.pending[1:]
		return ev, nil
	}
	return p.read()
}

func (p *process) read() (sandbox.Event, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return sandbox.Event{}, os.ErrProcessDone
	}
	msg, oob, err := receive(p.control)
	if err != nil {
		return sandbox.Event{}, errors.New("the sandbox ended without a word")
	}
	return p.decode(msg, oob)
}

// receive reads one message from a control socket.
func receive(control int) (msg, oob []byte, err error) {
	buf := make([]byte, 8<<10)
	oob = make([]byte, unix.CmsgSpace(4*(stage.MaxLocal+16)))
	for {
		n, oobn, _, _, err := unix.Recvmsg(control, buf, oob, unix.MSG_CMSG_CLOEXEC)
		// A stage that ends with signals unread resets the connection, which is
		// told before its last words are.
		if err == unix.EINTR || err == unix.ECONNRESET {
			continue
		}
		if err == nil && n == 0 {
			err = unix.EPIPE
		}
		return buf[:max(n, 0)], oob[:max(oobn, 0)], err
	}
}

// tell sends a message to the stage.
func (p *process) tell(msg ...byte) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return os.ErrProcessDone
	}
	_, err := unix.Write(p.control, msg)
	return err
}

// Signal implements sandbox.Process.
func (p *process) Signal(sig int) error { return p.tell(stage.MsgSignal, byte(sig)) }

// Connect implements sandbox.Process.
func (p *process) Connect(port uint16) error {
	return p.tell(stage.MsgConnect, byte(port>>8), byte(port))
}

// Ack implements sandbox.Process.
func (p *process) Ack() error { return p.tell(stage.MsgTTY) }

// Kill implements sandbox.Process.
func (p *process) Kill() {
	p.mu.RLock()
	defer p.mu.RUnlock()
	switch {
	case p.reaped:
	case p.kept != 0:
		_ = unix.PidfdSendSignal(p.kept, unix.SIGKILL, nil, 0)
	default:
		_ = unix.Kill(p.pid, unix.SIGKILL)
	}
}

// Wait implements sandbox.Process. The pid stays taken until Close.
func (p *process) Wait() {
	if !p.apart || !p.exited.Load() {
		p.wait()
	}
}

// wait waits until the process itself is gone.
func (p *process) wait() {
	if p.kept != 0 {
		p.mu.RLock()
		reaped := p.reaped
		p.mu.RUnlock()
		if !reaped {
			waitKept(p.kept)
		}
		return
	}
	for unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// Close implements sandbox.Process.
func (p *process) Close() error {
	if p.closing.Swap(true) {
		return nil
	}
	// A stage that still runs ends on this, and so does a call that waits.
	_ = unix.Shutdown(p.control, unix.SHUT_RDWR)
	p.mu.Lock()
	p.closed = true
	unix.Close(p.control)
	p.mu.Unlock()
	if p.kept == 0 || !p.exited.Load() { // its keeper waits for it
		p.wait() // Kill may end it meanwhile
	}
	p.mu.Lock()
	p.reaped = true
	if p.kept != 0 {
		unix.Close(p.kept)
		p.mu.Unlock()
		return nil
	}
	var st unix.WaitStatus
	for {
		if _, err := unix.Wait4(p.pid, &st, 0, nil); err != unix.EINTR {
			break
		}
	}
	p.mu.Unlock()
	if p.stderr != nil {
		p.stderr.Close()
	}
	close(p.ended)
	return nil
}
