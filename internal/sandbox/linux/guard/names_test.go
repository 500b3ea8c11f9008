//go:build linux

package guard

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ways are all the ways to a name, as what the agent does with it in its
// folder, where "old" is a file and "dir" a folder. The error is that of the
// decisive call.
var ways = map[string]func(name string) error{
	"create":            func(n string) error { return closing(unix.Open(n, unix.O_CREAT|unix.O_WRONLY, 0o644)) },
	"create, read only": func(n string) error { return closing(unix.Open(n, unix.O_CREAT, 0o644)) },
	"create by dirfd": func(n string) error {
		d, err := unix.Open("dir", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(err)
		return closing(unix.Openat(d, "../"+n, unix.O_CREAT|unix.O_RDWR|unix.O_EXCL, 0o644))
	},
	"create through a linked folder": func(n string) error {
		must(os.Symlink("../"+base(), "l"))
		return closing(unix.Open("l/"+n, unix.O_CREAT|unix.O_WRONLY, 0o644))
	},
	"create through a dangling link": func(n string) error {
		must(os.Symlink(n, "l"))
		return closing(unix.Open("l", unix.O_CREAT|unix.O_WRONLY, 0o644))
	},
	"create by /proc/self/cwd": func(n string) error {
		return closing(unix.Open("/proc/self/cwd/"+n, unix.O_CREAT|unix.O_WRONLY, 0o644))
	},
	"create by /proc/thread-self/root": func(n string) error {
		wd, err := os.Getwd()
		must(err)
		return closing(unix.Open("/proc/thread-self/root"+wd+"/"+n, unix.O_CREAT|unix.O_WRONLY, 0o644))
	},
	"create by a link to a magic link": func(n string) error {
		must(os.Symlink("/proc/self/cwd", "l"))
		return closing(unix.Open("dir/../l/"+n, unix.O_CREAT|unix.O_WRONLY, 0o644))
	},
	"mkdir":           func(n string) error { return unix.Mkdir(n, 0o755) },
	"mkdir, slash":    func(n string) error { return unix.Mkdir(n+"//", 0o755) },
	"mknod":           func(n string) error { return unix.Mknod(n, 0o644, 0) },
	"mkfifo":          func(n string) error { return unix.Mkfifo(n, 0o644) },
	"symlink":         func(n string) error { return unix.Symlink("old", n) },
	"link":            func(n string) error { return unix.Link("old", n) },
	"rename":          func(n string) error { return unix.Rename("old", n) },
	"rename a folder": func(n string) error { return unix.Rename("dir", n) },
	"rename over it": func(n string) error {
		seed(n)
		return unix.Rename("old", n)
	},
	"rename away": func(n string) error {
		seed(n)
		return unix.Rename(n, "new")
	},
	"exchange with it": func(n string) error {
		seed(n)
		return unix.Renameat2(unix.AT_FDCWD, "old", unix.AT_FDCWD, n, unix.RENAME_EXCHANGE)
	},
	"exchange it with": func(n string) error {
		seed(n)
		return unix.Renameat2(unix.AT_FDCWD, n, unix.AT_FDCWD, "old", unix.RENAME_EXCHANGE)
	},
	"write": func(n string) error {
		seed(n)
		return closing(unix.Open(n, unix.O_WRONLY, 0))
	},
	"cut by open": func(n string) error {
		seed(n)
		return closing(unix.Open(n, unix.O_RDONLY|unix.O_TRUNC, 0))
	},
	"cut": func(n string) error {
		seed(n)
		return unix.Truncate(n, 1)
	},
	"cut through a link": func(n string) error {
		seed(n)
		must(os.Symlink(n, "l"))
		return unix.Truncate("l", 1)
	},
	"write by /proc/self/fd": func(n string) error {
		seed(n)
		return closing(unix.Open("/proc/self/fd/"+strconv.Itoa(reading(n)), unix.O_WRONLY, 0))
	},
	"write by /dev/fd": func(n string) error {
		seed(n)
		return closing(unix.Open("/dev/fd/"+strconv.Itoa(reading(n)), unix.O_RDWR, 0))
	},
	"write by O_PATH": func(n string) error {
		seed(n)
		fd, err := unix.Open(n, unix.O_PATH, 0)
		must(err)
		return closing(unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_WRONLY, 0))
	},
	"cut by /proc/self/fd": func(n string) error {
		seed(n)
		return unix.Truncate("/proc/self/fd/"+strconv.Itoa(reading(n)), 0)
	},
	"link of it": func(n string) error {
		seed(n)
		if err := unix.Link(n, "new"); err != nil {
			return err
		}
		return closing(unix.Open("new", unix.O_WRONLY, 0))
	},
	"link of its descriptor": func(n string) error {
		seed(n)
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(reading(n)), unix.AT_FDCWD, "new", unix.AT_SYMLINK_FOLLOW)
	},
	"nameless file by /proc": func(n string) error {
		fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_WRONLY, 0o644)
		must(err)
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, n, unix.AT_SYMLINK_FOLLOW)
	},
	"nameless file by descriptor": func(n string) error {
		fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o644)
		must(err)
		return unix.Linkat(fd, "", unix.AT_FDCWD, n, unix.AT_EMPTY_PATH)
	},
}

