//go:build linux

package rules_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"bawn/internal/sandbox/linux/guard"
	"bawn/internal/sandbox/linux/guard/rules"
)

// try is one operation on a name in the workspace of a fresh world.
type try struct {
	path string
	op   string // write, mkdir, symlink, rename in, rename away, link
	rule string // that refuses; "" allowed; "watch:…" allowed and reported
}

func (w *world) try(c try) error {
	path := w.ws + "/" + c.path
	if strings.HasPrefix(c.path, "~/") {
		path = w.home + c.path[1:]
	}
	must(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	switch c.op {
	case "write":
		return w.write(path, "x")
	case "mkdir":
		return w.mkdir(path)
	case "symlink":
		return w.symlink("x", path)
	case "rename in":
		must(w.t, os.WriteFile(w.ws+"/plain", nil, 0o644))
		return w.rename(w.ws+"/plain", path)
	case "rename away":
		if _, err := os.Lstat(path); err != nil {
			must(w.t, os.WriteFile(path, nil, 0o644))
		}
		return w.rename(path, w.ws+"/gone")
	case "link":
		must(w.t, os.WriteFile(w.ws+"/plain", nil, 0o644))
		return w.link(w.ws+"/plain", path)
	}
	panic(c.op)
}

func TestNames(t *testing.T) {
	for _, c := range []try{
		{"a/.bawn-keep-1", "write", "name:keep"}, {".bawn-keep-1", "mkdir", "name:keep"}, {".Bawn-Keep-1", "symlink", "name:keep"}, {".bawn-keep-1", "rename in", "name:keep"}, {".bawn-keep-1", "rename away", "name:keep"}, {".bawn-keep", "write", ""}, {"bawn-keep-1", "write", ""},
		{".bashrc", "write", "name:shell"}, {".zshrc.zwc", "write", "name:shell"}, {".profile", "symlink", "name:shell"}, {".zshenv", "link", "name:shell"}, {".kshrc", "rename in", "name:shell"}, {".bashrc", "rename away", "name:shell"},
		{"~/.bashrc", "write", "name:shell"}, {"~/.config/fish/conf.d/x.fish", "write", "name:shell"}, {"~/.config/fish", "mkdir", "name:shell"}, {"~/.config/other", "write", ""}, {"~/.config/git/config", "write", "name:git.settings"},
		{".Bashrc", "write", "name:shell"}, {"sub/.bashrc", "write", "watch:shell-start-up-file"},
		{".mcp.json", "write", "name:agent"}, {"sub/.mcp.json", "write", "watch:agent-settings"}, {".MCP.json", "write", "name:agent"},
		{".claude", "mkdir", ""}, {".claude", "symlink", "name:agent"}, {".claude/settings.json", "write", "name:agent"}, {".claude/settings.local.json", "rename in", "name:agent"}, {".claude/agents/x.md", "write", "watch:agent-instructions-with-hooks"}, {".claude/CLAUDE.md", "write", ""}, {".claude/hooks/x", "write", "name:agent"},
		{".codex/config.toml", "write", "name:agent"}, {".codex", "mkdir", "name:agent"}, {".cursor/mcp.json", "write", "name:agent"}, {".gemini/settings.json", "write", "name:agent"}, {".opencode", "mkdir", "name:agent"}, {".bawn/config.toml", "write", "name:bawn"}, {"a/.codex/x", "write", "watch:agent-settings"},
		{".vscode/tasks.json", "write", "watch:editor-settings-and-tasks"}, {".vscode", "mkdir", ""}, {".envrc", "write", "watch:direnv-environment"}, {"a/b/.envrc", "rename in", "watch:direnv-environment"}, {"Makefile", "write", "watch:build-steps"},
		{"a/.hg/hgrc", "write", "watch:mercurial-settings"}, {"a/.hg/sharedpath", "write", "watch:mercurial-settings"}, {".jj/repo/config.toml", "write", "watch:jujutsu-settings"}, {".hg", "mkdir", ""}, {".hg/store/x", "write", ""}, {".jj/repo/op_store/x", "write", ""}, {".zed/tasks.json", "write", "watch:editor-settings-and-tasks"},
		{"a/.cargo", "symlink", "watch:build-settings"}, {"a/.cargo", "link", ""}, {".github", "mkdir", ""},
		{"package.json", "write", "watch:package-scripts"}, {"node_modules/x/package.json", "write", ""}, {"src/main.go", "write", ""}, {"xpackage.json", "write", ""},
		{".git", "mkdir", ""}, {".git", "write", "name:git.pointer"}, {".git", "symlink", "name:git.layout"}, {".git", "link", "name:git.layout"}, {".git", "rename in", "name:git.pointer"}, {"a/.GIT", "write", "name:git.pointer"}, {"a/.git", "rename away", "name:git.layout"},
		{".git/hooks/pre-commit", "write", "name:git.hooks"}, {".git/hooks/pre-commit.sample", "write", ""}, {".git/hooks/d/x.sample", "write", "name:git.hooks"}, {".git/hooks/x.sample", "symlink", "name:git.hooks"}, {".git/hooks", "mkdir", ""}, {".git/hooks", "symlink", "name:git.hooks"},
		{".git/config", "write", "name:git.config"}, {".git/config", "link", "name:git.config"}, {".git/config", "rename in", ""}, {".git/config.worktree", "write", "name:git.config"}, {".git/modules/a/b/config", "write", "name:git.config"},
		{".git/commondir", "write", "name:git.pointer"}, {".git/gitdir", "write", "name:git.pointer"}, {".git/modules/s/commondir", "write", "name:git.pointer"},
		{".git/worktrees/x/commondir", "write", ""}, {".git/worktrees/x/gitdir", "write", ""}, {".git/worktrees/x/commondir", "rename in", "name:git.pointer"}, {".git/worktrees/x/gitdir", "link", "name:git.pointer"},
		{".git/HEAD", "write", ""}, {".git/HEAD", "symlink", "name:git.layout"}, {".git/logs/HEAD", "symlink", "name:git.layout"}, {".git/modules/HEAD", "write", "name:git.layout"},
		{".git/refs/heads/config", "write", "name:git.config"}, {".git/refs/heads/a/commondir", "write", "name:git.pointer"}, {".git/refs/heads/a/hooks/update", "write", "name:git.hooks"}, {".git/refs/heads/hooks/x", "write", ""}, {".git/logs/refs/heads/config", "write", ""}, {".git/remotes/origin", "write", "name:git.config"}, {".git/branches/origin", "write", "name:git.config"}, {".git/refs/remotes/origin", "write", ""},
		{".git/rebase-merge/git-rebase-todo", "write", "watch:steps-of-a-rebase-in-progress"},
		{".git/rebase-merge/strategy", "write", "watch:steps-of-a-rebase-in-progress"}, {"rebase/strategy", "write", ""}, {".git/rebase-merge/strategy_opts", "write", ""},
		{".git/sequencer/opts", "write", "name:git.config"}, {".git/sequencer/opts", "symlink", "name:git.config"}, {".git/sequencer/opts", "link", "name:git.config"}, {".git/sequencer/opts.lock", "write", ""}, {".git/sequencer/opts.lock", "rename in", "name:git.config"},
		{".git/modules/s/sequencer/opts", "write", "name:git.config"}, {".git/worktrees/x/sequencer/opts", "write", "name:git.config"}, {"sequencer/opts", "write", ""}, {".git/refs/heads/sequencer/opts", "write", ""}, {".git/sequencer/todo", "write", ""},
		{".git/config.lock", "write", ""}, {".git/config.lock", "link", "name:git.config"}, {".git/config.lock", "rename in", "name:git.config"}, {".git/config.lock", "rename away", "name:git.config"}, {".git/config.lock", "symlink", "name:git.config"},
		{".git/index.lock", "rename in", ""}, {".git/Config", "write", ""}, {"config.lock", "rename in", ""},
		{"config", "write", ""}, {"HEAD", "write", ""}, {"hooks/pre-commit", "write", ""}, {"objects", "mkdir", ""}, {"refs/config", "write", ""}, {"commondir", "write", ""},
		// A67: the file system may ignore case, or what Unicode leaves out.
		{".GIT/hooks/pre-commit", "write", "name:git.hooks"}, {".g\u200cit/config", "write", "name:git.config"}, {".git./config", "write", "name:git.config"}, {"GIT~1/config", "write", "name:git.config"},
		{".git::$INDEX_ALLOCATION/config", "write", "name:git.config"}, {".ba\u017fhrc", "write", "name:shell"}, {".gitcon\ufb01g", "write", "name:git.settings"}, {".mcp.j\u017fon", "write", "name:agent"},
	} {
		w := newWorld(t, true)
		err := w.try(c)
		switch {
		case strings.HasPrefix(c.rule, "name:"):
			if err == nil || !slices.Contains(w.denied, c.rule) {
				t.Errorf("%s %q: %v, rules %q, want %s", c.op, c.path, err, w.denied, c.rule)
			}
		default:
			if err != nil || len(w.denied) > 0 {
				t.Errorf("%s %q: %v, rules %q", c.op, c.path, err, w.denied)
			}
			if got := strings.Join(w.seen, " "); got != c.rule {
				t.Errorf("%s %q: reported %q, want %q", c.op, c.path, got, c.rule)
			}
		}
	}
}

// A folder that gets the beginning of a watched name brings what is in it.
func TestWatchedNameByItsFolder(t *testing.T) {
	for file, want := range map[string]string{
		"workflows/x.yml": "watch:continuous-integration", "x.yml": "",
	} {
		w := newWorld(t, true)
		must(t, os.MkdirAll(w.ws+"/g/"+filepath.Dir(file), 0o755))
		must(t, w.write(w.ws+"/g/"+file, "x"))
		must(t, w.mkdir(w.ws+"/p"))
		must(t, w.rename(w.ws+"/g", w.ws+"/p/.github"))
		if got := strings.Join(w.seen, " "); got != want {
			t.Errorf("%s: reported %q, want %q", file, got, want)
		}
	}
}

// A pipe where a folder of git's would be does not hold the guard up, and with it
// all guards of the user; nor does a file make names be refused.
func TestPipeInThePlaceOfAFolder(t *testing.T) {
	w := newWorld(t, true)
	must(t, w.write(w.ws+"/worktrees", "x"))
	if err := w.write(w.ws+"/config", "x"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"worktrees", "hooks", "modules", "objects", "refs", "logs", "config", "commondir"} {
		w = newWorld(t, true)
		w.bare(w.ws+"/e", "HEAD")
		w.bare(w.ws + "/d")
		for _, d := range []string{"/d/", "/e/"} {
			must(t, unix.Mkfifo(w.ws+d+name, 0o666))
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, d := range []string{"/d", "/e"} {
				for _, part := range []string{"config", "config.lock", "objects", "refs", "HEAD", "modules"} {
					if part != name { // who opens a pipe waits for itself
						w.bare(w.ws+d, part)
					}
				}
				_ = w.mkdir(w.ws + d + "/hooks/x")
				w.linkedTree(w.ws+d, "")
			}
		}()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the guard waits for the pipe", name)
		}
	}
}

