//go:build linux

package rules_test

import (
	"os"
	"strings"
)

// bare writes a git directory by hand in the given order of its parts.
func (w *world) bare(dir string, order ...string) {
	_ = w.mkdir(dir)
	for _, part := range order {
		switch part {
		case "HEAD":
			_ = w.write(dir+"/HEAD", "ref: refs/heads/main\n")
		case "config":
			_ = w.write(dir+"/config", w.evil()+"\tworktree = "+w.ws+"\n")
		case "config.lock":
			_ = w.write(dir+"/config.lock", w.evil()+"\tworktree = "+w.ws+"\n")
			_ = w.rename(dir+"/config.lock", dir+"/config")
		default:
			_ = w.mkdir(dir + "/" + part)
		}
	}
}

// layoutAttacks make folders git directories, part by part.
var layoutAttacks = []attack{
	{"bare layout, config first", nil, func(w *world) { w.bare(w.ws+"/b", "config", "objects", "refs", "HEAD") }, status("/b")},
	{"bare layout, HEAD first", nil, func(w *world) { w.bare(w.ws+"/b", "HEAD", "objects", "refs", "config") }, status("/b")},
	{"bare layout, refs last", nil, func(w *world) { w.bare(w.ws+"/b", "config", "HEAD", "objects", "refs") }, status("/b")},
	{"bare layout, by lock", nil, func(w *world) { w.bare(w.ws+"/b", "HEAD", "objects", "refs", "config.lock") }, status("/b")},
	{"bare layout, config kept open", nil, func(w *world) {
		_ = w.mkdir(w.ws + "/b")
		f, err := w.keep(w.ws + "/b/config")
		_ = w.rename(w.ws+"/b/config", w.ws+"/away")
		w.bare(w.ws+"/b", "HEAD", "objects", "refs")
		_ = w.rename(w.ws+"/away", w.ws+"/b/config")
		if err == nil {
			_, _ = f.WriteString(w.evil() + "\tworktree = " + w.ws + "\n")
		}
	}, status("/b")},
	{"bare layout around an innocent config kept open", nil, func(w *world) {
		_ = w.mkdir(w.ws + "/b")
		_ = w.write(w.ws+"/b/config", "[core]\n\tbare = false\n")
		f, err := w.keep(w.ws + "/b/config")
		w.bare(w.ws+"/b", "HEAD", "objects", "refs")
		if err == nil {
			_, _ = f.WriteString(w.evil() + "\tworktree = " + w.ws + "\n")
		}
	}, status("/b")},
	{"bare layout, config without a name", nil, func(w *world) {
		_ = w.mkdir(w.ws + "/b")
		_ = w.write(w.ws+"/b/x", w.evil()+"\tworktree = "+w.ws+"\n")
		f, err := os.Open(w.ws + "/b/x")
		w.bare(w.ws+"/b", "HEAD", "objects", "refs")
		if err == nil {
			_ = w.linkOpen(f, w.ws+"/b/config")
			f.Close()
		}
	}, status("/b")},
	{"bare layout with HEAD taken out and back", nil, func(w *world) {
		w.bare(w.ws+"/b", "HEAD", "objects", "refs")
		_ = os.Remove(w.ws + "/b/HEAD")
		w.bare(w.ws+"/b", "config", "HEAD")
	}, status("/b")},
	{"bare layout around a folder HEAD, exchanged for a file", nil, func(w *world) {
		w.bare(w.ws+"/b", "config", "objects", "refs")
		_ = w.mkdir(w.ws + "/b/HEAD")
		_ = w.write(w.ws+"/h", "ref: refs/heads/main\n")
		_ = w.exchange(w.ws+"/h", w.ws+"/b/HEAD")
	}, status("/b")},
	{"bare layout around a folder HEAD, exchanged from its side", nil, func(w *world) {
		w.bare(w.ws+"/b", "config", "objects", "refs")
		_ = w.mkdir(w.ws + "/b/HEAD")
		_ = w.write(w.ws+"/h", "ref: refs/heads/main\n")
		_ = w.exchange(w.ws+"/b/HEAD", w.ws+"/h")
	}, status("/b")},
	{"git directory in refs around a folder HEAD, exchanged for a file", func(w *world) { w.repo(w.ws) }, func(w *world) {
		w.bare(w.ws+"/.git/refs/x", "config", "objects", "refs")
		_ = w.mkdir(w.ws + "/.git/refs/x/HEAD")
		_ = w.write(w.ws+"/h", "ref: refs/heads/main\n")
		_ = w.exchange(w.ws+"/h", w.ws+"/.git/refs/x/HEAD")
	}, status("/.git/refs/x")},
	{"bare layout of links", nil, func(w *world) {
		_ = w.mkdir(w.ws + "/o")
		_ = w.mkdir(w.ws + "/b")
		_ = w.write(w.ws+"/c", w.evil()+"\tworktree = "+w.ws+"\n")
		_ = w.write(w.ws+"/h", "ref: refs/heads/main\n")
		_ = w.symlink("../c", w.ws+"/b/config")
		_ = w.symlink("../o", w.ws+"/b/objects")
		_ = w.symlink("../o", w.ws+"/b/refs")
		_ = w.link(w.ws+"/h", w.ws+"/b/HEAD")
	}, status("/b")},
	{"bare layout with a hook", nil, func(w *world) {
		_ = w.mkdir(w.ws + "/b")
		_ = w.mkdir(w.ws + "/b/hooks")
		_ = w.write(w.ws+"/b/hooks/reference-transaction", w.script())
		w.bare(w.ws+"/b", "HEAD", "objects", "refs")
		_ = w.write(w.ws+"/b/hooks/reference-transaction", w.script())
	}, func(w *world) {
		id, _ := w.tryGit(w.ws+"/b", "hash-object", "-w", "--stdin", "-t", "blob")
		_, _ = w.tryGit(w.ws+"/b", "update-ref", "refs/x", strings.TrimSpace(id))
	}},
	{"HEAD broken and a bare layout in the root", repoAtRoot, func(w *world) {
		w.bare(w.ws, "objects", "refs", "config", "HEAD", "config.lock")
		_ = w.write(w.ws+"/.git/HEAD", "x\n")
	}, status("")},
	{"existing bare repository", func(w *world) { w.git(w.ws, "init", "-q", "--bare", "b") }, func(w *world) {
		w.bare(w.ws+"/b", "config", "config.lock")
	}, status("/b")},
	{"linked worktree of a folder without HEAD", nil, func(w *world) {
		w.bare(w.ws+"/e", "HEAD", "objects", "refs", "worktrees", "worktrees/x")
		_ = w.write(w.ws+"/e/worktrees/x/gitdir", w.ws+"/t/.git\n")
		_ = w.write(w.ws+"/e/worktrees/x/HEAD", "ref: refs/heads/main\n")
		_ = w.write(w.ws+"/e/worktrees/x/commondir", "../..\n")
		_ = w.mkdir(w.ws + "/t")
		_ = w.write(w.ws+"/t/.git", "gitdir: "+w.ws+"/e/worktrees/x\n")
		_ = os.Remove(w.ws + "/e/HEAD")
		_ = w.write(w.ws+"/e/config", w.evil())
	}, status("/t")},
	{"git directory hidden in refs", func(w *world) { w.repo(w.ws) }, func(w *world) {
		w.bare(w.ws+"/.git/refs/x", "objects", "config", "HEAD", "refs")
		_ = w.mkdir(w.ws + "/t")
		_ = w.write(w.ws+"/t/.git", "gitdir: ../.git/refs/x\n")
	}, func(w *world) { status("/t")(w); status("/.git/refs/x")(w) }},
	{"git directory made in refs, moved to modules", func(w *world) { w.repo(w.ws) }, func(w *world) {
		w.bare(w.ws+"/.git/refs/x", "config", "HEAD", "objects", "refs")
		_ = w.rename(w.ws+"/.git/refs", w.ws+"/.git/modules")
		_ = w.mkdir(w.ws + "/t")
		_ = w.write(w.ws+"/t/.git", "gitdir: ../.git/modules/x\n")
	}, status("/t")},
}