func base() string {
	wd, err := os.Getwd()
	must(err)
	return wd[strings.LastIndexByte(wd, '/')+1:]
}

func closing(fd int, err error) error {
	if err == nil {
		_, _ = unix.Write(fd, []byte("planted"))
		unix.Close(fd)
	}
	return err
}

func reading(n string) int {
	fd, err := unix.Open(n, unix.O_RDONLY, 0)
	must(err)
	return fd
}

// seed gives the name to the file that was made for it beforehand by the
// tester, outside: "there-NAME" says that it is there.
func seed(n string) {
	if _, err := os.Lstat(n); err != nil {
		fmt.Println("not there")
		os.Exit(98)
	}
}

func waysAgent() {
	err := ways[os.Getenv("WAY")](os.Getenv("NAME"))
	fmt.Printf("%v\n", err)
}

// Each way to a protected name works without the guard, is refused with it,
// and works with it for a name that is not protected.
func TestF2_EveryWayToAName(t *testing.T) {
	seeded := map[string]bool{}
	for w := range ways {
		for _, s := range []string{"over it", "away", "exchange", "write", "cut", "of it"} {
			seeded[w] = seeded[w] || strings.Contains(w, s)
		}
	}
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			for _, tc := range []struct {
				name    string
				guarded bool
				want    string
			}{
				{"forbidden", false, "<nil>"},
				{"innocent", true, "<nil>"},
				{"forbidden", true, unix.EPERM.Error()},
			} {
				uid := uids()[len(uids())-1]
				dir := tempDir(t, uid)
				write := func(n, text string) {
					if err := os.WriteFile(dir+"/"+n, []byte(text), 0o666); err != nil {
						t.Fatal(err)
					}
					_ = os.Chown(dir+"/"+n, uid, uid)
				}
				write("old", "old")
				if err := os.Mkdir(dir+"/dir", 0o777); err != nil {
					t.Fatal(err)
				}
				_ = os.Chown(dir+"/dir", uid, uid)
				if seeded[way] {
					write(tc.name, "kept")
				}
				r := box{guarded: tc.guarded, uid: uid, dir: dir, agent: "ways", env: []string{"WAY=" + way, "NAME=" + tc.name}}.run(t)
				if strings.TrimSpace(r.out) != tc.want {
					t.Errorf("%s, guarded %v: %s, want %s", tc.name, tc.guarded, strings.TrimSpace(r.out), tc.want)
				}
				if tc.want == "<nil>" {
					continue
				}
				text, err := os.ReadFile(dir + "/" + tc.name)
				if seeded[way] && string(text) != "kept" || !seeded[way] && !os.IsNotExist(err) {
					t.Errorf("after the refusal: %q, %v", text, err)
				}
				if len(r.events) != 1 || r.events[0].Path != dir+"/forbidden" && r.events[0].Path != dir+"/new" || r.events[0].Allowed {
					t.Errorf("events %+v", r.events)
				}
			}
		})
	}
}

