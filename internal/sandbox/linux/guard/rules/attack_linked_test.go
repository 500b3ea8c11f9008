//go:build linux

package rules_test

import "os"

// linkedTree writes a linked worktree x of the git directory g by hand, with
// the working folder tree unless that is "".
func (w *world) linkedTree(g, tree string) {
	x := g + "/worktrees/x"
	_ = w.mkdir(g + "/worktrees")
	_ = w.mkdir(x)
	_ = w.write(x+"/HEAD", "ref: refs/heads/main\n")
	_ = w.write(x+"/commondir", "../..\n")
	if tree != "" {
		_ = w.mkdir(tree)
		_ = w.write(x+"/gitdir", tree+"/.git\n")
		_ = w.write(tree+"/.git", "gitdir: "+x+"\n")
	}
}

// linkedAttacks make a git directory of HEAD and commondir, whose config is in
// another folder.
var linkedAttacks = []attack{
	{"linked worktree of a folder around a folder HEAD", nil, func(w *world) {
		w.bare(w.ws+"/e", "config", "objects", "refs")
		_ = w.mkdir(w.ws + "/e/HEAD")
		w.linkedTree(w.ws+"/e", w.ws+"/t")
	}, status("/t")},
	{"linked worktree of a folder around a socket HEAD", nil, func(w *world) {
		w.bare(w.ws+"/e", "config", "objects", "refs")
		w.socket(w.ws + "/e/HEAD")
		w.linkedTree(w.ws+"/e", w.ws+"/t")
	}, status("/t")},
	{"linked worktree of a folder in .git, beside another", repoAtRoot, func(w *world) {
		w.bare(w.ws+"/.git/e", "config", "objects", "refs", "worktrees", "worktrees/y")
		_ = w.write(w.ws+"/.git/e/worktrees/y/commondir", "../..\n")
		w.linkedTree(w.ws+"/.git/e", w.ws+"/t")
	}, status("/t")},
	{"linked worktree of what was data of a submodule", repoAtRoot, func(w *world) {
		_ = w.mkdir(w.ws + "/.git/modules")
		w.bare(w.ws+"/.git/modules/m", "HEAD", "refs")
		e := w.ws + "/.git/modules/m/refs/e"
		w.bare(e, "config", "objects", "refs", "worktrees", "worktrees/x")
		_ = w.write(e+"/worktrees/x/HEAD", "ref: refs/heads/main\n")
		_ = os.Remove(w.ws + "/.git/modules/m/HEAD")
		w.linkedTree(e, w.ws+"/t")
	}, status("/t")},
	{"linked worktree of what becomes data of a submodule", repoAtRoot, func(w *world) {
		_ = w.mkdir(w.ws + "/.git/modules")
		w.bare(w.ws+"/.git/modules/m", "refs")
		e := w.ws + "/.git/modules/m/refs/e"
		w.bare(e, "objects", "refs")
		w.linkedTree(e, w.ws+"/t")
		w.bare(w.ws+"/.git/modules/m", "HEAD")
		w.bare(e, "config")
	}, status("/t")},
	{"linked worktree moved to another folder", nil, func(w *world) {
		w.bare(w.ws+"/b", "HEAD")
		w.linkedTree(w.ws+"/b", "")
		_ = w.mkdir(w.ws + "/t")
		_ = w.write(w.ws+"/b/worktrees/x/gitdir", w.ws+"/t/.git\n")
		w.bare(w.ws+"/e", "config", "objects", "refs", "worktrees")
		_ = w.rename(w.ws+"/b/worktrees/x", w.ws+"/e/worktrees/x")
		_ = w.write(w.ws+"/p", "gitdir: "+w.ws+"/e/worktrees/x\n")
		_ = w.rename(w.ws+"/p", w.ws+"/t/.git")
	}, status("/t")},
	{"linked worktrees under another name", nil, func(w *world) {
		w.bare(w.ws+"/e", "HEAD")
		w.linkedTree(w.ws+"/e", "")
		_ = w.rename(w.ws+"/e/worktrees", w.ws+"/e/trees")
		_ = os.Remove(w.ws + "/e/HEAD")
		w.bare(w.ws+"/e", "objects", "refs")
		_ = w.write(w.ws+"/e/config", w.evilRemote())
	}, fetch("/e/trees/x")},
	{"HEAD and commondir where data is", nil, func(w *world) {
		w.bare(w.ws, "HEAD", "refs")
		w.bare(w.ws+"/e", "objects", "refs")
		_ = w.write(w.ws+"/e/config", w.evilRemote())
		w.bare(w.ws+"/refs/a", "HEAD")
		_ = w.write(w.ws+"/refs/a/commondir", "../../e\n")
		_ = w.mkdir(w.ws + "/refs/b")
		_ = w.write(w.ws+"/refs/b/commondir", "../../e\n")
		w.bare(w.ws+"/refs/b", "HEAD")
	}, func(w *world) { fetch("/refs/a")(w); fetch("/refs/b")(w) }},
	{"linked worktree in a closed folder", nil, func(w *world) {
		w.bare(w.ws+"/b", "HEAD")
		w.linkedTree(w.ws+"/b", "")
		_ = w.mkdir(w.ws + "/t")
		_ = w.write(w.ws+"/b/worktrees/x/gitdir", w.ws+"/t/.git\n")
		_ = w.write(w.ws+"/p", "gitdir: "+w.ws+"/b/worktrees/x\n")
		_ = w.rename(w.ws+"/p", w.ws+"/t/.git")
		w.sockets(w.ws + "/b")
		_ = os.Remove(w.ws + "/b/HEAD")
		must(w.t, os.Chmod(w.ws+"/b/worktrees/x", 0))
		_ = w.write(w.ws+"/b/config", w.evil())
		must(w.t, os.Chmod(w.ws+"/b/worktrees/x", 0o755))
	}, status("/t")},
	{"a link in a common directory without HEAD", nil, func(w *world) {
		w.commonWithoutHEAD()
		_ = w.symlink(w.canary, w.ws+"/b/logs/refs/heads/main")
	}, commitInTree},
	{"a folder with a link, brought into a common directory without HEAD", nil, func(w *world) {
		w.commonWithoutHEAD()
		_ = os.Remove(w.ws + "/b/logs/refs/heads")
		_ = w.mkdir(w.ws + "/h")
		_ = w.symlink(w.canary, w.ws+"/h/main")
		_ = w.rename(w.ws+"/h", w.ws+"/b/logs/refs/heads")
	}, commitInTree},
	{"config among logs of a common directory without HEAD, HEAD by the host's fetch", nil, func(w *world) {
		w.commonWithoutHEAD()
		e := w.ws + "/b/logs/refs/remotes/m"
		_ = w.mkdir(w.ws + "/b/logs/refs/remotes")
		w.bare(e, "objects", "refs", "config")
	}, func(w *world) {
		fetchIn(w, "/t", "+HEAD:refs/remotes/m/HEAD")
		status("/b/logs/refs/remotes/m")(w)
	}},
	{"a link in a linked worktree, the store being sockets", nil, func(w *world) {
		b := w.ws + "/b"
		w.bare(b, "HEAD")
		w.linkedTree(b, w.ws+"/t")
		_ = w.symlink(w.canary, b+"/worktrees/x/COMMIT_EDITMSG")
		_ = w.write(w.ws+"/p", "gitdir: "+b+"/worktrees/x\n")
		_ = w.rename(w.ws+"/p", w.ws+"/t/.git")
		w.sockets(b)
	}, commitInTree},
	{"a link in what becomes a linked worktree, the store being sockets", nil, func(w *world) {
		b := w.ws + "/b"
		w.bare(b, "HEAD")
		_ = w.mkdir(b + "/worktrees")
		_ = w.mkdir(b + "/worktrees/x")
		_ = w.symlink(w.canary, b+"/worktrees/x/COMMIT_EDITMSG")
		w.linkedTree(b, w.ws+"/t")
		_ = w.write(w.ws+"/p", "gitdir: "+b+"/worktrees/x\n")
		_ = w.rename(w.ws+"/p", w.ws+"/t/.git")
		w.sockets(b)
	}, commitInTree},
}

// commonWithoutHEAD makes a bare repository b with a linked worktree t, for
// which git needs no HEAD in b.
func (w *world) commonWithoutHEAD() {
	b := w.ws + "/b"
	w.bare(b, "HEAD", "objects", "refs", "refs/heads", "logs", "logs/refs", "logs/refs/heads")
	w.linkedTree(b, w.ws+"/t")
	_ = w.write(w.ws+"/p", "gitdir: "+b+"/worktrees/x\n")
	_ = w.rename(w.ws+"/p", w.ws+"/t/.git")
	_ = os.Remove(b + "/HEAD")
}

func commitInTree(w *world) { _, _ = w.tryGit(w.ws+"/t", "commit", "-q", "--allow-empty", "-m", "x") }
