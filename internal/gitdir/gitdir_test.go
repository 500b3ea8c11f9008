//go:build unix

package gitdir

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestNoRepository(t *testing.T) {
	dir := tempDir(t)
	r := discover(t, dir)
	if r.Writable != nil || r.Pins != nil || r.ReadOnly != nil || r.Names != nil || r.Warnings != nil {
		t.Errorf("got %+v, want the zero Repo", r)
	}
	for _, bad := range []string{"", "rel", dir + "/", dir + "/../x", dir + "//x"} {
		if _, err := Discover(bad); err == nil {
			t.Errorf("Discover(%q) succeeded", bad)
		}
	}
}

func TestOrdinary(t *testing.T) {
	m := repository(t, tempDir(t)+"/m")
	r := discover(t, m)
	want(t, "Writable", r.Writable)
	want(t, "Pins", r.Pins, m+"/.git")
	want(t, "ReadOnly", r.ReadOnly, m+"/.git/hooks", m+"/.git/config")
	want(t, "Names", r.Names)
	warned(t, r)

	// Absent names are not listed; once there, they are.
	remove(t, m+"/.git/hooks")
	write(t, m+"/.git/commondir", ".\n")
	write(t, m+"/.git/config.worktree", "")
	r = discover(t, m)
	want(t, "ReadOnly", r.ReadOnly, m+"/.git/config", m+"/.git/config.worktree", m+"/.git/commondir")
	warned(t, r)
}

func TestGitFolderWithoutHead(t *testing.T) {
	m := repository(t, tempDir(t)+"/m")
	remove(t, m+"/.git/HEAD")
	has(t, "ReadOnly", discover(t, m).ReadOnly, m+"/.git/hooks", m+"/.git/config")

	// git init keeps what is in such a folder.
	e := tempDir(t)
	write(t, e+"/.git/hooks/pre-commit", "")
	r := discover(t, e)
	want(t, "ReadOnly", r.ReadOnly, e+"/.git/hooks")
	want(t, "Pins", r.Pins, e+"/.git")
}

// A broken HEAD makes git take the folder itself as a bare repository.
func TestBareLayoutBesideGit(t *testing.T) {
	m := repository(t, tempDir(t)+"/m")
	for _, d := range []string{"objects", "refs", "hooks"} {
		mkdir(t, m+"/"+d)
	}
	hasNot(t, "ReadOnly", discover(t, m).ReadOnly, m+"/hooks")
	write(t, m+"/HEAD", "ref: refs/heads/main\n")
	has(t, "ReadOnly", discover(t, m).ReadOnly, m+"/hooks", m+"/.git/hooks")
	// Nor does it take HEAD, which the command can write, …
	remove(t, m+"/HEAD")
	write(t, m+"/config", "")
	has(t, "ReadOnly", discover(t, m).ReadOnly, m+"/hooks", m+"/config")
	// … nor objects and refs, if there is a commondir.
	e := tempDir(t)
	write(t, e+"/HEAD", "ref: refs/heads/main\n")
	write(t, e+"/commondir", m+"/.git\n")
	want(t, "ReadOnly", discover(t, e).ReadOnly, e+"/commondir")
}

func TestLinkedWorktree(t *testing.T) {
	base := tempDir(t)
	m := repository(t, base+"/m")
	git(t, m, "worktree", "add", "-q", "../wt")
	git(t, m, "worktree", "add", "-q", "../other")
	git(t, m, "config", "extensions.worktreeConfig", "true")
	git(t, base+"/other", "config", "--worktree", "a.b", "c")

	c := m + "/.git"
	r := discover(t, base+"/wt")
	want(t, "Writable", r.Writable, c)
	want(t, "ReadOnly", r.ReadOnly, base+"/wt/.git", c+"/hooks", c+"/config",
		c+"/worktrees/wt/commondir", c+"/worktrees/wt/gitdir",
		c+"/worktrees/other/commondir", c+"/worktrees/other/gitdir", c+"/worktrees/other/config.worktree")
	want(t, "Pins", r.Pins, c, c+"/worktrees", c+"/worktrees/wt", c+"/worktrees/other")
	warned(t, r)

	// The main checkout: nothing outside, the worktrees' directories inside.
	r = discover(t, m)
	want(t, "Writable", r.Writable)
	has(t, "ReadOnly", r.ReadOnly, c+"/hooks", c+"/worktrees/wt/commondir", c+"/worktrees/wt/gitdir")
	has(t, "Pins", r.Pins, c, c+"/worktrees", c+"/worktrees/wt")
}

