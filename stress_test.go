//go:build linux

package bawn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bawn"
	"bawn/internal/sandbox/sandboxtest"
)

func TestConcurrent(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		ws := hostDir(t)
		p := newPolicy(t, bawn.Guarded, ws, launcher)
		var wg sync.WaitGroup
		n := 50
		if soak, err := strconv.Atoi(os.Getenv("BAWN_SOAK")); err == nil {
			n = max(n, soak) // make soak
		}
		for i := range n {
			wg.Go(func() {
				cmd := bawn.Command(deadline(t), p, "sh", "-c", "cat; echo $0 >file-$0; exit $(($0 % 100))", fmt.Sprint(i))
				cmd.Stdin = strings.NewReader(fmt.Sprintf("in %d", i))
				out, _ := cmd.Output()
				if got := cmd.ProcessState.ExitCode(); string(out) != fmt.Sprintf("in %d", i) || got != i%100 {
					t.Errorf("command %d: %q, exit code %d", i, out, got)
				}
			})
		}
		wg.Wait()
		if files, err := os.ReadDir(ws); err != nil || len(files) != n {
			t.Errorf("%d files, %v", len(files), err)
		}
	})
}

// Every process of the sandbox holds the write end of a pipe: its end of file
// proves that none is left.
func TestCancelKillsDescendants(t *testing.T) {
	const tree = `
trap '' TERM HUP INT
setsid sh -c 'trap "" TERM HUP INT; echo up; while :; do sleep 1000; done' &
(setsid sh -c '(while :; do sleep 1000; done) & echo up; exec sleep 1000' &)
echo up
while :; do sleep 1000; done`
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		p := newPolicy(t, bawn.Guarded, hostDir(t), launcher)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := r.SetReadDeadline(time.Now().Add(limit)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		cmd := bawn.Command(ctx, p, "sh", "-c", tree)
		cmd.Stdout = w
		err = cmd.Start()
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, len("up\nup\nup\n"))); err != nil {
			t.Fatal("the processes did not start:", err)
		}
		cancel()
		err = cmd.Wait()
		var exit *bawn.ExitError
		if !errors.Is(err, context.Canceled) || !errors.As(err, &exit) || exit.ExitCode() != 137 {
			t.Errorf("Wait: %v", err)
		}
		if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
			t.Errorf("a process lives on: %q, %v", rest, err)
		}
	})
}

func TestOpenCancelKillsSession(t *testing.T) {
	p := newPolicy(t, bawn.Open, hostDir(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := bawn.Command(ctx, p, "sh", "-c", "sleep 1000 & echo up; while :; do sleep 1000; done")
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("up\n"))); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(out); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v", err)
	}
}

// What a command leaves in the background ends with it, and does not keep the
// caller waiting for the output.
func TestB108_BackgroundHoldsOutput(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		p := newPolicy(t, bawn.Guarded, hostDir(t), launcher)
		out, err := bawn.Command(deadline(t), p, "sh", "-c", "sleep 1000 & setsid sleep 1000 & echo done").CombinedOutput()
		if err != nil || string(out) != "done\n" {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestCancelBeforeAndDuringStart(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		p := newPolicy(t, bawn.Guarded, hostDir(t), launcher)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := bawn.Command(ended, p, "true").Start(); !errors.Is(err, context.Canceled) {
			t.Errorf("before the start: %v", err)
		}
		// Commands that are cancelled at any moment, next to some that are
		// not: none may take another's messages.
		var wg sync.WaitGroup
		for i := range 24 {
			wg.Go(func() {
				if i%2 == 0 {
					if out, err := sh(t, p, "echo whole"); err != nil || out != "whole\n" {
						t.Errorf("an untouched command: %q, %v", out, err)
					}
					return
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
				defer cancel()
				cmd := bawn.Command(ctx, p, "sleep", "1000")
				if err := cmd.Run(); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a cancelled command: %v", err)
				}
			})
		}
		wg.Wait()
	})
}

