package sandbox

import (
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
