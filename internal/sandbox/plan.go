package sandbox

import (
	"hash/fnv"
	"slices"
	"sort"
	"strconv"
	"strings"

	"bawn/internal/policy"
)

// Command is what to run, as the caller's shell would see it.
type Command struct {
	Args    []string
	Environ []string // the caller's whole environment; Plan scrubs it
	Dir     string   // the working folder; "" is the workspace
	TTY     bool
	Net     Network
	Set     []string // variables that the supervisor sets inside, over the caller's
	// Inner is the host's socket that is shown at InnerSocket, "" for none.
	Inner string
	// Exchange are files of the host's /tmp or /var/tmp, real paths, by which an
	// agent learns what its shell has to say: the private temp shows them.
	Exchange []string
	// Shims are links to bawn by which an agent in the sandbox has its commands
	// run beside it; the zero value shows none.
	Shims  Shims
	Staged Staged
}

// Shims are links of these names in Dir, which lies in bawn's own state folder:
// of that nothing else is shown.
type Shims struct {
	Dir, Program string
	Names        []string
}

// Staged keeps what a run writes out of the folders that it may write; the
// zero value does not.
type Staged struct {
	// Dir holds a folder for the layer of each of StagedRoots, by its number.
	Dir string
	// Since is when the run began, in ns since 1970. The command starts when the
	// clock of file systems has reached it, so what changes afterwards shows it
	// in its change time (package staged).
	Since int64
	// Roots are the folders of layers that a Keeper holds for several commands,
	// by their number; nil makes those of StagedRoots for this one. A folder to be
	// staged that is not among them ends the run.
	Roots []string
}

// Mounts are the steps that make the layers of Roots.
func (s Staged) Mounts() (out []Mount) {
	for n, path := range s.Roots {
		out = append(out, s.mount(path, n))
	}
	return out
}

func (s Staged) mount(path string, n int) Mount {
	return Mount{Op: OpStaged, Target: path, Source: s.Dir + "/" + strconv.Itoa(n), Data: strconv.FormatInt(s.Since, 10), Write: true, Dir: true}
}

// Plan turns a policy and the facts of the host into the steps that build
// the sandbox. It is pure: the same input gives the same Spec on any system.
func Plan(p policy.Policy, h Host, c Command) Spec {
	pl := planner{staged: c.Staged, table: p.Files(), host: h, guard: guardOf(p, h), control: controlFiles(h), out: make([]Mount, 0, 160), homes: p.Homes(), skeleton: map[string]bool{}}
	if c.Staged.Dir != "" {
		pl.layers = stagedRoots(&pl)
	}
	alone := p.Profile() == policy.ScratchProfile // it shares no temp: only its folder is to be written
	pl.temp(p.Temp(), alone)
	if p.Temp() == policy.PrivateTemp {
		for _, f := range c.Exchange {
			pl.add(Mount{Op: OpBind, Target: f, Source: f, Write: true})
		}
	}
	scratch := ""
	if alone {
		scratch = pl.scratch()
	}
	pl.run()
	if c.Inner != "" && pl.host.isDir("/run") {
		pl.dirs("/run", policy.Parent(InnerSocket))
		pl.add(Mount{Op: OpBind, Target: InnerSocket, Source: c.Inner})
	}
	pl.names(c.Net)
	pl.skeletons()
	pl.writable()
	pl.seal()
	pl.restrict()
	pl.shims(c.Shims)
	pl.kernel()
	env, _ := p.Env().Scrub(c.Environ)
	env = insideEnv(env, p, h)
	dir := c.Dir
	if dir == "" {
		dir = p.Workspace()
		if scratch != "" {
			dir = scratch
			env = setenv(env, []string{"PWD=" + scratch})
		}
	}
	env = setenv(env, c.Set)
	return Spec{Args: c.Args, Env: env, Path: getenv(env, "PATH"), Dir: dir, Mounts: pl.out, TTY: c.TTY, Net: c.Net, Guard: pl.guard}
}

// insideEnv adds what the sandbox itself sets (SPEC E2) and points temp
// variables at the private temp, since the host's folder is not there.
func insideEnv(env []string, p policy.Policy, h Host) []string {
	out := make([]string, 0, len(env)+2)
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		switch name {
		case "TMPDIR", "TMP", "TEMP", "TEMPDIR":
			if p.Temp() == policy.PrivateTemp {
				e = name + "=/tmp"
			}
		case "XDG_RUNTIME_DIR":
			if h.RunUser == "" {
				continue
			}
			e = name + "=" + h.RunUser
		}
		out = append(out, e)
	}
	tier := p.Tier().String()
	if p.Mode() != policy.NoMode {
		tier = p.Mode().String()
	}
	return append(out, "BAWN_SANDBOXED=1", "BAWN_TIER="+tier)
}

// setenv puts the variables of set in the place of those of the same names.
func setenv(env, set []string) []string {
	if len(set) == 0 {
		return env
	}
	over := make(map[string]bool, len(set))
	for _, e := range set {
		name, _, _ := strings.Cut(e, "=")
		over[name] = true
	}
	out := make([]string, 0, len(env)+len(set))
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); !over[name] {
			out = append(out, e)
		}
	}
	return append(out, set...)
}

func getenv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if e := env[i]; len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name {
			return e[len(name)+1:]
		}
	}
	return ""
}

