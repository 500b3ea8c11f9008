//go:build linux

package guard

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// signalAgent makes and changes names while another thread signals this one all
// the time, with a handler that restarts calls and with one that does not. Each
// call is to happen once: with EINTR it did not, and is made again here.
func signalAgent() {
	runtime.LockOSThread()
	self, tid := os.Getpid(), unix.Gettid()
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		for !stop.Load() {
			_ = unix.Tgkill(self, tid, unix.SIGURG) // the runtime's own, which does nothing
			doze(50_000)
		}
	}()
	for _, restart := range []bool{true, false} {
		setRestart(restart)
		interrupted := 0
		do := func(what string, call func() error) {
			err := call()
			for err == unix.EINTR {
				interrupted++
				err = call()
			}
			if err != nil {
				fmt.Printf("restart %v: %s: %v\n", restart, what, err)
			}
		}
		for i := range 300 {
			at := fmt.Sprintf("%v%d", restart, i)
			do("create", func() error {
				fd, err := unix.Open("f"+at, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o644)
				if err == nil {
					err = unix.Close(fd)
				}
				return err
			})
			do("rename", func() error {
				return unix.Renameat2(unix.AT_FDCWD, "f"+at, unix.AT_FDCWD, "g"+at, unix.RENAME_NOREPLACE)
			})
			do("mkdir", func() error { return unix.Mkdir("d"+at, 0o755) })
			do("link", func() error { return unix.Link("g"+at, "l"+at) })
			do("symlink", func() error { return unix.Symlink("g"+at, "s"+at) })
			do("open", func() error {
				fd, err := unix.Open("g"+at, unix.O_RDWR|unix.O_TRUNC, 0)
				if err == nil {
					err = unix.Close(fd)
				}
				return err
			})
		}
		if restart && interrupted > 0 {
			fmt.Printf("%d calls were interrupted that are to be restarted\n", interrupted)
		}
	}
	stop.Store(true)
	<-done
	names, err := os.ReadDir(".")
	must(err)
	fmt.Printf("%d names\n", len(names))
}

// setRestart says whether SIGURG lets the kernel restart calls.
func setRestart(yes bool) {
	const restart = 0x10000000 // SA_RESTART
	var act [4]uintptr         // struct sigaction of the kernel
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGURG), 0, uintptr(unsafe.Pointer(&act)), 8, 0, 0); e != 0 {
		must(e)
	}
	act[1] &^= restart
	if yes {
		act[1] |= restart
	}
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGURG), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0); e != 0 {
		must(e)
	}
}

// No call is lost or carried out twice if signals come all the time.
func TestSignals(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		dir := tempDir(t, os.Getuid())
		if r := (box{guarded: guarded, uid: os.Getuid(), dir: dir, agent: "signals"}).run(t); r.out != "2400 names\n" || r.code != 0 {
			t.Errorf("guarded %v: exit %d: %s", guarded, r.code, r.out)
		}
	}
}