// B18: the user's own settings lift each name, and only that.
func TestB18_Lifted(t *testing.T) {
	for _, c := range []struct{ id, path, op string }{
		{"agent", ".mcp.json", "write"}, {"shell", ".bashrc", "write"}, {"bawn", ".bawn/x", "write"}, {"git.settings", ".gitconfig", "write"},
		{rules.LiftHooks, ".git/hooks/pre-commit", "write"}, {rules.LiftConfig, ".git/config", "write"}, {rules.LiftPointer, "a/.git", "write"},
		{rules.LiftPointer, ".git/commondir", "write"}, {rules.LiftLayout, ".git", "rename away"}, {rules.LiftLayout, ".git/logs/HEAD", "symlink"},
	} {
		for _, id := range []string{"agent", "shell", "bawn", "git.settings", rules.LiftHooks, rules.LiftConfig, rules.LiftPointer, rules.LiftLayout, rules.LiftTarget} {
			w := newWorld(t, true, id)
			if err := w.try(try{path: c.path, op: c.op}); (err == nil) != (id == c.id) {
				t.Errorf("%s %q with %s lifted: %v", c.op, c.path, id, err)
			}
		}
	}
	// One key of git's config.
	for _, lifted := range []string{"", "git.config:core.fsmonitor", "git.config:core.hookspath"} {
		w := newWorld(t, false)
		w.repo(w.ws)
		w.start(lifted)
		must(t, w.write(w.ws+"/.git/config.lock", w.evil()))
		if err := w.rename(w.ws+"/.git/config.lock", w.ws+"/.git/config"); (err == nil) != (lifted == "git.config:core.fsmonitor") {
			t.Errorf("lifted %q: %v", lifted, err)
		} else if err != nil && !strings.Contains(err.Error(), `"core.fsmonitor"`) {
			t.Errorf("the key is not named: %v", err)
		}
	}
}

