//go:build linux

package rules_test

import (
	"os"
	"path/filepath"
)

// remoteBehind names a remote before it is made in the cache; l leads there.
func remoteBehind(prepare func(*world), url string) func(*world) {
	return func(w *world) {
		c := filepath.Dir(w.ws) + "/cache"
		_ = w.mkdir(c)
		_ = w.symlink("../cache", w.ws+"/l")
		prepare(w)
		_ = w.write(w.ws+"/.git/config.lock", "[remote \"origin\"]\n\turl = "+url+"\n")
		_ = w.rename(w.ws+"/.git/config.lock", w.ws+"/.git/config")
		w.bare(c+"/r", "HEAD", "objects", "refs", "hooks")
		_ = w.write(c+"/r/hooks/pre-receive", w.script())
	}
}

// remoteOfSubmodule sets it for s, in whose working folder r leads to the cache.
func remoteOfSubmodule(text string) func(*world) {
	return func(w *world) {
		w.bare(filepath.Dir(w.ws)+"/cache/r", "HEAD", "objects", "refs", "hooks")
		_ = w.write(filepath.Dir(w.ws)+"/cache/r/hooks/pre-receive", w.script())
		_ = w.symlink("../../cache/r", w.ws+"/s/r")
		g := w.ws + "/.git/modules/s/config"
		_ = w.write(g+".lock", "[core]\n\tworktree = ../../../s\n"+text)
		_ = w.rename(g+".lock", g)
	}
}

func pushSubmodule(to string) func(*world) {
	return func(w *world) { _, _ = w.tryGit(w.ws+"/s", "push", to, "HEAD:refs/heads/x") }
}

func pushOrigin(w *world) { _, _ = w.tryGit(w.ws, "push", "origin", "main") }

// remoteAttacks make a place that commands may fill a remote, to which the host
// pushes.
var remoteAttacks = []attack{
	{"old form of a remote", repoAtRoot, func(w *world) {
		w.bare(filepath.Dir(w.ws)+"/cache/r", "HEAD", "objects", "refs", "hooks")
		_ = w.write(filepath.Dir(w.ws)+"/cache/r/hooks/pre-receive", w.script())
		_ = w.mkdir(w.ws + "/.git/remotes")
		_ = w.write(w.ws+"/.git/remotes/origin", "URL: "+filepath.Dir(w.ws)+"/cache/r\nPush: refs/heads/main\n")
	}, func(w *world) { _, _ = w.tryGit(w.ws, "push", "origin", "main") }},
	{"remote in a cache", repoAtRoot, func(w *world) {
		w.bare(filepath.Dir(w.ws)+"/cache/r", "HEAD", "objects", "refs", "hooks")
		_ = w.write(filepath.Dir(w.ws)+"/cache/r/hooks/pre-receive", w.script())
		_ = w.write(w.ws+"/.git/config.lock", "[remote \"origin\"]\n\turl = "+filepath.Dir(w.ws)+"/cache/r\n")
		_ = w.rename(w.ws+"/.git/config.lock", w.ws+"/.git/config")
	}, func(w *world) { _, _ = w.tryGit(w.ws, "push", "origin", "main") }},
	{"remote in a cache, behind a link, made later", repoAtRoot, remoteBehind(func(*world) {}, "l/r"), pushOrigin},
	{"remote in a cache, behind a link and back", repoAtRoot, remoteBehind(func(w *world) {
		must(w.t, os.MkdirAll(filepath.Dir(w.ws)+"/cache/d", 0o755))
		_ = w.symlink("../cache/d", w.ws+"/m")
	}, "./m/../r"), pushOrigin},
	{"remote in a cache, behind a link to it", repoAtRoot, remoteBehind(func(w *world) { _ = w.symlink("../cache/r", w.ws+"/m") }, "./m"), pushOrigin},
	{"remote in a cache, in a closed folder", repoAtRoot, remoteBehind(func(w *world) {
		_ = w.mkdir(w.ws + "/k")
		_ = w.symlink("../../cache/r", w.ws+"/k/r")
		must(w.t, os.Chmod(w.ws+"/k", 0))
	}, "./k/r"), func(w *world) {
		must(w.t, os.Chmod(w.ws+"/k", 0o755))
		pushOrigin(w)
	}},
	{"remote in a cache, relative to a linked worktree", func(w *world) {
		w.repo(w.ws)
		w.git(w.ws, "worktree", "add", "-q", "t")
	}, remoteBehind(func(w *world) { _ = w.symlink("../../cache/r", w.ws+"/t/r") }, "./r"), func(w *world) { _, _ = w.tryGit(w.ws+"/t", "push", "origin", "HEAD:refs/heads/x") }},
	{"remote in a cache, relative to a linked worktree in a closed folder", func(w *world) {
		w.repo(w.ws)
		w.git(w.ws, "worktree", "add", "-q", "t")
	}, func(w *world) {
		remoteBehind(func(w *world) {
			_ = w.symlink("../../cache/r", w.ws+"/t/r")
			must(w.t, os.Chmod(w.ws+"/.git/worktrees", 0))
		}, "./r")(w)
		must(w.t, os.Chmod(w.ws+"/.git/worktrees", 0o755))
	}, func(w *world) { _, _ = w.tryGit(w.ws+"/t", "push", "origin", "HEAD:refs/heads/x") }},
	{"remote in a cache, relative to a submodule", func(w *world) { w.submodule() }, remoteOfSubmodule("[remote \"evil\"]\n\turl = ./r\n"), pushSubmodule("evil")},
	{"remote in a cache, a word relative to a submodule", func(w *world) { w.submodule() }, remoteOfSubmodule("[remote \"evil\"]\n\turl = r\n"), pushSubmodule("evil")},
	{"remote in a cache, a submodule's default", func(w *world) { w.submodule() }, remoteOfSubmodule("[remote]\n\tpushDefault = r\n"), func(w *world) { _, _ = w.tryGit(w.ws+"/s", "-c", "push.default=current", "push") }},
}
