package gitdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// controls are the names in a git directory that make git run code or read
// other config (docs/facts.md). In a linked worktree git takes hooks and
// config from the common directory, but only as long as commondir is there.
var controls = [...]string{"hooks", "config", "config.worktree", "commondir", "gitdir"}

// gitDir protects the git directory dir, a real path, with the submodules and
// linked worktrees in it. roots are the working folders that use it.
func (f *finder) gitDir(dir string, roots []string) error {
	if !f.seen.add(dir) {
		return nil
	}
	if f.depth++; f.depth > maxDepth {
		return fmt.Errorf("%q: git directories nested more than %d deep: %w", dir, maxDepth, ErrLimit)
	}
	defer func() { f.depth-- }()

	f.pin(dir)
	var found [len(controls)]place
	for i, name := range controls {
		p, err := f.walk(dir, name)
		if err != nil {
			return err
		}
		if p.exists() {
			f.protect(p.path)
		}
		found[i] = p
	}
	hooks, config, perTree, commondir := found[0], found[1], found[2], found[3]
	if hooks.isDir() {
		if err := f.hookLinks(hooks.path); err != nil {
			return err
		}
	}

	vars, err := f.config(config)
	if err != nil {
		return err
	}
	more, err := f.config(perTree)
	if err != nil {
		return err
	}
	vars = append(vars, more...)
	if tree := coreWorktree(vars); tree != "" {
		if p, err := f.walk(dir, tree); err != nil {
			return err
		} else if p.isDir() {
			roots = append(roots[:len(roots):len(roots)], p.path)
		}
	}

	linked, err := f.worktrees(dir)
	if err != nil {
		return err
	}
	roots = append(roots[:len(roots):len(roots)], linked...)
	roots, err = f.trees(dir, roots)
	if err != nil {
		return err
	}
	if err := f.targets(append(vars, f.hooks...), dir, roots); err != nil {
		return err
	}
	if commondir.exists() {
		if err := f.common(dir, commondir, roots); err != nil {
			return err
		}
	}
	return f.modules(dir)
}

// common protects the directory that dir/commondir names.
func (f *finder) common(dir string, pointer place, roots []string) error {
	_, own := f.root(dir)
	to, err := readPointer(pointer.path)
	if err != nil {
		if own { // else believe has said it
			f.warn("%q: %v; git may take its config from elsewhere", dir+"/commondir", err)
		}
		return nil
	}
	p, err := f.walk(dir, to)
	if err != nil || !p.isDir() {
		return err
	}
	if _, ok := f.root(p.path); own && !ok {
		f.warn("%q names %q, outside the folder: not writable; use --add-dir %q if git must write there", dir+"/commondir", p.path, p.path)
	}
	return f.gitDir(p.path, roots)
}

// trees returns each root once, and protects the pointer file in it:
// replaced, it would give the host's git another directory.
func (f *finder) trees(dir string, roots []string) ([]string, error) {
	var out []string
	for _, root := range roots {
		if slices.Contains(out, root) {
			continue
		}
		out = append(out, root) // one outside still counts: ../folder/x leads in from there
		if _, ours := f.root(root); !ours {
			continue
		}
		p, err := f.walk(root, ".git")
		if err != nil {
			return nil, err
		}
		if p.isFile() {
			f.protect(p.path)
		}
		// A bare repository with its checkouts inside it: writing the git
		// directory must not mean writing the other checkouts (case A146).
		if inside(root, dir) && !inside(f.folder, root) && !inside(root, f.folder) {
			f.protect(root)
		}
	}
	return out, nil
}

