//go:build linux

package linux

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/stage"
)

// errKeeper is what is said once the keeper is gone.
var errKeeper = errors.New("what the commands of this session share is gone: start another session")

// keeper is a sandbox.Keeper: one process, which starts the native stage of
// every command as its own child.
type keeper struct {
	p    *process
	done chan struct{}

	mu     sync.Mutex
	closed bool
	made   []*shared

	staged atomic.Pointer[layers] // nil: there are none
}

// NewKeeper starts one, of the native launcher alone: bubblewrap makes a
// network for each command. Where native cannot work the error is an
// *sandbox.Unavailable, and each command has to get its own network and temp,
// as Backend makes them. So it is where Network or Start returns one.
//
// The commands of one network share its loopback and its abstract unix sockets
// by design, and all of a keeper share the private temp; they see neither each
// other's processes nor IPC, and no signal passes. They inherit the umask and
// the limits of this process as they are now.
func NewKeeper() (sandbox.Keeper, error) {
	if err := CheckLimits(); err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	n := null.Fd()
	f := <-fork(child{
		mechanism: Native,
		role:      stage.Keeper,
		path:      "/proc/self/exe",
		args:      []string{"bawn: session"},
		files:     []uintptr{n, n, n, stage.ControlFD: 0, stage.SpecFD: 0},
		sys:       stage.Cloned(0, append(stage.LayerCaps(true), unix.CAP_SETFCAP)...), // or root could not be mapped in the namespaces within
	}, func() {})
	if f.err != nil {
		return nil, f.err
	}
	unix.Close(f.p.spec) // nothing is described to it
	if err := f.p.await(Native); err != nil {
		return nil, err
	}
	k := &keeper{p: f.p, done: make(chan struct{})}
	go func() {
		_, _, _ = receive(k.p.control) // it says no more: this is its end
		k.p.Wait()
		close(k.done)
	}()
	return k, nil
}

// Done implements sandbox.Keeper.
func (k *keeper) Done() <-chan struct{} { return k.done }

// Close implements sandbox.Keeper.
func (k *keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	k.closed = true
	if l := k.staged.Swap(nil); l != nil {
		l.close()
	}
	k.p.Kill() // and the kernel all that is in it
	<-k.done
	for _, s := range k.made {
		s.close()
	}
	return k.p.Close()
}

// Network implements sandbox.Keeper.
func (k *keeper) Network(n sandbox.Network) (sandbox.Shared, error) {
	if err := checkLocal(n.Local); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, errKeeper
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("control socket of a network: %w", err)
	}
	msg := []byte{stage.MsgNetwork, 0}
	if n.Proxy {
		msg[1] |= stage.NetProxy
	}
	if n.Transparent {
		msg[1] |= stage.NetTransparent
	}
	for _, port := range n.Local {
		msg = append(msg, byte(port>>8), byte(port))
	}
	err = unix.Sendmsg(k.p.control, msg, unix.UnixRights(pair[1]), nil, 0)
	unix.Close(pair[1])
	s := &shared{keeper: k, link: process{control: pair[0], local: n.Local}}
	if err == unix.EPIPE || err == unix.ECONNRESET {
		err = errKeeper
	}
	if err == nil {
		s.sockets, err = s.await()
	}
	if err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	s.ahead(0, false)
	k.made = append(k.made, s)
	return s, nil
}

// shared is one network of a keeper. On its control socket each request gets
// one answer, in order.
type shared struct {
	keeper *keeper
	link   process // control and local ports alone

	mu      sync.Mutex // a request and its answer
	sockets *sandbox.Sockets
	spare   chan forked // a stage that waits to be described, or will
	layers  bool        // whether it can make layers
}

// await reads the answer to the making of the network.
func (s *shared) await() (*sandbox.Sockets, error) {
	ev, err := s.answer()
	if err == nil && ev.Kind != sandbox.EventNetwork {
		err = fmt.Errorf("malformed answer %d of the keeper", ev.Kind)
	}
	return ev.Net, err
}

// answer reads one that is an event.
func (s *shared) answer() (sandbox.Event, error) {
	msg, oob, err := receive(s.link.control)
	if err != nil {
		return sandbox.Event{}, errKeeper
	}
	ev, err := s.link.decode(msg, oob)
	if err == nil && ev.Kind == sandbox.EventFailed {
		err = failed(ev, Native)
	}
	return ev, err
}

// Sockets implements sandbox.Shared.
func (s *shared) Sockets() *sandbox.Sockets {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.sockets
	s.sockets = nil
	return out
}

