//go:build linux

package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox/linux/filter"
	"bawn/internal/tools/tempdir"
)

// A sandbox for tests: this binary again as pid 1 of its own user, mount and
// PID namespaces, which does what the stage does and runs a command.
const (
	envStage = "BAWN_GUARD_TEST_STAGE" // "guarded", "least" or "free"
	envAgent = "BAWN_GUARD_TEST_AGENT" // what the command does, if it is this binary
	envRoot  = "BAWN_GUARD_TEST_ROOT"  // a folder that becomes the root
	envInode = "BAWN_GUARD_TEST_INODE" // a file that no name may lead to for writing
	envSmall = "BAWN_GUARD_TEST_SMALL" // a folder that becomes a disk of 64 KiB
	envLooks = "BAWN_GUARD_TEST_LOOKS" // not empty: the rules are not Blind
	userUID  = 1000
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(envStage); mode != "" {
		runtime.LockOSThread()
		os.Unsetenv(envStage)
		stageMain(mode)
	}
	if agent := os.Getenv(envAgent); agent != "" {
		agents[agent]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func must(err error) {
	if err != nil {
		_, file, line, _ := runtime.Caller(1)
		fmt.Fprintf(os.Stderr, "%s:%d: %v\n", filepath.Base(file), line, err)
		os.Exit(99)
	}
}

func stageMain(mode string) {
	must(unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""))
	if root := os.Getenv(envRoot); root != "" {
		enterRoot(root)
	} else {
		must(unix.Mount("proc", "/proc", "proc", 0, ""))
		readOnly("/proc/sys")
		must(unix.Mount("devpts", "/dev/pts", "devpts", 0, "ptmxmode=666,newinstance"))
		must(unix.Mount("/dev/pts/ptmx", "/dev/ptmx", "", unix.MS_BIND, ""))
	}
	if small := os.Getenv(envSmall); small != "" {
		must(unix.Mount("tmpfs", small, "tmpfs", 0, "size=64k,mode=777"))
	}
	must(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	must(unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0))
	must(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	for c := uintptr(0); c < 64; c++ {
		_, _, _ = unix.Syscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0)
	}
	must(setCapability(false, false))
	base := []byte(filter.Base())
	prog := unix.SockFprog{Len: uint16(len(base) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&base[0]))}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); e != 0 {
		must(e)
	}
	switch mode {
	case "least":
		fd, err := Install(true)
		must(err)
		go serveLeast(fd)
	case "guarded":
		streams := Streams()
		fd, err := Install(true)
		must(err)
		rules := newTestRules()
		lock, err := unix.MemfdCreate("lock", unix.MFD_CLOEXEC) // it takes turns with nobody
		must(err)
		events := os.NewFile(3, "events")
		unix.CloseOnExec(3)
		var mu sync.Mutex
		go func() {
			must(Serve(fd, lock, streams, rules, func(e Event) {
				if e.Seen {
					return // no test is about who makes names
				}
				line, _ := json.Marshal(e)
				mu.Lock()
				defer mu.Unlock()
				_, _ = events.Write(append(line, '\n'))
			}))
		}()
	}
	path, err := exec.LookPath(os.Args[1])
	must(err)
	pid, err := syscall.ForkExec(path, os.Args[1:], &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	must(err)
	for {
		var st unix.WaitStatus
		p, err := unix.Wait4(-1, &st, 0, nil)
		if err == unix.EINTR || p != pid && err == nil {
			continue
		}
		must(err)
		if st.Signaled() {
			os.Exit(128 + int(st.Signal()))
		}
		os.Exit(st.ExitStatus())
	}
}

// enterRoot makes a nearly empty folder the root: random calls, which may run as
// the machine's root, must reach nothing of it.
func enterRoot(root string) {
	must(unix.Mount(root, root, "", unix.MS_BIND, "")) // of its own, to be among those that /proc tells
	must(unix.Chdir(root))
	for _, d := range []string{"/proc", "/dev"} {
		must(os.Mkdir(root+d, 0o755))
	}
	must(unix.Mount("tmpfs", root+"/dev", "tmpfs", 0, "mode=755"))
	must(unix.Mount("proc", root+"/proc", "proc", 0, ""))
	readOnly(root + "/proc/sys")
	for _, n := range []string{"null", "tty"} {
		must(os.WriteFile(root+"/dev/"+n, nil, 0o600))
		must(unix.Mount("/dev/"+n, root+"/dev/"+n, "", unix.MS_BIND, ""))
		remountReadOnly(root + "/dev/" + n) // its mode is the machine's
	}
	must(os.Mkdir(root+"/dev/pts", 0o755))
	must(unix.Mount("devpts", root+"/dev/pts", "devpts", 0, "ptmxmode=666,newinstance"))
	must(os.Symlink("pts/ptmx", root+"/dev/ptmx"))
	must(os.Symlink("/proc/self/fd", root+"/dev/fd"))
	must(os.Symlink("/proc/self/fd/0", root+"/dev/stdin"))
	must(unix.Chroot(root))
	must(os.Chdir("/"))
}

func readOnly(path string) {
	must(unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""))
	remountReadOnly(path)
}

func remountReadOnly(path string) {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	must(unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &attr))
}

