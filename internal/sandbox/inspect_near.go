//go:build unix

package sandbox

import (
	"slices"
	"strings"

	"bawn/internal/gitdir"
	"bawn/internal/policy"
)

// near says which rules can decide about the few paths of Request.About, or
// about a folder that is to be writable: those that cover one, or lie in it. The
// others are left out, unless a link may lead from them to such a place. Nil is
// for all paths.
type near struct {
	paths []string
	roots map[string]*nearRoot
}

// nearRoot is a folder with many places below it: how they lie to near's paths,
// and what is known to be there.
type nearRoot struct {
	all     bool     // one of near's paths is this folder, or above it
	paths   []string // those below it, relative
	entries []Entry
	listed  bool
	sub     []nearSub
}

type nearSub struct {
	prefix  string // relative, with a slash at its end
	entries []Entry
}

// maxNear bounds the paths that rules are compared with.
const maxNear = 32

// findNear finds them, where nothing is started.
func (in *inspector) findNear(c *policy.Config, r Request) {
	if !r.Decisions || !onePath || len(r.Plugins) > 0 || r.Preset != nil || c.Profile != policy.NoProfile {
		return
	}
	dirs := slices.Concat([]string{c.Workspace}, c.AddDirs, realFolders(r.Folders))
	paths := slices.Concat(r.About, dirs)
	for _, d := range dirs {
		if repo, err := in.repo(d); err == nil { // else protect refuses it
			paths = append(paths, repo.Writable...)
		}
	}
	if len(paths) <= maxNear {
		in.near = &near{paths: paths, roots: map[string]*nearRoot{}}
	}
}

// repo looks at the git directories of a folder, once.
func (in *inspector) repo(dir string) (gitdir.Repo, error) {
	if f, ok := in.repos[dir]; ok {
		return f.repo, f.err
	}
	repo, err := gitdir.Discover(dir)
	if in.repos == nil {
		in.repos = map[string]discovered{}
	}
	in.repos[dir] = discovered{repo, err}
	return repo, err
}

type discovered struct {
	repo gitdir.Repo
	err  error
}

// far reports whether a rule for path decides about none of near's paths.
func (in *inspector) far(path string) bool {
	if in.near == nil {
		return false
	}
	for _, p := range in.near.paths {
		if policy.Inside(p, path) || policy.Inside(path, p) {
			return false
		}
	}
	return true
}

// nearRoot makes what farBelow needs. Folders of which the links are known are
// those that list has read before.
func (in *inspector) nearRoot(root string) *nearRoot {
	if v, ok := in.near.roots[root]; ok {
		return v
	}
	v := new(nearRoot)
	for _, p := range in.near.paths {
		if policy.Inside(root, p) {
			v.all = true
		} else if policy.Inside(p, root) {
			v.paths = append(v.paths, strings.TrimPrefix(p, root+"/"))
		}
	}
	v.entries, v.listed = in.host.Dirs[root], in.host.listed(root)
	for _, sub := range [...]string{".config", ".local/share"} {
		if dir := root + "/" + sub; in.host.listed(dir) && !in.linkAbove(dir+"/x") {
			v.sub = append(v.sub, nearSub{sub + "/", in.host.Dirs[dir]})
		}
	}
	in.near.roots[root] = v
	return v
}

// farBelow reports whether a rule for a place below root, a real path, covers
// none of near's paths (nor, with inner, lies in one), and no link can lead from
// it to one: it is known that the place, or a folder above it, is not there.
func (in *inspector) farBelow(root, place string, inner bool) bool {
	if in.near == nil {
		return false
	}
	v := in.nearRoot(root)
	if !v.listed || inner && v.all {
		return false
	}
	for _, p := range v.paths {
		if policy.Inside(p, place) || inner && policy.Inside(place, p) {
			return false
		}
	}
	first, _, _ := strings.Cut(place, "/")
	if entry(v.entries, first) == nil {
		return true
	}
	for _, s := range v.sub {
		if rest, ok := strings.CutPrefix(place, s.prefix); ok {
			first, _, _ := strings.Cut(rest, "/")
			return entry(s.entries, first) == nil
		}
	}
	return false
}