// A worktree inside the main checkout: its pointer is the folder's, too.
func TestWorktreeInsideFolder(t *testing.T) {
	m := repository(t, tempDir(t)+"/m")
	git(t, m, "worktree", "add", "-q", "trees/a")
	r := discover(t, m)
	has(t, "ReadOnly", r.ReadOnly, m+"/trees/a/.git")
	has(t, "Pins", r.Pins, m+"/trees", m+"/trees/a")
	r = discover(t, m+"/trees/a")
	want(t, "Writable", r.Writable, m+"/.git")
	warned(t, r)
}

// B03: a bare repository with a folder for each branch and relative pointers.
func TestBareWithWorktrees(t *testing.T) {
	base := tempDir(t)
	repository(t, base+"/src")
	git(t, base, "clone", "-q", "--bare", "src", "r.git")
	git(t, base+"/r.git", "worktree", "add", "-q", "../main")
	write(t, base+"/main/.git", "gitdir: ../r.git/worktrees/main\n")
	write(t, base+"/r.git/worktrees/main/gitdir", "../../../main/.git \n") // git trims blanks here, too
	git(t, base+"/main", "status")
	r := discover(t, base+"/main")
	want(t, "Writable", r.Writable, base+"/r.git")
	want(t, "ReadOnly", r.ReadOnly, base+"/main/.git", base+"/r.git/hooks", base+"/r.git/config",
		base+"/r.git/worktrees/main/commondir", base+"/r.git/worktrees/main/gitdir")
	warned(t, r)

	want(t, "ReadOnly", discover(t, base+"/r.git/hooks").ReadOnly, base+"/r.git/hooks")
	want(t, "ReadOnly", discover(t, base+"/r.git/worktrees").ReadOnly,
		base+"/r.git/worktrees/main/commondir", base+"/r.git/worktrees/main/gitdir")

	// A folder that holds both.
	write(t, base+"/.git", "gitdir: ./r.git\n")
	r = discover(t, base)
	want(t, "Writable", r.Writable)
	has(t, "ReadOnly", r.ReadOnly, base+"/.git", base+"/main/.git", base+"/r.git/hooks", base+"/r.git/config")
	has(t, "Pins", r.Pins, base+"/r.git", base+"/r.git/worktrees", base+"/r.git/worktrees/main", base+"/main")
	warned(t, r)
}

// Checkouts inside the bare repository: writing it does not write the others.
func TestWorktreesInsideBare(t *testing.T) {
	base := tempDir(t)
	repository(t, base+"/src")
	git(t, base, "clone", "-q", "--bare", "src", "p")
	git(t, base+"/p", "worktree", "add", "-q", "a")
	git(t, base+"/p", "worktree", "add", "-q", "b")
	r := discover(t, base+"/p/a")
	want(t, "Writable", r.Writable, base+"/p")
	has(t, "ReadOnly", r.ReadOnly, base+"/p/b", base+"/p/a/.git", base+"/p/hooks", base+"/p/config")
	hasNot(t, "ReadOnly", r.ReadOnly, base+"/p", base+"/p/a")

	// A checkout inside another one cannot make its own folder read-only.
	git(t, base+"/p", "worktree", "add", "-q", "a/n")
	r = discover(t, base+"/p/a/n")
	has(t, "ReadOnly", r.ReadOnly, base+"/p/b", base+"/p/a/n/.git")
	hasNot(t, "ReadOnly", r.ReadOnly, base+"/p/a", base+"/p/a/n")

	write(t, base+"/.git", "gitdir: p\n") // all in the folder: nothing is granted, the checkouts stay writable
	hasNot(t, "ReadOnly", discover(t, base).ReadOnly, base+"/p/a", base+"/p/b")

	r = discover(t, base+"/p") // the bare repository itself
	want(t, "Writable", r.Writable)
	has(t, "ReadOnly", r.ReadOnly, base+"/p/hooks", base+"/p/config", base+"/p/a/.git", base+"/p/b/.git")
	hasNot(t, "ReadOnly", r.ReadOnly, base+"/p/a", base+"/p/b")
}

func submodule(t testing.TB, base string) (super, sub, gitDir string) {
	super = repository(t, base+"/super")
	repository(t, base+"/src")
	git(t, super, "submodule", "--quiet", "add", "../src", "deps/s")
	git(t, super, "commit", "-q", "-m", "sub")
	return super, super + "/deps/s", super + "/.git/modules/deps/s"
}