// testRules: a denied name, one whose content is vetted, one with fixed
// content, one that is watched, and an inode.
type testRules struct{ inode unix.Stat_t }

func newTestRules() testRules {
	var r testRules
	if path := os.Getenv(envInode); path != "" {
		must(unix.Lstat(path, &r.inode))
	}
	return r
}

func (r testRules) Blind() bool { return os.Getenv(envLooks) == "" }

func (r testRules) Check(c *Call) Verdict {
	rule := policy.Rule{ID: "test:" + c.Target.Name, Text: "a protected name"}
	protected := func(t *Target) bool {
		return t.Name == "forbidden" || r.inode.Ino != 0 && t.Exists && t.Stat.Ino == r.inode.Ino && t.Stat.Dev == r.inode.Dev
	}
	switch {
	case protected(&c.Target), c.Op == Link && protected(c.Other):
		return Verdict{Rule: rule, Errno: unix.EPERM}
	case c.Target.Name == "vetted" && c.Op != Rename:
		return Verdict{Decision: Vet, Rule: rule, MaxSize: 1000, Vet: func(b []byte) error {
			if bytes.Contains(b, []byte("evil")) {
				return errors.New("it says evil")
			}
			return nil
		}}
	case c.Target.Name == "fixed" && (c.Op == Create || c.Op == Open):
		return Verdict{Decision: Fixed, Rule: rule, Content: []byte("right\n")}
	case c.Target.Name == "held" && (c.Op == Create || c.Op == Open || c.Op == Rename):
		return Verdict{Decision: Held, Rule: rule}
	case c.Target.Name == "watched":
		return Verdict{Decision: Allow, Rule: rule}
	}
	return Verdict{Decision: Allow}
}

// box is a command in a test sandbox.
type box struct {
	guarded bool
	least   bool // the least guard there can be, for comparison
	uid     int
	dir     string
	agent   string   // or args
	args    []string // program and arguments
	env     []string
}

func (b box) cmd() *exec.Cmd {
	args := b.args
	if b.agent != "" {
		args = append([]string{"/proc/self/exe"}, args...)
	}
	cmd := exec.Command("/proc/self/exe", args...)
	mode := "free"
	switch {
	case b.least:
		mode = "least"
	case b.guarded:
		mode = "guarded"
	}
	cmd.Env = append(os.Environ(), envStage+"="+mode, envAgent+"="+b.agent)
	cmd.Env = append(cmd.Env, b.env...)
	cmd.Dir = b.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: b.uid, HostID: b.uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: b.uid, HostID: b.uid, Size: 1}},
		Setsid:      true,
		Pdeathsig:   unix.SIGKILL,
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_SETPCAP, unix.CAP_SYS_CHROOT},
	}
	if b.uid != os.Getuid() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.uid), NoSetGroups: true}
	}
	return cmd
}

// ran is what came out of a box.
type ran struct {
	out    string
	code   int
	events []Event
	cpu    time.Duration // of all its processes
}

func (b box) run(t testing.TB) ran {
	t.Helper()
	cmd := b.cmd()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.ExtraFiles = []*os.File{w}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var res ran
	for dec := json.NewDecoder(r); ; {
		var e Event
		if dec.Decode(&e) != nil {
			break
		}
		res.events = append(res.events, e)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	res.out, res.code = out.String(), cmd.ProcessState.ExitCode()
	res.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return res
}

// uids are those to test as: the tester, and an ordinary user if that is root.
func uids() []int {
	if os.Getuid() == 0 {
		return []int{0, userUID}
	}
	return []int{os.Getuid()}
}

// tempDir is a folder that belongs to uid and that it can reach.
func tempDir(t testing.TB, uid int) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(tempdir.ForTest(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if uid != os.Getuid() {
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// sh runs a shell script in a new folder and returns its output and the folder.
func sh(t testing.TB, guarded bool, uid int, script string) (ran, string) {
	t.Helper()
	dir := tempDir(t, uid)
	return box{guarded: guarded, uid: uid, dir: dir, args: []string{"/bin/bash", "-c", script}}.run(t), dir
}

// agents are what this binary does as the command of a box.
var agents = map[string]func(){"model": modelAgent, "ways": waysAgent, "race": raceAgent, "tricks": tricksAgent, "bench": benchAgent,
	"umask": umaskAgent, "unshare": unshareAgent, "signals": signalAgent}

func TestBoxRuns(t *testing.T) {
	for _, uid := range uids() {
		for _, guarded := range []bool{false, true} {
			r, dir := sh(t, guarded, uid, `id -u; echo hi >file; cat file; mkdir d; mv file d; ls d; echo x >forbidden; echo $?`)
			want := fmt.Sprintf("%d\nhi\nfile\n", uid)
			if !strings.HasPrefix(r.out, want) || r.code != 0 {
				t.Errorf("uid %d, guarded %v: exit %d: %s", uid, guarded, r.code, r.out)
			}
			if _, err := os.Lstat(dir + "/forbidden"); (err != nil) != guarded {
				t.Errorf("uid %d, guarded %v: forbidden: %v: %s", uid, guarded, err, r.out)
			}
			if guarded && (len(r.events) != 1 || r.events[0].Op != Create || r.events[0].Path != dir+"/forbidden" || r.events[0].Command != "bash") {
				t.Errorf("events %+v", r.events)
			}
		}
	}
}