// A file that had a second name before is protected under it.
func TestA69_OtherLinkOfAProtectedFile(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		dir := tempDir(t, os.Getuid())
		if err := os.WriteFile(dir+"/config", []byte("kept"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(dir+"/config", dir+"/other"); err != nil {
			t.Fatal(err)
		}
		r := box{guarded: guarded, uid: os.Getuid(), dir: dir, env: []string{envInode + "=" + dir + "/config"},
			args: []string{"/bin/bash", "-c", `exec 3<other; rm other; echo planted >/proc/self/fd/3`}}.run(t)
		text, _ := os.ReadFile(dir + "/config")
		if (string(text) == "kept") != guarded {
			t.Errorf("guarded %v: %q: %s", guarded, text, r.out)
		}
	}
}

// raceAgent makes calls on a path that another thread keeps changing.
func raceAgent() {
	tries, err := strconv.Atoi(os.Getenv("TRIES"))
	must(err)
	must(os.WriteFile("src", nil, 0o644))
	allowed, forbidden := []byte("permitted\x00"), []byte("forbidden\x00")
	path := make([]byte, 16)
	copy(path, allowed)
	p := uintptr(unsafe.Pointer(&path[0]))
	go func() {
		runtime.LockOSThread()
		for {
			for _, text := range [][]byte{forbidden, allowed} {
				copy(path, text)
				for range 60 {
					_ = path[0]
				}
			}
		}
	}()
	runtime.LockOSThread()
	src := cstr("src")
	cwd := slot(-1)
	counts := map[string]int{}
	through := 0
	for i := range tries {
		var e unix.Errno
		var fd uintptr
		switch i % 6 {
		case 0:
			_, _, e = unix.RawSyscall(unix.SYS_MKDIRAT, cwd, p, 0o755)
		case 1:
			fd, _, e = unix.RawSyscall6(unix.SYS_OPENAT, cwd, p, unix.O_CREAT|unix.O_WRONLY|unix.O_EXCL, 0o644, 0, 0)
			if e == 0 {
				unix.Close(int(fd))
			}
		case 2:
			_, _, e = unix.RawSyscall6(unix.SYS_RENAMEAT2, cwd, src, cwd, p, 0, 0)
		case 3:
			_, _, e = unix.RawSyscall6(unix.SYS_LINKAT, cwd, src, cwd, p, 0, 0)
		case 4:
			_, _, e = unix.RawSyscall(unix.SYS_SYMLINKAT, src, cwd, p)
		case 5:
			_, _, e = unix.RawSyscall6(unix.SYS_MKNODAT, cwd, p, 0o644, 0, 0, 0)
		}
		counts[e.Error()]++
		var st unix.Stat_t
		if unix.Lstat("forbidden", &st) == nil {
			through++
		}
		for _, n := range []string{"forbidden", "permitted"} {
			if unix.Unlink(n) != nil {
				_ = unix.Rmdir(n)
			}
		}
		if i%6 == 2 && e == 0 {
			must(os.WriteFile("src", nil, 0o644))
		}
	}
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintln(out, through, counts[unix.Errno(0).Error()], counts[unix.EPERM.Error()])
	for k, n := range counts {
		fmt.Fprintln(out, k, n)
	}
	must(out.Flush())
}

// TestA97_RaceOnThePath: BAWN_GUARD_RACE_TRIES=100000 for the long run.
func TestA97_RaceOnThePath(t *testing.T) {
	tries := map[bool]int{false: 2_000, true: 10_000}
	if s := os.Getenv("BAWN_GUARD_RACE_TRIES"); s != "" {
		tries[true], _ = strconv.Atoi(s)
	}
	for _, guarded := range []bool{false, true} {
		uid := uids()[len(uids())-1]
		r := box{guarded: guarded, uid: uid, dir: tempDir(t, uid), agent: "race", env: []string{"TRIES=" + strconv.Itoa(tries[guarded])}}.run(t)
		var through, ok, denied int
		if _, err := fmt.Sscan(r.out, &through, &ok, &denied); err != nil {
			t.Fatalf("%v: %s", err, r.out)
		}
		t.Logf("guarded %v: through %d, allowed %d, denied %d", guarded, through, ok, denied)
		if guarded && (through != 0 || ok < tries[true]/20 || denied < tries[true]/20) || !guarded && through < tries[false]/20 {
			t.Errorf("guarded %v: %s", guarded, r.out)
		}
	}
}

// What is there cannot be made, whatever the rules would say of the name; nor
// is that told. It holds for rules that are asked before anybody looks, too.
func TestTakenNames(t *testing.T) {
	const script = `mkdir forbidden; ln -sT x forbidden; mknod forbidden p; mkfifo fixed; python3 -c '
import os
for n in "forbidden", "fixed", "held", "watched":
	try: os.close(os.open(n, os.O_CREAT | os.O_EXCL | os.O_WRONLY)); print(n)
	except OSError as e: print(n, e.strerror)'`
	for _, looks := range []string{"", "1"} {
		for _, taken := range []bool{true, false} {
			dir := tempDir(t, os.Getuid())
			if taken {
				for _, n := range []string{"forbidden", "fixed", "held", "watched"} {
					must(os.WriteFile(filepath.Join(dir, n), nil, 0o644))
				}
			}
			r := box{guarded: true, uid: os.Getuid(), dir: dir, args: []string{"/bin/bash", "-c", script}, env: []string{envLooks + "=" + looks, "LC_ALL=C"}}.run(t)
			if taken && (len(r.events) > 0 || strings.Count(r.out, "File exists") != 8) {
				t.Errorf("looks %q: %s\n%+v", looks, r.out, r.events)
			}
			if denied := strings.Count(r.out, "Operation not permitted"); !taken && (denied < 4 || len(r.events) < denied+1) {
				t.Errorf("looks %q, not taken: %s\n%+v", looks, r.out, r.events)
			}
		}
	}
}