// worktrees protects dir/worktrees/* and returns their working folders.
func (f *finder) worktrees(dir string) ([]string, error) {
	top, err := f.walk(dir, "worktrees")
	if err != nil || !top.isDir() {
		return nil, err
	}
	f.pin(top.path)
	entries, err := f.readDir(top.path)
	if err != nil {
		return nil, err
	}
	var roots []string
	var dirs []place
	for _, e := range entries {
		if e.Type().IsRegular() {
			continue
		}
		p, err := f.walk(top.path, e.Name())
		if err != nil {
			return nil, err
		}
		if !p.isDir() {
			continue
		}
		dirs = append(dirs, p)
		root := ""
		if back, err := readPointer(p.path + "/gitdir"); err == nil {
			if root, err = f.backPointer(p.path, back); err != nil {
				return nil, err
			}
		}
		roots = append(roots, root)
	}
	for i, p := range dirs {
		var own []string
		if roots[i] != "" {
			own = []string{roots[i]}
		}
		if err := f.gitDir(p.path, own); err != nil {
			return nil, err
		}
	}
	out := roots[:0]
	for _, r := range roots {
		if r != "" {
			out = append(out, r)
		}
	}
	return out, nil
}

// backPointer resolves the content of dir/gitdir, which names the .git file
// of a working folder, to that folder; "" if it names none. The file itself
// is not compared: a hard link of another worktree's .git would pass.
func (f *finder) backPointer(dir, content string) (string, error) {
	content = strings.TrimRight(content, " \t\r\n")
	tree, ok := strings.CutSuffix(content, "/.git")
	if !ok {
		return "", nil
	}
	p, err := f.walk(dir, tree+"/")
	if err != nil || !p.isDir() {
		return "", err
	}
	return p.path, nil
}

// modules protects the submodules' git directories below dir/modules. A name
// may hold slashes, so it goes down until a folder is a git directory.
func (f *finder) modules(dir string) error {
	top, err := f.walk(dir, "modules")
	if err != nil || !top.isDir() {
		return err
	}
	f.pin(top.path)
	return f.moduleNames(top.path, 0)
}

func (f *finder) moduleNames(dir string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%q: module names nested more than %d deep: %w", dir, maxDepth, ErrLimit)
	}
	entries, err := f.readDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			continue
		}
		p, err := f.walk(dir, e.Name())
		if err != nil {
			return err
		}
		if !p.isDir() {
			continue
		}
		// Without HEAD it is none for git, but the command could write HEAD.
		if exists(p.path+"/HEAD") || isRegular(p.path+"/config") {
			if err := f.gitDir(p.path, nil); err != nil {
				return err
			}
			continue
		}
		// A link out of here could lead to a tree of any size.
		_, ours := f.root(p.path)
		if (ours || p.path == join(dir, e.Name())) && f.seen.add(p.path) {
			f.pin(p.path)
			if err := f.moduleNames(p.path, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// readDir counts what it lists against the limit of the whole run.
func (f *finder) readDir(dir string) ([]fs.DirEntry, error) {
	entries, err := readDir(dir, maxDirs-f.dirs)
	f.dirs += len(entries)
	if errors.Is(err, ErrLimit) {
		return nil, fmt.Errorf("more than %d submodules and worktrees, at %q: %w", maxDirs, dir, ErrLimit)
	}
	if _, ours := f.root(dir); !ours && errors.Is(err, fs.ErrPermission) {
		return nil, nil // out of the command's reach, too
	}
	return entries, err
}

// coreWorktree is the last core.worktree of a git directory's own files.
func coreWorktree(vars []variable) string {
	for i := len(vars) - 1; i >= 0; i-- {
		if v := &vars[i]; v.Section == "core" && v.Key == "worktree" && !v.Sub {
			return v.Value
		}
	}
	return ""
}

// readPointer reads a file that holds one path (commondir, gitdir).
func readPointer(path string) (string, error) {
	data, err := readRegular(path, maxPointer)
	if err != nil {
		return "", err
	}
	s := strings.TrimRight(string(data), "\r\n")
	if s == "" || strings.IndexByte(s, 0) >= 0 {
		return "", errors.New("does not hold a path")
	}
	return s, nil
}

// looksLikeModule says whether dir is <git dir>/modules/<name>.
func looksLikeModule(dir string) bool {
	for dir != "/" {
		up := filepath.Dir(dir)
		if filepath.Base(up) == "modules" && exists(filepath.Dir(up)+"/HEAD") {
			return true
		}
		if up == dir {
			return false
		}
		dir = up
	}
	return false
}
