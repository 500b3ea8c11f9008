//go:build linux

package rules

import (
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox/linux/guard"
)

// Mount is a place that is a mount point elsewhere. The run that the rules are
// for has no mounts, so the guard holds what they would: the name, and whether
// what is below it can be changed. The path is real, clean and absolute.
type Mount struct {
	Path     string
	ReadOnly bool
}

// Mounted adds to inner what places would hold as mounts. A call that inner
// allows ends as the kernel ends it there: EROFS in a read-only place, EXDEV
// between two places, EBUSY where a place itself would lose its name. One more
// thing is refused: to rename a folder above a place, which takes a mount with
// it, but not a rule about paths. The listener must be one for removals.
//
// What changes no name and no content (modes, dates) is not asked about, and
// so not held.
func Mounted(inner guard.Rules, places []Mount) guard.Rules {
	return &mounted{inner, newPlaces(places)}
}

type mounted struct {
	inner  guard.Rules
	places places
}

// Check implements guard.Rules.
func (m *mounted) Check(c *guard.Call) guard.Verdict {
	v := allow // to remove a name is no concern of inner
	if c.Op != guard.Remove {
		v = m.inner.Check(c)
	}
	if v.Decision == guard.Deny {
		return v
	}
	if errno := m.places.refuses(c); errno != 0 {
		return guard.Verdict{Decision: guard.Refuse, Errno: errno}
	}
	return v
}

// Blind implements guard.Blind: a mount does not ask either.
func (m *mounted) Blind() bool {
	b, ok := m.inner.(guard.Blind)
	return ok && b.Blind()
}

// places are compared as paths of the kernel's. Where a file system finds a
// name by other spellings, a call's last element may be one of those.
type places []place

type place struct {
	Mount
	canon string // Path, each element as canon has it
}

func newPlaces(in []Mount) places {
	out := make(places, len(in))
	for i, m := range in {
		out[i] = place{m, canonPath(m.Path)}
	}
	return out
}

func canonPath(path string) string {
	elems := strings.Split(path, "/")
	for i, e := range elems {
		elems[i] = canon(e)
	}
	return strings.Join(elems, "/")
}

func (ps places) refuses(c *guard.Call) unix.Errno {
	t := &c.Target
	if t.Dir < 0 {
		return 0 // its name is gone, and with it what a mount would hold
	}
	path := t.Path()
	at := t.DirPath
	switch c.Op {
	case guard.Open, guard.Truncate:
		at = path
	case guard.Link:
		if o := c.Other; o != nil && o.Dir >= 0 && ps.of(o.Path()) != ps.of(at) {
			return unix.EXDEV
		}
	case guard.Rename, guard.RenameTo:
		if o := c.Other; o == nil || o.Dir < 0 || ps.of(o.DirPath) != ps.of(at) {
			return unix.EXDEV
		}
	}
	if n := ps.of(at); n >= 0 && ps[n].ReadOnly {
		return unix.EROFS
	}
	switch c.Op {
	case guard.Rename, guard.RenameTo, guard.Remove:
		if t.Exists && ps.above(path) {
			return unix.EBUSY
		}
	}
	return 0
}

// of is the deepest place that path is or is in, or -1.
func (ps places) of(path string) int {
	best := -1
	for i := range ps {
		if policy.Inside(path, ps[i].Path) && (best < 0 || len(ps[i].Path) > len(ps[best].Path)) {
			best = i
		}
	}
	// Deeper ones by another spelling.
	spelt, outer := canonPath(path), best
	for i := range ps {
		if ps.in(i, outer) && policy.Inside(spelt, ps[i].canon) && (best == outer || len(ps[i].canon) > len(ps[best].canon)) {
			best = i
		}
	}
	return best
}

// in says whether the place i is strictly below the place outer, or anywhere
// for -1.
func (ps places) in(i, outer int) bool {
	return outer < 0 || i != outer && policy.Inside(ps[i].Path, ps[outer].Path)
}

// above says whether path is a place, or a folder above one.
func (ps places) above(path string) bool {
	spelt, outer := canonPath(path), ps.of(policy.Parent(path))
	for i := range ps {
		if policy.Inside(ps[i].Path, path) || ps.in(i, outer) && policy.Inside(ps[i].canon, spelt) {
			return true
		}
	}
	return false
}

// together says whether the kernel would move a folder from one to the other.
func (r *rules) together(from, to *guard.Target) bool {
	if len(r.Mounts) > 0 {
		return r.mounts.of(from.DirPath) == r.mounts.of(to.DirPath)
	}
	return sameMount(from.Dir, to.Dir)
}
