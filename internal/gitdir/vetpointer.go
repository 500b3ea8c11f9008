package gitdir

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// VetPointer says whether a command may give dir a .git file with this text.
// The git directory it names must be a linked worktree's or a submodule's
// whose own back pointer names dir (case A59), must be reached without a
// symbolic link, and within must be true for it: a place where the same
// names are guarded. dir is a real path.
func VetPointer(dir string, text []byte, within func(path string) bool) error {
	to, err := parseGitFile(text)
	if err != nil {
		return err
	}
	g, ok := realDir(dir, to)
	if !ok {
		return fmt.Errorf("%q is no folder, or is reached through a symbolic link", to)
	}
	if !within(g) {
		return fmt.Errorf("%q is outside the places whose git files are guarded", g)
	}
	if filepath.Base(filepath.Dir(g)) == "worktrees" && linkedTo(g, dir) {
		return nil
	}
	if looksLikeModule(g) && moduleOf(g, dir) {
		return nil
	}
	return fmt.Errorf("%q does not point back", g)
}

// VetWorktree says whether the git directory g may have this core.worktree:
// the folder must be one whose .git file names g.
func VetWorktree(g, value string, within func(path string) bool) bool {
	dir, ok := realDir(g, value)
	if !ok || !within(dir) {
		return false
	}
	to, err := readGitFile(dir + "/.git")
	if err != nil {
		return false
	}
	back, ok := realDir(dir, to)
	return ok && back == g
}

// PointerFor returns what git would write to dir/.git for a new submodule or
// linked worktree: git writes it in place, before most of what it points to.
// What is there already is returned again if it points back. False: no git
// directory waits for dir. linked are directories below worktrees/ or modules/
// of a guarded git directory that the run made, the latest first.
func PointerFor(dir string, linked []string, within func(path string) bool) ([]byte, bool) {
	if have, err := readRegular(dir+"/.git", maxPointer); err == nil && VetPointer(dir, have, within) == nil {
		return have, true
	}
	for _, g := range linked {
		if within(g) && filepath.Base(filepath.Dir(g)) == "worktrees" && linkedTo(g, dir) {
			return []byte("gitdir: " + g + "\n"), true
		}
	}
	modules, name, ok := moduleFor(dir)
	if !ok || !isDir(modules) { // which git makes before it clones a submodule
		return nil, false
	}
	g := modules + "/" + name
	// A submodule may have another name (add --name): git writes the pointer
	// again once its directory is there, and no working folder is in it yet.
	for _, l := range linked {
		if strings.HasPrefix(l, modules+"/") && looksLikeGitDir(l) && worktreeOf(l) == "" {
			g = l
			break
		}
	}
	at := g // as far as it exists, no link may be in it
	for !exists(at) {
		at = filepath.Dir(at)
	}
	if _, ok := realDir("/", at); !ok || !within(g) {
		return nil, false
	}
	rel, err := filepath.Rel(dir, g)
	if err != nil {
		return nil, false
	}
	return []byte("gitdir: " + rel + "\n"), true
}

// linkedTo says whether g/gitdir names dir/.git.
func linkedTo(g, dir string) bool {
	back, err := readPointer(g + "/gitdir")
	if err != nil {
		return false
	}
	back = strings.TrimRight(back, " \t")
	if !filepath.IsAbs(back) {
		back = g + "/" + back
	}
	return filepath.Clean(back) == dir+"/.git"
}

func moduleOf(g, dir string) bool {
	if !looksLikeGitDir(g) {
		return false
	}
	tree := worktreeOf(g)
	if tree == "" {
		return false
	}
	at, ok := realDir(g, tree)
	return ok && at == dir
}

// worktreeOf is g's core.worktree, or "".
func worktreeOf(g string) string {
	data, err := readRegular(g+"/config", maxConfig)
	if err != nil {
		return ""
	}
	entries, err := parseConfig(data)
	if err != nil {
		return ""
	}
	for i := len(entries) - 1; i >= 0; i-- {
		if e := &entries[i]; e.Section == "core" && e.Key == "worktree" && !e.Sub {
			return e.Value
		}
	}
	return ""
}

// moduleFor is the place of the git directory of the submodule in dir, by the
// repository around it: its name is in .gitmodules, else it is the path.
func moduleFor(dir string) (modules, name string, ok bool) {
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		if g, ok := gitDirOf(up); ok {
			path := strings.TrimPrefix(dir[len(up):], "/")
			name = path
			if data, err := readRegular(up+"/.gitmodules", maxConfig); err == nil {
				if entries, err := parseConfig(data); err == nil {
					for i := range entries {
						if e := &entries[i]; e.Section == "submodule" && e.Key == "path" && e.Value == path {
							name = e.Subsection
						}
					}
				}
			}
			return g + "/modules", name, name != "" && filepath.Clean("/"+name) == "/"+name
		}
		if up == "/" || up == "." {
			return "", "", false
		}
	}
}

// gitDirOf is the git directory of the working folder dir.
func gitDirOf(dir string) (string, bool) {
	path := join(dir, ".git")
	info, err := lstat(path)
	switch {
	case err != nil:
		return "", false
	case info.isDir():
		return path, true
	case info.isFile():
		if to, err := readGitFile(path); err == nil {
			return realDir(dir, to)
		}
	}
	return "", false
}

// realDir resolves to from base; false if that is no folder, or if a link is
// on the way: the command could turn it elsewhere later.
func realDir(base, to string) (string, bool) {
	if strings.IndexByte(to, 0) >= 0 || to == "" {
		return "", false
	}
	if !filepath.IsAbs(to) {
		to = base + "/" + to
	}
	real, err := filepath.EvalSymlinks(to)
	if err != nil || real != filepath.Clean(to) || !isDir(real) {
		return "", false
	}
	return real, true
}

// parseGitFile is the path in the text of a .git file, by git's rules.
func parseGitFile(data []byte) (string, error) {
	rest, ok := bytes.CutPrefix(data, []byte("gitdir: "))
	rest = bytes.TrimRight(rest, "\r\n")
	if !ok || len(rest) == 0 || bytes.IndexByte(rest, 0) >= 0 {
		return "", errors.New(`does not hold "gitdir: " and a path`)
	}
	return string(rest), nil
}
