//go:build unix

package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"sort"

	"bawn/internal/policy"
)

// caches resolves the cache folders. A link that lies where a sandboxed
// command may write is followed only to where it may write anyway: else one
// command could plant ~/.cache/pip → ~/.config/autostart, and the next would
// find that folder writable.
func (in *inspector) caches(rules []policy.PathRule, writable []string) []policy.PathRule {
	// Outer folders first: what they make writable counts for the inner ones.
	sort.SliceStable(rules, func(i, j int) bool { return len(rules[i].Path) < len(rules[j].Path) })
	out := rules[:0:0]
	for _, r := range rules {
		if in.kind(r.Path) == KindLink || in.linkAbove(r.Path) {
			real, planted, err := follow(r.Path, writable)
			switch {
			case err != nil:
				continue
			case planted && !policy.InsideAny(real, writable):
				in.host.Warnings = append(in.host.Warnings, fmt.Sprintf(
					"%s: not writable, since a link that a sandboxed command could have made leads to %s; remove the link, or open that folder with --add-dir if you made it", r.Path, real))
				continue
			}
			r.Path = real
			in.kind(real)
		}
		if k := in.kind(r.Path); k == KindFile || k == KindOther {
			continue // no folder: the name stays what it is
		}
		writable = append(writable, r.Path)
		out = append(out, r)
	}
	return out
}

// layers finds the folder for what is written in private copies.
func (in *inspector) layers(c policy.Config, r Request) (err error) {
	private := r.Caches != policy.SharedCaches && len(c.Caches) > 0
	if !private && !slices.ContainsFunc(c.Caches, func(r policy.PathRule) bool { return r.Access == policy.PrivateCopy }) {
		return nil
	}
	if r.Layers == "" {
		return &policy.RefusedError{What: "private caches", Why: "there is no folder to keep them in", Lift: `set HOME or XDG_STATE_HOME, or caches = "shared"`}
	}
	in.host.Layers, err = RealPath(r.Layers)
	return err
}

// plantedFolders refuses an added folder whose name is, or goes through, a
// link that lies where a sandboxed command may write, unless it leads to such
// a place: a command of an earlier run would choose what this one may write.
func plantedFolders(c policy.Config, named []string) error {
	allowed := []string{c.Workspace}
	for _, r := range c.Caches {
		allowed = append(allowed, r.Path)
	}
	places := allowed
	for i, d := range named {
		abs, err := filepath.Abs(d)
		if err != nil {
			return err
		}
		others := append(append(append([]string(nil), places...), c.AddDirs[:i]...), c.AddDirs[i+1:]...)
		_, planted, err := follow(abs, others)
		if err != nil {
			return err
		}
		real := c.AddDirs[i]
		if planted && !policy.InsideAny(real, allowed) {
			return &policy.RefusedError{
				What: fmt.Sprintf("added folder %q", d), Why: fmt.Sprintf("a link that a sandboxed command could have made leads to %q", real),
				Lift: "if that is the folder you mean, name it by that path",
			}
		}
		allowed = append(allowed, real)
	}
	return nil
}

// follow resolves path as far as it exists; planted reports whether a link on
// the way lies inside one of the writable folders.
func follow(path string, writable []string) (real string, planted bool, err error) {
	real, links, err := Follow(path)
	for _, l := range links {
		planted = planted || policy.InsideAny(policy.Parent(l), writable)
	}
	return real, planted, err
}

// systemPath reports whether path lies in a folder of the system's own, where
// no user keeps a credential.
func systemPath(path string) bool {
	for _, d := range [...]string{"/usr", "/nix", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/proc", "/sys", "/dev", "/run"} {
		if policy.Inside(path, d) {
			return true
		}
	}
	return false
}

// listToMissing lists the folders above caches that do not exist: as skeletons
// they can hold one that is private to the run, where ~/go without ~/go/pkg
// would be read-only.
func (in *inspector) listToMissing(rules []policy.PathRule, homes []string) {
	for _, r := range rules {
		for _, h := range homes {
			if dir := policy.Parent(r.Path); policy.Inside(dir, h) && in.kind(r.Path) == KindNone {
				in.listTo(h, dir)
			}
		}
	}
}
