//go:build linux

package rules

import (
	"strings"

	"bawn/internal/policy"
	"bawn/internal/sandbox/linux/guard"
)

// Only narrows inner: in roots nothing may be written but the names allowed
// (lower case, see policy.InstallNames), at any depth and with all below
// them, and new files beside them under the names by which tools replace a
// lock file. What inner refuses stays refused.
func Only(inner guard.Rules, roots, allowed []string) guard.Rules {
	o := &only{inner: inner, roots: roots, allowed: make(map[string]bool, len(allowed)), names: allowed}
	for _, n := range allowed {
		o.allowed[n] = true
	}
	return o
}

type only struct {
	inner   guard.Rules
	roots   []string
	names   []string
	allowed map[string]bool
}

func (o *only) Check(c *guard.Call) guard.Verdict {
	if !o.fits(&c.Target, c.Op) || c.Op == guard.Link && c.Other != nil && !o.fits(c.Other, c.Op) {
		v := deny("install", "not a dependency folder, lock file or manifest")
		v.Rule.Text = "a package install writes only dependency folders, lock files and, when it adds a package, manifests"
		v.Rule.Lift = "make the change outside the sandbox, or set install_profile = \"off\" in " + policy.UserFile
		return v
	}
	return o.inner.Check(c)
}

// fits says whether the name is on the list. Objects without a name are not.
func (o *only) fits(t *guard.Target, op guard.Op) bool {
	if t.Dir < 0 {
		return op == guard.Link && t.Stat.Nlink == 0 // a nameless file of its own
	}
	path := t.Path()
	for _, root := range o.roots {
		if path == root {
			return false
		}
		rest, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/")+"/")
		if !ok {
			continue
		}
		for _, e := range elements(rest) {
			if o.allowed[strings.ToLower(e)] {
				return true
			}
		}
		return o.temporary(strings.ToLower(t.Name))
	}
	return true
}

// temporary: npm and pnpm write package-lock.json.12345 or
// .package-lock.json-x, cargo Cargo.lockAbC, uv .tmpAbC, bun .lockb-x.tmp.
func (o *only) temporary(name string) bool {
	bare := strings.TrimPrefix(name, ".")
	for _, n := range o.names {
		if len(bare) > len(n) && strings.HasPrefix(bare, n) {
			// A word that goes on is another name: targets, vendored.
			next := bare[len(n)]
			if strings.Contains(n, ".lock") || strings.HasSuffix(n, ".sum") || next == '.' || next == '-' || next == '_' || next == '~' {
				return true
			}
		}
	}
	return strings.HasPrefix(name, ".tmp") || strings.HasPrefix(name, ".lockb-")
}

var _ guard.Rules = (*only)(nil)
