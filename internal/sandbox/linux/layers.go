//go:build linux

package linux

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/stage"
)

// layers are overlays that the keeper holds, for the commands of a session.
type layers struct {
	k  *keeper
	mu sync.Mutex // a request and its answer
	// link is the control socket alone, -1 once they are let go of.
	link process
	n    int
}

// Stage implements sandbox.Keeper.
func (k *keeper) Stage(mounts []sandbox.Mount) (sandbox.Layers, error) {
	if len(mounts) == 0 || len(mounts) > stage.MaxStaged {
		return nil, fmt.Errorf("%d folders to stage: it can be 1 to %d", len(mounts), stage.MaxStaged)
	}
	data, err := sandbox.MarshalSpec(sandbox.Spec{Mounts: mounts})
	if err != nil {
		return nil, err
	}
	file, err := specFile(data)
	if err != nil {
		return nil, err
	}
	defer unix.Close(file)
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return nil, errKeeper
	case k.staged.Load() != nil:
		return nil, errors.New("the session has layers already")
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("control socket of layers: %w", err)
	}
	err = unix.Sendmsg(k.p.control, []byte{stage.MsgStage}, unix.UnixRights(pair[1], file), nil, 0)
	unix.Close(pair[1])
	l := &layers{k: k, link: process{control: pair[0]}, n: len(mounts)}
	if err == nil {
		_, err = l.answer()
	} else if err == unix.EPIPE || err == unix.ECONNRESET {
		err = errKeeper
	}
	if err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	k.staged.Store(l)
	return l, nil
}

// answer is one of the keeper's, with the mounts that came with it.
func (l *layers) answer() ([]int, error) {
	msg, oob, err := receive(l.link.control)
	if err != nil {
		return nil, errKeeper
	}
	if msg[0] == stage.MsgStage {
		return rights(oob), nil
	}
	ev, err := l.link.decode(msg, oob)
	if err == nil && ev.Kind == sandbox.EventFailed {
		return nil, &policy.RefusedError{What: "to stage", Why: ev.Reason, Lift: "go on without"}
	}
	return nil, errors.Join(errors.New("malformed answer of the keeper"), err)
}

// mounts makes one of each layer, for a stage. Whoever calls closes them.
func (l *layers) mounts() ([]int, error) {
	if l == nil {
		return nil, errors.New("the session has no layers")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.link.control < 0 {
		return nil, errors.New("the session's layers are gone")
	}
	if _, err := unix.Write(l.link.control, []byte{stage.MsgStage}); err != nil {
		return nil, errKeeper
	}
	fds, err := l.answer()
	if err == nil && len(fds) != l.n {
		closeFDs(fds)
		return nil, errors.New("malformed answer of the keeper: not a mount of each layer")
	}
	return fds, err
}

// Close implements sandbox.Layers.
func (l *layers) Close() {
	l.k.staged.CompareAndSwap(l, nil)
	l.close()
}

func (l *layers) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.link.control < 0 {
		return
	}
	_ = unix.Shutdown(l.link.control, unix.SHUT_WR)
	_, _, _ = receive(l.link.control) // its end: they are unmounted
	unix.Close(l.link.control)
	l.link.control = -1
}

// showsLayers reports whether a command shows the session's layers.
func showsLayers(mounts []sandbox.Mount) bool {
	for _, m := range mounts {
		if m.Op == sandbox.OpStaged && m.Kept {
			return true
		}
	}
	return false
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
