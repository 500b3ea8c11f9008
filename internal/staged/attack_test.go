//go:build linux

package staged_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/tools/tempdir"
)

// A file's second name is one of the file that was kept, not of what somebody
// put at its first name meanwhile.
func TestSecondNameRaced(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"sandboxed", "outside"} {
		b := box(t)
		shell(t, b.Workspace, "mkdir a ab b")
		b.Sh(t, "echo x >a/a; echo y >ab/y; ln a/a b/b; ln a/a b/c").OK(t)
		other := *b
		other.Flags = []string{"-q"}
		const race = "if [ -e a/a ] && ! [ -e ab/y ]; then rm a/a; ln -s /etc/passwd a/a; fi"
		code, said := stopped(t, b, "temp", func() { // of a/a, then of ab/y
			if who == "outside" {
				shell(t, b.Workspace, race)
			} else {
				other.Sh(t, race).OK(t)
			}
		})
		for _, name := range []string{"b/b", "b/c"} {
			st, err := os.Lstat(b.Workspace + "/" + name)
			if err != nil || !st.Mode().IsRegular() || text(t, b.Workspace+"/"+name) != "x\n" {
				t.Errorf("%s: %s: %v, %v (exit %d: %s)", who, name, st, err, code, said)
			}
		}
		if to, err := os.Readlink(b.Workspace + "/a/a"); err != nil || to != "/etc/passwd" {
			t.Errorf("%s: the test shows nothing: %q %v", who, to, err)
		}
	}
}

// What bawn says to type is safe to type, whatever the names are.
func TestSaidCommandIsQuoted(t *testing.T) {
	t.Parallel()
	b := box(t)
	names := []string{"x;touch pwned", "$(touch pwned)", "a b", "'; touch pwned; '", "-x", "\x1b[2Jesc", "n\nl", "\u202egnp"}
	for _, n := range names {
		write(t, b.Workspace+"/"+n, "old")
	}
	b.Sh(t, "for f in *; do echo new >\"./$f\"; done").OK(t)
	for _, n := range names {
		write(t, b.Workspace+"/"+n, "mine")
	}
	r := keep(t, b)
	wantKept(t, r, 1, "changed since the run began")
	said := 0
	for line := range strings.Lines(r.Stderr) {
		line, ok := strings.CutSuffix(strings.TrimSpace(line), " takes the staged one")
		if !ok {
			continue
		}
		said++
		cmd := exec.Command("bash", "-c", sandboxtest.Binary()+strings.TrimPrefix(line, "bawn"))
		cmd.Dir, cmd.Env = b.Workspace, b.Environ()
		if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%q: %v: %s", line, err, out)
		}
	}
	if said != len(names) {
		t.Errorf("%d of %d are said: %s", said, len(names), r.Stderr)
	}
	for _, n := range names {
		if got := text(t, b.Workspace+"/"+n); got != "new\n" {
			t.Errorf("%q is %q", n, got)
		}
	}
	if exists(b.Workspace + "/pwned") {
		t.Error("a name ran as a command")
	}
}

// An attribute for which the workspace's file system has no room refuses its
// file, and nothing else.
func TestAttributesThatDoNotFit(t *testing.T) {
	t.Parallel()
	b := box(t)
	state := tempdir.ForTest(t, "/dev/shm")
	b.State = state
	set := "python3 -c 'import os\nfor k in range(3): os.setxattr(\"b\", \"user.a%d\" % k, b\"x\" * 3000)'"
	b.Sh(t, "echo new >a; echo new >b; echo new >c; "+set).OK(t)
	r := keep(t, b)
	wantKept(t, r, 1, "/b", "its attribute user.a")
	if !exists(b.Workspace+"/a") || !exists(b.Workspace+"/c") || exists(b.Workspace+"/b") || temp(t, b.Workspace) {
		t.Errorf("kept: %s", listing(t, b.Workspace))
	}
}

// A keep that ends early leaves no folder open that was closed to its owner.
func TestEarlyEndClosesFolders(t *testing.T) {
	t.Parallel()
	b := box(t)
	shell(t, b.Workspace, "mkdir e f; echo old >e/x; echo old >e/y; chmod 555 e; chmod 500 f")
	b.Sh(t, "chmod 755 e f; echo new >e/x; echo new >e/y; echo new >f/x; chmod 555 e; chmod 500 f").OK(t)
	up := upper(t, b)
	code, said := stopped(t, b, "renamed", func() { shell(t, filepath.Dir(up), "chmod -R u+w upper; rm -rf upper/e upper/f") })
	if code != 125 || !strings.Contains(said, "ended early") {
		t.Errorf("the test shows nothing: exit %d: %s", code, said)
	}
	for name, mode := range map[string]os.FileMode{"e": 0o555, "f": 0o500} {
		if st, err := os.Stat(b.Workspace + "/" + name); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
}

// A disk that is full at any point of a keep ends it; each file is the old or
// the new one, nothing is left beside it, and with room again the keep goes on.
func TestKeepOnAFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // the disk is made by root: as root it runs in another process
	}
	b := box(t)
	if err := unix.Mount("none", b.Workspace, "tmpfs", 0, "size=2m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(b.Workspace, unix.MNT_DETACH) })
	const more = "\nfor i in 1 2 3 4; do head -c 50000 /dev/zero | tr '\\0' $i >big$i; done; head -c 50000 /dev/zero | tr '\\0' x >changed"
	direct := *b
	direct.Flags = []string{"-q"}
	shell(t, b.Workspace, before)
	was := tree(t, b.Workspace)
	direct.Sh(t, during+more).OK(t)
	want := tree(t, b.Workspace)
	full, passed := 0, 0
	for free := 0; passed < 2; free += 16 << 10 {
		shell(t, b.Workspace, "chmod -R u+w .; find . -mindepth 1 -delete; "+before)
		b.Sh(t, during+more).OK(t)
		shell(t, b.Workspace, fmt.Sprintf("dd if=/dev/zero of=ballast bs=64k status=none 2>/dev/null || true; truncate -s -%d ballast", free))
		r := keep(t, b)
		if r.Code == 0 {
			passed++
		} else if full++; r.Code != 125 || !strings.Contains(r.Stderr, "no space left") || !strings.Contains(r.Stderr, "bawn keep") {
			t.Errorf("%d bytes free: %+v", free, r)
		}
		if err := os.Remove(b.Workspace + "/ballast"); err != nil {
			t.Fatal(err)
		}
		for _, l := range tree(t, b.Workspace) {
			if strings.Contains(l, ".bawn-keep-") || strings.Contains(l, " 100") && !has(was, l) && !has(want, l) && !strings.Contains(l, "one with") && !linkedBefore(was, want, l) {
				t.Errorf("%d bytes free: %.200s is neither the old nor the new one", free, l)
			}
		}
		if r.Code != 0 {
			keep(t, b).OK(t)
		}
		same(t, fmt.Sprintf("%d bytes were free, then kept", free), tree(t, b.Workspace), want)
	}
	if full < 5 {
		t.Errorf("full only %d times: the test shows little", full)
	}
}
