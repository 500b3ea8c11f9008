package sandbox

import (
	"sort"
	"strings"

	"bawn/internal/policy"
)

// skeletons shows each home, and each folder on the way to a hidden place
// below it, as a read-only copy of its own names: what is hidden stays
// hidden when it is created later, and nothing new can be created.
func (pl *planner) skeletons() {
	set := map[string]bool{}
	for _, home := range pl.homes {
		if pl.host.isDir(home) && pl.table.Lookup(home).Access != policy.ReadWrite && !pl.inWritable(home) {
			set[home] = true
		}
		for _, r := range pl.table.Below(home) {
			if r.Access == policy.ReadOnly {
				continue
			}
			for d := policy.Parent(r.Path); policy.Inside(d, home) && !set[d]; d = policy.Parent(d) {
				if !pl.host.listed(d) || pl.table.Lookup(d).Access != policy.ReadOnly || pl.inWritable(d) || pl.inLayer(d) {
					continue
				}
				if r.Access > policy.Private && pl.host.exists(r.Path) {
					break // its mount point exists: no need to open the folder up
				}
				set[d] = true
			}
		}
	}
	var dirs []string
	for d := range set {
		dirs = append(dirs, d)
	}
	sort.Strings(dirs)
	for _, d := range dirs {
		if !set[policy.Parent(d)] {
			pl.roots = append(pl.roots, d)
		}
		pl.skeleton[d] = true
	}
	for _, d := range dirs {
		mode, known := pl.host.Modes[d]
		if !known {
			mode = 0o755 // a home that cannot be listed may still be passed through
		}
		pl.add(Mount{Op: OpSkeleton, Target: d, Mode: mode})
		for _, e := range pl.host.Dirs[d] {
			pl.child(d, e)
		}
	}
}

func (pl *planner) child(dir string, e Entry) {
	path := strings.TrimSuffix(dir, "/") + "/" + e.Name
	if pl.skeleton[path] {
		return
	}
	r := pl.table.Lookup(path)
	switch {
	case r.Access == policy.Hidden:
		if data, ok := pl.host.Copies[path]; ok {
			pl.add(Mount{Op: OpFile, Target: path, Mode: 0o600, Data: data})
		} else if e.Kind == KindDir || e.Kind == KindLink && !r.File {
			pl.add(Mount{Op: OpDir, Target: path, Mode: 0})
		} else {
			pl.add(Mount{Op: OpFile, Target: path, Mode: 0})
		}
	case r.Path == path && r.Access >= policy.Private:
		return // bound by writable
	case e.Kind == KindLink:
		pl.add(Mount{Op: OpSymlink, Target: path, Data: e.Link})
	case e.Kind == KindDir, e.Kind == KindFile:
		pl.add(Mount{Op: OpBind, Target: path, Source: path, Dir: e.Kind == KindDir, Try: true})
	}
	// Sockets, devices and FIFOs of the host are left out.
}

// inSkeleton reports whether the deepest existing folder above path is a
// skeleton, where a mount point can be made.
func (pl *planner) inSkeleton(path string) bool {
	for d := policy.Parent(path); d != "/"; d = policy.Parent(d) {
		if pl.skeleton[d] {
			return true
		}
		if pl.host.exists(d) {
			return false
		}
	}
	return false
}

func (pl *planner) seal() {
	for _, d := range pl.roots {
		pl.add(Mount{Op: OpSeal, Target: d})
	}
	if pl.host.isDir("/run") {
		pl.add(Mount{Op: OpSeal, Target: "/run"})
	}
}
