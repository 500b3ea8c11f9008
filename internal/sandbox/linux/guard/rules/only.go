//go:build linux

package rules

import (
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox/linux/guard"
)

// Only narrows inner: in roots nothing may be written, made, renamed or
// removed but what w lists. Places in exempt that lie deeper are not narrowed.
// What inner refuses stays refused. The listener must be one for removals.
func Only(inner guard.Rules, roots, exempt []string, w policy.WriteNames) guard.Rules {
	return &only{inner: inner, roots: roots, exempt: exempt, names: w, made: map[string]struct{}{}}
}

// only is not guard.Blind: it keeps what was made.
type only struct {
	inner         guard.Rules
	roots, exempt []string
	names         policy.WriteNames

	mu sync.Mutex
	// made are the temporary files and folders of this run, by path. Whatever else has
	// such a name is somebody's own.
	made map[string]struct{}
}

// maxMade bounds the temporary files that exist at once.
const maxMade = 1024

// Check implements guard.Rules.
func (o *only) Check(c *guard.Call) guard.Verdict {
	if !o.may(c) {
		return guard.Verdict{Decision: guard.Deny, Errno: unix.EACCES, Rule: o.names.Rule}
	}
	switch c.Op {
	case guard.Remove:
		o.forget(c.Target.Path())
		return allow // to remove a name is no concern of inner
	case guard.RenameTo:
		v := o.inner.Check(c)
		// A name that is taken and may not be replaced leaves all as it is.
		if v.Decision == guard.Allow && c.Other != nil && (c.Flags&unix.RENAME_NOREPLACE == 0 || !c.Target.Exists) {
			o.forget(c.Other.Path())
		}
		return v
	}
	return o.inner.Check(c)
}

func (o *only) may(c *guard.Call) bool {
	t := &c.Target
	if t.Dir < 0 {
		return false // its name may be anything
	}
	if c.Op == guard.Link && !o.mayAlias(c.Other) {
		return false
	}
	at, limited := o.place(t)
	if !limited {
		return true
	}
	path := t.Path()
	other := uint32(0)
	if c.Other != nil {
		other = mode(c.Other)
	}
	switch at {
	case policy.Below:
		return true
	case policy.BelowTemporary:
		return o.below(path)
	case policy.TemporaryFolder:
		switch c.Op {
		case guard.Mkdir:
			return o.remember(path)
		case guard.Rename:
			return o.own(path) && c.Flags&unix.RENAME_EXCHANGE == 0
		case guard.Remove:
			return o.own(path)
		}
	case policy.Way:
		return c.Op == guard.Mkdir
	case policy.ListedFolder:
		switch c.Op {
		case guard.Mkdir, guard.Rename, guard.Remove:
			return true
		case guard.RenameTo:
			return other == unix.S_IFDIR
		}
	case policy.ListedFile:
		switch c.Op {
		case guard.Create, guard.Open, guard.Truncate, guard.Remove:
			return true
		case guard.Mknod:
			return regular(c.Mode)
		case guard.Rename:
			return true
		case guard.RenameTo, guard.Link:
			return other == unix.S_IFREG
		}
	case policy.Temporary:
		switch c.Op {
		case guard.Create:
			return o.remember(path)
		case guard.Mknod:
			return regular(c.Mode) && o.remember(path)
		case guard.Open, guard.Truncate:
			return o.own(path)
		case guard.Rename:
			// The other half of the call asks whether its new name is listed.
			return o.own(path) && c.Flags&unix.RENAME_EXCHANGE == 0
		case guard.Remove:
			return o.own(path)
		}
	}
	return false
}

// place says where a name stands; false: in no place that is narrowed.
func (o *only) place(t *guard.Target) (policy.Place, bool) {
	path := t.Path()
	root := ""
	for _, r := range o.roots {
		if len(r) > len(root) && policy.Inside(path, r) {
			root = r
		}
	}
	if root == "" {
		return 0, false
	}
	for _, e := range o.exempt {
		if len(e) > len(root) && policy.Inside(t.DirPath, e) {
			return 0, false
		}
	}
	return o.names.Place(strings.TrimPrefix(strings.TrimPrefix(path, root), "/")), true
}

// mayAlias says whether an object may get one more name: it could be written
// by that.
func (o *only) mayAlias(t *guard.Target) bool {
	if t == nil {
		return false
	}
	if t.Dir < 0 {
		return t.Stat.Nlink == 0 // a nameless file of its own
	}
	at, limited := o.place(t)
	switch {
	case !limited, at == policy.Below, at == policy.ListedFile:
		return true
	case at == policy.Temporary:
		return o.own(t.Path())
	case at == policy.BelowTemporary:
		return o.below(t.Path())
	}
	return false
}

// below says whether path is below a folder that the run made.
func (o *only) below(path string) bool {
	for up := policy.Parent(path); up != "/"; up = policy.Parent(up) {
		if o.own(up) {
			return true
		}
	}
	return false
}

func regular(mode uint32) bool { return mode&unix.S_IFMT == unix.S_IFREG || mode&unix.S_IFMT == 0 }

func (o *only) own(path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.made[path]
	return ok
}

// forget comes before the call: if that fails, the file is the run's no more.
func (o *only) forget(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.made, path)
}

func (o *only) remember(path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.made[path]; !ok && len(o.made) >= maxMade {
		return false
	}
	o.made[path] = struct{}{}
	return true
}
