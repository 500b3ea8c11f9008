//go:build linux

package linux

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// stageCaps are what the stage needs inside its own user namespace to map
// its ids and build the boundary; the command gets none. They are ambient
// because an exec by a user other than 0 would lose them.
var stageCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_PTRACE}

// forkNative clones this program into new namespaces. The stage maps the ids
// itself, so that the clone can share memory until its exec: a copy of this
// process's page tables would cost more than the namespaces.
func forkNative(tty bool, stdio sandbox.Stdio) (*process, error) {
	files, done, err := standardFiles(tty, stdio)
	if err != nil {
		return nil, err
	}
	defer done()
	return fork(child{
		mechanism: Native,
		path:      "/proc/self/exe",
		args:      []string{"bawn: sandbox"},
		files:     append(files, make([]uintptr, 2)...),
		sys: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
				unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
			AmbientCaps: stageCaps,
			Setsid:      true,
			Pdeathsig:   syscall.SIGKILL,
		},
	})
}

// Early is a native stage that starts up while its sandbox is still being
// planned, so that the one costs no time on top of the other. It knows
// nothing and does nothing until it is described; it ends with this process.
type Early struct {
	p   *process
	err error
}

// Prepare starts a stage ahead. It must be called on the goroutine that will
// call Start, with the streams that Start will get; an error shows there.
func Prepare(tty bool, stdio sandbox.Stdio) *Early {
	p, err := forkNative(tty, stdio)
	return &Early{p: p, err: err}
}

// Close ends a stage that was not used. It may be called on nil.
func (e *Early) Close() {
	if e != nil && e.p != nil {
		e.p.Kill()
		_ = e.p.Close()
		e.p = nil
	}
}

// start describes the stage that waits, or one started now.
func (e *Early) start(data []byte, spec sandbox.Spec, stdio sandbox.Stdio) (sandbox.Process, error) {
	var p *process
	var err error
	if e != nil && (e.p != nil || e.err != nil) {
		p, err = e.p, e.err
		e.p, e.err = nil, nil
	} else {
		p, err = forkNative(spec.TTY, stdio)
	}
	if err != nil {
		return nil, err
	}
	p.local = spec.Net.Local
	if err := p.describe(data); err != nil {
		_ = p.Close()
		return nil, err
	}
	if err := p.await(Native); err != nil {
		return nil, err
	}
	return p, nil
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
