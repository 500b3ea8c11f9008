//go:build linux

package rules_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sockets completes a git directory by names that nobody is asked about.
func (w *world) sockets(dir string) {
	w.socket(dir + "/objects")
	w.socket(dir + "/refs")
}

// socketAttacks make a git directory where data is.
var socketAttacks = []attack{
	{"HEAD, config and sockets among the references of .git", repoAtRoot, func(w *world) {
		w.bare(w.ws+"/.git/refs/e", "HEAD", "config")
		w.sockets(w.ws + "/.git/refs/e")
	}, status("/.git/refs/e")},
	{"config, HEAD and sockets among logs", nil, func(w *world) {
		w.bare(w.ws, "HEAD", "logs")
		w.bare(w.ws+"/logs/e", "config", "HEAD")
		w.sockets(w.ws + "/logs/e")
	}, status("/logs/e")},
	{"HEAD, config by its lock, and sockets among references", nil, func(w *world) {
		w.bare(w.ws, "HEAD", "refs")
		w.bare(w.ws+"/refs/e", "HEAD", "config.lock")
		w.sockets(w.ws + "/refs/e")
	}, status("/refs/e")},
	{"HEAD, a hook and sockets among references", nil, func(w *world) {
		w.bare(w.ws, "HEAD", "refs")
		w.bare(w.ws+"/refs/e", "HEAD", "hooks")
		_ = w.write(w.ws+"/refs/e/hooks/post-index-change", w.script())
		w.sockets(w.ws + "/refs/e")
	}, indexChange("/refs/e")},
	{"a hook, HEAD and sockets among references", nil, func(w *world) {
		w.bare(w.ws, "HEAD", "refs")
		w.bare(w.ws+"/refs/e", "hooks")
		_ = w.write(w.ws+"/refs/e/hooks/post-index-change", w.script())
		w.bare(w.ws+"/refs/e", "HEAD")
		w.sockets(w.ws + "/refs/e")
	}, indexChange("/refs/e")},
	{"HEAD, hooks by a link, and sockets among logs", nil, func(w *world) {
		w.bare(w.ws, "HEAD", "logs")
		_ = w.mkdir(w.ws + "/h")
		_ = w.write(w.ws+"/h/post-index-change", w.script())
		w.bare(w.ws+"/logs/e", "HEAD")
		_ = w.symlink("../../h", w.ws+"/logs/e/hooks")
		w.sockets(w.ws + "/logs/e")
	}, indexChange("/logs/e")},
	{"HEAD, a folder renamed to hooks, and sockets among logs", nil, func(w *world) {
		w.bare(w.ws, "HEAD", "logs")
		_ = w.mkdir(w.ws + "/h")
		_ = w.write(w.ws+"/h/post-index-change", w.script())
		w.bare(w.ws+"/logs/e", "HEAD")
		_ = w.rename(w.ws+"/h", w.ws+"/logs/e/hooks")
		w.sockets(w.ws + "/logs/e")
	}, indexChange("/logs/e")},
	{"config among logs, HEAD by the host's fetch, a submodule's pointer", cloned, func(w *world) {
		w.hostHEAD(func(e string) {
			w.bare(e, "objects", "refs")
			_ = w.write(e+"/config", w.evil()+"\tworktree = "+w.ws+"/sub\n")
		})
		_ = w.write(w.ws+"/.git/logs/refs/remotes/HEAD", "")
		_ = w.mkdir(w.ws + "/sub")
		_ = w.write(w.ws+"/p", "gitdir: ../.git/logs/refs/remotes/modules/o\n")
		_ = w.rename(w.ws+"/p", w.ws+"/sub/.git")
	}, func(w *world) { _, _ = w.tryGit(w.ws, "fetch"); status("/sub")(w) }},
	{"config by its lock among logs, HEAD by the host's fetch", cloned, func(w *world) {
		w.hostHEAD(func(e string) {
			w.bare(e, "config.lock")
			w.sockets(e)
		})
	}, func(w *world) { _, _ = w.tryGit(w.ws, "fetch"); status("/.git/logs/refs/remotes/modules/o")(w) }},
	{"commondir among logs, HEAD by the host's fetch", cloned, func(w *world) {
		w.hostHEAD(func(e string) {
			w.bare(w.ws+"/e", "objects", "refs")
			_ = w.write(w.ws+"/e/config", w.evilRemote())
			_ = w.write(e+"/commondir", w.ws+"/e\n")
		})
	}, func(w *world) { _, _ = w.tryGit(w.ws, "fetch"); fetch("/.git/logs/refs/remotes/modules/o")(w) }},
	{"a hook among logs, HEAD by the host's fetch, a push", cloned, func(w *world) {
		w.hostHEAD(func(e string) {
			w.bare(e, "objects", "refs", "hooks")
			_ = w.write(e+"/hooks/pre-receive", w.script())
		})
	}, func(w *world) {
		_, _ = w.tryGit(w.ws, "fetch")
		_, _ = w.tryGit(w.ws, "push", w.ws+"/.git/logs/refs/remotes/modules/o", "HEAD:refs/heads/x")
	}},
	{"commondir by the host's log, the name being a path", cloned, logOfPath, func(w *world) { hostFetch(w); status("/t")(w) }},
	{"commondir by the host's log, git started there", cloned, logOfPath, func(w *world) { hostFetch(w); fetch("/.git/logs/refs/remotes/worktrees/o")(w) }},
	{"a hook by the host's log, the name being a command", cloned, func(w *world) {
		w.hostLogs("x; touch "+w.canary+"; x", "hooks/post-index-change")
	}, func(w *world) {
		hostFetch(w)
		_ = os.Chmod(w.ws+"/.git/logs/refs/remotes/worktrees/o/hooks/post-index-change", 0o755) // the next run
		_, _ = w.tryGit(w.ws+"/t", "read-tree", "--empty")
	}},
	{"a hook by the host's log, a push", cloned, func(w *world) {
		w.hostLogs("x; touch "+w.canary+"; x", "hooks/pre-receive")
		text, err := os.ReadFile(w.ws + "/.git/config")
		must(w.t, err)
		_ = w.write(w.ws+"/.git/config.lock", string(text)+"[remote \"o\"]\n\turl = ./.git/logs/refs/remotes/worktrees/o\n")
		_ = w.rename(w.ws+"/.git/config.lock", w.ws+"/.git/config")
	}, func(w *world) {
		hostFetch(w)
		_ = os.Chmod(w.ws+"/.git/logs/refs/remotes/worktrees/o/hooks/pre-receive", 0o755)
		w.git(w.ws, "commit", "-q", "--allow-empty", "-m", "y")
		_, _ = w.tryGit(w.ws, "push", "o", "HEAD:refs/heads/y")
	}},
	{"HEAD, a link, objects and a socket", nil, func(w *world) { w.link3("HEAD", "link", "objects", "socket") }, fetchHere},
	{"a link, objects, HEAD and a socket", nil, func(w *world) { w.link3("link", "objects", "HEAD", "socket") }, fetchHere},
	{"a link, HEAD, a socket and objects", nil, func(w *world) { w.link3("link", "HEAD", "socket", "objects") }, fetchHere},
	{"HEAD, a link and sockets", nil, func(w *world) { w.link3("HEAD", "link", "sockets") }, fetchHere},
	{"a link, HEAD and sockets", nil, func(w *world) { w.link3("link", "HEAD", "sockets") }, fetchHere},
	{"HEAD, a link renamed, and sockets", nil, func(w *world) { w.link3("HEAD", "link renamed", "sockets") }, fetchHere},
	{"a link, a HEAD renamed, and sockets", nil, func(w *world) { w.link3("link", "HEAD renamed", "sockets") }, fetchHere},
	{"a link, a link as HEAD, and sockets", nil, func(w *world) { w.link3("link", "HEAD linked", "sockets") }, fetchHere},
	{"a link as HEAD, a link, and sockets", nil, func(w *world) { w.link3("HEAD linked", "link", "sockets") }, fetchHere},
	{"a link where the host keeps what it found", func(w *world) {
		w.git(w.ws, "init", "-q", "--bare", "b")
		must(w.t, os.WriteFile(w.ws+"/x", []byte("x\n"), 0o644))
		w.git(w.ws, "--git-dir=b", "hash-object", "-w", "x")
	}, func(w *world) {
		_ = w.mkdir(w.ws + "/b/lost-found")
		_ = w.mkdir(w.ws + "/b/lost-found/other")
		_ = w.symlink(w.canary, w.ws+"/b/lost-found/other/587be6b4c3f93f93c489c0111bba5596147a26cb")
	}, func(w *world) { _, _ = w.tryGit(w.ws+"/b", "fsck", "--lost-found") }},
	{"config among logs, HEAD above, HEAD by the host's fetch", nil, func(w *world) {
		b := w.ws + "/b"
		w.bare(b, "logs", "logs/refs", "logs/refs/remotes")
		w.bare(b+"/logs/refs/remotes/m", "config", "objects", "refs")
		w.bare(b, "HEAD", "objects", "refs")
		w.fetchesHEAD(b)
	}, hostHEADByFetch},
	{"HEAD, a folder renamed to logs, HEAD by the host's fetch", nil, func(w *world) {
		b := w.ws + "/b"
		w.bare(w.ws+"/l", "refs", "refs/remotes")
		w.bare(w.ws+"/l/refs/remotes/m", "config", "objects", "refs")
		w.bare(b, "HEAD")
		_ = w.rename(w.ws+"/l", b+"/logs")
		w.bare(b, "objects", "refs")
		w.fetchesHEAD(b)
	}, hostHEADByFetch},
	{"a folder renamed to hooks among logs, HEAD by the host's fetch", nil, func(w *world) {
		b := w.ws + "/b"
		_ = w.mkdir(w.ws + "/h")
		_ = w.write(w.ws+"/h/post-index-change", w.script())
		w.bare(b, "HEAD", "logs", "logs/refs", "logs/refs/remotes")
		w.bare(b+"/logs/refs/remotes/m", "objects", "refs")
		_ = w.rename(w.ws+"/h", b+"/logs/refs/remotes/m/hooks")
		w.bare(b, "objects", "refs")
		_ = w.write(b+"/config.lock", "[core]\n\trepositoryformatversion = 0\n\tlogAllRefUpdates = always\n")
		_ = w.rename(b+"/config.lock", b+"/config")
	}, func(w *world) {
		fetchIn(w, "/b", "+HEAD:refs/remotes/m/HEAD")
		indexChange("/b/logs/refs/remotes/m")(w)
	}},
}

