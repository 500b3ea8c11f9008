//go:build unix

package gitdir

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// No name may block or be read without bound.
func TestOddFiles(t *testing.T) {
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			panic("Discover blocks")
		}
	}()
	defer close(done)
	fifo := func(path string) {
		remove(t, path)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	base := tempDir(t)

	dir := mkdir(t, base+"/a")
	fifo(dir + "/.git")
	warned(t, discover(t, dir), "neither a folder nor a file")

	m := repository(t, base+"/m")
	git(t, m, "worktree", "add", "-q", "../wt")
	for _, name := range []string{"/worktrees/wt/commondir", "/worktrees/wt/gitdir"} {
		old := readFile(t, m+"/.git"+name)
		fifo(m + "/.git" + name)
		r := discover(t, base+"/wt")
		want(t, "Writable", r.Writable)
		warned(t, r, "not a regular file")
		remove(t, m+"/.git"+name)
		write(t, m+"/.git"+name, strings.Repeat("/", maxPointer)+old)
		r = discover(t, base+"/wt")
		want(t, "Writable", r.Writable)
		warned(t, r, "not believed", "limit")
		write(t, m+"/.git"+name, old)
	}
	want(t, "Writable", discover(t, base+"/wt").Writable, m+"/.git")

	old := readFile(t, base+"/wt/.git")
	write(t, base+"/wt/.git", old+strings.Repeat("\n", maxPointer))
	r := discover(t, base+"/wt")
	want(t, "Writable", r.Writable)
	warned(t, r, "larger than 64 KiB")

	write(t, m+"/.git/commondir", "../x\x00y\n")
	warned(t, discover(t, m), "commondir", "does not hold a path")
	remove(t, m+"/.git/commondir")

	config := readFile(t, m+"/.git/config")
	write(t, m+"/.git/config", config+strings.Repeat("#", maxConfig))
	if _, err := Discover(m); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), m+"/.git/config") {
		t.Errorf("huge config: %v", err)
	}
	write(t, m+"/.git/config", config+"[core\n")
	var syntax *SyntaxError
	if _, err := Discover(m); !errors.As(err, &syntax) || syntax.Line != strings.Count(config, "\n")+1 {
		t.Errorf("broken config: %v", err)
	}
	fifo(m + "/.git/config")
	if _, err := Discover(m); !errors.Is(err, errNotRegular) {
		t.Errorf("fifo as config: %v", err)
	}
	remove(t, m+"/.git/config")
	symlink(t, "/dev/zero", m+"/.git/config")
	if _, err := Discover(m); !errors.Is(err, errNotRegular) {
		t.Errorf("device as config: %v", err)
	}
}

// Too much to read fails; it does not protect a part.
func TestLimits(t *testing.T) {
	m := repository(t, tempDir(t)+"/m")
	for i := range maxDirs {
		mkdir(t, fmt.Sprintf("%s/.git/modules/%d", m, i))
	}
	discover(t, m)
	mkdir(t, m+"/.git/modules/more")
	if _, err := Discover(m); !errors.Is(err, ErrLimit) {
		t.Errorf("%d modules: %v", maxDirs+1, err)
	}
	remove(t, m+"/.git/modules")
	mkdir(t, m+"/.git/modules"+strings.Repeat("/x", maxDepth))
	discover(t, m)
	mkdir(t, m+"/.git/modules"+strings.Repeat("/x", maxDepth+2))
	if _, err := Discover(m); !errors.Is(err, ErrLimit) {
		t.Errorf("deep modules: %v", err)
	}
	remove(t, m+"/.git/modules")
	// A loop of links ends by itself.
	symlink(t, "..", m+"/.git/modules/loop")
	symlink(t, "/", m+"/.git/modules/rootdir")
	symlink(t, ".", m+"/.git/modules/self")
	discover(t, m)
}
