package gitdir

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// dotGit handles dir/.git and says whether git would stop looking there.
// grant: dir is the folder, so a believed pointer makes a git directory
// writable.
func (f *finder) dotGit(dir string, grant bool) (bool, error) {
	path := join(dir, ".git")
	info, err := lstat(path)
	if err != nil {
		if absent(err) || f.quiet {
			return false, nil
		}
		return false, fmt.Errorf("look at %q: %w", path, err)
	}
	if f.quiet && !owned(info) {
		return false, nil
	}
	switch info.typ {
	case typeDir:
		// Also without HEAD: `git init` would keep the hooks and config in it.
		return isGitDir(path), f.gitDir(path, []string{dir})
	case typeFile:
		return f.pointer(dir, path, info, grant)
	case typeLink:
		return f.linkedDotGit(dir, path)
	}
	f.warn("%q is neither a folder nor a file: ignored; remove it", path)
	return false, nil
}

// linkedDotGit: a symbolic link is never git's own layout, so it grants
// nothing; what it leads to is protected.
func (f *finder) linkedDotGit(dir, path string) (bool, error) {
	p, err := f.walk(dir, ".git")
	if err != nil {
		return false, err
	}
	_, ours := f.root(p.path)
	switch {
	case p.isDir():
		if !ours {
			f.warn("%q is a symbolic link to %q, outside the folder: git cannot write there; use --add-dir %q", path, p.path, p.path)
		}
		return isGitDir(p.path), f.gitDir(p.path, []string{dir})
	case p.isFile():
		f.warn("%q is a symbolic link to a pointer file: not believed; make it a plain file, or use --add-dir with the git directory", path)
		f.protect(p.path)
		return f.pointer(dir, p.path, p.stat, false)
	}
	f.warn("%q is a symbolic link that leads to no git directory: ignored; remove it", path)
	return false, nil
}

// pointer handles the pointer file of dir at path: `gitdir: TARGET`.
func (f *finder) pointer(dir, path string, info stat, grant bool) (bool, error) {
	f.protect(path)
	to, err := readGitFile(path)
	if err != nil {
		f.warn("%q: %v: not believed; repair it, or use --add-dir with the git directory", path, err)
		return false, nil
	}
	p, err := f.walk(dir, to)
	if err != nil {
		return false, err
	}
	if !p.isDir() {
		f.warn("%q names %q, which is no folder: ignored; repair it (git worktree repair)", path, to)
		return false, nil
	}
	if _, ours := f.root(p.path); !ours && grant {
		where, why, err := f.believe(dir, path, info, p.path)
		if err != nil {
			return false, err
		}
		if why == "" {
			f.area = append(f.area, where)
		} else if where == "" { // no advice to open a foreign folder (A59: gitdir: ~/.ssh)
			f.warn("%q names %q: not believed, because %s; repair or remove the pointer", path, p.path, why)
		} else {
			f.warn("%q names %q: not believed, because %s; git can read but not write there; if it is yours, use --add-dir %q", path, p.path, why, where)
		}
	}
	return isGitDir(p.path), f.gitDir(p.path, []string{dir})
}

// believe decides whether the git directory g outside the folder belongs to
// dir, whose pointer file names it: only if g, where the command cannot have
// written it, points back, in git's own layout (case A59). It returns the
// place to grant, or that the user may add, and why it is not granted.
func (f *finder) believe(dir, pointer string, info stat, g string) (where, why string, err error) {
	if !owned(info) {
		return g, strconv.Quote(pointer) + " belongs to another user", nil
	}
	if w := notOwned(g); w != "" {
		return g, w, nil
	}
	if !exists(g + "/HEAD") {
		return "", "it is no git directory (no HEAD)", nil
	}
	if exists(g + "/commondir") {
		return f.believeWorktree(dir, g)
	}
	return f.believeModule(dir, g)
}

func (f *finder) believeWorktree(dir, g string) (where, why string, err error) {
	common := filepath.Dir(filepath.Dir(g))
	if filepath.Base(filepath.Dir(g)) != "worktrees" {
		return g, "a linked worktree's directory is in worktrees/", nil
	}
	to, err := readPointer(g + "/commondir")
	if err != nil {
		return g, fmt.Sprintf("its commondir: %v", err), nil
	}
	c, err := f.walk(g, to)
	if err != nil {
		return g, "", err
	}
	if c.path != common || !c.isDir() {
		return g, "its commondir names " + strconv.Quote(c.path), nil
	}
	if !exists(common+"/HEAD") || !isDir(common+"/objects") || !isDir(common+"/refs") {
		return "", strconv.Quote(common) + " is no git directory", nil
	}
	back, err := readPointer(g + "/gitdir")
	if err != nil {
		return common, fmt.Sprintf("its gitdir: %v", err), nil
	}
	tree, err := f.backPointer(g, back)
	if err != nil {
		return common, "", err
	}
	if tree != dir {
		return common, fmt.Sprintf("its gitdir names %q (if the folder was moved: git worktree repair)", strings.TrimSpace(back)), nil
	}
	return common, notOwned(common, g+"/commondir", g+"/gitdir"), nil
}

func (f *finder) believeModule(dir, g string) (where, why string, err error) {
	if !isDir(g+"/objects") || !isDir(g+"/refs") {
		return "", "it is no git directory (no objects or refs)", nil
	}
	if !looksLikeModule(g) {
		return g, "it is neither in worktrees/ nor in modules/ of a git directory (--separate-git-dir leaves no pointer back)", nil
	}
	var vars []variable
	for _, name := range [...]string{"/config", "/config.worktree"} {
		info, _ := lstat(g + name)
		if !info.isFile() {
			continue
		}
		if name == "/config.worktree" && !usesWorktreeConfig(vars) {
			break
		}
		more, err := f.config(place{g + name, info})
		if err != nil {
			return g, "", err
		}
		vars = append(vars, more...)
		if w := notOwned(g + name); w != "" {
			return g, w, nil
		}
	}
	tree := coreWorktree(vars)
	if tree == "" {
		return g, "its config has no core.worktree", nil
	}
	p, err := f.walk(g, tree)
	if err != nil {
		return g, "", err
	}
	if p.path != dir {
		return g, fmt.Sprintf("its core.worktree names %q", tree), nil
	}
	return g, "", nil
}

func usesWorktreeConfig(vars []variable) bool {
	on := false
	for _, v := range vars {
		if v.Section == "extensions" && v.Key == "worktreeconfig" && !v.Sub {
			on = v.NoValue || truthy(v.Value)
		}
	}
	return on
}

func truthy(s string) bool {
	switch strings.ToLower(s) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// readGitFile reads `gitdir: PATH` by git's rules.
func readGitFile(path string) (string, error) {
	data, err := readRegular(path, maxPointer)
	if errors.Is(err, ErrLimit) {
		return "", fmt.Errorf("larger than %d KiB", maxPointer>>10)
	}
	if err != nil {
		return "", err
	}
	return parseGitFile(data)
}

func notOwned(paths ...string) string {
	for _, p := range paths {
		info, err := lstat(p)
		if err != nil || !owned(info) {
			return strconv.Quote(p) + " belongs to another user"
		}
	}
	return ""
}
