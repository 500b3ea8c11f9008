//go:build linux

package stage

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/linux/filter"
)

// onThread runs f on a thread that ends with it: what f confines is gone then.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// TryFilter loads the command's system call filter for real.
func TryFilter() error {
	return onThread(func() error {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("no new privileges: %w", err)
		}
		return loadFilter(filter.Base())
	})
}

// TryNotify loads a filter that could hand calls to another process, and
// whether one that waits for the answer can be kept from repeating the call.
func TryNotify() (killable bool, err error) {
	const killableRecv = 1 << 5 // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	try := func(flags uintptr) error {
		return onThread(func() error {
			if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
				return fmt.Errorf("no new privileges: %w", err)
			}
			allow := make([]byte, 8)
			binary.NativeEndian.PutUint16(allow, unix.BPF_RET|unix.BPF_K)
			binary.NativeEndian.PutUint32(allow[4:], unix.SECCOMP_RET_ALLOW)
			prog := unix.SockFprog{Len: 1, Filter: (*unix.SockFilter)(unsafe.Pointer(&allow[0]))}
			fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
			runtime.KeepAlive(allow)
			if errno != 0 {
				return errno
			}
			return unix.Close(int(fd))
		})
	}
	if err := try(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | killableRecv); err == nil {
		return true, nil
	}
	return false, try(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
}

// TryKeyring asks for a session keyring of its own, as the sandbox does.
func TryKeyring() error {
	return onThread(func() error {
		_, _, errno := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	})
}
