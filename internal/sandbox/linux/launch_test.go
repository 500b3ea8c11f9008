//go:build linux

package linux

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/stage"
)

// shell is a sandbox that runs a line of shell text, and its streams.
func shell(t *testing.T, text string) (spec sandbox.Spec, in, out *os.File, stdio sandbox.Stdio) {
	t.Helper()
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + ws + "/none", "PATH=/usr/bin:/bin"}
	cfg, host, err := sandbox.Inspect(sandbox.Request{Tier: policy.Guarded, Caches: policy.SharedCaches, Workspace: ws, Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	pol, err := policy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	from, in := pipe(t)
	out, to := pipe(t)
	return sandbox.Plan(pol, host, sandbox.Command{Args: []string{"/bin/sh", "-c", text}, Environ: env}),
		in, out, sandbox.Stdio{In: from, Out: to, Err: to}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

// end reads events until the command has exited.
func end(t *testing.T, p sandbox.Process) int {
	t.Helper()
	for {
		ev, err := p.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch ev.Kind {
		case sandbox.EventFailed:
			t.Fatal(ev.Reason)
		case sandbox.EventExited:
			return ev.Code
		}
	}
}

// onShortThread runs f on a thread that ends with it.
func onShortThread(f func()) {
	tid, free := make(chan int), make(chan struct{})
	var run func()
	run = func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // the main thread never ends
			go run()
			<-free
			runtime.UnlockOSThread()
			return
		}
		f()
		tid <- unix.Gettid()
	}
	go run()
	n := <-tid
	close(free)
	for unix.Tgkill(os.Getpid(), n, 0) == nil {
		runtime.Gosched()
	}
}

// The parent-death signal comes when the thread ends that made the process.
func TestCallersThreadMayEnd(t *testing.T) {
	for _, early := range []bool{false, true} {
		spec, in, _, stdio := shell(t, "read go; exit 7")
		var p sandbox.Process
		var err error
		onShortThread(func() {
			b := Backend{Launcher: Native}
			if early {
				b.Early = Prepare(false, stdio, 0, false)
			}
			p, err = b.Start(spec, stdio)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.WriteString("go\n"); err != nil {
			t.Fatal(err)
		}
		if code := end(t, p); code != 7 {
			t.Errorf("early %v: exit code %d, want 7", early, code)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestEarlyIsClosed(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	e := Prepare(false, sandbox.Stdio{In: null, Out: null, Err: null}, 0, false)
	e.Close()
	e.Close()
	if c := children(os.Getpid()); len(c) != 0 {
		t.Errorf("children %v are left", c)
	}
}

// What the command leaves behind is gone when Wait returns: nothing holds its
// output any more.
func TestWaitIsForAll(t *testing.T) {
	for _, l := range []Launcher{Native, Bwrap} {
		spec, _, out, stdio := shell(t, "sleep 1000 & exit 0")
		p, err := Backend{Launcher: l}.Start(spec, stdio)
		if err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		stdio.Out.Close()
		if code := end(t, p); code != 0 {
			t.Errorf("%s: exit code %d", l, code)
		}
		p.Wait()
		fd := int(out.Fd())
		if err := unix.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
		if n, err := unix.Read(fd, make([]byte, 1)); n != 0 || err != nil {
			t.Errorf("%s: read %d bytes, %v; want the end", l, n, err)
		}
		p.Wait() // its pid is kept until Close
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A table of descriptors larger than the limit cannot be made.
func TestRoomIsWithinTheLimit(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &old)
	for _, c := range []struct {
		limit uint64
		want  int
	}{{329, 0}, {330, 165}} {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: c.limit, Max: old.Max}); err != nil {
			t.Fatal(err)
		}
		if got := stage.Room(100); got != c.want {
			t.Errorf("room for %d with a limit of %d, want %d", got, c.limit, c.want)
		}
		spec, _, _, stdio := shell(t, "exit 3")
		b := Backend{Launcher: Native, Early: Prepare(false, stdio, 100, false)}
		p, err := b.Start(spec, stdio)
		if err != nil {
			t.Fatalf("limit %d: %v", c.limit, err)
		}
		if code := end(t, p); code != 3 {
			t.Errorf("limit %d: exit code %d, want 3", c.limit, code)
		}
		p.Close()
	}
}

// A Start that is refused ends the stage that was made ahead for it.
func TestRefusedStartEndsEarly(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	stdio := sandbox.Stdio{In: null, Out: null, Err: null}
	for _, spec := range []sandbox.Spec{{}, {Args: []string{"true"}, Net: sandbox.Network{Local: make([]uint16, 1000)}}} {
		e := Prepare(false, stdio, 0, false)
		if _, err := (Backend{Launcher: Native, Early: e}).Start(spec, stdio); err == nil {
			t.Error("started")
		}
		if e.stage != nil {
			t.Error("the stage waits on")
			e.Close()
		}
	}
}
