// Package gitdir finds the git directories that belong to a working folder,
// and the paths in and around them that make git run code or read other
// configuration (SPEC F2).
//
// It reads pointers and config files only: no scan of the tree, no git, no
// state. Nothing it reads is trusted further than git's own layout proves,
// because a command of an earlier run may have written it (case A59).
package gitdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Repo is what git would use for one folder. All paths are real (no symbolic
// link in them), exist, and are sorted. The zero value grants and protects
// nothing: no repository.
type Repo struct {
	// Writable: git directories outside the folder that ordinary git work in
	// it must write. Everything in ReadOnly holds inside them too.
	Writable []string
	// Above: the folder that the working tree begins in, where that is above
	// the folder. Nothing in it is granted.
	Above string
	// Pins: directories whose rename or removal would free a protected name.
	Pins []string
	// ReadOnly: files and folders that must not change. Config files among
	// them are named config or config.worktree.
	ReadOnly []string
	// Names: paths inside the folder or Writable that decide what git runs or
	// reads but that no mount can hold: symbolic links to something in
	// ReadOnly, and absent targets of config (core.hooksPath = .githooks
	// before .githooks exists, case A57). Only a check by name holds them.
	// Git's own absent names (.git/commondir, …) are not listed.
	Names []string
	// Secrets: files of credentials that git's settings name, the user's own
	// among them: clean and absolute, not real, existing or not.
	Secrets []string
	// Warnings: what was not believed or could not be held, why, and the way
	// out.
	Warnings []string
}

// ErrLimit is wrapped by errors about a repository too large to be read
// whole. Protection would be incomplete, so Discover fails instead.
var ErrLimit = errors.New("limit exceeded")

const (
	maxDirs    = 4096     // directories visited below modules and worktrees
	maxDepth   = 64       // nesting of git directories, and of names with slashes
	maxPointer = 64 << 10 // .git, commondir, gitdir: one path each
	maxConfig  = 1 << 20  // one config file
	maxConfigs = 2*maxDirs + 512
	maxHooks   = 4096 // entries of one hooks folder
)

// Discover reads the repository that git would use in folder, a clean
// absolute real path. No repository gives the zero Repo. If the repository
// begins above the folder, only what lies inside the folder is listed and
// nothing is granted.
//
// An error means that protection would be incomplete: a config file that
// cannot be read or parsed, or a limit (ErrLimit).
func Discover(folder string) (Repo, error) {
	if !filepath.IsAbs(folder) || filepath.Clean(folder) != folder {
		return Repo{}, fmt.Errorf("gitdir: folder %q is not a clean absolute path", folder)
	}
	f := finder{folder: folder, area: []string{folder}}
	if err := f.run(); err != nil {
		return Repo{}, fmt.Errorf("gitdir: %w", err)
	}
	return f.finish(), nil
}

type set map[string]struct{}

func (s *set) add(v string) bool {
	if _, ok := (*s)[v]; ok {
		return false
	}
	if *s == nil {
		*s = make(set)
	}
	(*s)[v] = struct{}{}
	return true
}

func (s set) sorted() []string {
	if len(s) == 0 {
		return nil
	}
	out := make([]string, 0, len(s))
	for v := range s {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

type finder struct {
	folder string
	area   []string // what the command may write: the folder, then Writable
	quiet  bool     // above the folder: nothing is granted, so nothing is refused
	above  string   // Repo.Above

	hooks   []variable // core.hooksPath of the user's own settings
	lenient bool       // config that cannot be read outside the area is none

	pins, readOnly, names, secrets, seen set
	warnings                             []string

	dirs, configs, depth int
}

func (f *finder) run() error {
	if err := f.user(); err != nil {
		return err
	}
	found, err := f.dotGit(f.folder, true)
	if err != nil {
		return err
	}
	// Also with a .git: its HEAD is writable, and a broken one makes git take
	// the folder itself as a bare repository (docs/facts.md).
	bare, err := f.bare(f.folder)
	if err != nil || found || bare {
		return err
	}
	f.quiet = true
	for dir := f.folder; dir != "/" && filepath.Dir(dir) != dir; {
		dir = filepath.Dir(dir)
		if found, err = f.dotGit(dir, false); err != nil || found {
			if found {
				f.above = dir
			}
			return err
		}
		if found, err = f.bare(dir); err != nil || found {
			return err
		}
	}
	return nil
}

// bare handles dir if git could take it for a git directory.
func (f *finder) bare(dir string) (bool, error) {
	if !isGitDir(dir) || f.foreign(dir) {
		return false, nil
	}
	var roots []string
	if filepath.Base(dir) == ".git" {
		roots = []string{filepath.Dir(dir)}
	}
	return true, f.gitDir(dir, roots)
}

// foreign says whether a place above the folder is another user's: git does
// not use it (safe.directory), and it could stop every start below /tmp.
func (f *finder) foreign(path string) bool {
	if !f.quiet {
		return false
	}
	info, err := lstat(path)
	return err != nil || !owned(info)
}

func (f *finder) warn(format string, args ...any) {
	if !f.quiet {
		f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
	}
}

// root returns the innermost place of the area that path lies in.
func (f *finder) root(path string) (string, bool) {
	best := ""
	for _, a := range f.area {
		if len(a) > len(best) && inside(path, a) {
			best = a
		}
	}
	return best, best != ""
}

// protect makes an existing real path read-only as far as the command could
// write it.
func (f *finder) protect(path string) {
	for _, a := range f.area {
		if inside(a, path) && f.readOnly.add(a) {
			f.warn("%q is read-only as a whole: git runs or reads what is in %q; work elsewhere", a, path)
		}
	}
	if root, ok := f.root(path); ok && path != root {
		f.readOnly.add(path)
		f.pinAbove(root, path)
	}
}

// name records a path that only a check by name can hold.
func (f *finder) name(path string) {
	root, ok := f.root(path)
	if !ok || path == root || !f.names.add(path) {
		return
	}
	for !exists(filepath.Dir(path)) {
		path = filepath.Dir(path)
	}
	f.pinAbove(root, path)
}

func (f *finder) pin(dir string) {
	if root, ok := f.root(dir); ok && dir != f.folder {
		f.pins.add(dir) // a granted one, too: a wider grant may make its own mount superfluous
		if dir != root {
			f.pinAbove(root, dir)
		}
	}
}

// pinAbove pins each folder strictly between root and path.
func (f *finder) pinAbove(root, path string) {
	for path = filepath.Dir(path); len(path) > len(root) && f.pins.add(path); {
		path = filepath.Dir(path)
	}
}

// finish drops what another entry covers.
func (f *finder) finish() Repo {
	r := Repo{Writable: f.area[1:], Secrets: f.secrets.sorted(), Above: f.above, Warnings: f.warnings}
	if len(r.Writable) == 0 {
		r.Writable = nil
	}
	covered := func(path string) bool {
		for root, ok := f.root(path); ok && len(path) > len(root); {
			path = filepath.Dir(path)
			if _, in := f.readOnly[path]; in {
				return true
			}
		}
		return false
	}
	for _, p := range f.readOnly.sorted() {
		if !covered(p) {
			r.ReadOnly = append(r.ReadOnly, p)
		}
	}
	for _, p := range f.pins.sorted() {
		if _, ro := f.readOnly[p]; ro || covered(p) {
			continue
		}
		r.Pins = append(r.Pins, p)
	}
	for _, p := range f.names.sorted() {
		if _, ro := f.readOnly[p]; !ro && !covered(p) {
			r.Names = append(r.Names, p)
		}
	}
	return r
}

func inside(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || isNotDir(err)
}
