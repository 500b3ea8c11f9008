//go:build linux

package linux

import (
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// stageCaps are what the stage needs inside its own user namespace to map
// its ids and build the boundary; the command gets none. They are ambient
// because an exec by a user other than 0 would lose them.
var stageCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_PTRACE}

// layerCap is one more where there are layers: the kernel's overlay works with
// the rights of whoever mounts it, in folders of mode 0 that it makes. The
// guard's threads drop it like the rest.
const layerCap = unix.CAP_DAC_OVERRIDE

// forkNative clones this program into new namespaces. The stage maps the ids
// itself, so that the clone can share memory until its exec: a copy of this
// process's page tables would cost more than the namespaces.
func forkNative(tty bool, stdio sandbox.Stdio, folders int, layers bool) <-chan forked {
	files, done, err := standardFiles(tty, stdio)
	if err != nil {
		out := make(chan forked, 1)
		out <- forked{err: err}
		return out
	}
	caps := stageCaps
	if layers {
		caps = append(slices.Clone(caps), layerCap)
	}
	return fork(child{
		mechanism: Native,
		path:      "/proc/self/exe",
		args:      []string{"bawn: sandbox"},
		files:     append(files, make([]uintptr, 2)...),
		room:      room(folders),
		sys: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
				unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
			AmbientCaps: caps,
			Setsid:      true,
			Pdeathsig:   syscall.SIGKILL,
		},
	}, done)
}

// room is the number of descriptors that the stage's table is made for, where
// it holds so many folders beside its own. The kernel lets a process with
// threads enlarge it only when every CPU has passed by, which takes 10 ms; the
// child that calls exec has none yet. One number above 64 makes room for 128.
func room(folders int) int {
	n := 65 + folders
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur < uint64(2*n) { // fork needs some above
		return 0
	}
	return n
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

// start describes the stage that waits, or one started now.
func (e *Early) start(data []byte, spec sandbox.Spec, stdio sandbox.Stdio) (sandbox.Process, error) {
	s := e.take()
	if s == nil {
		s = forkNative(spec.TTY, stdio, binds(spec.Mounts), layered(spec.Mounts))
	}
	f := <-s
	if f.err != nil {
		return nil, f.err
	}
	p := f.p
	p.local = spec.Net.Local
	if err := p.describe(data); err != nil {
		return nil, err
	}
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
