//go:build linux

package filter

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The tests with the real kernel run in children of this test binary, because a
// filter cannot be taken off again. childEnv holds what the child does:
// "FILTERS UID ACTION", for example "base,noinet 65534 probe".
const (
	childEnv  = "BAWN_FILTER_TEST_CHILD"
	noFilter  = "none"
	actProbe  = "probe"
	actExec   = "exec" // the program and arguments are os.Args[1:]
	nobodyUID = 65534
)

func childMain(mode string) {
	runtime.LockOSThread()
	f := strings.Fields(mode)
	uid, err := strconv.Atoi(f[1])
	check(err)
	if uid != os.Getuid() {
		check(syscall.Setgroups(nil))
		check(syscall.Setresgid(uid, uid, uid))
		check(syscall.Setresuid(uid, uid, uid))
	}
	if f[0] != noFilter {
		for _, name := range strings.Split(f[0], ",") {
			check(install(map[string]string{"base": Base(), "noinet": NoInet()}[name]))
		}
	}
	switch f[2] {
	case actProbe:
		out := bufio.NewWriter(os.Stdout)
		for _, p := range probes() {
			fmt.Fprintf(out, "%s\t%d\n", p.name, p.call())
		}
		check(out.Flush())
		os.Exit(0)
	case actExec:
		check(syscall.Exec(os.Args[1], os.Args[1:], nil))
	}
	check(fmt.Errorf("unknown action %q", f[2]))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(3)
	}
}

// install loads a filter on this thread and on what it starts.
func install(blob string) error {
	if blob == "" {
		return fmt.Errorf("no filter for %s", runtime.GOARCH)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	code := append([]byte(nil), blob...)
	prog := unix.SockFprog{
		Len:    uint16(len(code) / 8),
		Filter: (*unix.SockFilter)(unsafe.Pointer(&code[0])),
	}
	_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	if e != 0 {
		return fmt.Errorf("load filter: %w", e)
	}
	return nil
}

// child makes the command that runs this binary as a child, in a session of its
// own so that no terminal of the tester is touched.
func child(filters string, uid int, action string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", childEnv, filters, uid, action))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// probeResults runs all probes in one child.
func probeResults(t *testing.T, filters string, uid int) map[string]syscall.Errno {
	t.Helper()
	cmd := child(filters, uid, actProbe)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child with %s as %d: %v\n%s%s", filters, uid, err, out, stderr.Bytes())
	}
	results := map[string]syscall.Errno{}
	for line := range strings.Lines(string(out)) {
		name, num, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		n, err := strconv.Atoi(num)
		if !ok || err != nil {
			t.Fatalf("child printed %q", line)
		}
		if _, twice := results[name]; twice {
			t.Fatalf("two probes are called %q", name)
		}
		results[name] = syscall.Errno(n)
	}
	return results
}