// What the user has set stays, and does not stop other settings.
func TestOldConfigPasses(t *testing.T) {
	w := newWorld(t, false)
	w.repo(w.ws)
	w.git(w.ws, "config", "core.hooksPath", ".husky/_")
	w.git(w.ws, "config", "alias.st", "!true")
	out, denied, _, err := w.inside(w.ws, `git config user.name x; git remote add o https://example.invalid/x; git config core.hooksPath .other && exit 7; git config alias.y '!true' && exit 8; git config --get core.hooksPath`)
	if err != nil || len(denied) != 2 {
		t.Errorf("%v, denied %+v\n%s", err, denied, out)
	}
}

// A146: in a linked worktree outside the main checkout git works, and the
// main checkout's control files do not change.
func TestA146_LinkedWorktree(t *testing.T) {
	w := newWorld(t, false)
	main := filepath.Dir(w.ws) + "/main"
	must(t, os.Remove(w.ws))
	w.git(filepath.Dir(w.ws), "init", "-q", main)
	w.git(main, "commit", "-q", "--allow-empty", "-m", "x")
	w.git(main, "worktree", "add", "-q", w.ws)
	out, denied, _, err := w.inside(w.ws, `git commit -q --allow-empty -m x; git stash -q || true; git branch x; git config user.name y
! echo x >../main/.git/hooks/post-merge; ! echo x >../main/.git/config; echo "$PWD" >../main/.git/worktrees/ws/commondir; ! echo x >../main/.git/commondir; git log -1 --format=%s`)
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(main + "/.git/worktrees/ws/commondir"); string(text) != "../..\n" {
		t.Errorf("commondir %q, %v", text, err)
	}
	var ids []string
	for _, d := range denied {
		ids = append(ids, d.Rule.ID)
	}
	if want := []string{"name:git.hooks", "name:git.config", "name:git.pointer"}; !slices.Equal(ids, want) {
		t.Errorf("refused %q, want %q\n%s", ids, want, out)
	}
}