// Connect implements sandbox.Shared.
func (s *shared) Connect(port uint16) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := <-s.spare // its answer comes first
	s.spare <- f
	if _, err := unix.Write(s.link.control, []byte{stage.MsgConnect, byte(port >> 8), byte(port)}); err != nil {
		return nil, errKeeper
	}
	ev, err := s.answer()
	switch {
	case err != nil:
		return nil, err
	case ev.File == nil:
		return nil, errors.New(ev.Reason)
	}
	return ev.File, nil
}

// ahead has the next stage started, for a command as the last one: with room
// for so many folders, and with the right to make layers where it has some.
func (s *shared) ahead(folders int, layers bool) {
	spare := make(chan forked, 1)
	s.spare, s.layers = spare, layers
	go func() {
		p, err := s.fork(folders, layers)
		spare <- forked{p, err}
	}()
}

func (s *shared) fork(folders int, layers bool) (*process, error) {
	msg := []byte{stage.MsgFork, byte(folders >> 8), byte(folders), 0}
	if layers {
		msg[3] = 1
	}
	if _, err := unix.Write(s.link.control, msg); err != nil {
		return nil, errKeeper
	}
	msg, oob, err := receive(s.link.control)
	if err != nil {
		return nil, errKeeper
	}
	if fds := rights(oob); msg[0] == stage.MsgFork && len(fds) == 2 {
		return &process{control: fds[0], kept: fds[1], spec: -1, apart: true, ended: make(chan struct{})}, nil
	}
	ev, err := s.link.decode(msg, oob)
	if err == nil && ev.Kind == sandbox.EventFailed {
		return nil, failed(ev, Native)
	}
	return nil, errors.Join(errors.New("malformed answer of the keeper"), err)
}

// Start implements sandbox.Backend.
func (s *shared) Start(spec sandbox.Spec, stdio sandbox.Stdio) (sandbox.Process, error) {
	data, err := encode(spec)
	if err != nil {
		return nil, err
	}
	p, err := s.take(min(binds(spec.Mounts), 1<<16-1), layered(spec.Mounts))
	if err != nil {
		return nil, err
	}
	if err := s.describe(p, data, spec, stdio); err != nil {
		p.Kill()
		_ = p.Close()
		return nil, err
	}
	if err := p.await(Native); err != nil {
		return nil, err
	}
	return p, nil
}

// describe hands a stage what it is to be, with the session's layers if it
// shows them.
func (s *shared) describe(p *process, data []byte, spec sandbox.Spec, stdio sandbox.Stdio) error {
	if !showsLayers(spec.Mounts) {
		return p.hand(data, spec, stdio, nil)
	}
	mounts, err := s.keeper.staged.Load().mounts()
	if err != nil {
		return err
	}
	defer closeFDs(mounts)
	return p.hand(data, spec, stdio, mounts)
}

// take is a stage to describe. What went wrong ahead of time may be over.
func (s *shared) take(folders int, layers bool) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := <-s.spare
	if f.err == nil && s.layers != layers {
		_ = f.p.Close()
		f.p = nil
	}
	if f.p == nil {
		f.p, f.err = s.fork(folders, layers)
	}
	s.ahead(folders, layers)
	return f.p, f.err
}

// hand describes the sandbox to a stage that has no descriptor yet.
func (p *process) hand(data []byte, spec sandbox.Spec, stdio sandbox.Stdio, layers []int) error {
	file, err := specFile(data)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	fds := []int{file}
	if !spec.TTY {
		fds = append(fds, int(stdio.In.Fd()), int(stdio.Out.Fd()), int(stdio.Err.Fd()))
	}
	if err := p.sendSpec(fds, layers, spec.Guard); err != nil {
		return fmt.Errorf("describe the sandbox: %w", err)
	}
	return nil
}

// Close implements sandbox.Shared.
func (s *shared) Close() {
	k := s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made = slices.DeleteFunc(k.made, func(o *shared) bool { return o == s })
	s.close()
}

// close ends what the keeper's end has left, or the network before it.
func (s *shared) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link.control < 0 {
		return
	}
	f := <-s.spare
	if f.err == nil {
		_ = f.p.Close()
	}
	s.spare <- forked{err: errKeeper}
	s.sockets.Close()
	s.sockets = nil
	unix.Close(s.link.control)
	s.link.control = -1
}

// waitKept waits for the end of a keeper's child, and so of its namespaces.
func waitKept(pidfd int) {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != unix.EINTR {
			return
		}
	}
}

// pidOf is the number of the process in this pid namespace (proc(5)), 0 once
// it is gone.
func pidOf(pidfd int) int {
	text, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(pidfd))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "Pid:\t"); ok {
			n, _ := strconv.Atoi(strings.TrimSuffix(v, "\n"))
			return max(n, 0)
		}
	}
	return 0
}
