//go:build linux

package guard

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/linux/filter"
)

// Unsupported says why no guard is possible here. The run can go on without
// one where the policy says so; it must tell the user once.
type Unsupported struct {
	// Nested: another listener stands above this process, as in a sandbox
	// inside a sandbox. Otherwise the kernel is older than 5.19.
	Nested bool
	Err    error
}

func (u *Unsupported) Error() string {
	if u.Nested {
		return "a name guard inside another one is not possible"
	}
	return fmt.Sprintf("the name guard needs Linux 5.19: %v", u.Err)
}

func (u *Unsupported) Unwrap() error { return u.Err }

// Install puts the calling thread, and all that is started from it, under the
// guard's filter and returns its listener, close-on-exec. removals: calls that
// take a name away are asked about as well (Remove). The caller has
// locked the thread and set no_new_privs. From here on, until Serve runs on
// another thread, the thread's own calls that make names wait.
func Install(removals bool) (listener int, err error) {
	blob := []byte(filter.Guard())
	if removals {
		blob = []byte(filter.GuardRemovals())
	}
	if len(blob) == 0 {
		return -1, &Unsupported{Err: errors.New("no filter for this architecture")}
	}
	prog := unix.SockFprog{Len: uint16(len(blob) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&blob[0]))}
	// Once the guard has taken a call, only a fatal signal ends the wait.
	// Without that, a signal would make the kernel run the call a second time.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(blob)
	switch errno {
	case 0:
		return int(fd), nil
	case unix.EBUSY:
		return -1, &Unsupported{Nested: true, Err: errno}
	case unix.EINVAL, unix.ENOSYS:
		return -1, &Unsupported{Err: errno}
	}
	return -1, fmt.Errorf("name guard: load its filter: %w", errno)
}

var probed struct {
	sync.Once
	err error
}

// Supported says why Install would fail here, or nil. It finds out once: a
// process does not lose a listener above it, and one that gets one later is
// refused by Install itself.
func Supported() error {
	probed.Do(func() { probed.err = probe() })
	return probed.err
}

// probe leaves no filter on anything that runs on: the kernel reads the flags
// before the program, which is missing. Whether another listener stands above
// can only be found out by trying, on a thread that ends with it.
func probe() error {
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, 0); errno != unix.EFAULT {
		return &Unsupported{Err: errno}
	}
	mode, _, errno := unix.Syscall(unix.SYS_PRCTL, unix.PR_GET_SECCOMP, 0, 0)
	if errno == 0 && mode == 0 {
		return nil
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			result <- err
			return
		}
		fd, err := Install(false)
		if err == nil {
			unix.Close(fd)
		}
		result <- err
	}()
	return <-result
}