// fetchesHEAD has a git directory fetch a reference called HEAD, with its log.
func (w *world) fetchesHEAD(dir string) {
	_ = w.write(dir+"/config.lock", "[core]\n\trepositoryformatversion = 0\n\tlogAllRefUpdates = always\n[remote \"origin\"]\n\turl = "+filepath.Dir(w.ws)+"/up\n\tfetch = +HEAD:refs/remotes/m/HEAD\n")
	_ = w.rename(dir+"/config.lock", dir+"/config")
}

func hostHEADByFetch(w *world) {
	fetchHere(w)
	_, _ = w.tryGit(w.ws+"/b", "fetch", "origin")
	status("/b/logs/refs/remotes/m")(w)
}

// link3 makes a git directory in the given order, through whose link the host's
// git would write.
func (w *world) link3(order ...string) {
	b := w.ws + "/b"
	_ = w.mkdir(b)
	for _, part := range order {
		switch part {
		case "link":
			_ = w.symlink(w.canary, b+"/FETCH_HEAD")
		case "link renamed":
			_ = w.symlink(w.canary, w.ws+"/l")
			_ = w.rename(w.ws+"/l", b+"/FETCH_HEAD")
		case "HEAD renamed":
			_ = w.write(w.ws+"/h", "ref: refs/heads/main\n")
			_ = w.rename(w.ws+"/h", b+"/HEAD")
		case "HEAD linked":
			_ = w.symlink("refs/heads/main", b+"/HEAD")
		case "socket":
			w.socket(b + "/refs")
		case "sockets":
			w.sockets(b)
		default:
			w.bare(b, part)
		}
	}
}

