//go:build linux

package sandboxtest

import (
	"bytes"
	"context"
	endian "encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setupMachine is a machine that lacks something, emulated around bawn: a
// command line in front of it, or a system call filter on it.
type setupMachine struct {
	name    string
	prefix  []string
	filter  func(t *testing.T) // run on the thread that starts bawn
	program string             // what runs on it, if not Binary
}

// setupNoNamespaces are the machines on which neither launcher can work.
func setupNoNamespaces() []setupMachine {
	return []setupMachine{
		{name: "sysctl", prefix: setupSysctl("-U", "-c", "--keep-caps")},
		{name: "sysctl as namespace root", prefix: setupSysctl("-Ur")},
		{name: "container filter", filter: func(t *testing.T) { setupLoad(t, setupContainerFilter(), 0) }},
	}
}

// setupFakeBwrap makes a machine whose /usr/bin/bwrap is a script of ours, in
// a mount namespace of the test's own. After the words of the launcher it runs
// more, such as what takes away the namespaces.
func setupFakeBwrap(t *testing.T, mode os.FileMode, script, more string) setupMachine {
	t.Helper()
	fake := filepath.Join(Dir(t), "bwrap")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(fake, mode); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(fake); len(dir) > len("/opt/x"); dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, 0o755)
	}
	return setupMachine{name: "fake bwrap", prefix: []string{
		"unshare", "-Urm", "sh", "-c", `mount --bind "$0" /usr/bin/bwrap && ` + more + ` exec "$@"`, fake,
	}}
}

const setupNoMore = "echo 0 >/proc/sys/user/max_user_namespaces &&"

// setupProc is a machine in a container: its own process tree, with the words
// in more done to its /proc.
func setupProc(more string) setupMachine {
	return setupMachine{name: "container", prefix: []string{
		"unshare", "-Urmpf", "--mount-proc", "sh", "-c", more + ` exec "$@"`, "sh",
	}}
}

// bawn runs the program on the machine.
func (m setupMachine) bawn(t *testing.T, b *Box, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	if m.program == "" {
		m.program = Binary()
	}
	all := append(append([]string(nil), m.prefix...), append([]string{m.program}, args...)...)
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)
	var out, errb bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.Workspace, b.Environ(), &out, &errb
	cmd.Stdin = strings.NewReader(b.Stdin)
	m.start(t, cmd)
	err := cmd.Wait()
	var ee *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &ee) {
		t.Fatalf("%s: bawn %q: %v %v\nstdout: %s\nstderr: %s", m.name, args, err, ctx.Err(), out.String(), errb.String())
	}
	return Result{cmd.ProcessState.ExitCode(), out.String(), errb.String()}
}

