//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// evil is a git setting that makes any git command run a program.
func evil(b *Box) string {
	return "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch " + b.Workspace + "/RAN; false\n"
}

// notRan fails the test if the host's git, run now, executes something.
func notRan(t *testing.T, b *Box, what string) {
	t.Helper()
	Write(t, b.Workspace+"/by-host", what)
	git(t, b, "status")
	git(t, b, "add", "by-host")
	git(t, b, "commit", "-q", "-m", what)
	if exists(b.Workspace + "/RAN") {
		t.Errorf("%s: the host's git ran the command's program", what)
		os.Remove(b.Workspace + "/RAN")
	}
}

// byMounts are the flags with which only mounts hold names, as they also do
// below the guard.
var byMounts = []string{"--guard", "off"}

// eachGuard runs a case by mounts alone and with the name guard. The errnos
// are those of a read-only mount, of a mount point, or the guard's.
func eachGuard(t *testing.T, f func(t *testing.T, l string, guard bool, flags []string, rofs, busy string)) {
	EachLauncher(t, func(t *testing.T, l string) {
		t.Run("mounts", func(t *testing.T) { f(t, l, false, byMounts, "EROFS", "EBUSY") })
		t.Run("guard", func(t *testing.T) { f(t, l, true, nil, "EACCES", "EACCES") })
	})
}

// A53, A57, A149: the control files of a repository that exist at the start
// cannot be changed, replaced or moved away, and git works nevertheless.
func TestA53_A57_A149_GitControlFiles(t *testing.T) {
	eachGuard(t, func(t *testing.T, l string, guard bool, flags []string, rofs, busy string) {
		b := New(t, l)
		b.Flags = flags
		b.Env = []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x", "GIT_CONFIG_NOSYSTEM=1"}
		git(t, b, "init", "-q", ".")
		git(t, b, "config", "core.hooksPath", ".githooks") // A57, with the folder there
		Write(t, b.Workspace+"/.githooks/README", "x")
		Write(t, b.Workspace+"/a", "1")
		git(t, b, "add", "-A")
		git(t, b, "commit", "-q", "-m", "first")
		g := b.Workspace + "/.git"
		hook := "#!/bin/sh\ntouch " + b.Workspace + "/RAN\n"
		before := listing(t, g+"/config", g+"/hooks", b.Workspace+"/.githooks")
		p := probeIn(t, b)
		for _, f := range []string{g + "/config", b.Workspace + "/.githooks/README"} {
			p.want(rofs, "write", f)
			p.want(rofs, "truncate", f)
			if !guard || f != g+"/config" { // the guard holds who makes the name again
				p.want("EBUSY|EROFS", "unlink", f)
			}
			p.want(busy+"|EROFS|EXDEV", "rename", f, b.Workspace+"/moved")
			p.want("EXDEV|EROFS|EACCES", "link", f, b.Workspace+"/linked")
		}
		p.want("ok", "fill", b.Workspace+"/evil", strings.ReplaceAll(evil(b), "\n", " "))
		p.want(busy+"|EROFS|EXDEV", "rename", b.Workspace+"/evil", g+"/config")
		p.want(busy+"|EROFS|EXDEV", "exchange", b.Workspace+"/evil", g+"/config")
		p.want(rofs, "creat", g+"/hooks/post-checkout")
		p.want(rofs, "creat", b.Workspace+"/.githooks/pre-commit")
		p.want(busy, "rename", g, b.Workspace+"/.git2")
		p.want(busy, "rename", g+"/hooks", g+"/hooks2")
		p.want(busy, "rename", b.Workspace+"/.githooks", b.Workspace+"/.githooks2")
		p.want("ok", "creat", g+"/description2")
		p.end()
		r := b.Sh(t, `exec 2>&1; echo '`+hook+`' >.git/hooks/pre-commit; echo '`+hook+`' >.githooks/pre-commit; git config core.fsmonitor ./x && echo CONFIGURED
cp -r .git .git2 && echo '[core] fsmonitor = ./x' >>.git2/config; mv .git .git3; mv -T .git2 .git; rm -rf .git2; echo 2 >a; git add a && git commit -q -m second && echo COMMITTED; git checkout -q -b br && echo BRANCHED`)
		if strings.Contains(r.Stdout, "CONFIGURED") {
			t.Error("git config passed")
		}
		sameListing(t, before, listing(t, g+"/config", g+"/hooks", b.Workspace+"/.githooks"))
		notRan(t, b, "control files")
	})
	// The twin: git itself works inside.
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Env = []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x", "GIT_CONFIG_NOSYSTEM=1"}
		git(t, b, "init", "-q", ".")
		Write(t, b.Workspace+"/a", "1")
		b.Sh(t, "git add a && git commit -q -m x && git checkout -q -b br && git status").OK(t)
		if out := git(t, b, "log", "--oneline", "br"); !strings.Contains(out, "x") {
			t.Errorf("the commit did not arrive: %s", out)
		}
	})
}