func TestNothingLeaks(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close lost files
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		p := newPolicy(t, bawn.Guarded, hostDir(t), launcher)
		ctx, stop := context.WithTimeout(t.Context(), limit)
		defer stop()
		round := func() {
			for _, args := range [][]string{{"sh", "-c", "cat"}, {"false"}, {"no-such-program"}, {"/etc"}} {
				cmd := bawn.Command(ctx, p, args[0], args[1:]...)
				cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("in"), &bytes.Buffer{}, &bytes.Buffer{}
				_ = cmd.Run()
			}
			cmd := bawn.Command(ctx, p, "no-such-program")
			_, err1 := cmd.StdinPipe()
			_, err2 := cmd.StdoutPipe()
			_, err3 := cmd.StderrPipe()
			if err := errors.Join(err1, err2, err3); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Run()
			cancelled, cancel := context.WithCancel(ctx)
			cmd = bawn.Command(cancelled, p, "sleep", "1000")
			cmd.Stdout = &bytes.Buffer{}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			cancel()
			_ = cmd.Wait()
			cmd = bawn.Command(ctx, p, "true")
			cmd.Dir = "/"
			_ = cmd.Run()
			_ = bawn.Command(ctx, bawn.Policy{}, "true").Run()
		}
		round() // whatever the runtime keeps for good is there now
		goroutines, files := runtime.NumGoroutine(), openFiles(t)
		for range 5 {
			round()
		}
		for end := time.Now().Add(limit); ; runtime.Gosched() {
			g, f := runtime.NumGoroutine(), openFiles(t)
			if g <= goroutines && f <= files {
				break
			}
			if time.Now().After(end) {
				buf := make([]byte, 1<<20)
				t.Fatalf("%d goroutines, were %d; %d files, were %d\n%s", g, goroutines, f, files, buf[:runtime.Stack(buf, true)])
			}
		}
	})
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// A program with cgo, threads that Go does not know, and children of its own.
func TestInCgoProgram(t *testing.T) {
	dir := hostDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// The tester, and an ordinary user if that is root.
	users := map[string]*syscall.Credential{"": nil}
	if os.Getuid() == 0 {
		u, err := sandboxtest.EnsureUser()
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		users[u.HomeDir] = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	for name, flags := range map[string][]string{"plain": nil, "race": {"-race"}} {
		binary := dir + "/embed-" + name
		build := exec.Command("go", append(append([]string{"build"}, flags...), "-o", binary, "./testdata/embed")...)
		build.Env = append(os.Environ(), "CGO_ENABLED=1")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
		for home, as := range users {
			for _, launcher := range []string{"native", "bwrap"} {
				ws := mkdir(t, dir, name, launcher, "ws"+filepath.Base(home))
				cmd := exec.CommandContext(deadline(t), binary, ws, launcher)
				cmd.Dir, cmd.Env = "/", os.Environ()
				if as != nil {
					cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
					cmd.Env = append(cmd.Env, "HOME="+home)
					if err := os.Chown(ws, int(as.Uid), int(as.Gid)); err != nil {
						t.Fatal(err)
					}
				}
				out, err := cmd.CombinedOutput()
				if err != nil || string(out) != "done\n" {
					t.Errorf("%s, %s, home %q: %v\n%s", name, launcher, home, err, out)
				}
			}
		}
	}
}

// The program may be replaced or removed while it runs.
func TestRemovedProgram(t *testing.T) {
	dir := hostDir(t)
	binary := dir + "/embed"
	if out, err := exec.Command("go", "build", "-o", binary, "./testdata/removed").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, launcher := range []string{"native", "bwrap"} {
		if err := exec.Command("cp", binary, dir+"/copy").Run(); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(deadline(t), dir+"/copy", mkdir(t, dir, "ws"), launcher).CombinedOutput()
		if err != nil || string(out) != "ran\n" {
			t.Errorf("%s: %v\n%s", launcher, err, out)
		}
	}
}
