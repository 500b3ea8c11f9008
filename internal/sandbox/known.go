package sandbox

import (
	"slices"
	"strings"

	"bawn/internal/policy"
)

// KnownName is a protected path that may be written in a run without the name
// guard, if nothing is there at the start.
type KnownName struct {
	Path string
	Rule policy.Rule
}

// Unheld lists the paths that a run without the name guard should be checked
// for afterwards: what the guard would hold and no mount can. It is empty
// where the guard holds them or nothing is writable.
func Unheld(p policy.Policy, h Host) []KnownName {
	if !p.Sandboxed() || p.Guard() || p.Mode() == policy.ReadOnlyMode {
		return nil
	}
	var out []KnownName
	seen := map[string]bool{}
	lifted, open := p.Lifted()
	add := func(path, id, what string) {
		inside := func(place string) bool { return policy.Inside(path, place) }
		if slices.Contains(lifted, id) || slices.ContainsFunc(open, inside) {
			return
		}
		if !seen[path] && p.Decide(policy.Write{Path: path}).Verdict == policy.Allow {
			seen[path] = true
			out = append(out, KnownName{path, policy.NameRule(id, what)})
		}
	}
	for _, d := range append([]string{p.Workspace()}, p.AddDirs()...) {
		for _, n := range policy.ProtectedNames() {
			add(d+"/"+n.Path, n.Lift, n.What)
		}
		add(d+"/.git", "git.layout", "git directory")
		gitNames(d+"/.git", add)
	}
	for _, c := range h.Control {
		if dir, ok := strings.CutSuffix(c, "/config"); ok {
			gitNames(dir, add)
		}
	}
	for i := 0; i+1 < len(h.Linked); i += 2 {
		for _, n := range policy.ProtectedNames() {
			if n.Path == h.Linked[i+1] {
				add(h.Linked[i], n.Lift, n.What)
			}
		}
	}
	for _, n := range h.Names {
		add(n, "git.target", "file that git's settings name")
	}
	return out
}

func gitNames(dir string, add func(path, id, what string)) {
	for _, n := range [...]string{"config", "config.worktree", "config.lock"} {
		add(dir+"/"+n, "git.config", "git config")
	}
	add(dir+"/hooks", "git.hooks", "git hook")
	add(dir+"/commondir", "git.pointer", "git pointer file")
}
