//go:build linux

package rules_test

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
}

// indexChange runs the hook post-index-change of a git directory whose working
// folder is the workspace.
func indexChange(dir string) func(*world) {
	return func(w *world) { _, _ = w.tryGit(w.ws+dir, "--work-tree="+w.ws, "read-tree", "--empty") }
}
