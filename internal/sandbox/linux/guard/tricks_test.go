//go:build linux

package guard

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tricks run in a box and print what they found.
var tricks = map[string]func(){
	"pipe waits alone": func() { // the writer waits; other calls go on; then a reader comes
		must(unix.Mkfifo("p", 0o600))
		opened := make(chan error)
		go func() { opened <- closing(unix.Open("p", unix.O_WRONLY, 0)) }()
		for range 50 {
			must(unix.Mkdir("d", 0o700))
			must(unix.Rmdir("d"))
		}
		select {
		case err := <-opened:
			fmt.Print("did not wait ", err)
		default:
		}
		b, err := os.ReadFile("p")
		fmt.Print(string(b), err, <-opened)
	},
	"pipe, both by the guard": func() {
		must(unix.Mkfifo("p", 0o600))
		done := make(chan error)
		go func() { done <- closing(unix.Open("p", unix.O_WRONLY|unix.O_CREAT, 0o600)) }()
		fd, err := unix.Open("p", unix.O_RDONLY|unix.O_CREAT, 0o600)
		must(err)
		var b [10]byte
		n, _ := unix.Read(fd, b[:])
		fmt.Print(string(b[:n]), <-done)
	},
	"pipe without waiting": func() {
		must(unix.Mkfifo("p", 0o600))
		fmt.Print(closing(unix.Open("p", unix.O_WRONLY|unix.O_NONBLOCK, 0)), closing(unix.Open("p", unix.O_RDWR, 0)))
	},
	"pipe, signal ends the wait": func() {
		// USR1 without SA_RESTART: open fails with EINTR.
		runtime.LockOSThread()
		must(unix.Mkfifo("p", 0o600))
		signal.Ignore(unix.SIGURG)
		signal.Notify(make(chan os.Signal, 9), unix.SIGUSR1)
		var act [4]uintptr
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGUSR1), 0, uintptr(unsafe.Pointer(&act)), 8, 0, 0)
		act[1] &^= 0x10000000
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGUSR1), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
		tid := unix.Gettid()
		stop := make(chan bool)
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				// Only once it waits: in the kernel's table it sleeps.
				stat, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", tid))
				if strings.Contains(string(stat), ") S ") {
					_ = unix.Tgkill(os.Getpid(), tid, unix.SIGUSR1)
				}
			}
		}()
		fd, _, e := unix.RawSyscall6(unix.SYS_OPENAT, slot(-1), cstr("p"), unix.O_WRONLY, 0, 0, 0)
		close(stop)
		fmt.Print(int(fd) < 0, e)
	},
	"pipe, the waiting one is killed": func() {
		must(unix.Mkfifo("p", 0o600))
		cmd := exec.Command("/bin/sh", "-c", "echo x >p")
		must(cmd.Start())
		for {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", cmd.Process.Pid))
			if s := string(b); strings.Contains(s, "partner") || strings.Contains(s, "seccomp") {
				break
			}
		}
		must(cmd.Process.Kill())
		fmt.Print(cmd.Wait())
		// No writer is left behind, once the guard has noticed.
		for closing(unix.Open("p", unix.O_WRONLY|unix.O_NONBLOCK, 0)) != unix.ENXIO {
		}
		fmt.Print(" gone")
	},
	"many waiting": func() { // more than the guard has threads
		must(unix.Mkfifo("p", 0o600))
		var all []*exec.Cmd
		for range maxWorkers + 20 {
			c := exec.Command("/bin/sh", "-c", "exec 2>/dev/null; echo x >p")
			must(c.Start())
			all = append(all, c)
		}
		failed := 0
		for _, c := range all[:5] {
			must(unix.Mkdir("d", 0o700)) // goes on
			must(unix.Rmdir("d"))
			_ = c
		}
		for _, c := range all {
			_ = c.Process.Kill()
			if err := c.Wait(); err != nil && !strings.Contains(err.Error(), "killed") {
				failed++
			}
		}
		must(unix.Mkdir("after", 0o700))
		fmt.Print("goes on")
	},
	"vetted rename": func() {
		fd, err := unix.Open("lock", unix.O_CREAT|unix.O_RDWR, 0o640)
		must(err)
		_, _ = unix.Write(fd, []byte("good"))
		must(unix.Rename("lock", "vetted"))
		_, _ = unix.Pwrite(fd, []byte("evil"), 0) // the old file, kept open
		b, _ := os.ReadFile("vetted")
		var st unix.Stat_t
		must(unix.Stat("vetted", &st))
		_, e := os.Lstat("lock")
		fmt.Printf("%s %o %d %v", b, st.Mode&0o777, st.Nlink, errors.Is(e, os.ErrNotExist))
	},
	"held": heldTrick, "held evil": heldEvil, "held by another": heldByAnother,
	"vetted rename of evil": func() {
		must(os.WriteFile("lock", []byte("evil"), 0o600))
		err := unix.Rename("lock", "vetted")
		_, e := os.Lstat("vetted")
		b, _ := os.ReadFile("lock")
		fmt.Print(err, e == nil, string(b))
	},
	"vetted rename of much": func() {
		must(os.WriteFile("lock", make([]byte, 1001), 0o600))
		fmt.Print(unix.Rename("lock", "vetted"))
	},
	"vetted link": func() {
		must(os.WriteFile("lock", []byte("good"), 0o600))
		must(unix.Link("lock", "vetted"))
		must(os.WriteFile("lock", []byte("evil"), 0o600))
		b, _ := os.ReadFile("vetted")
		fmt.Print(string(b))
	},
	"vetted folder": func() {
		must(unix.Mkdir("d", 0o700))
		fmt.Print(unix.Rename("d", "vetted"))
	},
	"vetted create": func() { fmt.Print(closing(unix.Open("vetted", unix.O_CREAT|unix.O_WRONLY, 0o600))) },
	"fixed": func() {
		e1 := os.WriteFile("fixed", []byte("planted"), 0o644)
		b, _ := os.ReadFile("fixed")
		e2 := os.WriteFile("fixed", []byte("again"), 0o644)
		c, _ := os.ReadFile("fixed")
		fmt.Printf("%v %q %v %q", e1, b, e2, c)
	},
	"watched": func() { fmt.Print(os.WriteFile("watched", nil, 0o644)) },
	"guard's memory": func() {
		fmt.Print(closing(unix.Open("/proc/1/mem", unix.O_RDWR, 0)), closing(unix.Open("/proc/1/comm", unix.O_WRONLY, 0)))
	},
	"guard's memory by its thread": func() {
		n := 0
		for tid := range 300 {
			if tid != 1 && tid != os.Getpid() && unix.Access(fmt.Sprintf("/proc/1/task/%d", tid), unix.F_OK) == nil {
				if closing(unix.Open(fmt.Sprintf("/proc/%d/mem", tid), unix.O_RDWR, 0)) == nil {
					fmt.Print("open ")
				}
				n++
			}
		}
		fmt.Print(n > 2)
	},
	"guard's descriptors": func() {
		open := 0
		for fd := range 30 {
			if unix.Access(fmt.Sprintf("/proc/1/fd/%d", fd), unix.F_OK) == nil || // cannot be seen
				closing(unix.Open(fmt.Sprintf("/proc/1/fd/%d", fd), unix.O_RDWR, 0)) == nil {
				open++
			}
		}
		fmt.Print(open, closing(unix.Open("/proc/1/root/tmp/x", unix.O_CREAT|unix.O_RDWR, 0o600)))
	},
	"own memory": func() { fmt.Print(closingRead(unix.Open("/proc/self/mem", unix.O_RDWR, 0))) },
	"own name": func() {
		runtime.LockOSThread()
		must(os.WriteFile("/proc/thread-self/comm", []byte("renamed"), 0))
		b, _ := os.ReadFile("/proc/thread-self/comm")
		fmt.Print(strings.TrimSpace(string(b)))
	},
	"hidden caller": func() { // cannot be read without a capability
		must(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
		fmt.Print(unix.Mkdir("d", 0o700), closing(unix.Open("/proc/self/cwd/f", unix.O_CREAT|unix.O_WRONLY, 0o600)))
	},
	"full table": func() {
		must(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 20, Max: 20}))
		for {
			if _, err := unix.Open("f", unix.O_CREAT|unix.O_WRONLY, 0o600); err != nil {
				fmt.Print(err)
				return
			}
		}
	},
	"bad memory": func() {
		_, _, e := unix.Syscall6(unix.SYS_MKDIRAT, slot(-1), 8, 0o700, 0, 0, 0)
		fmt.Print(e)
	},
	"path at the end of memory": func() {
		m, err := unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		must(err)
		must(unix.Mprotect(m[4096:], unix.PROT_NONE))
		copy(m[4093:], "dd\x00")
		_, _, e := unix.Syscall(unix.SYS_MKDIRAT, slot(-1), uintptr(unsafe.Pointer(&m[4093])), 0o700)
		m[4095] = 'x'
		_, _, f := unix.Syscall(unix.SYS_MKDIRAT, slot(-1), uintptr(unsafe.Pointer(&m[4093])), 0o700)
		fmt.Print(e, f)
	},
	"long path": func() {
		fmt.Print(unix.Mkdir(strings.Repeat("./", 2046)+"d", 0o700), unix.Mkdir(strings.Repeat("./", 2047)+"ee", 0o700))
	},
	"many links": func() {
		must(unix.Symlink("f", "l0"))
		for i := range 45 {
			must(unix.Symlink("l"+strconv.Itoa(i), "l"+strconv.Itoa(i+1)))
		}
		fmt.Print(closing(unix.Open("l39", unix.O_CREAT|unix.O_WRONLY, 0o600)), closing(unix.Open("l40", unix.O_CREAT|unix.O_WRONLY, 0o600)))
	},
	"running program": func() {
		must(exec.Command("/bin/cp", "/bin/sleep", "sleep").Run())
		c := exec.Command("./sleep", "100")
		must(c.Start())
		fmt.Print(closing(unix.Open("sleep", unix.O_WRONLY, 0)), unix.Truncate("sleep", 0))
		_ = c.Process.Kill()
		_ = c.Wait()
	},
	"default ACL": func() {
		// user::rwx group::rwx other::--- : it takes the umask's place.
		acl := "\x02\x00\x00\x00\x01\x00\x07\x00\xff\xff\xff\xff\x04\x00\x07\x00\xff\xff\xff\xff\x20\x00\x00\x00\xff\xff\xff\xff"
		must(unix.Mkdir("d", 0o777))
		if err := unix.Setxattr("d", "system.posix_acl_default", []byte(acl), 0); err != nil {
			fmt.Print("none")
			return
		}
		unix.Umask(0o077)
		must(unix.Mkdir("d/e", 0o777))
		must(closing(unix.Open("d/f", unix.O_CREAT|unix.O_WRONLY, 0o666)))
		var a, b unix.Stat_t
		must(unix.Stat("d/e", &a))
		must(unix.Stat("d/f", &b))
		fmt.Printf("%o %o", a.Mode, b.Mode)
	},
	"terminal": func() {
		m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
		must(err)
		must(unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0))
		n, err := unix.IoctlGetInt(m, unix.TIOCGPTN)
		must(err)
		s, err := unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_NOCTTY, 0)
		must(err)
		slave := os.NewFile(uintptr(s), "slave")
		c := exec.Command("/bin/sh", "-c", "echo to the terminal >/dev/tty; echo out >/dev/stdout")
		c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		must(c.Run())
		// The terminal may hand over in pieces.
		var b [100]byte
		k := 0
		for err == nil && !strings.HasSuffix(string(b[:k]), "out\r\n") {
			var more int
			more, err = unix.Read(m, b[k:])
			k += max(more, 0)
		}
		fmt.Printf("%q %v", b[:k], err)
	},
	"no terminal": func() { fmt.Print(closing(unix.Open("/dev/tty", unix.O_RDWR, 0))) },
	"output pipe": func() {
		out, err := exec.Command("/bin/sh", "-c", "echo a >/dev/stdout; echo b >/dev/fd/1; echo c >/proc/self/fd/2").CombinedOutput()
		fmt.Printf("%q %v", out, err)
	},
	"memory file": func() {
		fd, err := unix.MemfdCreate("m", 0)
		must(err)
		fmt.Print(closing(unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDWR|unix.O_TRUNC, 0)))
	},
	"threads": func() { // own folders and descriptor tables by thread
		var all sync.WaitGroup
		var bad sync.Map
		for i := range 8 {
			all.Go(func() {
				runtime.LockOSThread()
				must(unix.Unshare(unix.CLONE_FS | unix.CLONE_FILES))
				d := "d" + strconv.Itoa(i)
				must(unix.Mkdir(d, 0o700))
				must(unix.Chdir(d))
				unix.Umask(i * 8)
				fd, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
				must(err)
				must(unix.Dup3(fd, 50, 0))
				for j := range 50 {
					f, err := unix.Openat(50, "f"+strconv.Itoa(j), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o777)
					must(err)
					var st unix.Stat_t
					must(unix.Fstat(f, &st))
					if int(st.Mode&0o777) != 0o777&^(i*8) {
						bad.Store(i, st.Mode)
					}
					unix.Close(f)
					must(unix.Rename("f"+strconv.Itoa(j), "/proc/thread-self/cwd/g"+strconv.Itoa(j)))
				}
			})
		}
		all.Wait()
		n := 0
		bad.Range(func(any, any) bool { n++; return true })
		fmt.Print(n)
	},
	"signals to the guard": func() { // one must not lose a descriptor on its way
		stop := make(chan bool)
		var all sync.WaitGroup
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = unix.Kill(1, interrupt)
					_ = unix.Kill(1, unix.SIGURG)
				}
			}
		})
		lost := 0
		for range 2000 {
			fd, err := unix.Open("f", unix.O_CREAT|unix.O_WRONLY, 0o600)
			if err != nil || fd < 3 {
				lost++
				continue
			}
			unix.Close(fd)
		}
		close(stop)
		all.Wait()
		fmt.Print(lost)
	},
	"openat2": func() {
		_, err := unix.Openat2(unix.AT_FDCWD, "f", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o600})
		fmt.Print(err)
	},
	"guard in the guard": func() {
		runtime.LockOSThread()
		fd, err := Install(false)
		var u *Unsupported
		fmt.Print(fd >= 0, errors.As(err, &u) && u.Nested)
	},
	"guard is gone": func() {
		runtime.LockOSThread()
		if fd, err := Install(false); err == nil {
			unix.Close(fd)
		}
		fmt.Print(unix.Mkdir("forbidden", 0o700))
	},
}

