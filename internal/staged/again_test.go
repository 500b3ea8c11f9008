//go:build linux

package staged_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What a keep that was killed has brought is known again on a disk that cuts
// times to seconds.
func TestCoarseTimesAfterKill(t *testing.T) {
	t.Parallel()
	b := box(t)
	write(t, b.Workspace+"/a", "old")
	write(t, b.Workspace+"/b", "old")
	b.Sh(t, "echo new >a; echo new >b").OK(t)
	cmd := exec.Command(program("killed"), "keep")
	cmd.Dir, cmd.Env = b.Workspace, append(b.Environ(), "BAWN_TEST_KILL=7")
	if err := cmd.Run(); err == nil || text(t, b.Workspace+"/a") != "new\n" || text(t, b.Workspace+"/b") != "old" {
		t.Fatalf("the test shows nothing: %v, b is %q", err, text(t, b.Workspace+"/b"))
	}
	st, err := os.Stat(b.Workspace + "/a")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(b.Workspace+"/a", time.Time{}, st.ModTime().Truncate(time.Second)); err != nil {
		t.Fatal(err)
	}
	keep(t, b).OK(t)
	if text(t, b.Workspace+"/b") != "new\n" {
		t.Error("b was not kept")
	}
}

// A new time alone is kept too, and what a person changed in nothing but its
// time is in nobody's way.
func TestTimesAlone(t *testing.T) {
	t.Parallel()
	b := box(t)
	write(t, b.Workspace+"/a", "same")
	write(t, b.Workspace+"/b", "old")
	b.Sh(t, "touch -d @1000000000 a; printf new >b").OK(t)
	write(t, b.Workspace+"/b", "new")
	keep(t, b).OK(t)
	if st, err := os.Stat(b.Workspace + "/a"); err != nil || st.ModTime().Unix() != 1_000_000_000 {
		t.Errorf("a: %v %v", st.ModTime(), err)
	}
}

// acl is an access list as the kernel takes it, which lets a user read.
func acl(user uint32) []byte {
	none := ^uint32(0)
	out := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, none}, {2, 4, user}, {4, 4, none}, {0x10, 4, none}, {0x20, 0, none}} {
		out = binary.LittleEndian.AppendUint16(out, e.tag)
		out = binary.LittleEndian.AppendUint16(out, e.perm)
		out = binary.LittleEndian.AppendUint32(out, e.id)
	}
	return out
}

