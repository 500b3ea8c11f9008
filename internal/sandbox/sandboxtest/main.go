//go:build linux

// Package sandboxtest runs the real program in the real kernel for tests: the
// binary is built once, every test runs as root and, beside that, as an
// ordinary user, and each case runs under every launcher. What a test makes
// outside its own folders bears its process id.
package sandboxtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/tools/tempdir"
)

// UserName is the ordinary user that tests make and run as.
const UserName = "bawn-test"

const (
	envBinary = "SANDBOXTEST_BAWN"  // the built program
	envUser   = "SANDBOXTEST_CHILD" // set in the second run, as the user
)

var binary string

// Binary is the path of the built program.
func Binary() string { return binary }

// Main builds the program and runs the package's tests; as root it runs them
// as UserName too, at the same time. more builds further programs in the same
// folder. Call it from TestMain.
func Main(m *testing.M, more ...func(dir string) error) {
	os.Exit(run(m, more))
}

// fuzzing reports whether this process only lists tests or fuzzes: that needs
// neither the program nor a second user, and go test starts it many times.
func fuzzing() bool {
	return slices.ContainsFunc(os.Args[1:], func(arg string) bool {
		return strings.HasPrefix(arg, "-test.fuzz") || strings.HasPrefix(arg, "-test.list")
	})
}

// rounds is how often a test repeats what depends on the moment: n times, or as
// BAWN_SOAK says (make soak).
func rounds(n int) int {
	if soak, err := strconv.Atoi(os.Getenv("BAWN_SOAK")); err == nil {
		return max(n, soak)
	}
	return n
}

func run(m *testing.M, more []func(dir string) error) int {
	if fuzzing() {
		return m.Run()
	}
	leaveTerminal()
	if os.Getenv(envKept) != "" {
		Launchers = []string{"native"}
	}
	if binary = os.Getenv(envBinary); binary == "" {
		// Not below /tmp, which is private in the sandbox: a write that
		// wrongly passes must be seen to arrive on the host.
		base := ""
		if os.Getuid() == 0 {
			base = "/opt"
		}
		dir, remove, err := tempdir.Folder(base)
		if err != nil {
			return fatal(err)
		}
		defer remove()
		if err := os.Setenv("TMPDIR", dir); err != nil {
			return fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			return fatal(err)
		}
		binary = filepath.Join(dir, "bawn")
		cmd := exec.Command("go", "build", "-o", binary, "bawn/cmd/bawn")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fatal(fmt.Errorf("build bawn: %w\n%s", err, out))
		}
		for _, build := range more {
			if err := build(dir); err != nil {
				return fatal(err)
			}
		}
	}
	if os.Getuid() != 0 || os.Getenv(envUser) != "" {
		return m.Run()
	}
	if _, err := EnsureUser(); err != nil {
		return fatal(err)
	}
	// Beside each other: most of a test is waiting for a process to start.
	type ended struct {
		code int
		said []byte
		err  error
	}
	user, started := make(chan ended, 1), make(chan struct{})
	go func() {
		var e ended
		e.code, e.said, e.err = runAsUser(sync.OnceFunc(func() { close(started) }))
		user <- e
	}()
	// A process that a test starts would hold the copied program open for
	// writing, for as long as it takes to become another: then it is busy.
	<-started
	code := m.Run()
	e := <-user
	fmt.Printf("=== the same tests as user %s\n%s", UserName, e.said)
	if e.err != nil {
		return fatal(e.err)
	}
	return max(code, e.code)
}

// leaveTerminal gives up the terminal that the tests were started from: a run
// with nobody to ask must not find it, and ask there.
func leaveTerminal() {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if sid, err := unix.Getsid(0); err == nil && sid != os.Getpid() { // for a leader, all of the session would lose it
		_ = unix.IoctlSetInt(fd, unix.TIOCNOTTY, 0)
	}
}

func fatal(err error) int {
	fmt.Fprintln(os.Stderr, "sandboxtest:", err)
	return 1
}

// EnsureUser makes the ordinary user if it is not there yet.
func EnsureUser() (*user.User, error) {
	if u, err := user.Lookup(UserName); err == nil {
		return u, nil
	}
	if out, err := exec.Command("useradd", "-m", "-s", "/bin/bash", UserName).CombinedOutput(); err != nil {
		if u, again := user.Lookup(UserName); again == nil { // made by a test of another package meanwhile
			return u, nil
		}
		return nil, fmt.Errorf("make user %s: %w: %s", UserName, err, out)
	}
	return user.Lookup(UserName)
}

// runAsUser runs this program's tests as UserName; said is what they printed.
// started is called when they run, or will not.
func runAsUser(started func()) (code int, said []byte, err error) {
	defer started()
	u, err := EnsureUser()
	if err != nil {
		return 1, nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	// The test binary lies in a folder that only root may enter.
	self, err := os.Executable()
	if err != nil {
		return 1, nil, err
	}
	dir, remove, err := tempdir.Folder("/opt")
	if err != nil {
		return 1, nil, err
	}
	defer remove()
	if err := os.Chown(dir, uid, gid); err != nil {
		return 1, nil, err
	}
	data, err := os.ReadFile(self)
	if err != nil {
		return 1, nil, err
	}
	copied := filepath.Join(dir, "test")
	if err := os.WriteFile(copied, data, 0o755); err != nil {
		return 1, nil, err
	}
	args := []string{}
	for _, a := range os.Args[1:] {
		if !strings.HasPrefix(a, "-test.testlogfile") && !strings.HasPrefix(a, "-test.coverprofile") && !strings.HasPrefix(a, "-test.gocoverdir") {
			args = append(args, a)
		}
	}
	cmd := exec.Command(copied, args...)
	cmd.Env = []string{
		"HOME=" + u.HomeDir, "USER=" + UserName, "LOGNAME=" + UserName, "SHELL=/bin/bash",
		"PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG=C.UTF-8", "TERM=" + os.Getenv("TERM"),
		"TMPDIR=" + dir, envBinary + "=" + binary, envUser + "=1", "CI=" + os.Getenv("CI"),
	}
	// Its folder is this process's: it ends with it. Linux counts the thread that
	// started it, so that one stays.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err = cmd.Start(); err == nil {
		started()
		err = cmd.Wait()
	}
	said = out.Bytes()
	if ee, ok := err.(*exec.ExitError); ok {
		return ee.ExitCode(), said, nil
	}
	return 0, said, err
}
