//go:build linux

package rules

import (
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox/linux/guard"
)

// settings decides about the names protected at the root of a place.
func (r *rules) settings(c *guard.Call) (guard.Verdict, bool) {
	t := &c.Target
	path := t.Path()
	for _, place := range r.places {
		rest, ok := strings.CutPrefix(path, place+"/")
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(rest, "/")
		for _, n := range r.protected[canon(first)] {
			if hit, below := match(rest, n.Path); hit && !r.lifted[n.Lift] && (below == "" || moves(c, below)) {
				return deny(n.Lift, n.What), true
			}
		}
	}
	for i := 0; i+1 < len(r.Linked); i += 2 {
		at := r.Linked[i]
		if !policy.Inside(path, at) && !(policy.Inside(at, path) && moves(c, at[len(path)+1:])) {
			continue
		}
		for _, n := range policy.ProtectedNames() {
			if n.Path == r.Linked[i+1] && !r.lifted[n.Lift] {
				return deny(n.Lift, n.What), true
			}
		}
	}
	return allow, false
}

// added decides about what the settings protect: Protected.
func (r *rules) added(c *guard.Call) (guard.Verdict, bool) {
	if len(r.Protected) == 0 {
		return allow, false
	}
	path := c.Target.Path()
	for _, p := range r.Protected {
		if policy.Inside(path, p) || policy.Inside(p, path) && moves(c, p[len(path)+1:]) {
			return guard.Verdict{Decision: guard.Deny, Errno: unix.EACCES, Rule: policy.SettingRule(p, policy.ReadOnly, policy.Origin{}).Rule()}, true
		}
	}
	return allow, false
}

// paths decides about Config.Paths. It comes after git's own control files,
// which are among them and may be replaced by harmless ones.
func (r *rules) paths(c *guard.Call) (guard.Verdict, bool) {
	if r.lifted[LiftTarget] {
		return allow, false
	}
	path := c.Target.Path()
	for _, p := range r.Paths {
		if policy.Inside(path, p) {
			return deny(LiftTarget, "git's settings name it"), true
		}
		if policy.Inside(p, path) && moves(c, p[len(path)+1:]) {
			return deny(LiftTarget, "git's settings name what is in it"), true
		}
	}
	return allow, false
}

// match compares rest with a name of several elements. below is what of the
// name lies below rest, if rest is only its beginning.
func match(rest, name string) (hit bool, below string) {
	for {
		want, wantMore, more := strings.Cut(name, "/")
		got, gotMore, deeper := strings.Cut(rest, "/")
		if got != want && canon(got) != want {
			return false, ""
		}
		if !more {
			return true, ""
		}
		if !deeper {
			return true, wantMore
		}
		rest, name = gotMore, wantMore
	}
}

// moves says whether a call on a folder's name would bring or take away what
// is at below in it. Making the folder itself, or a file in its place, does
// neither.
func moves(c *guard.Call, below string) bool {
	switch c.Op {
	case guard.Symlink:
		return true
	case guard.Rename:
		return contains(&c.Target, below)
	case guard.RenameTo, guard.Link:
		return c.Other == nil || mode(c.Other) == unix.S_IFLNK || contains(c.Other, below) ||
			c.Op == guard.RenameTo && c.Target.Exists && contains(&c.Target, below)
	}
	return false
}

// contains says whether a folder has below in it, or a link on the way there:
// what that leads to can be filled later, by another name.
func contains(t *guard.Target, below string) bool {
	if t.Dir < 0 {
		return true
	}
	for at, rest := t.Name, below; ; {
		elem, next, more := strings.Cut(rest, "/")
		at += "/" + elem
		kind, ok := has(t.Dir, at)
		switch {
		case !ok:
			return false
		case !more || kind == unix.S_IFLNK || kind == 0:
			return true
		}
		rest = next
	}
}

// watch reports a name that runs code outside later, wherever it is.
func (r *rules) watch(c *guard.Call) guard.Verdict {
	t := &c.Target
	if c.Op == guard.Mkdir || c.Op == guard.Rename || !r.guarded(t.DirPath) {
		return allow
	}
	var rest string
	for _, root := range r.Roots {
		if s, ok := strings.CutPrefix(t.Path(), root+"/"); ok && (rest == "" || len(s) < len(rest)) {
			rest = s
		}
	}
	if (t.Name == "git-rebase-todo" || t.Name == "strategy") && strings.HasSuffix(t.DirPath, "/rebase-merge") {
		return watched("steps of a rebase in progress")
	}
	// Every element may begin a watched name; the last one is what counts.
	for at := rest; at != ""; {
		elem, next, _ := strings.Cut(at, "/")
		switch elem {
		case "node_modules", ".venv", "venv", "target", "vendor", ".git":
			return allow // other people's packages, thousands of them
		}
		first := canon(elem)
		for _, names := range [...][]*policy.Name{r.watches[first], r.protected[first]} {
			for _, n := range names {
				if (n.Deep || at == rest) && brings(c, at, n.Path) {
					return watched(n.What)
				}
			}
		}
		at = next
	}
	return allow
}

// brings says whether a call makes or changes name, or gives a folder that has
// its end in it the name of its beginning.
func brings(c *guard.Call, rest, name string) bool {
	hit, below := match(rest, name)
	return hit && (below == "" || moves(c, below))
}

func watched(what string) guard.Verdict {
	return guard.Verdict{Decision: guard.Allow, Rule: policy.WatchRule(what)}
}
