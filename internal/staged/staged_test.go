//go:build linux

package staged_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/sandboxtest"
)

// upper is the layer of the workspace of the one staged run there is.
func upper(t *testing.T, b *sandboxtest.Box) string {
	t.Helper()
	ids := stagedIDs(t, b)
	if len(ids) != 1 {
		t.Fatalf("staged runs: %v", ids)
	}
	return b.State + "/bawn/staged/" + ids[0] + "/0/upper"
}

func wantKept(t *testing.T, r sandboxtest.Result, code int, said ...string) {
	t.Helper()
	for _, s := range said {
		if !strings.Contains(r.Stderr+r.Stdout, s) {
			t.Errorf("nothing says %q:\n%s%s", s, r.Stdout, r.Stderr)
		}
	}
	if r.Code != code {
		t.Errorf("exit %d, want %d: %s%s", r.Code, code, r.Stdout, r.Stderr)
	}
}

// Devices, sockets and rights are not kept, and told.
func TestNeverKept(t *testing.T) {
	t.Parallel()
	b := box(t)
	b.Sh(t, "echo x >setuid; chmod 6755 setuid; echo x >plain; chmod 755 plain; mkdir d").OK(t)
	up := upper(t, b)
	l, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(l)
	if err := unix.Mknod(up+"/sock", unix.S_IFSOCK|0o600, 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := unix.Mknod(up+"/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Setxattr(up+"/plain", "user.overlay.redirect", []byte("/etc"), 0); err != nil {
		t.Fatal(err)
	}
	r := keep(t, b).OK(t)
	wantKept(t, r, 0, "sock (a socket)", "without its setuid, setgid or sticky bit")
	if os.Geteuid() == 0 {
		wantKept(t, r, 0, "null (a device)")
	}
	for name, mode := range map[string]os.FileMode{"setuid": 0o755, "plain": 0o755} {
		if st, err := os.Lstat(b.Workspace + "/" + name); err != nil || st.Mode() != mode {
			t.Errorf("%s: %v %v", name, st.Mode(), err)
		}
	}
	if n, _ := unix.Listxattr(b.Workspace+"/plain", nil); n > 0 {
		t.Error("an attribute of the overlay was kept")
	}
	if exists(b.Workspace+"/sock") || exists(b.Workspace+"/null") {
		t.Error("a socket or device was kept")
	}
}

// What somebody changed meanwhile is not overwritten; what nobody changed is.
func TestConflicts(t *testing.T) {
	t.Parallel()
	b := box(t)
	shell(t, b.Workspace, "for f in edited touched-back removed-here untouched gone; do echo old >$f; done; mkdir -p tree emptied; echo old >tree/f; echo old >tree/g")
	b.Sh(t, "for f in edited touched-back removed-here untouched made; do echo staged >$f; done; rm -r tree gone").OK(t)
	// The second keeps size and times, which anybody may set; not the change time.
	shell(t, b.Workspace, `echo mine >edited; touch -r touched-back /tmp/ref.$$; echo his >touched-back; touch -r /tmp/ref.$$ touched-back; rm /tmp/ref.$$
echo mine >made; echo mine >tree/new; echo mine >gone`)
	r := keep(t, b)
	wantKept(t, r, 1, "/edited", "/touched-back", "/made", "/tree", "/gone", "--force")
	for f, want := range map[string]string{"edited": "mine\n", "touched-back": "his\n", "made": "mine\n", "tree/new": "mine\n", "tree/f": "old\n", "gone": "mine\n", "untouched": "staged\n", "removed-here": "staged\n"} {
		if got := text(t, b.Workspace+"/"+f); got != want {
			t.Errorf("%s is %q, want %q", f, got, want)
		}
	}
	var refused struct {
		Refused []struct{ Path, Conflict string }
		Kept    []struct{ Path string }
		Staged  int
	}
	// What is forced is what is kept.
	r = keep(t, b, "--json", "--force", "edited")
	if err := json.Unmarshal([]byte(r.Stdout), &refused); err != nil || r.Code != 0 || len(refused.Kept) != 1 || refused.Staged != 4 {
		t.Errorf("%v: %+v", err, r)
	}
	if got := text(t, b.Workspace+"/edited"); got != "staged\n" {
		t.Errorf("forced: %q", got)
	}
	keep(t, b, "--force", b.Workspace).OK(t)
	if exists(b.Workspace+"/tree") || exists(b.Workspace+"/gone") || text(t, b.Workspace+"/made") != "staged\n" {
		t.Error("the rest was not forced")
	}
	if left := stagedIDs(t, b); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A part is kept, the rest stays staged as it was.
func TestKeepPart(t *testing.T) {
	t.Parallel()
	b := box(t)
	shell(t, b.Workspace, "echo old >was; mkdir -p old/d/e; echo old >old/d/e/f; echo old >old/a; echo old >old/b; echo old >old/d/c")
	b.Sh(t, "rm -r old was; mkdir -p old/d/e was new/deep/er; echo 1 >was/x; echo 1 >was/y; echo 1 >old/d/e/g; echo 1 >old/a; echo 1 >old/n; echo 1 >new/deep/er/f; echo 1 >new/deep/g; echo 1 >h").OK(t)
	keep(t, b, "old/a", "new/deep/er", "was/x").OK(t)
	if got := strings.Join(names2(t, b.Workspace), " "); got != "new new/deep new/deep/er new/deep/er/f old old/a old/b old/d old/d/c old/d/e old/d/e/f was was/x" {
		t.Errorf("after a part: %s", got)
	}
	if text(t, b.Workspace+"/old/a") != "1\n" {
		t.Error("old/a is not the new one")
	}
	// What comes into a folder that is there now is not the staged run's to remove.
	write(t, b.Workspace+"/new/mine", "mine")
	write(t, b.Workspace+"/was/mine", "mine")
	keep(t, b).OK(t)
	if got := strings.Join(names2(t, b.Workspace), " "); got != "h new new/deep new/deep/er new/deep/er/f new/deep/g new/mine old old/a old/d old/d/e old/d/e/g old/n was was/mine was/x was/y" {
		t.Errorf("after the rest: %s", got)
	}
	wantKept(t, keep(t, b), 125, "nothing is staged")
}

func names2(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		if p != dir {
			out = append(out, strings.TrimPrefix(p, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Only the user's state folder has what was staged, and no sandbox shows it.
func TestHiddenAndListed(t *testing.T) {
	t.Parallel()
	b := box(t)
	b.Sh(t, "echo secret >f").OK(t)
	id := stagedIDs(t, b)[0]
	if st, err := os.Stat(b.State + "/bawn/staged/" + id); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	if r := b.Sh(t, "cat "+upper(t, b)+"/f"); r.Code == 0 {
		t.Error("a sandbox reads what was staged")
	}
	var list []struct {
		ID, State, Workspace string
		Files                int
		Code                 *int
	}
	r := b.Bawn(t, "keep", "--list", "--json").OK(t)
	if err := json.Unmarshal([]byte(r.Stdout), &list); err != nil || len(list) != 1 || list[0].ID != id || list[0].State != "ended" || list[0].Files != 1 || list[0].Code == nil {
		t.Errorf("%v: %s", err, r.Stdout)
	}
	wantKept(t, b.Bawn(t, "keep", "--list"), 0, id[:8], "ended", b.Workspace)
	wantKept(t, keep(t, b, "--diff"), 0, `diff "f"`, "+secret")
	if exists(b.Workspace + "/f") {
		t.Error("a look kept something")
	}
	wantKept(t, b.Bawn(t, "log", "show", id), 0, "staged")
	keep(t, b, id[:6]).OK(t)
	wantKept(t, b.Bawn(t, "log", "show", id), 0, "1 kept")
	// A run that changes nothing leaves nothing but the empty layer for the next.
	b.Sh(t, "cat f").OK(t)
	if left := stagedIDs(t, b); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// While the command runs nobody keeps or discards; if bawn is killed, the
// workspace is as it was and what was written can be kept.
func TestRunningAndInterrupted(t *testing.T) {
	t.Parallel()
	b := box(t)
	write(t, b.Workspace+"/f", "old")
	cmd := exec.Command(sandboxtest.Binary(), "run", "--stage", "-q", "--", "sh", "-c", "echo new >f; echo written; cat")
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	line := make([]byte, 8)
	if _, err := out.Read(line); err != nil || string(line) != "written\n" {
		t.Fatalf("%q %v", line, err)
	}
	wantKept(t, b.Bawn(t, "keep", "--list"), 0, "running")
	wantKept(t, keep(t, b), 125, "still running")
	wantKept(t, b.Bawn(t, "discard"), 125, "still running")
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for r := b.Bawn(t, "keep", "--list"); !strings.Contains(r.Stdout, "interrupted"); r = b.Bawn(t, "keep", "--list") {
		if !strings.Contains(r.Stdout, "running") { // pid 1 is about to go
			t.Fatalf("%+v", r)
		}
	}
	if got := text(t, b.Workspace+"/f"); got != "old" {
		t.Errorf("f is %q", got)
	}
	keep(t, b).OK(t)
	if got := text(t, b.Workspace+"/f"); got != "new\n" {
		t.Errorf("kept: %q", got)
	}
}

// Where nothing can be kept apart, nothing runs.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{
		{"--launcher", "bwrap"}, {"--tier", "open"}, {"--sandbox", "read-only"}, {"--sandbox", "danger-full-access"},
		{"--profile", "scratch"}, {"--allow-weaker"}, {"--session", "x"},
	} {
		b := box(t)
		r := b.Bawn(t, append(append([]string{"run", "--stage"}, flags...), "--", "sh", "-c", "echo ran; touch f")...)
		if r.Code != 125 || r.Stdout != "" || exists(b.Workspace+"/f") || !strings.Contains(r.Stderr, "--stage") {
			t.Errorf("%v: %+v", flags, r)
		}
		if left := stagedIDs(t, b); len(left) > 0 {
			t.Errorf("%v left %v", flags, left)
		}
	}
	for _, flags := range [][]string{{"--tier", "airlock"}, {"--sandbox", "workspace-write"}, {"--guard", "off"}} { // the twins
		b := box(t)
		b.Bawn(t, append(append([]string{"run", "--stage"}, flags...), "--", "touch", "f")...).OK(t)
		if exists(b.Workspace + "/f") {
			t.Errorf("%v: the workspace was written", flags)
		}
		keep(t, b).OK(t)
		if !exists(b.Workspace + "/f") {
			t.Errorf("%v: not kept", flags)
		}
	}
	b := box(t) // JSON cannot hold its name
	b.Workspace += "/\xff"
	if err := os.Mkdir(b.Workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	if r := b.Bawn(t, "run", "--stage", "--", "touch", "f"); r.Code != 125 || !strings.Contains(r.Stderr, `\xff" is not valid text`) || exists(b.Workspace+"/f") {
		t.Errorf("a name that is no text: %+v", r)
	}
	b.Bawn(t, "run", "--", "touch", "f").OK(t)
	if os.Geteuid() == 0 {
		b := box(t)
		if err := os.Mkdir(b.Workspace+"/m", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("none", b.Workspace+"/m", "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		defer unix.Unmount(b.Workspace+"/m", unix.MNT_DETACH)
		wantKept(t, b.Sh(t, "touch f"), 125, "is mounted inside it")
	}
}

// Added folders are staged too, caches and temp are not.
func TestFolders(t *testing.T) {
	t.Parallel()
	b := box(t)
	more := sandboxtest.Dir(t)
	write(t, more+"/f", "old")
	if err := os.MkdirAll(b.Home+"/.cache", 0o755); err != nil {
		t.Fatal(err)
	}
	b.Flags = append(b.Flags, "--add-dir", more)
	b.Sh(t, "echo new >"+more+"/f; echo new >"+more+"/g; echo new >h; echo new >~/.cache/c; echo new >/tmp/t").OK(t)
	if text(t, more+"/f") != "old" || exists(more+"/g") || exists(b.Workspace+"/h") {
		t.Error("a folder was written")
	}
	if !exists(b.Home + "/.cache/c") {
		t.Error("the cache was not")
	}
	keep(t, b, more+"/f").OK(t)
	if text(t, more+"/f") != "new\n" || exists(more+"/g") {
		t.Error("not the one that was asked for")
	}
	keep(t, b).OK(t)
	if !exists(more+"/g") || !exists(b.Workspace+"/h") {
		t.Error("the rest is not there")
	}
}

// Git works in a staged run, and what it made is whole when it is kept.
func TestGit(t *testing.T) {
	t.Parallel()
	b := box(t)
	git := "git -c user.name=me -c user.email=me@example.com "
	shell(t, b.Workspace, "git init -q -b main . && echo 1 >f && git add . && "+git+"commit -qm one")
	b.Sh(t, `set -e; g() { git -c user.name=me -c user.email=me@example.com "$@"; }
echo 2 >f; g commit -qam two; g checkout -qb side HEAD~1; echo 3 >s; g add s; g commit -qm side; g checkout -q main; g merge -q -m merged side
g tag v1; g stash list; git config user.name me; git remote add origin https://example.com/x.git; git worktree add -q wt side; echo 4 >wt/w; git init -q sub; g gc -q`).OK(t)
	if out := output(t, b.Workspace, "git log --oneline | wc -l; git --no-optional-locks status --porcelain"); out != "1\n" {
		t.Errorf("the workspace was changed: %q", out)
	}
	r := keep(t, b)
	wantKept(t, r, 0, "kept")
	if out := output(t, b.Workspace, "git fsck 2>&1 && git log --oneline | wc -l && git status --porcelain && git -C wt status --porcelain && git -C sub status --porcelain && git remote && git tag && cat s"); out != "4\n?? sub/\n?? wt/\n?? w\norigin\nv1\n3\n" {
		t.Errorf("after the keep: %q", out)
	}
}

func output(t *testing.T, dir, text string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", text)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	return string(out)
}

// Big files keep their holes, and names that run code later are told.
func TestBigAndWatched(t *testing.T) {
	t.Parallel()
	b := box(t)
	b.Sh(t, "truncate -s 3G big; printf end | dd of=big bs=1 seek=2000000000 conv=notrunc status=none; echo all: >Makefile; echo x >plain").OK(t)
	r := keep(t, b).OK(t)
	wantKept(t, r, 0, "code outside later", "Makefile")
	if strings.Contains(r.Stderr, "plain") {
		t.Errorf("told too much: %s", r.Stderr)
	}
	var st unix.Stat_t
	if err := unix.Lstat(b.Workspace+"/big", &st); err != nil || st.Size != 3<<30 || st.Blocks*512 > 1<<20 {
		t.Errorf("%v: %d bytes, %d on the disk", err, st.Size, st.Blocks*512)
	}
	f, err := os.Open(b.Workspace + "/big")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data := make([]byte, 3)
	if _, err := f.ReadAt(data, 2_000_000_000); err != nil || string(data) != "end" {
		t.Errorf("%q %v", data, err)
	}
}

// The user's settings lift a protected name; a keep asks those of its own time.
func TestLiftedOnKeep(t *testing.T) {
	t.Parallel()
	b := box(t)
	settings := b.Home + "/.config/bawn/config.toml"
	write(t, settings, "[sandbox]\nunprotect = [\".mcp.json\"]\n")
	b.Sh(t, "echo '{}' >.mcp.json && echo x >plain").OK(t)
	if err := os.Remove(settings); err != nil {
		t.Fatal(err)
	}
	wantKept(t, keep(t, b), 1, "not kept", ".mcp.json", "unprotect")
	if exists(b.Workspace+"/.mcp.json") || !exists(b.Workspace+"/plain") {
		t.Error("not what the settings say now")
	}
	write(t, settings, "[sandbox]\nunprotect = [\".mcp.json\"]\n")
	keep(t, b).OK(t)
	if !exists(b.Workspace + "/.mcp.json") {
		t.Error("the lifted name was not kept")
	}
}

// A folder that its owner may not enter is opened for a keep, which is not what
// the command did with it.
func TestKeepClosedFolder(t *testing.T) {
	t.Parallel()
	for do, want := range map[string]os.FileMode{"chmod 700 a": 0o700, "chmod 755 a": 0o755, "chmod 700 a; touch a/x; chmod 600 a": 0o600, "touch x": 0o600} {
		b := box(t)
		shell(t, b.Workspace, "mkdir -m 600 a")
		b.Sh(t, do).OK(t)
		keep(t, b).OK(t)
		if st, err := os.Stat(b.Workspace + "/a"); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", do, st.Mode(), err, want)
		}
	}
}