// A file that came to be without an access list gets none from the folder in
// which it is kept.
func TestNoForeignAccessList(t *testing.T) {
	t.Parallel()
	b := box(t)
	direct := *b
	direct.Flags = []string{"-q"}
	list := func() (out string) {
		for _, name := range []string{"made", "moved", "pipe"} {
			value := make([]byte, 200)
			n, err := unix.Lgetxattr(b.Workspace+"/d/"+name, "system.posix_acl_access", value)
			out += fmt.Sprintf("%s: %x %v\n", name, value[:max(n, 0)], err)
		}
		return out
	}
	var want string
	for _, how := range []string{"direct", "staged"} {
		if err := os.Mkdir(b.Workspace+"/d", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Setxattr(b.Workspace+"/d", "system.posix_acl_default", acl(uint32(os.Getuid())), 0); err != nil {
			t.Fatal(err)
		}
		const text = "echo x >d/made; echo x >moved; mv moved d/moved; mkfifo pipe; mv pipe d/pipe"
		if how == "direct" {
			direct.Sh(t, text).OK(t)
			want = list()
		} else {
			b.Sh(t, text).OK(t)
			keep(t, b).OK(t)
			if got := list(); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		}
		if err := os.RemoveAll(b.Workspace + "/d"); err != nil {
			t.Fatal(err)
		}
	}
}

// A folder that somebody put in the place of one that the run made, or made
// anew, has older files than the run: they are theirs all the same.
func TestFolderPutThereMeanwhile(t *testing.T) {
	t.Parallel()
	b := box(t)
	other := filepath.Dir(b.Workspace) + "/other"
	shell(t, b.Workspace, "mkdir -p anew/in kept; echo old >anew/a; echo old >anew/in/a; echo old >kept/a; mkdir -p "+other+"; cd "+other+
		"; mkdir -p anew/in in made/sub/deep made/as-folder; echo precious >anew/p; echo precious >anew/n; echo precious >in/p; echo precious >made/f; echo precious >made/sub/deep/f; echo precious >made/as-folder/f; ln -s precious made/link")
	b.Sh(t, "rm -r anew; mkdir -p anew/in; echo new >anew/n; echo new >anew/in/n; rm -r kept; mkdir kept; echo new >kept/n; mkdir -p made/sub/deep; cd made; echo new >f; echo new >g; echo new >sub/deep/f; echo new >sub/deep/g; ln -s new link; echo new >as-folder").OK(t)
	shell(t, b.Workspace, "mv anew old; mv "+other+"/anew anew; rmdir anew/in; mv "+other+"/in anew/in; mv "+other+"/made made")
	for range 2 { // the second knows no more
		wantKept(t, keep(t, b), 1, "/anew/p", "/anew/in/p", "/anew/n", "/made/f", "/made/sub/deep/f", "/made/link", "/made/as-folder", "--force")
		for _, name := range []string{"anew/p", "anew/n", "anew/in/p", "made/f", "made/sub/deep/f", "made/as-folder/f"} {
			if got := text(t, b.Workspace+"/"+name); got != "precious\n" {
				t.Errorf("%s is %q", name, got)
			}
		}
		if to, _ := os.Readlink(b.Workspace + "/made/link"); to != "precious" {
			t.Errorf("link: %q", to)
		}
		if !exists(b.Workspace+"/made/g") || !exists(b.Workspace+"/made/sub/deep/g") || !exists(b.Workspace+"/kept/n") || exists(b.Workspace+"/kept/a") {
			t.Error("not the right rest was kept")
		}
	}
	keep(t, b, "--force", ".").OK(t)
	if got := listing(t, b.Workspace+"/anew") + ", " + listing(t, b.Workspace+"/anew/in"); got != "in n, n" || text(t, b.Workspace+"/made/sub/deep/f") != "new\n" || text(t, b.Workspace+"/made/as-folder") != "new\n" {
		t.Errorf("forced: %s", got)
	}
}

// What is staged below something that was mounted since is not given up by a
// force, which cannot reach it.
func TestForceBelowAMount(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // root mounts
	}
	b := box(t)
	shell(t, b.Workspace, "mkdir d; echo old >d/f")
	b.Sh(t, "echo new >d/f").OK(t)
	if err := unix.Mount("none", b.Workspace+"/d", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(b.Workspace+"/d", unix.MNT_DETACH) })
	wantKept(t, keep(t, b, "--force", "."), 1, "something was mounted there since the run began", "still staged")
	if err := unix.Unmount(b.Workspace+"/d", 0); err != nil {
		t.Fatal(err)
	}
	keep(t, b).OK(t)
	if got := text(t, b.Workspace+"/d/f"); got != "new\n" {
		t.Errorf("d/f is %q", got)
	}
}

// What somebody else has staged root neither keeps nor builds on.
func TestSomebodyElsesRun(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // root gives files away
	}
	b := box(t)
	b.Env = append(b.Env, "BAWN_LOG=off")
	b.Sh(t, "true").OK(t) // leaves the spare layer
	b.Sh(t, "echo new >f").OK(t)
	b.Sh(t, "true").OK(t)
	store := b.State + "/bawn/staged"
	run := store + "/" + stagedIDs(t, b)[0]
	for _, dir := range []string{run, store + "/.spare"} {
		if err := os.Chown(dir, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, do := range []string{"keep", "discard"} {
		wantKept(t, b.Bawn(t, do), 125, "belongs to user 1")
	}
	if exists(b.Workspace + "/f") {
		t.Error("it was kept")
	}
	if err := os.Chown(run, 0, 0); err != nil {
		t.Fatal(err)
	}
	keep(t, b).OK(t)
	b.Sh(t, "echo new >g").OK(t) // not in the spare one
	keep(t, b).OK(t)
	if !exists(store+"/.spare") || !exists(b.Workspace+"/g") {
		t.Error("somebody else's spare layer was taken")
	}
}

// Nobody may read a file or a fifo of several names: each is kept with its mode,
// also where only some are.
func TestClosedFileOfSeveralNames(t *testing.T) {
	t.Parallel()
	b := box(t)
	b.Sh(t, "mkdir a b; mkfifo -m 0 a/pipe; ln a/pipe b/pipe; echo x >a/file; ln a/file b/file; ln a/file b/other; chmod 0 a/file").OK(t)
	keep(t, b, "a").OK(t)
	keep(t, b).OK(t)
	for _, name := range []string{"a/pipe", "b/pipe", "a/file", "b/file", "b/other"} {
		if st, err := os.Lstat(b.Workspace + "/" + name); err != nil || st.Mode().Perm() != 0 {
			t.Errorf("%s: %v %v", name, st.Mode(), err)
		}
	}
}