func fetchHere(w *world) { fetchIn(w, "/b", "HEAD") }

// fetchIn fetches ref from a repository outside.
func fetchIn(w *world, dir, ref string) {
	up := filepath.Dir(w.ws) + "/up"
	w.git(filepath.Dir(w.ws), "init", "-q", up)
	w.git(up, "commit", "-q", "--allow-empty", "-m", "up")
	_, _ = w.tryGit(w.ws+dir, "fetch", up, ref)
}

// cloned makes the workspace a clone with a commit.
func cloned(w *world) {
	up := filepath.Dir(w.ws) + "/up"
	w.git(filepath.Dir(w.ws), "init", "-q", up)
	w.git(up, "commit", "-q", "--allow-empty", "-m", "up")
	w.git(w.ws, "clone", "-q", up, ".")
}

// hostHEAD has plant fill a folder among the logs, beside the one of a reference
// called HEAD, which the host's next fetch makes.
func (w *world) hostHEAD(plant func(dir string)) {
	_ = w.mkdir(w.ws + "/.git/logs/refs/remotes/modules")
	_ = w.mkdir(w.ws + "/.git/logs/refs/remotes/modules/o")
	plant(w.ws + "/.git/logs/refs/remotes/modules/o")
	text, err := os.ReadFile(w.ws + "/.git/config")
	must(w.t, err)
	_ = w.write(w.ws+"/.git/config.lock", string(text)+"[remote \"origin\"]\n\tfetch = +HEAD:refs/remotes/modules/o/HEAD\n")
	_ = w.rename(w.ws+"/.git/config.lock", w.ws+"/.git/config")
}

