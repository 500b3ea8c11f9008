//go:build !race

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/session"
)

const killedEnv = "BAWN_TEST_KILLED_SESSION"

// TestKilledSessionChild is the process that is killed.
func TestKilledSessionChild(t *testing.T) {
	if os.Getenv(killedEnv) == "" {
		return
	}
	s, _, err := new(runFlags).openSession(func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, tier := range []policy.Tier{policy.Guarded, policy.Open} {
		if _, err := s.SetTier(tier); err != nil {
			t.Fatal(err)
		}
		id := started(t, s, "echo up; (setsid sleep 600 & sleep 600); exit 1")
		until(t, s, "output", func(session.State) bool { out, _ := s.Output(id, 10); return len(out) > 0 })
	}
	fmt.Println("children:" + strings.Join(below(os.Getpid()), " "))
	select {}
}

// below are the processes that pid started, and those that they did.
func below(pid int) (out []string) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		data, _ := os.ReadFile(f)
		for _, child := range strings.Fields(string(data)) {
			n, _ := strconv.Atoi(child)
			out = append(append(out, child), below(n)...)
		}
	}
	return out
}

// kill -9 of a session leaves no process of a sandbox and no file; its socket
// is taken away by whoever looks next.
func TestKilledSessionLeavesNothing(t *testing.T) {
	b := room(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestKilledSessionChild$", "-test.v")
	cmd.Env = append(os.Environ(), killedEnv+"=1", "SANDBOXTEST_CHILD=1", "SANDBOXTEST_BAWN="+sandboxtest.Binary())
	cmd.Dir, cmd.Stderr = b.Workspace, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var children []string
	for in := bufio.NewScanner(out); in.Scan(); {
		if list, ok := strings.CutPrefix(in.Text(), "children:"); ok {
			children = strings.Fields(list)
			break
		}
	}
	if len(children) < 3 {
		t.Errorf("%q run", children)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for end := time.Now().Add(sandboxtest.Limit); ; time.Sleep(5 * time.Millisecond) {
		var alive []string
		for _, pid := range children {
			// In the open tier what made a session of its own is out of reach.
			name, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			tier, _ := os.ReadFile("/proc/" + pid + "/environ")
			if n, _ := strconv.Atoi(pid); len(name) > 0 && strings.Contains(string(tier), "BAWN_TIER=") {
				alive = append(alive, pid)
			} else if len(name) > 0 && strings.HasPrefix(string(name), "sleep") {
				_ = unix.Kill(n, unix.SIGKILL)
			}
		}
		if len(alive) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%q live on", alive)
		}
	}
	if left, err := filepath.Glob(filepath.Join(b.Home, ".local/state/bawn/sessions/*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	sockets := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bawn", "*")
	if left, _ := filepath.Glob(sockets); len(left) != 1 {
		t.Errorf("sockets: %q", left)
	}
	if r := run(t, b, "--", "true"); r.Code != 0 {
		t.Errorf("%+v", r)
	}
	if left, _ := filepath.Glob(sockets); len(left) != 0 {
		t.Errorf("sockets: %q", left)
	}
}

// A setup or doctor that is killed while it tries a sandbox leaves a folder, which
// the next one takes away; not that of one that lives.
func TestF11_KilledTrialIsSwept(t *testing.T) {
	for kind, words := range map[string][]string{"bawn-setup-": {"setup", "codex"}, "bawn-doctor-": {"doctor"}} {
		t.Run(words[0], func(t *testing.T) {
			b := room(t)
			temp := filepath.Join(filepath.Dir(b.Workspace), "temp")
			if err := os.Mkdir(temp, 0o700); err != nil {
				t.Fatal(err)
			}
			watch, err := unix.InotifyInit1(unix.IN_CLOEXEC)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(watch)
			if _, err := unix.InotifyAddWatch(watch, temp, unix.IN_CREATE); err != nil {
				t.Fatal(err)
			}
			start := func() *exec.Cmd {
				cmd := exec.Command(sandboxtest.Binary(), words...)
				cmd.Dir, cmd.Env = b.Workspace, append(b.Environ(), "TMPDIR="+temp)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				return cmd
			}
			left := func() []string {
				list, err := filepath.Glob(filepath.Join(temp, kind+"*"))
				if err != nil {
					t.Fatal(err)
				}
				return list
			}
			for range 20 { // until it was killed before its folder was gone again
				cmd := start()
				if n, err := unix.Read(watch, make([]byte, 4096)); err != nil || n == 0 {
					t.Fatal(err)
				}
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				if len(left()) > 0 {
					break
				}
			}
			if len(left()) == 0 {
				t.Fatal("none was killed in time")
			}
			// One that is held stays.
			theirs := filepath.Join(temp, kind+"theirs")
			if err := os.Mkdir(theirs, 0o700); err != nil {
				t.Fatal(err)
			}
			held, err := os.Open(theirs)
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			if err := start().Wait(); err != nil {
				t.Errorf("%v", err)
			}
			if got := left(); len(got) != 1 || got[0] != theirs {
				t.Errorf("left behind: %q", got)
			}
		})
	}
}
