package sandbox

import (
	"slices"
	"sort"
	"strings"

	"bawn/internal/policy"
)

// restrict narrows what the binds opened: pins, read-only names and masks,
// outer paths first so that an inner mount is never covered.
func (pl *planner) restrict() {
	type step struct {
		path string
		m    Mount
	}
	var steps []step
	add := func(path string, m Mount) { steps = append(steps, step{path, m}) }
	for _, path := range pl.host.Pins {
		if pl.table.Lookup(path).Access > policy.Private && !pl.bound(path) && !pl.guarded(path, true) {
			add(path, Mount{Op: OpPin, Target: path, Write: true, Dir: true})
		}
	}
	for _, r := range pl.table.Below("/") {
		if r.Path == "/" || !pl.host.exists(r.Path) {
			continue
		}
		outer := pl.table.Lookup(policy.Parent(r.Path))
		dir := pl.host.isDir(r.Path)
		switch {
		case pl.skeleton[r.Path]:
			// Sealed, and a mount point or a name in one.
		case r.Access == policy.ReadOnly && outer.Access > policy.Private:
			// Nothing can be mounted on a link.
			if pl.host.Kinds[r.Path] != KindLink && !pl.guarded(r.Path, dir) {
				add(r.Path, Mount{Op: OpPin, Target: r.Path, Dir: dir})
			}
		case r.Access == policy.PrivateCopy && dir && outer.Access == policy.ReadOnly && pl.inLayer(r.Path):
			add(r.Path, pl.layerOf(r.Path))
		case dir && (pl.reopened(r) || slices.Contains(pl.layers, r.Path) && !pl.bound(r.Path)):
			add(r.Path, pl.open(r.Path))
		case r.Access == policy.Hidden && outer.Access != policy.Hidden && !pl.skeleton[policy.Parent(r.Path)]:
			if outer.Access != policy.Private && pl.host.Kinds[r.Path] != KindLink && !pl.gone(r.Path) {
				add(r.Path, Mount{Op: OpMask, Target: r.Path, Dir: dir})
			}
		}
	}
	for _, path := range pl.host.Sockets {
		if a := pl.table.Lookup(path).Access; a != policy.Hidden && a != policy.Private && !pl.gone(path) {
			add(path, Mount{Op: OpMask, Target: path, Try: true})
		}
		// A folder above it that is renamed takes the socket out of the path
		// by which the next run would find it.
		for d := policy.Parent(path); d != "/"; d = policy.Parent(d) {
			r := pl.table.Lookup(d)
			if r.Access != policy.ReadWrite || r.Path == d && !pl.inWritable(d) {
				break
			}
			add(d, Mount{Op: OpPin, Target: d, Write: true, Dir: true, Try: true})
		}
	}
	sort.SliceStable(steps, func(i, j int) bool { return steps[i].path < steps[j].path })
	for i, s := range steps {
		if i == 0 || s.path != steps[i-1].path {
			pl.add(s.m)
			continue
		}
		// Several for one path: the strictest, which must hold if any must.
		if p := &pl.out[len(pl.out)-1]; strictness(s.m) > strictness(*p) || p.Op == OpPin && s.m.Op != OpPin && strictness(s.m) == strictness(*p) {
			s.m.Try = s.m.Try && p.Try
			*p = s.m
		}
	}
}

// guarded reports whether the name guard holds path alone. Git replaces its
// config and the files of a worktree by rename, and removes worktrees: a mount
// would make that fail, and a git on the host that does it drops the mount.
// Hooks folders and .git itself stay mounts.
func (pl *planner) guarded(path string, dir bool) bool {
	switch {
	case !pl.guard.On:
		return false
	case dir:
		return strings.Contains(path, "/worktrees/")
	}
	return pl.control[path]
}

func controlFiles(h Host) map[string]bool {
	set := make(map[string]bool, len(h.Control))
	for _, f := range h.Control {
		set[f] = true
	}
	return set
}

// guardOf is what the name guard holds for a policy.
func guardOf(p policy.Policy, h Host) Guard {
	if !p.Guard() {
		return Guard{}
	}
	g := Guard{On: true, Paths: slices.Concat(h.Control, h.Names), Only: p.Writes(), Linked: h.Linked}
	for _, l := range h.Locks {
		if p.Files().Lookup(l).Access == policy.Hidden {
			g.Locks = append(g.Locks, l)
		}
	}
	g.Lifted, g.Unprotected = p.Lifted()
	for _, r := range p.Files().Below("/") {
		if r.IsSetting() && r.Access == policy.ReadOnly {
			g.Protected = append(g.Protected, r.Path)
		}
		if r.Access < policy.PrivateCopy {
			continue
		}
		if r.IsPreset() { // a home's protected name; what is kept in it is among Protected
			g.Unprotected = append(g.Unprotected, r.Path)
		}
		if r.IsCache() {
			g.Exempt = append(g.Exempt, r.Path)
		} else if r.Path != "/tmp" && r.Path != "/var/tmp" && !strings.HasPrefix(r.Path, "/dev/") {
			g.Roots = append(g.Roots, r.Path)
		}
	}
	if homes := p.Homes(); len(homes) > 0 {
		g.Home = homes[0]
	}
	return g
}

func strictness(m Mount) int {
	switch {
	case m.Op == OpMask:
		return 2
	case m.Write:
		return 0
	}
	return 1
}

// gone reports whether path lies in a place that the sandbox replaces.
func (pl *planner) gone(path string) bool {
	for _, d := range []string{"/run", "/dev", "/proc"} {
		if policy.Inside(path, d) {
			return true
		}
	}
	return pl.skeleton[policy.Parent(path)] // skeletons show no sockets
}

// procReadOnly are the kernel's own switches: in a user namespace uid 0 still
// owns them (docs/facts.md).
var procReadOnly = [...]string{
	"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/asound", "/proc/scsi",
	"/proc/mtrr", "/proc/driver", "/proc/tty", "/proc/pressure", "/proc/slabinfo", "/proc/dynamic_debug",
}

// kernel shows the sandbox's own /proc, with its memory masked (policy.KernelFiles).
// What is shut to the command as it is needs no mount: under bubblewrap each costs
// more than all others before it (docs/decisions/0003-stage.md).
func (pl *planner) kernel() {
	pl.add(Mount{Op: OpProc, Target: "/proc"})
	for _, f := range procReadOnly {
		if !pl.host.Shut[f] {
			pl.add(Mount{Op: OpPin, Target: f, Try: true})
		}
	}
	for _, f := range policy.KernelFiles() {
		if !pl.host.Shut[f] {
			pl.add(Mount{Op: OpMask, Target: f, Try: true})
		}
	}
	pl.add(Mount{Op: OpDev, Target: "/dev"})
}
