package sandbox

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"bawn/internal/policy"
)

// writable binds every read-write place, outermost first, and a workspace that
// is not writable where the private temp would cover it.
func (pl *planner) writable() {
	for _, r := range pl.table.Below("/") {
		if r.Access == policy.ReadOnly && pl.table.Lookup(policy.Parent(r.Path)).Access == policy.Private && pl.host.isDir(r.Path) && !pl.skeleton[r.Path] {
			pl.add(Mount{Op: OpBind, Target: r.Path, Source: r.Path, Dir: true})
			continue
		}
		if r.Access == policy.PrivateCopy {
			pl.layer(r)
			continue
		}
		if r.Access != policy.ReadWrite || r.Path == "/" || strings.HasPrefix(r.Path, "/dev/") || r.Path == "/tmp" || r.Path == "/var/tmp" {
			continue
		}
		outer := pl.table.Lookup(policy.Parent(r.Path))
		switch {
		case pl.host.isDir(r.Path):
			// Inside a writable place it is writable already, or restrict
			// binds it once more over what narrows that place.
			if pl.bound(r.Path) {
				pl.add(pl.open(r.Path))
			}
		case pl.host.exists(r.Path):
			// A file or link where a cache folder should be: left as it is.
		case outer.Access == policy.ReadOnly && pl.inSkeleton(r.Path):
			// A cache that does not exist yet: private to the run, since
			// creating it on the host would leave a folder behind.
			pl.add(Mount{Op: OpTmpfs, Target: r.Path, Mode: 0o700, Lost: true})
		}
	}
}

// layer shows a private copy of a cache, but for one inside another.
func (pl *planner) layer(r policy.PathRule) {
	switch outer := pl.table.Lookup(policy.Parent(r.Path)); {
	case outer.Access == policy.PrivateCopy, pl.inLayer(r.Path): // restrict mounts it over what narrows that one
	case pl.host.isDir(r.Path), !pl.host.exists(r.Path) && outer.Access == policy.ReadOnly && pl.inSkeleton(r.Path):
		pl.add(pl.layerOf(r.Path))
	}
}

// layerOf keeps a folder's layers under a name made of its path.
func (pl *planner) layerOf(path string) Mount {
	h := fnv.New64a()
	_, _ = h.Write([]byte(path))
	store := pl.host.Layers + path[strings.LastIndexByte(path, '/'):] + "-" + strconv.FormatUint(h.Sum64(), 16)
	return Mount{Op: OpLayer, Target: path, Source: store, Write: true, Dir: true}
}

// inLayer reports whether a folder above path is a private copy.
func (pl *planner) inLayer(path string) bool {
	for d := policy.Parent(path); d != "/"; d = policy.Parent(d) {
		if r, ok := pl.table.At(d); ok && r.Access == policy.PrivateCopy && pl.host.isDir(d) {
			return true
		}
	}
	return false
}

// bound reports whether writable makes a mount at path.
func (pl *planner) bound(path string) bool {
	r, ok := pl.table.At(path)
	outer := pl.table.Lookup(policy.Parent(path)).Access
	return ok && r.Access == policy.ReadWrite && pl.host.isDir(path) &&
		outer != policy.ReadWrite && !pl.inWritable(path) && !(outer == policy.ReadOnly && pl.inLayer(path))
}

// reopened reports whether restrict opens a folder once more over what narrows
// the place around it.
func (pl *planner) reopened(r policy.PathRule) bool {
	outer := pl.table.Lookup(policy.Parent(r.Path)).Access
	return r.Access == policy.ReadWrite && outer != policy.ReadWrite &&
		(pl.inWritable(r.Path) || outer == policy.ReadOnly && pl.inLayer(r.Path))
}

// open shows a folder that may be written, or a layer over it.
func (pl *planner) open(path string) Mount {
	if n := slices.Index(pl.layers, path); n >= 0 {
		if pl.staged.Roots == nil {
			return pl.staged.mount(path, n)
		}
		m := pl.staged.mount(path, slices.Index(pl.staged.Roots, path)) // -1 is none of them
		m.Kept = true
		return m
	}
	return Mount{Op: OpBind, Target: path, Source: path, Write: true, Dir: true}
}

// StagedRoots are the folders whose writes a staged run keeps apart: all that
// the policy opens but caches and temp.
func StagedRoots(p policy.Policy, h Host) []string {
	return stagedRoots(&planner{table: p.Files(), host: h})
}

func stagedRoots(pl *planner) (out []string) {
	for _, r := range pl.table.Below("/") {
		if r.Access != policy.ReadWrite || r.IsCache() || r.Path == "/tmp" || r.Path == "/var/tmp" || strings.HasPrefix(r.Path, "/dev/") || !pl.host.isDir(r.Path) {
			continue
		}
		if pl.bound(r.Path) || pl.reopened(r) || pl.table.Lookup(policy.Parent(r.Path)).IsCache() {
			out = append(out, r.Path)
		}
	}
	return out
}

// inWritable reports whether a folder above path is bound by writable; the
// temp folders are not, since they come before everything else.
func (pl *planner) inWritable(path string) bool {
	for d := policy.Parent(path); d != "/"; d = policy.Parent(d) {
		if r, ok := pl.table.At(d); ok && r.Access == policy.ReadWrite && pl.host.isDir(d) && d != "/tmp" && d != "/var/tmp" {
			return true
		}
	}
	return false
}