func TestSubmodule(t *testing.T) {
	base := tempDir(t)
	super, sub, g := submodule(t, base)
	r := discover(t, sub)
	want(t, "Writable", r.Writable, g)
	want(t, "ReadOnly", r.ReadOnly, sub+"/.git", g+"/hooks", g+"/config")
	want(t, "Pins", r.Pins, g)
	warned(t, r)

	r = discover(t, super)
	want(t, "Writable", r.Writable)
	want(t, "ReadOnly", r.ReadOnly, super+"/.git/hooks", super+"/.git/config", g+"/hooks", g+"/config", sub+"/.git")
	want(t, "Pins", r.Pins, super+"/.git", super+"/.git/modules", super+"/.git/modules/deps", g, super+"/deps", sub)
	warned(t, r)

	// sparse-checkout moves core.worktree into config.worktree.
	git(t, sub, "sparse-checkout", "set", "a")
	if s := readFile(t, g+"/config"); strings.Contains(s, "worktree = ") {
		t.Logf("this git keeps core.worktree in config:\n%s", s)
	}
	want(t, "Writable", discover(t, sub).Writable, g)

	// Without HEAD it is no git directory until the command writes HEAD.
	rename(t, g+"/HEAD", g+"/H")
	has(t, "ReadOnly", discover(t, super).ReadOnly, g+"/hooks", g+"/config")
	rename(t, g+"/H", g+"/HEAD")

	// Seen from a folder below, its config names programs, too.
	git(t, sub, "config", "core.fsmonitor", "../../in/fs")
	write(t, super+"/in/fs", "")
	want(t, "ReadOnly", discover(t, super+"/in").ReadOnly, super+"/in/fs")
	git(t, sub, "config", "--unset", "core.fsmonitor")

	// An absolute pointer and a linked worktree of the submodule.
	write(t, sub+"/.git", "gitdir: "+g+"\n")
	want(t, "Writable", discover(t, sub).Writable, g)
	git(t, sub, "worktree", "add", "-q", base+"/subtree")
	r = discover(t, base+"/subtree")
	want(t, "Writable", r.Writable, g)
	warned(t, r)
}

func TestNestedSubmodules(t *testing.T) {
	base := tempDir(t)
	mid := repository(t, base+"/mid")
	repository(t, base+"/leaf")
	git(t, mid, "submodule", "--quiet", "add", base+"/leaf", "x/leaf")
	git(t, mid, "commit", "-q", "-m", "leaf")
	super := repository(t, base+"/super")
	git(t, super, "submodule", "--quiet", "add", base+"/mid", "a/b/mid")
	git(t, super, "submodule", "--quiet", "update", "--init", "--recursive")

	leaf := super + "/.git/modules/a/b/mid/modules/x/leaf"
	r := discover(t, super)
	has(t, "ReadOnly", r.ReadOnly, leaf+"/config", leaf+"/hooks", super+"/a/b/mid/x/leaf/.git")
	has(t, "Pins", r.Pins, leaf, filepath.Dir(leaf), super+"/.git/modules/a/b/mid/modules", super+"/.git/modules/a/b")
	r = discover(t, super+"/a/b/mid/x/leaf")
	want(t, "Writable", r.Writable, leaf)
	warned(t, r)

	// In a linked worktree git keeps the submodules of its own.
	git(t, super, "commit", "-q", "-m", "mid")
	git(t, super, "worktree", "add", "-q", base+"/wt")
	git(t, base+"/wt", "submodule", "--quiet", "update", "--init")
	g := super + "/.git/worktrees/wt/modules/a/b/mid"
	r = discover(t, base+"/wt")
	want(t, "Writable", r.Writable, super+"/.git")
	has(t, "ReadOnly", r.ReadOnly, g+"/config", g+"/hooks", base+"/wt/a/b/mid/.git", leaf+"/config")
	r = discover(t, base+"/wt/a/b/mid")
	want(t, "Writable", r.Writable, g)
	warned(t, r)
}

