//go:build unix

package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"bawn/internal/policy"
)

// folders adds those of the request, each by itself: what a file says must
// not stop every run, and never widens more than it says.
func (in *inspector) folders(c *policy.Config, r Request) error {
	named := slices.Clone(r.AddDirs)
	for _, f := range r.Folders {
		next, err := in.folder(*c, named, f.Path, r.MayAdd)
		switch {
		case err == nil:
		case f.Must:
			return err
		default:
			in.host.Warnings = append(in.host.Warnings, fmt.Sprintf("allowed_paths (%s) is left out: %v", f.Origin, err))
			continue
		}
		real := next.AddDirs[len(next.AddDirs)-1]
		if c.DirOrigins == nil {
			c.DirOrigins = map[string]policy.Origin{}
		}
		if _, ok := c.DirOrigins[real]; !ok {
			c.DirOrigins[real] = f.Origin
		}
		c.AddDirs, named = next.AddDirs, append(named, f.Path)
	}
	return nil
}

// folder returns c with one more added folder.
func (in *inspector) folder(c policy.Config, named []string, path string, may func(string) error) (policy.Config, error) {
	real, err := realFolder("added folder", path)
	if err != nil {
		return c, err
	}
	if may != nil {
		if err := may(real); err != nil {
			return c, err
		}
	}
	if err := c.CheckFolder(real); err != nil {
		return c, err
	}
	c.AddDirs = append(slices.Clip(c.AddDirs), real)
	return c, plantedFolders(c, append(slices.Clip(named), path))
}

// realFolders are the places that may become writable, as far as they exist.
func realFolders(folders []Folder) []string {
	var out []string
	for _, f := range folders {
		if real, err := filepath.EvalSymlinks(f.Path); err == nil {
			out = append(out, real)
		}
	}
	return out
}

// mayHide refuses what cannot be hidden as it is meant: the sandbox's own
// folders, and a link out of a writable folder, by which a command could choose
// what tools outside it no longer find.
func (in *inspector) mayHide(r policy.PathRule) error {
	refuse := func(why, lift string) error {
		return &policy.RefusedError{What: fmt.Sprintf("hidden %q (%s)", r.Path, r.Rule().Origin), Why: why, Lift: lift}
	}
	real, err := RealPath(r.Path)
	if err != nil {
		return refuse(err.Error(), "")
	}
	for _, d := range [...]string{"/proc", "/dev", "/run", "/sys"} {
		if policy.Inside(real, d) {
			return refuse(d+" is the sandbox's own, and is not hidden", "leave it out")
		}
	}
	if real == "/" || policy.Inside(in.workspace, real) {
		return refuse("it holds the workspace", "name the files or folders in it")
	}
	if policy.Inside(r.Path, in.workspace) && !policy.Inside(real, in.workspace) {
		return refuse("a link that a sandboxed command could have made leads to "+real, "if that is what you mean, name it by that path")
	}
	return nil
}

// lifted reports whether a git control file is one that the settings lift.
func (in *inspector) lifted(path string, c *policy.Config) bool {
	if policy.InsideAny(path, c.Unprotected) {
		return true
	}
	id := "git.target"
	gitDir := func(dir string) bool { return in.kind(dir+"/HEAD") != KindNone }
	switch dir, name := policy.Parent(path), path[strings.LastIndexByte(path, '/')+1:]; {
	case name == ".git":
		id = "git.pointer"
	case !gitDir(dir):
	case name == "hooks":
		id = "git.hooks"
	case name == "config", name == "config.worktree":
		id = "git.config"
	case name == "commondir", name == "gitdir":
		id = "git.pointer"
	}
	for _, l := range c.Lifted {
		if l == id {
			return true
		}
	}
	return false
}

// settings keeps what files of settings protect, as far as it lies in a
// writable folder. A name that does not exist needs the guard.
func (in *inspector) settings(c *policy.Config, rules []policy.PathRule) {
	var roots []string
	roots = append(append(append(roots, c.Workspace), c.AddDirs...), c.GitDirs...)
	for _, r := range c.Caches {
		roots = append(roots, r.Path)
	}
	for _, r := range rules {
		if r.Access != policy.ReadOnly {
			continue
		}
		real, err := RealPath(r.Path)
		if err != nil {
			in.host.Warnings = append(in.host.Warnings, fmt.Sprintf("protect (%s): %v", r.Rule().Origin, err))
			continue
		}
		paths := []string{r.Path}
		switch {
		case in.linkAbove(r.Path):
			paths[0] = real // no mount can go through the link above
		case real != r.Path:
			paths = append(paths, real) // the link by its name, and what it leads to
		}
		for _, path := range paths {
			root := ""
			for _, d := range roots {
				if policy.Inside(path, d) && len(d) > len(root) {
					root = d
				}
			}
			if in.kind(path) == KindNone && !c.Guard {
				if root != "" {
					in.host.Warnings = append(in.host.Warnings, fmt.Sprintf(
						"protect %q (%s): it does not exist, and without the name guard it is not held", path, r.Rule().Origin))
				}
				continue
			}
			if root != "" && path != root {
				in.pinParents(path, root)
			}
			held := r
			held.Path = path
			c.Protected = append(c.Protected, held)
		}
	}
}

// linked holds what protected names lead to by links, if that lies in one of
// dirs: names of dirs (.claude -> .agents), and of the homes (.bashrc ->
// dotfiles/bashrc). Where nothing is yet only the guard can.
func (in *inspector) linked(c *policy.Config, dirs []string) {
	for _, root := range slices.Concat(dirs, c.Homes) {
		for _, n := range policy.ProtectedNames() {
			if in.farBelow(root, n.Path, false) {
				continue // no link
			}
			path := root + "/" + n.Path
			if slices.Contains(c.Lifted, n.Lift) || in.kind(path) != KindLink && !in.linkAbove(path) {
				continue
			}
			real, err := RealPath(path)
			if err != nil || real == path || policy.InsideAny(real, c.Unprotected) {
				continue // nobody can follow a loop
			}
			in.hold(c, dirs, real, n)
		}
	}
}

func (in *inspector) hold(c *policy.Config, dirs []string, real string, n policy.Name) {
	root := ""
	for _, d := range dirs {
		if policy.Inside(d, real) {
			return // it would freeze all
		}
		if policy.Inside(real, d) && len(d) > len(root) {
			root = d
		}
	}
	if root == "" {
		return
	}
	in.host.Linked = append(in.host.Linked, real, n.Path)
	if in.kind(real) == KindNone && !c.Guard {
		return // it is looked for afterwards
	}
	c.Protected = append(c.Protected, policy.ProtectRule(real, n.What))
	in.pinParents(real, root)
}
