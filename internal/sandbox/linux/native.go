//go:build linux

package linux

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/stage"
)

// forkNative clones this program into new namespaces.
func forkNative(tty bool, stdio sandbox.Stdio, folders int, layers bool) <-chan forked {
	files, done, err := standardFiles(tty, stdio)
	if err != nil {
		out := make(chan forked, 1)
		out <- forked{err: err}
		return out
	}
	return fork(child{
		mechanism: Native,
		path:      "/proc/self/exe",
		args:      []string{"bawn: sandbox"},
		files:     append(files, make([]uintptr, 2)...),
		room:      stage.Room(folders),
		sys:       stage.Cloned(stage.Apart|unix.CLONE_NEWNET, stage.LayerCaps(layers)...),
	}, done)
}

// Early is a native stage that starts up while its sandbox is still being
// planned, so that the one costs no time on top of the other. It knows
// nothing and does nothing until it is described; it ends with this process.
type Early struct{ stage <-chan forked }

// Prepare starts a stage ahead, with the streams that Start will get. folders
// is how many are granted beside the workspace, for speed alone; layers says
// whether the caches are private. It does not wait; an error shows in Start.
func Prepare(tty bool, stdio sandbox.Stdio, folders int, layers bool) *Early {
	e := &Early{forkNative(tty, stdio, folders, layers)}
	runtime.Gosched() // it starts here and now; the caller goes on elsewhere
	return e
}

// take is the stage, once.
func (e *Early) take() <-chan forked {
	if e == nil {
		return nil
	}
	s := e.stage
	e.stage = nil
	return s
}

// Close ends a stage that was not used. It may be called on nil.
func (e *Early) Close() {
	if s := e.take(); s != nil {
		if f := <-s; f.err == nil {
			f.p.Kill()
			_ = f.p.Close()
		}
	}
}

// start describes the stage that waits, or one started now. The command starts
// when gate says that it may; the boundary is being made meanwhile.
func (e *Early) start(data []byte, spec sandbox.Spec, stdio sandbox.Stdio, gate func() error) (sandbox.Process, error) {
	s := e.take()
	if s == nil {
		s = forkNative(spec.TTY, stdio, binds(spec.Mounts), layered(spec.Mounts))
	}
	f := <-s
	if f.err != nil {
		return nil, f.err
	}
	p := f.p
	p.local, p.apart = spec.Net.Local, true
	if err := p.describe(data, spec.Guard); err != nil {
		return nil, err
	}
	if err := gate(); err != nil {
		p.Kill()
		_ = p.Close()
		return nil, err
	}
	_ = p.tell(stage.MsgRun) // one that is gone has said why
	if err := p.await(Native); err != nil {
		return nil, err
	}
	return p, nil
}

// binds counts the trees of the host that the stage holds at once, or more.
func binds(mounts []sandbox.Mount) (n int) {
	for _, m := range mounts {
		if m.Op == sandbox.OpBind && m.Write {
			n++
		}
	}
	return n
}

// standardFiles are the stage's descriptors 0 to 2: the caller's own, or
// nothing at all where the command gets a terminal.
func standardFiles(tty bool, stdio sandbox.Stdio) (files []uintptr, done func(), err error) {
	if !tty {
		return []uintptr{stdio.In.Fd(), stdio.Out.Fd(), stdio.Err.Fd()}, func() {}, nil
	}
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	n := uintptr(null)
	return []uintptr{n, n, n}, func() { unix.Close(null) }, nil
}
