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
var stageCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_SYS_PTRACE}

// startNative clones this program into new namespaces. The stage maps the
// ids itself, so that the clone can share memory until its exec: a copy of
// this process's page tables would cost more than the namespaces.
func startNative(data []byte, tty bool, stdio sandbox.Stdio) (sandbox.Process, error) {
	files, done, err := standardFiles(tty, stdio)
	if err != nil {
		return nil, err
	}
	defer done()
	p, err := launch(data, child{
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
	if err != nil {
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