// start starts cmd, already with the machine's prefix, under its filter.
func (m setupMachine) start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if m.filter == nil {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the filter goes with the thread
		m.filter(t)
		done <- cmd.Start()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// weaker runs `bawn run --allow-weaker` with the box's flags.
func (m setupMachine) weaker(t *testing.T, b *Box, args ...string) Result {
	t.Helper()
	return m.bawn(t, b, append(append([]string{"run", "--allow-weaker"}, append(b.Flags, "--")...), args...)...)
}

// sh runs a text in the weaker mode.
func (m setupMachine) sh(t *testing.T, b *Box, text string) Result {
	t.Helper()
	return m.weaker(t, b, "sh", "-c", text)
}

type setupInsn struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

const (
	bpfLoad  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	bpfEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	bpfAny   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	bpfRet   = unix.BPF_RET | unix.BPF_K
)

// setupContainerFilter refuses namespaces as the default filters of container
// engines do: EPERM for clone with a flag of theirs and for any unshare, no
// clone3.
func setupContainerFilter() []setupInsn {
	return []setupInsn{
		{bpfLoad, 0, 0, 0},
		{bpfEqual, 5, 0, unix.SYS_CLONE3},
		{bpfEqual, 5, 0, unix.SYS_UNSHARE},
		{bpfEqual, 0, 2, unix.SYS_CLONE},
		{bpfLoad, 0, 0, 16},
		{bpfAny, 2, 0, unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET},
		{bpfRet, 0, 0, unix.SECCOMP_RET_ALLOW},
		{bpfRet, 0, 0, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{bpfRet, 0, 0, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
	}
}

// setupErrno answers some calls with an error.
func setupErrno(errno unix.Errno, calls ...uint32) []setupInsn {
	prog := []setupInsn{{bpfLoad, 0, 0, 0}}
	for i, nr := range calls {
		prog = append(prog, setupInsn{bpfEqual, uint8(len(calls) - i), 0, nr})
	}
	return append(prog, setupInsn{bpfRet, 0, 0, unix.SECCOMP_RET_ALLOW}, setupInsn{bpfRet, 0, 0, unix.SECCOMP_RET_ERRNO | uint32(errno)})
}

// setupMountFilter forbids what namespaces are made for, and not to make them.
func setupMountFilter(errno unix.Errno) []setupInsn {
	return setupErrno(errno, unix.SYS_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT_SETATTR)
}

// setupLoad puts a filter on the calling thread and returns what seccomp did.
func setupLoad(t *testing.T, prog []setupInsn, flags uintptr) int {
	var code []byte
	for _, i := range prog {
		code = endian.NativeEndian.AppendUint16(code, i.code)
		code = append(code, i.jt, i.jf)
		code = endian.NativeEndian.AppendUint32(code, i.k)
	}
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: (*unix.SockFilter)(unsafe.Pointer(&code[0]))}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Error(err)
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
	runtime.KeepAlive(code)
	if errno != 0 {
		t.Error(errno)
	}
	return int(fd)
}

// setupLandlock is a machine without namespaces whose kernel says that it has
// this version of Landlock.
func setupLandlock(version int64) setupMachine {
	return setupMachine{name: "older Landlock", filter: func(t *testing.T) {
		setupLoad(t, setupContainerFilter(), 0)
		fd := setupLoad(t, []setupInsn{
			{bpfLoad, 0, 0, 0},
			{bpfEqual, 0, 3, unix.SYS_LANDLOCK_CREATE_RULESET},
			{bpfLoad, 0, 0, 16 + 2*8},
			{bpfEqual, 0, 1, unix.LANDLOCK_CREATE_RULESET_VERSION},
			{bpfRet, 0, 0, unix.SECCOMP_RET_USER_NOTIF},
			{bpfRet, 0, 0, unix.SECCOMP_RET_ALLOW},
		}, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
		go setupAnswer(fd, version)
	}}
}

// setupAnswer answers every notification with val, until all that have the
// filter are gone.
func setupAnswer(fd int, val int64) {
	defer unix.Close(fd)
	for {
		var req [80]byte // struct seccomp_notif
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), 0xc0502100, uintptr(unsafe.Pointer(&req))); e != 0 {
			if e == unix.EINTR {
				continue
			}
			return
		}
		var resp [24]byte // struct seccomp_notif_resp: id, val, error, flags
		copy(resp[:8], req[:8])
		endian.NativeEndian.PutUint64(resp[8:], uint64(val))
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), 0xc0182101, uintptr(unsafe.Pointer(&resp)))
	}
}

// setupNativeFilter refuses the clone of the native launcher, which shares
// memory until its exec, and not that of bubblewrap.
func setupNativeFilter() []setupInsn {
	return []setupInsn{
		{bpfLoad, 0, 0, 0},
		{bpfEqual, 0, 4, unix.SYS_CLONE},
		{bpfLoad, 0, 0, 16},
		{bpfAny, 0, 2, unix.CLONE_NEWUSER},
		{bpfAny, 0, 1, unix.CLONE_VM},
		{bpfRet, 0, 0, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{bpfRet, 0, 0, unix.SECCOMP_RET_ALLOW},
	}
}
