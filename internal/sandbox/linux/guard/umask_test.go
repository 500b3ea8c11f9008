//go:build linux

package guard

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// made gives the mode that a folder and a file come with.
func made() string {
	must(unix.Mkdir("d", 0o777))
	fd, err := unix.Open("f", unix.O_CREAT|unix.O_WRONLY|unix.O_EXCL, 0o666)
	must(err)
	unix.Close(fd)
	var d, f unix.Stat_t
	must(unix.Stat("d", &d))
	must(unix.Stat("f", &f))
	must(unix.Rmdir("d"))
	must(unix.Unlink("f"))
	return fmt.Sprintf("%04o %04o", d.Mode&0o7777, f.Mode&0o7777)
}

func under(umask int) string { return fmt.Sprintf("%04o %04o", 0o777&^umask, 0o666&^umask) }

// thread gives a function that has things done on a thread of its own.
func threadOf() func(do func()) {
	work, done := make(chan func()), make(chan bool)
	go func() {
		runtime.LockOSThread()
		for do := range work {
			do()
			done <- true
		}
	}()
	return func(do func()) { work <- do; <-done }
}

func umaskAgent() {
	runtime.LockOSThread()
	expect := func(when string, umask int) {
		if got := made(); got != under(umask) {
			fmt.Printf("%s: umask %04o: %s\n", when, umask, got)
		}
	}
	second, third := threadOf(), threadOf()
	for i := range 300 {
		u := i * 7 % 0o100 // the owner keeps its rights
		second(func() { unix.Umask(u) })
		expect("another thread's", u)
		if i%3 == 0 { // its call is over for sure
			second(func() { expect("its own", u) })
			expect("still another thread's", u)
		}
		third(func() { expect("a third thread's", u) })
		if i%5 == 0 {
			unix.Umask(u ^ 0o11)
			expect("the caller's", u^0o11)
		}
	}
	// Names that are made while another changes it: what is read then may be
	// of before.
	for i := range 200 {
		u := i * 5 % 0o100
		done := make(chan bool)
		go func() { second(func() { unix.Umask(u) }); close(done) }()
		for busy := true; busy; {
			made()
			select {
			case <-done:
				busy = false
			default:
			}
		}
		expect("changed meanwhile", u)
	}
	// A process that shares it.
	for i := range 100 {
		u := i * 3 % 0o100
		pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_FS|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if pid == 0 {
			unix.RawSyscall(unix.SYS_UMASK, uintptr(u), 0, 0)
			unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
		}
		if e != 0 {
			must(e)
		}
		for got := 0; got == 0; {
			made()
			var err error
			got, err = unix.Wait4(int(pid), nil, unix.WNOHANG, nil)
			must(err)
		}
		expect("of a process that shares it", u)
	}
	unix.Umask(0o22)
	// A thread that does not.
	third(func() { must(unix.Unshare(unix.CLONE_FS)); unix.Umask(0o77) })
	for range 3 {
		expect("not shared any more", 0o22)
		third(func() { expect("of the thread alone", 0o77) })
	}
}

// A thread that does not share it, in a process that never had one that did.
func unshareAgent() {
	runtime.LockOSThread()
	first := made()
	other := threadOf()
	other(func() {
		must(unix.Unshare(unix.CLONE_FS))
		unix.Umask(0o77)
	})
	for range 3 {
		other(func() {
			if got := made(); got != under(0o77) {
				fmt.Println("the thread's own:", got)
			}
		})
		if got := made(); got != first {
			fmt.Println("the others':", got)
		}
	}
}

func TestUmasks(t *testing.T) {
	for _, uid := range uids() {
		for _, guarded := range []bool{false, true} {
			for _, agent := range []string{"umask", "unshare"} {
				r := box{guarded: guarded, uid: uid, dir: tempDir(t, uid), agent: agent}.run(t)
				if r.out != "" || r.code != 0 {
					t.Errorf("%s, uid %d, guarded %v: exit %d\n%.1000s", agent, uid, guarded, r.code, r.out)
				}
			}
		}
	}
}

// Many processes, each with a umask of its own, more than the guard remembers.
func TestUmasksOfProcesses(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		r, dir := sh(t, guarded, os.Getuid(), `for u in 000 002 007 022 027 077 017 037 001 011 033 066; do
	for k in 1 2 3 4; do
		(umask $u; for i in 1 2 3; do : >$u.$k.$i; mkdir $u.$k.d$i; done) &
	done
done; wait
for i in {1..150}; do (umask 00$((i%8)) & : >left.$i); done; wait; umask 027; for i in 1 2 3; do : >last.$i; done`)
		if r.out != "" || r.code != 0 {
			t.Fatalf("guarded %v: exit %d\n%.1000s", guarded, r.code, r.out)
		}
		entries, err := os.ReadDir(dir)
		must(err)
		if len(entries) != 12*4*6+150+3 {
			t.Errorf("guarded %v: %d names", guarded, len(entries))
		}
		for _, e := range entries {
			var u os.FileMode
			switch first, _, _ := strings.Cut(e.Name(), "."); first {
			case "left":
				u = 0o22
			case "last":
				u = 0o27
			default:
				_, err := fmt.Sscanf(first, "%o", &u)
				must(err)
			}
			want := 0o666 &^ u
			if e.IsDir() {
				want = 0o777 &^ u
			}
			info, err := e.Info()
			must(err)
			if info.Mode().Perm() != want {
				t.Errorf("guarded %v: %s has mode %v", guarded, e.Name(), info.Mode())
			}
		}
	}
}