// B19: a clone of a repository that tracks protected names fails whole or
// succeeds; a nested clone is no workspace root, so it succeeds.
func TestB19_CloneWithSettings(t *testing.T) {
	w := newWorld(t, false)
	up := filepath.Dir(w.ws) + "/up"
	w.git(filepath.Dir(w.ws), "init", "-q", up)
	for _, f := range []string{".vscode/settings.json", ".mcp.json", ".claude/settings.json", ".bashrc", ".gitattributes"} {
		must(t, os.MkdirAll(filepath.Dir(up+"/"+f), 0o755))
		must(t, os.WriteFile(up+"/"+f, nil, 0o644))
	}
	w.git(up, "add", "-A")
	w.git(up, "commit", "-qm", "x")
	out, denied, watched, err := w.inside(w.ws, `git clone -q `+up+` y; git -C y status --porcelain`)
	if err != nil || out != "" || len(denied) > 0 {
		t.Errorf("%v, denied %+v\n%s", err, denied, out)
	}
	watched = slices.DeleteFunc(watched, func(e guard.Event) bool { return !strings.HasPrefix(e.Rule.ID, "watch:") })
	if len(watched) != 5 {
		t.Errorf("watched %+v", watched)
	}
}

// In no order do the parts of a git directory, made by any operations, end as
// one with a config that the rules did not judge.
func TestNoUnjudgedLayout(t *testing.T) {
	root := newWorld(t, false)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		w := &world{sim: &sim{t: root.t}, ws: root.ws + "/" + itoa(n), home: root.home, canary: root.canary}
		must(root.t, os.MkdirAll(w.ws+"/b", 0o755))
		w.start()
		files := []string{"HEAD", "HEAD", "config", "config", "x", "commondir", ".git", "hooks/pre-commit", "refs/config", "refs/HEAD", "worktrees/x/HEAD", "worktrees/x/commondir", "worktrees/x/gitdir"}
		folders := []string{"objects", "objects", "refs", "refs", ".git", "hooks", "worktrees", "worktrees/x", "refs/objects", "refs/refs", "x", "HEAD", "refs/HEAD"}
		dirs := []string{"/b/", "/b/", "/b/", "/b/.git/", "/", "/b/refs/", "/b/x/"}
		path := func(of []string, label string) string {
			return w.ws + rapid.SampledFrom(dirs).Draw(t, label+" in") + rapid.SampledFrom(of).Draw(t, label)
		}
		const evil = "[core]\nfsmonitor = ./evil\n"
		for range rapid.IntRange(8, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"write", "write", "write", "mkdir", "mkdir", "mkdir", "rename", "exchange", "folder", "link", "symlink", "unlink", "socket"}).Draw(t, "op") {
			case "write":
				p := path(files, "file")
				content := evil
				if strings.HasSuffix(p, "HEAD") {
					content = "ref: refs/heads/main\n"
				}
				_ = w.write(p, content)
			case "mkdir":
				_ = w.mkdir(path(folders, "folder"))
			case "rename":
				_ = w.rename(path(files, "from"), path(files, "to"))
			case "folder":
				_ = w.rename(path(folders, "from"), path(folders, "to"))
			case "exchange":
				_ = w.exchange(path(files, "from"), path(append(files, folders...), "to"))
			case "link":
				_ = w.link(path(files, "from"), path(files, "to"))
			case "symlink":
				_ = w.symlink(rapid.SampledFrom([]string{"x", "config", "../b", ".git"}).Draw(t, "link"), path(append(files, folders...), "name"))
			case "unlink":
				_ = os.Remove(path(files, "unlinked"))
			case "socket":
				w.socket(path([]string{"objects", "refs", "HEAD"}, "socket"))
			}
		}
		_ = filepath.WalkDir(w.ws, func(dir string, e os.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return nil
			}
			if filepath.Base(filepath.Dir(dir)) == "hooks" || strings.Contains(dir, "/objects/") {
				return nil
			}
			_, pointer := os.Lstat(dir + "/.git")
			if _, head := os.Lstat(dir + "/HEAD"); pointer != nil && head != nil {
				return nil // nothing for git to find
			}
			out, err := root.command(dir, "git", "config", "--local", "--get-all", "core.fsmonitor").Output()
			if err == nil && len(out) > 0 {
				t.Fatalf("git in %q would run %q", dir, out)
			}
			return nil
		})
	})
}