// hostLogs lets the host's next fetch, by a person of that name, write HEAD and
// one more name to a folder among logs, to which t leads as a linked worktree.
func (w *world) hostLogs(name, control string) string {
	e := w.ws + "/.git/logs/refs/remotes/worktrees/o"
	_ = w.mkdir(filepath.Dir(e))
	w.bare(e, "objects", "refs")
	_ = w.write(e+"/gitdir", w.ws+"/t/.git\n")
	_ = w.mkdir(w.ws + "/t")
	_ = w.write(w.ws+"/p", "gitdir: "+e+"\n")
	_ = w.rename(w.ws+"/p", w.ws+"/t/.git")
	text, err := os.ReadFile(w.ws + "/.git/config")
	must(w.t, err)
	for _, more := range []string{
		"[remote \"origin\"]\n\tfetch = +HEAD:refs/remotes/worktrees/o/HEAD\n\tfetch = +HEAD:refs/remotes/worktrees/o/" + control + "\n",
		"[user]\n\tname = \"" + name + "\"\n",
	} {
		if w.write(w.ws+"/.git/config.lock", string(text)+more) == nil && w.rename(w.ws+"/.git/config.lock", w.ws+"/.git/config") == nil {
			text = append(text, more...)
		}
	}
	return e
}

// logOfPath makes the folder to which a commondir leads that is a log.
func logOfPath(w *world) {
	e := w.hostLogs("x/../../../../../../../e", "commondir")
	_ = w.mkdir(e + "/" + strings.Repeat("0", 40) + " " + strings.TrimSpace(w.git(w.ws, "rev-parse", "HEAD")) + " x")
	to := w.ws + "/e <a@b> 1790000000 +0000\tfetch: storing ref"
	w.bare(to, "objects", "refs")
	_ = w.write(to+"/config", w.evil()+w.evilRemote())
}

// hostFetch is a fetch by a person whose name is only in the repository's config.
func hostFetch(w *world) {
	cmd := w.command(w.ws, "git", "fetch")
	cmd.Env = slices.DeleteFunc(cmd.Env, func(s string) bool { return strings.HasPrefix(s, "GIT_COMMITTER_NAME=") })
	cmd.Env = append(cmd.Env, "GIT_COMMITTER_DATE=1790000000 +0000")
	_ = cmd.Run()
}

// indexChange runs the hook post-index-change of a git directory whose working
// folder is the workspace.
func indexChange(dir string) func(*world) {
	return func(w *world) { _, _ = w.tryGit(w.ws+dir, "--work-tree="+w.ws, "read-tree", "--empty") }
}
