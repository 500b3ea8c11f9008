//go:build linux

package mcptest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/sandboxtest"
)

// Everything on the way to a file is exchanged while the tools work on it: a
// folder with a link to a folder outside and to one of credentials, a file with
// a link to a secret, a pipe and a hard link. Nothing hidden is ever read, and
// nothing outside written.
func TestF8_ExchangedWhileUsed(t *testing.T) {
	var outside string
	d := open(t, options{version: "2025-11-25", prepare: func(b *sandboxtest.Box) {
		outside = filepath.Join(filepath.Dir(b.Workspace), "outside")
		sandboxtest.Write(t, filepath.Join(outside, "f"), "outside\n")
		sandboxtest.Write(t, filepath.Join(b.Home, ".ssh/f"), "SECRET\n")
		for _, dir := range []string{"real", "real2"} {
			sandboxtest.Write(t, filepath.Join(b.Workspace, dir, "f"), "inside\n")
		}
		for name, to := range map[string]string{"out": outside, "ssh": filepath.Join(b.Home, ".ssh"), "key": filepath.Join(b.Home, ".ssh/id_rsa"), "up": "../outside/f"} {
			if err := os.Symlink(to, filepath.Join(b.Workspace, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Link(filepath.Join(b.Home, ".ssh/id_rsa"), filepath.Join(b.Workspace, "hard")); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mkfifo(filepath.Join(b.Workspace, "pipe"), 0o666); err != nil {
			t.Fatal(err)
		}
	}})
	stop := make(chan struct{})
	var exchanging, work sync.WaitGroup
	exchange := func(pause time.Duration, a string, with ...string) {
		exchanging.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(d.Workspace, a), unix.AT_FDCWD, filepath.Join(d.Workspace, with[i%len(with)]), unix.RENAME_EXCHANGE)
					time.Sleep(pause)
				}
			}
		})
	}
	exchange(0, "real", "out", "ssh")
	// An edit meets none of it only if there are moments without.
	exchange(time.Millisecond, "real2/f", "key", "pipe", "up", "hard")
	var mu sync.Mutex
	good, bad := map[string]int{}, map[string]int{}
	try := func(name string, a args) {
		r, err := d.tryCall(t.Context(), name, a)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			t.Errorf("%s %v: %v", name, a, err)
		case strings.Contains(r.text, "SECRET"):
			t.Errorf("%s %v: %s", name, a, r.text)
		case r.IsError:
			bad[name]++
		default:
			good[name]++
		}
	}
	for range 4 {
		work.Go(func() {
			for range 150 {
				try("read_file", args{"path": "real/f"})
				try("read_file", args{"path": "real2/f"})
			}
		})
	}
	work.Go(func() {
		for i := range 20 {
			try("write_file", args{"path": "real/f", "content": fmt.Sprintln("written", i)})
			// By a name that was not read: an exchanged file has changed since.
			edited := "real2/" + strings.Repeat("./", i+1) + "f"
			try("edit_file", args{"path": edited, "old_string": "SECRET", "new_string": "x"})
			try("edit_file", args{"path": edited, "old_string": "nsi", "new_string": "nnsi"})
			try("write_file", args{"path": fmt.Sprintf("real/new%d", i), "content": "new\n"})
		}
	})
	work.Wait()
	close(stop)
	exchanging.Wait()
	t.Logf("done %v, refused %v", good, bad)
	for _, name := range []string{"read_file", "write_file", "edit_file"} {
		if good[name] == 0 && name != "edit_file" || bad[name] == 0 {
			t.Errorf("%s: %d done, %d refused: the exchange was not met", name, good[name], bad[name])
		}
	}
	for dir, want := range map[string]string{outside: "outside\n", filepath.Join(d.Home, ".ssh"): "SECRET\n"} {
		list, err := os.ReadDir(dir)
		if err != nil || len(list) > 2 || content(t, filepath.Join(dir, "f")) != want {
			t.Errorf("%s: %v, %v", dir, list, err)
		}
	}
	if got := content(t, filepath.Join(d.Home, ".ssh/id_rsa")); got != "SECRET\n" {
		t.Errorf("the key is %q", got)
	}
	// What the tools made is in the workspace, and holds none of it.
	_ = filepath.WalkDir(d.Workspace, func(p string, e os.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil && e.Type().IsRegular() && unix.Lstat(p, &st) == nil && st.Nlink == 1 && strings.Contains(content(t, p), "SECRET") {
			t.Errorf("%s has the secret", p)
		}
		return nil
	})
	d.leftovers()
}

// What is no ordinary file is neither opened nor waited for, by any name.
func TestF8_OddFiles(t *testing.T) {
	d := open(t, options{prepare: func(b *sandboxtest.Box) {
		if err := unix.Mkfifo(filepath.Join(b.Workspace, "pipe"), 0o666); err != nil {
			t.Fatal(err)
		}
		for name, to := range map[string]string{"loop": "loop", "tty": "/dev/tty", "zero": "/dev/zero", "root": "/proc/self/root" + b.Home + "/.ssh/id_rsa", "cwd": "/proc/self/cwd/../home/.ssh/id_rsa", "deep": strings.Repeat("x/../", 200) + "a.txt"} {
			if err := os.Symlink(to, filepath.Join(b.Workspace, name)); err != nil {
				t.Fatal(err)
			}
		}
		f, err := os.Create(filepath.Join(b.Workspace, "sparse"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(strings.Repeat("line\n", 10_000)); err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(1 << 42); err != nil {
			t.Fatal(err)
		}
	}})
	key := filepath.Join(d.Home, ".ssh/id_rsa")
	for _, p := range []string{
		"pipe", "loop", "tty", "zero", "root", "cwd", "/dev/stdin", "/dev/fd/0", "/dev/fd/2", "/proc/self/fd/0", "/proc/self/fd/1", "/proc/self/fd/2", "/proc/self/exe",
		"/proc/self/root" + key, "/proc/1/root" + key, "/proc/thread-self/root" + key, "/proc/self/mem", "/proc/self/pagemap", "/proc/1/environ", "/proc/kcore", "/proc/kmsg",
		"/dev/kmsg", "/proc/sysrq-trigger", "a\x00b", strings.Repeat("x", 300), strings.Repeat("y/", 3000), "", "/", "a.txt/", "a.txt/..", "//proc/self/cwd/../home/.ssh/id_rsa",
	} {
		for name, a := range map[string]args{"read_file": {}, "write_file": {"content": "x"}, "edit_file": {"old_string": "a", "new_string": "b"}} {
			a["path"] = p
			r := d.call(name, a)
			if !r.IsError || strings.Contains(r.text, "SECRET") {
				t.Errorf("%s %.80q: error %v, %.200q", name, p, r.IsError, r.text)
			}
		}
	}
	if r := d.works("read_file", args{"path": "sparse", "offset": 9_999, "limit": 2}); !strings.HasPrefix(r.text, "line\nline\n") {
		t.Errorf("%q", r.text)
	}
	d.fails("lies beyond", "read_file", args{"path": "sparse", "offset": 20_000})
	d.fails("not edited", "edit_file", args{"path": "sparse", "old_string": "line", "new_string": "x"})
	d.leftovers()
}
