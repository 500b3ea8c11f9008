//go:build linux

package mcptest

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/frontend/mcp"
	"bawn/internal/sandbox/sandboxtest"
)

// The answer about a working folder in a hidden place does not tell what is
// there; about any other it says what is wrong.
func TestF4_WorkdirTellsNothingHidden(t *testing.T) {
	d := open(t, options{prepare: func(b *sandboxtest.Box) {
		if err := os.MkdirAll(filepath.Join(b.Home, ".ssh/keys"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, to := range map[string]string{
			"there": "keys", "gone": "none", "file": "id_rsa", "below": "id_rsa/x", "through": "keys/../../../ws", "past": "none/../../../ws", "over": "id_rsa/../../../ws",
		} {
			if err := os.Symlink(b.Home+"/.ssh/"+to, filepath.Join(b.Workspace, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(filepath.Join(b.Workspace, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
	}})
	for _, dir := range []string{
		"there", "gone", "file", "below", "through", "past", "over", "~/.ssh", "~/.ssh/keys", "~/.ssh/none", "~/.ssh/id_rsa", "~/.ssh/id_rsa/x", "~/.ssh/keys/../none",
		"~/.ssh/keys/../../../ws", "~/.ssh/none/../../../ws", "~/.ssh/id_rsa/../../../ws", "sub/../../home/.ssh/none/../../../ws",
	} {
		res := d.call("bash", args{"command": "pwd", "workdir": dir})
		if want := "workdir " + strconv.Quote(dir) + ": commands cannot look into that place"; !res.IsError || res.text != want {
			t.Errorf("%s: %s", dir, res.text)
		}
	}
	if res := d.call("bash", args{"command": "pwd", "workdir": "nowhere"}); !res.IsError || !strings.Contains(res.text, "no such file") {
		t.Errorf("%s", res.text)
	}
	if r := into[mcp.RunResult](t, d.call("bash", args{"command": "pwd", "workdir": "sub"})); r.Stdout != filepath.Join(d.Workspace, "sub")+"\n" {
		t.Errorf("%+v", r)
	}
}

// What the host has where commands have their own is not told: who runs there,
// with what, and which names are in its temp. What they made there is theirs.
func TestF12_HostIsNotTold(t *testing.T) {
	d := open(t, options{prepare: func(b *sandboxtest.Box) {
		if err := os.Symlink(filepath.Dir(b.Home), filepath.Join(b.Home, ".ssh/link")); err != nil {
			t.Fatal(err)
		}
	}})
	// This test is a process of the host's.
	me := "/proc/" + strconv.Itoa(os.Getpid())
	temp, err := os.MkdirTemp("/tmp", "bawn-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{me + "/cwd", me + "/exe", me + "/fd/1", "/proc/self/cwd", "/proc/self/fd/2", "~/.ssh/link", "~/.ssh/link/x"} {
		for _, action := range []string{"read", "write"} {
			got := d.call("check", args{"action": action, "object": path})
			_, says, _ := strings.Cut(got.text, " "+action+" ")
			if says, _, _ = strings.Cut(says, "\n"); !strings.HasSuffix(says, strings.TrimPrefix(path, "~")) || strings.HasPrefix(path, "~") && !strings.HasPrefix(got.text, "deny") {
				t.Errorf("%s %s: %s", action, path, got.text)
			}
		}
		if got := d.call("bash", args{"command": "pwd", "workdir": path}); !got.IsError || strings.Contains(got.text, here) || strings.Contains(got.text, filepath.Dir(d.Home)+`"`) {
			t.Errorf("%s: %s", path, got.text)
		}
	}
	none := d.call("bash", args{"command": "pwd", "workdir": temp + "-none"})
	if got := d.call("bash", args{"command": "pwd", "workdir": temp}); got.text != strings.ReplaceAll(none.text, temp+"-none", temp) || !got.IsError {
		t.Errorf("%q, and of one that is not there %q", got.text, none.text)
	}
	// An error text of a command's own is no way to ask either.
	for _, pid := range []string{me, "/proc/self", "/proc/4194304"} {
		if r := d.bash("echo \"bash: " + pid + "/cwd/x: Read-only file system\" >&2; exit 1"); len(r.Denied) > 0 {
			t.Errorf("%s: %+v", pid, r.Denied)
		}
	}
	if r := d.bash("echo \"bash: " + d.Home + "/x: Read-only file system\" >&2; exit 1"); len(r.Denied) != 1 {
		t.Errorf("%+v", r.Denied)
	}
	d.bash("mkdir /tmp/theirs")
	if r := into[mcp.RunResult](t, d.call("bash", args{"command": "pwd", "workdir": "/tmp/theirs"})); r.Stdout != "/tmp/theirs\n" {
		t.Errorf("%+v", r)
	}
}

// A line that is longer than what is read at once is told as such; lines before
// it are whole.
func TestReadLongLines(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	d := open(t, options{prepare: func(b *sandboxtest.Box) {
		sandboxtest.Write(t, filepath.Join(b.Workspace, "long"), "first\n"+long+"\nlast\n")
	}})
	r := d.works("read_file", args{"path": "long"})
	if out := into[mcp.FileResult](t, r); r.text != "first\n[there is more: read on with offset 2]" || out.Lines != 1 || !out.Truncated {
		t.Errorf("%.100q, %+v", r.text, out)
	}
	r = d.works("read_file", args{"path": "long", "offset": 2})
	if text, after, _ := strings.Cut(r.text, "["); len(text) != 2<<20 || !strings.Contains(after, "line 2 has more than") || !strings.Contains(after, "offset 3") {
		t.Errorf("%d bytes, %q", len(text), after)
	}
	if r = d.works("read_file", args{"path": "long", "offset": 3}); r.text != "last\n" {
		t.Errorf("%q", r.text)
	}
}

// A read that is stuck, as in a file system that does not answer, holds up no
// other, and ends with its call.
func TestStuckRead(t *testing.T) {
	d := open(t, options{})
	d.works("read_file", args{"path": "a.txt"})
	stopped := 0
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		line, _ := os.ReadFile(p)
		cwd, err := os.Readlink(filepath.Join(filepath.Dir(p), "cwd"))
		if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p))); err == nil && cwd == d.Workspace && strings.HasSuffix(string(line), "\x00mcp\x00--inside\x00") {
			if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			stopped++
		}
	}
	if stopped != 1 {
		t.Fatalf("%d processes read files", stopped)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stuck := make(chan error, 1)
	go func() {
		_, err := d.tryCall(ctx, "read_file", args{"path": "a.txt"})
		stuck <- err
	}()
	for range 20 { // one of these may come first, and is stuck then
		one, end := context.WithCancel(t.Context())
		got := make(chan bool, 1)
		go func() {
			r, err := d.tryCall(one, "read_file", args{"path": "a.txt"})
			got <- err == nil && r.text == "one\ntwo\nthree\n"
		}()
		select {
		case ok := <-got:
			if !ok {
				t.Error("another read failed")
			}
		case err := <-stuck:
			if err != nil {
				t.Error(err)
			}
			stuck <- nil
		}
		end()
	}
	cancel()
	<-stuck
	d.works("read_file", args{"path": "a.txt"})
}