type planner struct {
	table    policy.Table
	host     Host
	guard    Guard
	control  map[string]bool // Host.Control
	homes    []string
	out      []Mount
	skeleton map[string]bool // folders shown as skeletons
	roots    []string        // the skeletons that are mounts of their own
	staged   Staged
	layers   []string // stagedRoots, if the run is staged
}

func (pl *planner) add(m Mount) { pl.out = append(pl.out, m) }

func (pl *planner) temp(mode policy.TempMode, alone bool) {
	for _, d := range []string{"/tmp", "/var/tmp"} {
		if !pl.host.isDir(d) {
			continue
		}
		if mode == policy.HostTemp {
			pl.add(Mount{Op: OpBind, Target: d, Source: d, Write: true, Dir: true})
		} else {
			pl.add(Mount{Op: OpTmpfs, Target: d, Mode: 0o1777, Kept: !alone})
		}
	}
}

// scratch makes the empty folder in which a command of the scratch profile
// starts. It lies in the private temp, which ends with the run; nothing else
// of the plan is in it.
func (pl *planner) scratch() string {
	dir := "/tmp/scratch"
	taken := func() bool {
		_, at := pl.table.At(dir)
		return at || len(pl.table.Below(dir)) > 0
	}
	for taken() {
		dir += "-"
	}
	pl.add(Mount{Op: OpDir, Target: dir, Mode: 0o700})
	return dir
}

// run builds the private /run: a runtime folder, the resolver file that
// /etc/resolv.conf may point to, and what NixOS needs to find its programs.
func (pl *planner) run() {
	if !pl.host.isDir("/run") {
		return
	}
	pl.add(Mount{Op: OpTmpfs, Target: "/run", Mode: 0o755})
	if pl.host.RunUser != "" {
		pl.dirs("/run", pl.host.RunUser)
		pl.add(Mount{Op: OpTmpfs, Target: pl.host.RunUser, Mode: 0o700})
	}
	for _, d := range pl.host.RunBinds {
		pl.dirs("/run", policy.Parent(d))
		if l, ok := pl.host.Links[d]; ok {
			pl.add(Mount{Op: OpSymlink, Target: d, Data: l})
		} else {
			pl.add(Mount{Op: OpBind, Target: d, Source: d, Dir: true, Try: true})
		}
	}
}

// names says where host names come from: the sandbox's own resolver, which
// alone knows what is allowed, or nowhere. The host's own names (/etc/hosts)
// are resolved by the egress, at the moment it dials.
func (pl *planner) names(n Network) {
	resolver := "# The sandbox has no name server.\n"
	if n.Transparent {
		resolver = "# The sandbox's own: it knows the names that are allowed.\nnameserver " + ResolverAddr + "\n"
	}
	switch f := pl.host.ResolvConf; {
	case f == "":
	case policy.Inside(f, "/run"):
		pl.dirs("/run", policy.Parent(f))
		pl.add(Mount{Op: OpFile, Target: f, Mode: 0o644, Data: resolver})
	case n.Transparent:
		pl.add(Mount{Op: OpReplace, Target: f, Mode: 0o644, Data: resolver})
	}
	if n.Transparent && pl.host.HostsFile != "" {
		hosts := "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
		if pl.host.Hostname != "" {
			hosts += "127.0.1.1 " + pl.host.Hostname + "\n"
		}
		pl.add(Mount{Op: OpReplace, Target: pl.host.HostsFile, Mode: 0o644, Data: hosts})
	}
}

// shims shows the links in place of the hidden folder that they lie in.
func (pl *planner) shims(s Shims) {
	hidden := pl.table.Lookup(s.Dir)
	if s.Dir == "" || hidden.Access != policy.Hidden || hidden.Path == s.Dir || !pl.host.isDir(hidden.Path) {
		return
	}
	pl.add(Mount{Op: OpTmpfs, Target: hidden.Path, Mode: 0o711})
	pl.dirs(hidden.Path, s.Dir)
	for _, name := range s.Names {
		pl.add(Mount{Op: OpSymlink, Target: s.Dir + "/" + name, Data: s.Program})
	}
	pl.add(Mount{Op: OpSeal, Target: hidden.Path})
}

// dirs makes the folders from below root down to dir.
func (pl *planner) dirs(root, dir string) {
	if dir == root || !policy.Inside(dir, root) {
		return
	}
	pl.dirs(root, policy.Parent(dir))
	for _, m := range pl.out {
		if m.Target == dir {
			return
		}
	}
	pl.add(Mount{Op: OpDir, Target: dir, Mode: 0o755})
}

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

// procReadOnly and procHidden are the kernel's own switches and memory: in a
// user namespace uid 0 still owns them (docs/facts.md).
var procReadOnly = [...]string{
	"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/asound", "/proc/scsi",
	"/proc/mtrr", "/proc/driver", "/proc/tty", "/proc/pressure", "/proc/slabinfo", "/proc/dynamic_debug",
}

var procHidden = [...]string{
	"/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/key-users", "/proc/kallsyms", "/proc/timer_list", "/proc/timer_stats",
	"/proc/latency_stats", "/proc/sched_debug", "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup",
	"/proc/vmallocinfo", "/proc/iomem", "/proc/ioports",
}

func (pl *planner) kernel() {
	pl.add(Mount{Op: OpProc, Target: "/proc"})
	for _, f := range procReadOnly {
		pl.add(Mount{Op: OpPin, Target: f, Try: true})
	}
	for _, f := range procHidden {
		pl.add(Mount{Op: OpMask, Target: f, Try: true})
	}
	pl.add(Mount{Op: OpDev, Target: "/dev"})
}