func itoa(n int) string {
	return string(rune('a'+n/26%26)) + string(rune('a'+n%26)) + string(rune('a'+n/676))
}

// The rules look at what a verdict needs, and at nothing without a name.
func TestNameless(t *testing.T) {
	r := rules.New(rules.Config{Roots: []string{"/nowhere"}})
	c := &guard.Call{Op: guard.Open, Target: guard.Target{Dir: -1, Exists: true, Stat: unix.Stat_t{Mode: unix.S_IFREG, Nlink: 1}}}
	if v := r.Check(c); v.Decision != guard.Allow {
		t.Errorf("%+v", v)
	}
	if v := rules.New(rules.Config{}).Check(c); v.Decision != guard.Allow {
		t.Errorf("%+v", v)
	}
}

// BenchmarkCheck: an ordinary new file five folders deep, and a link.
func BenchmarkCheck(b *testing.B) {
	w := newWorld(b, true)
	dir := w.ws + "/a/b/c/d/e"
	must(b, os.MkdirAll(dir, 0o755))
	t, done, err := w.target(dir+"/file.go", false)
	must(b, err)
	defer done()
	for _, op := range []guard.Op{guard.Create, guard.Mkdir, guard.Symlink, guard.Open} {
		b.Run(op.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v := w.rules.Check(&guard.Call{Op: op, Link: "x", Target: t}); v.Decision != guard.Allow {
					b.Fatal(v)
				}
			}
		})
	}
}
