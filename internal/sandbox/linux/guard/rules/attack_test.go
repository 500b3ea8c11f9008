//go:build linux

package rules_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// attack plants code by path operations and names the host's action that
// would run it. Operations after a refused one are still tried: a command
// does not stop at an error either.
type attack struct {
	name  string
	setup func(*world) // by the user, before the run
	plant func(*world)
	host  func(*world)
}

// quiet are the attacks of which nothing is refused: what is written is not
// what was asked for.
var quiet = map[string]bool{
	"commondir of a worktree": true, "config kept open": true, "bare layout, config kept open": true, "config, HEAD and sockets among logs": true,
	"commondir among logs, HEAD by the host's fetch": true, "a hook among logs, HEAD by the host's fetch, a push": true,
	"config among logs of a common directory without HEAD, HEAD by the host's fetch": true,
}

func status(dir string) func(*world) {
	return func(w *world) { _, _ = w.tryGit(w.ws+dir, "status") }
}

// fetch is for where there is no working folder. The remote is in the config.
func fetch(dir string) func(*world) {
	return func(w *world) { _, _ = w.tryGit(w.ws+dir, "fetch", "evil") }
}

func repoAtRoot(w *world) { w.repo(w.ws) }

var attacks = []attack{
	{"config appended", repoAtRoot, func(w *world) { _ = w.add(w.ws+"/.git/config", w.evil()) }, status("")},
	{"config truncated", repoAtRoot, func(w *world) { _ = w.write(w.ws+"/.git/config", w.evil()) }, status("")},
	{"config by rename", repoAtRoot, func(w *world) {
		_ = w.write(w.ws+"/x", w.evil())
		_ = w.rename(w.ws+"/x", w.ws+"/.git/config")
	}, status("")},
	{"config by lock", repoAtRoot, func(w *world) {
		_ = w.write(w.ws+"/.git/config.lock", w.evil())
		_ = w.rename(w.ws+"/.git/config.lock", w.ws+"/.git/config")
	}, status("")},
	{"config by exchange", repoAtRoot, func(w *world) {
		_ = w.write(w.ws+"/x", w.evil())
		_ = w.exchange(w.ws+"/x", w.ws+"/.git/config")
	}, status("")},
	{"config by exchange from its side", repoAtRoot, func(w *world) {
		_ = w.write(w.ws+"/x", w.evil())
		_ = w.exchange(w.ws+"/.git/config", w.ws+"/x")
	}, status("")},
	{"config by hard link", repoAtRoot, func(w *world) {
		_ = w.write(w.ws+"/x", w.evil())
		_ = os.Remove(w.ws + "/.git/config") // unlink is not refused
		_ = w.link(w.ws+"/x", w.ws+"/.git/config")
	}, status("")},
	{"config by symlink", repoAtRoot, func(w *world) {
		_ = w.write(w.ws+"/x", w.evil())
		_ = os.Remove(w.ws + "/.git/config")
		_ = w.symlink("../x", w.ws+"/.git/config")
	}, status("")},
	{"config written anew", repoAtRoot, func(w *world) {
		_ = os.Remove(w.ws + "/.git/config")
		_ = w.write(w.ws+"/.git/config", w.evil())
	}, status("")},
	{"second name for config", repoAtRoot, func(w *world) {
		_ = w.link(w.ws+"/.git/config", w.ws+"/x")
		_ = w.write(w.ws+"/x", w.evil())
	}, status("")},
	{"second name from before", func(w *world) {
		w.repo(w.ws)
		must(w.t, os.Link(w.ws+"/.git/config", w.ws+"/x"))
	}, func(w *world) { _ = w.write(w.ws+"/x", w.evil()) }, status("")},
	{"config moved away and back", repoAtRoot, func(w *world) {
		_ = w.rename(w.ws+"/.git/config", w.ws+"/x")
		_ = w.write(w.ws+"/x", w.evil())
		_ = w.rename(w.ws+"/x", w.ws+"/.git/config")
	}, status("")},
	{"config through a link to .git", repoAtRoot, func(w *world) {
		_ = w.symlink(".git", w.ws+"/g")
		_ = w.write(w.ws+"/g/config", w.evil())
	}, status("")},
	{"config kept open", repoAtRoot, func(w *world) {
		if w.write(w.ws+"/.git/config.lock", "[core]\n\tbare = false\n") != nil {
			return
		}
		f, err := w.keep(w.ws + "/.git/config.lock")
		_ = w.rename(w.ws+"/.git/config.lock", w.ws+"/.git/config")
		if err == nil {
			_, _ = f.WriteString(w.evil())
		}
	}, status("")},
	{"the host's lock written before it is renamed", func(w *world) {
		w.repo(w.ws)
		must(w.t, os.WriteFile(w.ws+"/.git/config.lock", []byte("[core]\n\tbare = false\n"), 0o644))
	}, func(w *world) {
		if f, err := w.keep(w.ws + "/.git/config.lock"); err == nil {
			_, _ = f.WriteString(w.evil())
		}
		_ = w.write(w.ws+"/x", w.evil())
		_ = w.rename(w.ws+"/x", w.ws+"/.git/config.lock")
		_ = w.link(w.ws+"/.git/config.lock", w.ws+"/y")
		_ = w.write(w.ws+"/y", w.evil())
	}, func(w *world) {
		_ = os.Rename(w.ws+"/.git/config.lock", w.ws+"/.git/config") // as git config does at last
		status("")(w)
	}},
	{"include of a file to come", repoAtRoot, func(w *world) {
		_ = w.write(w.ws+"/.git/config.lock", "[include]\n\tpath = ../inc\n")
		_ = w.rename(w.ws+"/.git/config.lock", w.ws+"/.git/config")
		_ = w.write(w.ws+"/inc", w.evil())
	}, status("")},
	{"config.worktree", func(w *world) {
		w.repo(w.ws)
		w.git(w.ws, "config", "extensions.worktreeConfig", "true")
	}, func(w *world) {
		_ = w.write(w.ws+"/.git/config.worktree", w.evil())
		_ = w.write(w.ws+"/.git/x", w.evil())
		_ = w.rename(w.ws+"/.git/x", w.ws+"/.git/config.worktree")
	}, status("")},
	{"commondir", repoAtRoot, func(w *world) {
		w.bare(w.ws+"/evil", "config", "objects", "refs") // no HEAD: not discovered by itself
		_ = w.write(w.ws+"/.git/commondir", "../evil\n")
		_ = w.write(w.ws+"/x", "../evil\n")
		_ = w.rename(w.ws+"/x", w.ws+"/.git/commondir")
	}, status("")},
	{"commondir of a worktree", func(w *world) {
		w.repo(w.ws)
		w.git(w.ws, "worktree", "add", "-q", "wt")
	}, func(w *world) {
		w.bare(w.ws+"/evil", "config", "objects", "refs")
		_ = w.write(w.ws+"/.git/worktrees/wt/commondir", w.ws+"/evil\n")
	}, status("/wt")},
	{"new hook", repoAtRoot, func(w *world) {
		_ = w.write(w.ws+"/.git/hooks/post-checkout", w.script())
	}, func(w *world) { _, _ = w.tryGit(w.ws, "checkout", "-b", "x") }},
	{"hook by rename of a sample", repoAtRoot, func(w *world) {
		_ = w.write(w.ws+"/.git/hooks/x.sample", w.script())
		_ = w.rename(w.ws+"/.git/hooks/x.sample", w.ws+"/.git/hooks/post-checkout")
	}, func(w *world) { _, _ = w.tryGit(w.ws, "checkout", "-b", "x") }},
	{"hook by links", repoAtRoot, func(w *world) {
		_ = w.write(w.ws+"/x", w.script())
		_ = w.link(w.ws+"/x", w.ws+"/.git/hooks/post-checkout")
		_ = w.symlink(w.ws+"/x", w.ws+"/.git/hooks/post-checkout")
	}, func(w *world) { _, _ = w.tryGit(w.ws, "checkout", "-b", "x") }},
	{"hook by a file without a name", repoAtRoot, func(w *world) {
		if w.write(w.ws+"/x", w.script()) != nil {
			return
		}
		f, err := os.Open(w.ws + "/x")
		must(w.t, err)
		defer f.Close()
		_ = w.linkOpen(f, w.ws+"/.git/hooks/post-checkout")
	}, func(w *world) { _, _ = w.tryGit(w.ws, "checkout", "-b", "x") }},
	{"hooks folder changed for another", repoAtRoot, func(w *world) {
		_ = w.mkdir(w.ws + "/h")
		_ = w.write(w.ws+"/h/post-checkout", w.script())
		_ = w.exchange(w.ws+"/h", w.ws+"/.git/hooks")
	}, func(w *world) { _, _ = w.tryGit(w.ws, "checkout", "-b", "x") }},
	{"hooks folder moved away", repoAtRoot, func(w *world) {
		_ = w.rename(w.ws+"/.git/hooks", w.ws+"/old")
		_ = os.RemoveAll(w.ws + "/.git/hooks")
		_ = w.mkdir(w.ws + "/h")
		_ = w.write(w.ws+"/h/post-checkout", w.script())
		_ = w.rename(w.ws+"/h", w.ws+"/.git/hooks")
		_ = w.symlink("../h", w.ws+"/.git/hooks")
	}, func(w *world) { _, _ = w.tryGit(w.ws, "checkout", "-b", "x") }},
	{".git moved, copied, changed", repoAtRoot, func(w *world) {
		_ = w.rename(w.ws+"/.git", w.ws+"/.git2")
		w.bare(w.ws+"/.git", "HEAD", "config", "objects", "refs")
	}, status("")},
	{"folder moved to .git", nil, func(w *world) {
		w.bare(w.ws+"/x", "objects", "refs", "config", "HEAD")
		_ = w.rename(w.ws+"/x", w.ws+"/.git")
	}, status("")},
	{"link named .git", nil, func(w *world) {
		w.bare(w.ws+"/x", "objects", "refs", "config", "HEAD")
		_ = w.symlink("x", w.ws+"/.git")
		_ = w.symlink("x", w.ws+"/l")
		_ = w.rename(w.ws+"/l", w.ws+"/.git")
	}, status("")},
	{"A53 new repository", nil, func(w *world) {
		w.bare(w.ws+"/.git", "HEAD", "objects", "refs", "config.lock", "config")
	}, status("")},
	{"new nested repository", repoAtRoot, func(w *world) {
		_ = w.mkdir(w.ws + "/n")
		w.bare(w.ws+"/n/.git", "HEAD", "objects", "refs", "config", "config.lock")
	}, status("/n")},
	{"gitlink in the outer index", repoAtRoot, func(w *world) {
		_ = w.mkdir(w.ws + "/n")
		w.bare(w.ws+"/n/.git", "HEAD", "objects", "refs", "config", "config.lock")
		id := strings.TrimSpace(w.git(w.ws, "rev-parse", "HEAD"))
		w.git(w.ws, "update-index", "--add", "--cacheinfo", "160000,"+id+",n")
		_ = w.mkdir(w.ws + "/n/.git/refs/heads")
		_ = w.write(w.ws+"/n/.git/refs/heads/main", id+"\n")
	}, status("")},
	{"pointer file", nil, func(w *world) {
		w.bare(w.ws+"/evil", "config", "objects", "refs", "HEAD")
		_ = w.mkdir(w.ws + "/sub")
		_ = w.write(w.ws+"/sub/.git", "gitdir: ../evil\n")
		_ = w.write(w.ws+"/x", "gitdir: ../evil\n")
		_ = w.rename(w.ws+"/x", w.ws+"/sub/.git")
	}, status("/sub")},
	{"pointer file to a cache", nil, func(w *world) {
		w.bare(filepath.Dir(w.ws)+"/cache/evil", "config", "objects", "refs", "HEAD")
		_ = w.write(w.ws+"/.git", "gitdir: ../cache/evil\n")
	}, status("")},
	{"submodule config", func(w *world) { w.submodule() }, func(w *world) {
		g := w.ws + "/.git/modules/s"
		_ = w.add(g+"/config", w.evil())
		_ = w.write(g+"/x", w.evil()+"\tworktree = ../../../s\n")
		_ = w.rename(g+"/x", g+"/config")
	}, status("")},
	{"A57 hooksPath to a folder that does not exist", func(w *world) {
		w.repo(w.ws)
		w.git(w.ws, "config", "core.hooksPath", ".githooks")
	}, func(w *world) {
		_ = w.mkdir(w.ws + "/.githooks")
		_ = w.write(w.ws+"/.githooks/pre-commit", w.script())
		_ = w.mkdir(w.ws + "/h")
		_ = w.write(w.ws+"/h/pre-commit", w.script())
		_ = w.rename(w.ws+"/h", w.ws+"/.githooks")
		_ = w.symlink("h", w.ws+"/.githooks")
	}, func(w *world) { _, _ = w.tryGit(w.ws, "commit", "--allow-empty", "-m", "x") }},
	{"A57 hooksPath in a folder that comes with a link in it", func(w *world) {
		w.repo(w.ws)
		w.git(w.ws, "config", "core.hooksPath", "build/tools/hooks")
	}, func(w *world) {
		_ = w.mkdir(w.ws + "/x")
		_ = w.symlink("../evil", w.ws+"/x/tools")
		_ = w.rename(w.ws+"/x", w.ws+"/build")
		_ = w.mkdir(w.ws + "/evil")
		_ = w.mkdir(w.ws + "/evil/hooks")
		_ = w.write(w.ws+"/evil/hooks/pre-commit", w.script())
	}, func(w *world) { _, _ = w.tryGit(w.ws, "commit", "--allow-empty", "-m", "x") }},
	{"included file", func(w *world) {
		w.repo(w.ws)
		must(w.t, os.Mkdir(w.ws+"/c", 0o755))
		must(w.t, os.WriteFile(w.ws+"/c/config", nil, 0o644))
		w.git(w.ws, "config", "include.path", "../c/config")
	}, func(w *world) {
		_ = w.write(w.ws+"/c/config", w.evil())
		_ = w.mkdir(w.ws + "/d")
		_ = w.write(w.ws+"/d/config", w.evil())
		_ = w.rename(w.ws+"/c", w.ws+"/c2")
		_ = w.rename(w.ws+"/d", w.ws+"/c")
	}, status("")},
	{"the host writes through a link in .git", repoAtRoot, func(w *world) {
		// The text of a commit becomes a start-up file.
		_ = w.symlink(w.home+"/.bashrc", w.ws+"/.git/COMMIT_EDITMSG")
		_ = w.symlink(w.home+"/.bashrc", w.ws+"/l")
		_ = w.rename(w.ws+"/l", w.ws+"/.git/COMMIT_EDITMSG")
	}, func(w *world) {
		_, _ = w.tryGit(w.ws, "commit", "--allow-empty", "-m", "touch "+w.canary)
		_ = w.command(w.ws, "bash", "-ic", "true").Run()
	}},
	{"folder brought from a cache", nil, func(w *world) {
		c := filepath.Dir(w.ws) + "/cache"
		_ = w.mkdir(c + "/p")
		w.bare(c+"/p/.git", "HEAD", "objects", "refs", "config")
		_ = w.rename(c+"/p", w.ws+"/p")
	}, status("/p")},
	{"shell start-up file", nil, func(w *world) {
		_ = w.write(w.home+"/.bashrc", w.script())
		_ = w.write(w.ws+"/x", w.script())
		_ = w.rename(w.ws+"/x", w.home+"/.bashrc")
	}, func(w *world) { _ = w.command(w.ws, "bash", "-ic", "true").Run() }},
	{"shell start-up file, the workspace being a home", nil, func(w *world) {
		_ = w.write(w.ws+"/.profile", w.script())
		_ = w.write(w.ws+"/x", w.script())
		_ = w.link(w.ws+"/x", w.ws+"/.profile")
		_ = w.symlink("x", w.ws+"/.profile")
	}, func(w *world) {
		cmd := w.command(w.ws, "sh", "-lc", "true")
		cmd.Env = append(cmd.Env, "HOME="+w.ws)
		_ = cmd.Run()
	}},
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// submodule gives the workspace a submodule s, as the user would.
func (w *world) submodule() {
	w.t.Helper()
	up := filepath.Dir(w.ws) + "/up"
	w.git(filepath.Dir(w.ws), "init", "-q", up)
	w.git(up, "commit", "-q", "--allow-empty", "-m", "up")
	w.repo(w.ws)
	w.git(w.ws, "submodule", "--quiet", "add", up, "s")
	w.git(w.ws, "commit", "-qm", "s")
}

// Without the rules the host runs what was planted; with them it does not.
func TestPlantedCode(t *testing.T) {
	for _, a := range slices.Concat(attacks, layoutAttacks, remoteAttacks, linkedAttacks, socketAttacks) {
		t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			for _, guarded := range []bool{false, true} {
				w := newWorld(t, false)
				if a.setup != nil {
					a.setup(w)
				}
				if guarded {
					w.start()
				}
				a.plant(w)
				a.host(w)
				if guarded && w.dead() {
					t.Error("the canary died")
				}
				if guarded && len(w.denied) == 0 && !quiet[a.name] {
					t.Error("nothing was refused")
				}
				if !guarded && !w.dead() {
					t.Error("without rules the canary lives: the test proves nothing")
				}
			}
		})
	}
}
