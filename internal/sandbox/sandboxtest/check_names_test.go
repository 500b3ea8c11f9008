//go:build linux

package sandboxtest

import (
	"os"
	"path/filepath"
	"testing"
)

// What check says of names at which nothing is yet is what the name guard does
// with them: of git directories below the workspace, of other spellings, of what
// git's settings name.
func TestCheckAgreesAboutNames(t *testing.T) {
	b := New(t, "native")
	ws := b.Workspace
	for _, dir := range []string{".git/modules/m/hooks", ".git/worktrees/w", ".git/refs/heads/a", ".git/logs/refs/heads/hooks", "sub/.git/hooks", "plain"} {
		mkdir(t, filepath.Join(ws, dir))
	}
	for _, dir := range []string{".git", ".git/modules/m", "sub/.git"} {
		Write(t, filepath.Join(ws, dir, "HEAD"), "ref: refs/heads/main\n")
		mkdir(t, filepath.Join(ws, dir, "refs/heads/hooks"))
		mkdir(t, filepath.Join(ws, dir, "objects"))
	}
	Write(t, filepath.Join(ws, ".git/config"), "[core]\n\thooksPath = .named\n")
	var paths []string
	want := map[string]bool{
		".git": true, ".git/new": true, ".git/HEAD": true, ".git/refs/heads/config": false, ".git/refs/heads/hooks/x": true, ".git/refs/heads/hooks/update": false, ".git/refs/heads/a/commondir": false, ".git/refs/heads/gitdir": true, ".git/refs/heads/Config": true,
		".git/logs/refs/heads/config": true, ".git/logs/refs/heads/hooks/update": true, ".git/info": true,
		".git/objects/config": true, ".git/hooks/x.sample": true, ".git/config": false, ".git/hooks/pre-commit": false, ".git/commondir": false,
		".git/modules/m/hooks/pre-commit": false, ".git/modules/m/hooks/x.sample": false, ".git/modules/m/config": false, ".git/modules/m/refs/heads/config": false,
		".git/worktrees/w/gitdir": true, ".git/worktrees/w/config.worktree": false,
		"sub/.git/hooks/post-commit": false, "sub/.git/config": false, "sub/.git/refs/heads/hooks/x": true, "sub/.git/x": true, "sub/.git/branches/x": false,
		"plain/.git": false, "plain/hooks/x": true, "plain/config": true, "plain/.GIT": false, "plain/g\u200bit": true, "plain/.g\u200bit": false,
		".Mcp.json": false, ".CLAUDE/settings.json": false, ".claude/settings.json": false, ".claude/x": true, "plain/.mcp.json": true, ".Codex/x": false,
		".named": false, ".named/pre-commit": false, ".named2": true, "plain/.bawn-keep-x": false,
	}
	mkdir(t, ws+"/.claude")
	mkdir(t, ws+"/.CLAUDE")
	mkdir(t, ws+"/.Codex")
	mkdir(t, ws+"/sub/.git/branches")
	for name := range want {
		paths = append(paths, filepath.Join(ws, name))
	}
	checks := checkAll(t, b, paths)
	p := probeIn(t, b)
	defer p.end()
	for i, path := range paths {
		name := path[len(ws)+1:]
		if checks[i].write != want[name] {
			t.Errorf("check write %q: %v", name, checks[i].write)
		}
		if name == ".git/worktrees/w/gitdir" || name == "plain/.git" {
			continue // where a worktree is, the guard itself says what its .git holds
		}
		compare(t, "native", p, path, checks[i])
	}
	if _, err := os.Lstat(filepath.Join(ws, ".named")); err == nil {
		t.Error(".named was made")
	}
}
