package session

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// openPTY makes a terminal of the host.
func openPTY() (master, slave *os.File, err error) {
	m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(m, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0)
	}
	name := "/dev/pts/" + strconv.Itoa(n)
	s := -1
	if err == nil {
		s, err = unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		unix.Close(m)
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	return os.NewFile(uintptr(m), "/dev/ptmx"), os.NewFile(uintptr(s), name), nil
}

// dieWithParent ends the command when this process ends, however it does.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

func lockThread() { runtime.LockOSThread() }

// endGroup ends what an ended command left behind.
func endGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }

// awaitExit waits for the end of a child, which stays to be waited for.
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