func TestSymlinkedDotGit(t *testing.T) {
	base := tempDir(t)
	m := repository(t, base+"/m")
	rename(t, m+"/.git", m+"/real")
	symlink(t, "real", m+"/.git")
	r := discover(t, m)
	want(t, "Writable", r.Writable)
	want(t, "ReadOnly", r.ReadOnly, m+"/real/hooks", m+"/real/config")
	want(t, "Pins", r.Pins, m+"/real")
	want(t, "Names", r.Names, m+"/.git")
	warned(t, r)

	rename(t, m+"/real", base+"/outside")
	remove(t, m+"/.git")
	symlink(t, "../outside", m+"/.git")
	r = discover(t, m)
	want(t, "Writable", r.Writable)
	want(t, "Names", r.Names, m+"/.git")
	warned(t, r, "symbolic link", "--add-dir", base+"/outside")
	warned(t, discover(t, mkdir(t, m+"/sub"))) // nothing to grant there, nothing to refuse

	remove(t, m+"/.git")
	symlink(t, "nothing", m+"/.git")
	r = discover(t, m)
	want(t, "Names", r.Names, m+"/.git")
	warned(t, r, "leads to no git directory")

	remove(t, m+"/.git")
	symlink(t, ".git", m+"/.git")
	warned(t, discover(t, m), "leads to no git directory")

	// A genuine pointer, but reached by a link.
	mm := repository(t, base+"/mm")
	git(t, mm, "worktree", "add", "-q", "../wt")
	want(t, "Writable", discover(t, base+"/wt").Writable, mm+"/.git")
	rename(t, base+"/wt/.git", base+"/wt/pointer")
	symlink(t, "pointer", base+"/wt/.git")
	r = discover(t, base+"/wt")
	want(t, "Writable", r.Writable)
	warned(t, r, "symbolic link", "not believed")
}

func TestSeparateGitDir(t *testing.T) {
	base := tempDir(t)
	git(t, base, "init", "-q", "--separate-git-dir", base+"/sep", base+"/w")
	r := discover(t, base+"/w")
	want(t, "Writable", r.Writable)
	want(t, "ReadOnly", r.ReadOnly, base+"/w/.git")
	warned(t, r, "--separate-git-dir", fmt.Sprintf("--add-dir %q", base+"/sep"))
	// Added, it is protected like any git directory.
	want(t, "ReadOnly", discover(t, base+"/sep").ReadOnly, base+"/sep/hooks", base+"/sep/config")
	// Inside the folder it needs no grant and so no belief.
	git(t, base, "init", "-q", "--separate-git-dir", base+"/v/.bare", base+"/v")
	r = discover(t, base+"/v")
	want(t, "ReadOnly", r.ReadOnly, base+"/v/.git", base+"/v/.bare/hooks", base+"/v/.bare/config")
	warned(t, r)
}

// The folder lies above, in or below a git directory.
func TestOtherFolders(t *testing.T) {
	base := tempDir(t)
	m := repository(t, base+"/m")
	git(t, m, "worktree", "add", "-q", "../wt")
	mkdir(t, m+"/sub/dir")
	c := m + "/.git"

	r := discover(t, c)
	want(t, "Writable", r.Writable)
	has(t, "ReadOnly", r.ReadOnly, c+"/hooks", c+"/config", c+"/worktrees/wt/commondir")
	hasNot(t, "Pins", r.Pins, c)

	r = discover(t, c+"/worktrees/wt")
	want(t, "ReadOnly", r.ReadOnly, c+"/worktrees/wt/commondir", c+"/worktrees/wt/gitdir")
	r = discover(t, c+"/worktrees")
	want(t, "ReadOnly", r.ReadOnly, c+"/worktrees/wt/commondir", c+"/worktrees/wt/gitdir")
	r = discover(t, c+"/refs")
	want(t, "ReadOnly", r.ReadOnly)
	r = discover(t, c+"/hooks")
	want(t, "ReadOnly", r.ReadOnly, c+"/hooks")

	// Below a checkout: only what git takes from inside the folder.
	for dir, above := range map[string]string{m: "", base: "", c: "", c + "/refs": "", base + "/wt": "", m + "/sub": m, m + "/sub/dir": m} {
		if got := discover(t, dir).Above; got != above {
			t.Errorf("above %s: %q, want %q", dir, got, above)
		}
	}
	r = discover(t, m+"/sub")
	want(t, "ReadOnly", r.ReadOnly)
	want(t, "Writable", r.Writable)
	git(t, m, "config", "core.hooksPath", "sub/dir")
	want(t, "ReadOnly", discover(t, m+"/sub").ReadOnly, m+"/sub/dir")
	r = discover(t, m+"/sub/dir")
	want(t, "ReadOnly", r.ReadOnly, m+"/sub/dir")
	mkdir(t, base+"/wt/sub/dir")
	want(t, "ReadOnly", discover(t, base+"/wt/sub").ReadOnly, base+"/wt/sub/dir")

	git(t, m, "config", "core.hooksPath", ".git/info")
	has(t, "ReadOnly", discover(t, c).ReadOnly, c+"/info")

	// B15: several repositories below a plain folder are the guard's.
	r = discover(t, base)
	want(t, "ReadOnly", r.ReadOnly)
}