func closingRead(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func tricksAgent() { tricks[os.Getenv("TRICK")]() }

// same says that a guarded trick ends as a free one.
const same = "="

func TestTricks(t *testing.T) {
	for name, want := range map[string][2]string{ // free, guarded
		"pipe waits alone":                {"planted<nil> <nil>", same},
		"pipe, both by the guard":         {"planted<nil>", same},
		"pipe without waiting":            {"no such device or address <nil>", same},
		"pipe, signal ends the wait":      {"true interrupted system call", same},
		"pipe, the waiting one is killed": {"signal: killed gone", same},
		"many waiting":                    {"goes on", same},
		"vetted rename":                   {"evil 640 1 true", "good 640 1 true"},
		"vetted rename of evil":           {"<nil> true", "permission denied falseevil"},
		"vetted rename of much":           {"<nil>", "permission denied"},
		"vetted link":                     {"evil", "good"},
		"held":                            {`"go" "evil" 640`, `"" "good" 640`},
		"held evil":                       {"<nil>", "permission denied"},
		"held by another":                 {`"good" <nil> <nil>`, `"" <nil> permission denied`},
		"vetted folder":                   {"<nil>", "permission denied"},
		"vetted create":                   {"<nil>", "permission denied"},
		"fixed":                           {`<nil> "planted" <nil> "again"`, `<nil> "right\n" <nil> "right\n"`},
		"watched":                         {"<nil>", same},
		"guard's memory":                  {"permission denied *", "permission denied permission denied"},
		"guard's memory by its thread":    {"true", same},
		"guard's descriptors":             {"0 permission denied", same},
		"own memory":                      {"<nil>", same},
		"own name":                        {"renamed", same},
		"hidden caller":                   {"<nil> <nil>", same},
		"full table":                      {"too many open files", same},
		"bad memory":                      {"bad address", same},
		"path at the end of memory":       {"errno 0 bad address", same},
		"long path":                       {"<nil> file name too long", same},
		"many links":                      {"<nil> too many levels of symbolic links", same},
		"running program":                 {"text file busy text file busy", same},
		"default ACL":                     {"*", same},
		"terminal":                        {`"to the terminal\r\nout\r\n" <nil>`, same},
		"no terminal":                     {"no such device or address", same},
		"output pipe":                     {`"a\nb\nc\n" <nil>`, same},
		"memory file":                     {"<nil>", same},
		"threads":                         {"0", same},
		"signals to the guard":            {"0", same},
		"openat2":                         {"<nil>", "function not implemented"},
		"guard in the guard":              {"true false", "false true"},
		"guard is gone":                   {"function not implemented", "operation not permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, uid := range uids() {
				var free string
				for _, guarded := range []bool{false, true} {
					r := box{guarded: guarded, uid: uid, dir: tempDir(t, uid), agent: "tricks", env: []string{"TRICK=" + name}}.run(t)
					expect := want[0]
					if guarded {
						if expect = want[1]; expect == same {
							expect = free
						}
					}
					free = r.out
					head, any := strings.CutSuffix(expect, "*")
					if r.code != 0 || r.out != expect && (!any || !strings.HasPrefix(r.out, head)) {
						t.Errorf("uid %d, guarded %v: exit %d, %s; want %s", uid, guarded, r.code, r.out, expect)
					}
					if guarded {
						checkEvents(t, name, r.events)
					}
				}
			}
		})
	}
}

func checkEvents(t *testing.T, trick string, events []Event) {
	t.Helper()
	reasons := map[string]string{
		"vetted rename": "", "vetted link": "", "watched": "",
		"vetted rename of evil": "it says evil", "vetted rename of much": "it is too large to be checked",
	}
	reason, ok := reasons[trick]
	if !ok {
		return
	}
	if len(events) != 1 || events[0].Reason != reason || events[0].Allowed != (reason == "") || events[0].Rule.ID == "" || events[0].TGID == 0 {
		t.Errorf("events %+v, want reason %q", events, reason)
	}
}
