//go:build linux

package stage

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/filter"
)

// start confines the calling thread and forks the command from it. Pid 1 goes on from this thread, so what
// reads the supervisor's messages later is no more privileged than the
// command, but for being out of its sight. lock is the guard's.
func start(spec sandbox.Spec, lock int, tty *terminal) (pid int, t *teller, err error) {
	if err := confine(); err != nil {
		return 0, nil, err
	}
	t = newTellerFor(nil)
	if spec.Guard.On {
		listener, err := installGuard(spec.Guard.Only.On)
		if err != nil {
			return 0, nil, err
		}
		serveGuard(t, listener, lock, spec.Guard, nil)
	}
	pid, err = spawn(spec, tty)
	return pid, t, err
}

// confine takes from the calling thread all it could use against the
// boundary: keyring, capabilities, the way back to them, and system calls.
func confine() error {
	if _, _, errno := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0); errno != 0 && errno != unix.ENOSYS && errno != unix.EPERM {
		// Where a container's filter forbids it, no keyring can be reached
		// from here either: the sandbox's own filter refuses every call.
		return fmt.Errorf("fresh session keyring: %w", errno)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	for c := uintptr(0); ; c++ {
		_, err := prctl(unix.PR_CAPBSET_DROP, c)
		if err == nil {
			continue
		}
		set, past := prctl(unix.PR_CAPBSET_READ, c)
		if past != nil {
			break // past the kernel's last capability
		}
		if set != 0 { // else bubblewrap has dropped it, and the right to
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&hdr, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return loadFilter(filter.Base())
}

// loadFilter installs a BPF program on the calling thread.
func loadFilter(blob string) error {
	if len(blob) == 0 || len(blob)%8 != 0 {
		return errors.New("no system call filter for this architecture")
	}
	code := []byte(blob)
	prog := unix.SockFprog{Len: uint16(len(code) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&code[0]))}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return fmt.Errorf("system call filter: %w", errno)
	}
	return nil
}

func spawn(spec sandbox.Spec, tty *terminal) (int, error) {
	attr := &syscall.ProcAttr{
		Env:   spec.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	}
	if tty != nil {
		s := uintptr(tty.slave)
		attr.Files = []uintptr{s, s, s}
		attr.Sys = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: tty.slave}
	}
	path, err := lookup(spec.Args[0], spec.Path)
	if err != nil {
		return 0, err
	}
	pid, err := syscall.ForkExec(path, spec.Args, attr)
	if err == syscall.ENOEXEC && textFile(path) {
		// A script without a first line, as every shell runs it.
		pid, err = syscall.ForkExec("/bin/sh", append([]string{"sh", path}, spec.Args[1:]...), attr)
	}
	if err != nil {
		return 0, execFailure(path, err)
	}
	return pid, nil
}

func execFailure(name string, err error) error {
	code, reason := 126, err.Error()
	switch {
	case errors.Is(err, unix.EAGAIN):
		reason = "no process is left of those that you may have (ulimit -u)"
	case errors.Is(err, unix.ENOENT):
		code, reason = 127, "command not found"
		if strings.Contains(name, "/") && unix.Access(name, unix.F_OK) == nil {
			reason = "the interpreter that it names is not there"
		}
	}
	return &failure{code, fmt.Errorf("%q: %s", name, reason)}
}

// textFile reports whether a shell could run the file: what has a NUL in its
// first line is a program of another machine.
func textFile(path string) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return true // the shell says why not
	}
	defer unix.Close(fd)
	var buf [256]byte
	n, _ := unix.Read(fd, buf[:])
	line, _, _ := bytes.Cut(buf[:max(n, 0)], []byte("\n"))
	return bytes.IndexByte(line, 0) < 0
}

// lookup finds a program as a shell does: the first executable file on the
// path; one that may not be executed is remembered for the error. A folder
// that hides its names has none.
func lookup(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	err := error(unix.ENOENT)
	for _, dir := range strings.Split(path, ":") {
		if dir == "" {
			dir = "."
		}
		file := dir + "/" + name
		switch e := executable(file); e {
		case nil:
			return file, nil
		case unix.EACCES:
			err = e
		}
	}
	return "", execFailure(name, err)
}

func executable(file string) error {
	var st unix.Stat_t
	if unix.Stat(file, &st) != nil {
		return unix.ENOENT
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return unix.EACCES
	}
	return unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS)
}