// A59: a .git file, commondir or link that points elsewhere opens nothing.
func TestA59_ForgedPointers(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for name, forge := range map[string]func(t *testing.T, b *Box, victim string){
			"gitdir to ssh":      func(t *testing.T, b *Box, _ string) { Write(t, b.Workspace+"/.git", "gitdir: "+b.Home+"/.ssh\n") },
			"gitdir to a folder": func(t *testing.T, b *Box, v string) { Write(t, b.Workspace+"/.git", "gitdir: "+v+"\n") },
			"gitdir relative":    func(t *testing.T, b *Box, _ string) { Write(t, b.Workspace+"/.git", "gitdir: ../victim\n") },
			"gitdir to the home": func(t *testing.T, b *Box, _ string) { Write(t, b.Workspace+"/.git", "gitdir: ../home\n") },
			"gitdir to the root": func(t *testing.T, b *Box, _ string) { Write(t, b.Workspace+"/.git", "gitdir: /\n") },
			"link":               func(t *testing.T, b *Box, v string) { symlink(t, v, b.Workspace+"/.git") },
			"link to a pointer": func(t *testing.T, b *Box, v string) {
				Write(t, b.Workspace+"/pointer", "gitdir: "+v+"\n")
				symlink(t, "pointer", b.Workspace+"/.git")
			},
			"commondir": func(t *testing.T, b *Box, v string) {
				git(t, b, "init", "-q", ".")
				Write(t, b.Workspace+"/.git/commondir", v+"\n")
			},
			"worktree that points one way": func(t *testing.T, b *Box, v string) {
				// The victim looks like a repository, but has no such worktree.
				Write(t, b.Workspace+"/.git", "gitdir: "+v+"/.git/worktrees/ws\n")
				Write(t, v+"/.git/worktrees/ws/commondir", "../..\n")
				Write(t, v+"/.git/worktrees/ws/HEAD", "ref: refs/heads/x\n")
				Write(t, v+"/.git/worktrees/ws/gitdir", v+"/elsewhere/.git\n")
			},
			"alternates and modules": func(t *testing.T, b *Box, v string) {
				git(t, b, "init", "-q", ".")
				Write(t, b.Workspace+"/.git/objects/info/alternates", v+"\n")
				Write(t, b.Workspace+"/sub/.git", "gitdir: "+v+"\n")
				symlink(t, v, b.Workspace+"/.git/modules")
			},
		} {
			t.Run(name, func(t *testing.T) {
				b := New(t, l)
				b.Flags = []string{"-q"}
				victim := filepath.Dir(b.Home) + "/victim"
				for _, f := range []string{"HEAD", "config", "objects/x", "refs/x", ".git/HEAD", ".git/config", ".git/objects/x", ".git/refs/x"} {
					Write(t, victim+"/"+f, "ref: refs/heads/main\n")
				}
				Write(t, b.Home+"/.ssh/HEAD", "ref: refs/heads/main\n")
				Write(t, b.Home+"/plain", "x")
				forge(t, b, victim)
				before := listing(t, b.Home, victim)
				// A forged pointer may also stop the run; it must not open anything.
				r := b.Sh(t, "cd "+victim+"; for d in . .git objects .git/objects refs .git/worktrees/ws ~ ~/.ssh; do echo x >$d/new; done; cd "+b.Workspace+`
echo x >.git/new; echo x >.git/objects/new; git -c user.name=a -c user.email=a@x commit -q --allow-empty -m x; echo x >own`)
				sameListing(t, before, listing(t, b.Home, victim))
				if r.Code != 125 && !exists(b.Workspace+"/own") {
					t.Errorf("the workspace does not work: %+v", r)
				}
			})
		}
	})
}

// A146: in a linked worktree the main checkout is not writable, nor are its
// hooks and settings; commit works.
func TestA146_LinkedWorktree(t *testing.T) {
	eachGuard(t, func(t *testing.T, l string, guard bool, flags []string, rofs, busy string) {
		b := New(t, l)
		b.Flags = flags
		b.Env = []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x", "GIT_CONFIG_NOSYSTEM=1"}
		main := b.Workspace
		git(t, b, "init", "-q", ".")
		Write(t, main+"/README", "1")
		git(t, b, "add", "-A")
		git(t, b, "commit", "-q", "-m", "first")
		wt := filepath.Dir(main) + "/wt"
		git(t, b, "worktree", "add", "-q", wt)
		b.Workspace = wt
		held := []string{main + "/.git/config", main + "/.git/hooks", main + "/.git/worktrees/wt/commondir", wt + "/.git"}
		before := listing(t, held...)
		p := probeIn(t, b)
		p.want("EROFS", "write", main+"/README")
		p.want("EROFS", "creat", main+"/new")
		p.want(rofs, "creat", main+"/.git/hooks/post-merge")
		p.want(rofs, "write", main+"/.git/config")
		p.want(busy+"|EROFS|EXDEV", "rename", main+"/.git", main+"/.git2")
		if guard {
			// Git writes these in place: whatever is written, they get what is right.
			p.want("ok", "fill", main+"/.git/worktrees/wt/commondir", "/tmp/x")
			p.want("ok", "fill", wt+"/.git", "gitdir: /tmp/x")
			p.want("EACCES", "rename", wt+"/README", wt+"/.git")
			p.want("EACCES", "rename", wt+"/README", main+"/.git/worktrees/wt/commondir")
		} else {
			p.want("EBUSY|EROFS", "unlink", main+"/.git/config")
			p.want("EROFS", "write", main+"/.git/worktrees/wt/commondir")
			p.want("EROFS", "write", main+"/.git/worktrees/wt/gitdir")
			p.want("EROFS", "write", wt+"/.git")
			p.want("EBUSY|EROFS", "unlink", wt+"/.git")
		}
		p.want("ok", "read", main+"/README")
		p.end()
		sameListing(t, before, listing(t, held...))
		b.Sh(t, "echo 2 >README && git add README && git commit -q -m second && git status").OK(t)
		if out := git(t, b, "log", "--oneline"); !strings.Contains(out, "second") {
			t.Errorf("log: %s", out)
		}
		if data, err := os.ReadFile(main + "/README"); err != nil || string(data) != "1" {
			t.Errorf("the main checkout: %q, %v", data, err)
		}
	})
}
