//go:build linux

package linux

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// stageCaps are what the stage needs inside its own user namespace to build
// the boundary; the command gets none. They are ambient because an exec by a
// user other than 0 would lose them.
var stageCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_SYS_PTRACE}

// startNative clones this program into new namespaces.
func startNative(data []byte, tty bool, stdio sandbox.Stdio) (sandbox.Process, error) {
	files, done, err := standardFiles(tty, stdio)
	if err != nil {
		return nil, err
	}
	defer done()
	uid, gid := os.Getuid(), os.Getgid()
	p, err := launch(data, child{
		mechanism: Native,
		path:      "/proc/self/exe",
		args:      []string{"bawn: sandbox"},
		files:     append(files, make([]uintptr, 2)...),
		sys: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
				unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
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
