package bawn

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bawn/internal/config"
	"bawn/internal/config/trust"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Tier is how much a command may do. The zero value is Airlock, the strictest.
type Tier uint8

const (
	// Airlock writes only in the workspace and a private temp folder. It has no
	// network but its own loopback.
	Airlock = Tier(policy.Airlock)
	// Guarded also writes the tool caches (those of Go, npm, pip, cargo…), the
	// added folders, and a git directory that lies outside the workspace. It
	// reaches the hosts that Network allows, and no others.
	Guarded = Tier(policy.Guarded)
	// Open has no sandbox: the command has the caller's own permissions and
	// whole environment.
	Open = Tier(policy.Open)
)

// String returns the tier's name: "airlock", "guarded" or "open".
func (t Tier) String() string { return policy.Tier(t).String() }

// ParseTier reads a tier's name. Any other text is an error.
func ParseTier(s string) (Tier, error) {
	t, err := policy.ParseTier(s)
	if err != nil {
		return Airlock, public(err)
	}
	return Tier(t), nil
}

// Mode fixes a policy to one behaviour and replaces its tier. The zero value
// fixes nothing.
type Mode uint8

const (
	// ReadOnly writes only in a private temp folder, not in the workspace, and
	// has no network.
	ReadOnly = Mode(policy.ReadOnlyMode)
	// WorkspaceWrite is Guarded, and never asks.
	WorkspaceWrite = Mode(policy.WorkspaceWrite)
	// DangerFullAccess is Open.
	DangerFullAccess = Mode(policy.DangerFullAccess)
)

// String returns the mode's name, as "read-only"; "" for the zero value.
func (m Mode) String() string { return policy.Mode(m).String() }

// Temp says where a command's temporary files go.
type Temp uint8

const (
	// PrivateTemp gives each command an empty /tmp and /var/tmp of its own, in
	// memory, which end with it.
	PrivateTemp = Temp(policy.PrivateTemp)
	// HostTemp lets the command write the host's /tmp and /var/tmp.
	HostTemp = Temp(policy.HostTemp)
)

// Launcher names who makes the sandbox on Linux. The boundary is the same.
type Launcher string

const (
	// Auto takes Native, and Bwrap where Native cannot work.
	Auto Launcher = ""
	// Native makes the namespaces itself and needs nothing installed.
	Native Launcher = "native"
	// Bwrap lets the system's bubblewrap make them (/usr/bin/bwrap or
	// /bin/bwrap, never one found through PATH).
	Bwrap Launcher = "bwrap"
)

// Policy is what a command may do: an immutable value that may be copied and
// used by many goroutines at once. The zero Policy refuses to run anything and
// denies everything; NewPolicy makes others.
type Policy struct {
	made     bool
	req      sandbox.Request // real paths; never changed, only copied
	launcher Launcher
	warnings []string

	noGuard    bool
	networkErr error // of WithNetwork, until With reports it

	files *config.Layers                             // of LoadPolicy; nil: no file says anything
	said  struct{ tier, temp, launcher, guard bool } // options that were used
	// What holds, all layers together.
	resolved Tier
	dirs     []string
}

// Option is one change to a policy: the result of a function whose name
// begins with With.
type Option struct {
	apply func(*Policy)
}

// WithDirs adds writable folders, relative to the current folder. They must
// exist. They hold in Guarded and WorkspaceWrite; elsewhere they are left out
// and Policy.Warnings says so.
func WithDirs(dirs ...string) Option {
	dirs = slices.Clone(dirs)
	return Option{func(p *Policy) { p.req.AddDirs = append(slices.Clip(p.req.AddDirs), dirs...) }}
}

// WithTier replaces the tier. It is for LoadPolicy, where the files name one.
func WithTier(t Tier) Option {
	return Option{func(p *Policy) { p.req.Tier, p.said.tier = policy.Tier(t), true }}
}

// WithMode fixes the mode, which replaces the tier.
func WithMode(m Mode) Option {
	return Option{func(p *Policy) { p.req.Mode = policy.Mode(m) }}
}

// WithScratch lets the command write an empty folder of its own, in which it
// starts unless Cmd.Dir says otherwise, and reach no network, whatever the
// tier; what can be read is as without it. The folder lies in memory and ends
// with the command. Open, which has no sandbox, refuses it.
func WithScratch() Option {
	return Option{func(p *Policy) { p.req.Profile = policy.ScratchProfile }}
}

// WithEnv changes which variables the command sees. Without it whatever looks
// like a credential, or leads to one, is removed from Cmd.Env. Both lists hold
// names or patterns in which * stands for any text, without regard to case;
// drop wins over keep. Open removes nothing.
func WithEnv(keep, drop []string) Option {
	keep, drop = slices.Clone(keep), slices.Clone(drop)
	return Option{func(p *Policy) {
		p.req.Env.Keep = append(slices.Clip(p.req.Env.Keep), keep...)
		p.req.Env.Drop = append(slices.Clip(p.req.Env.Drop), drop...)
	}}
}

// WithTemp says where temporary files go; PrivateTemp if it is not used.
func WithTemp(t Temp) Option {
	return Option{func(p *Policy) { p.req.Temp, p.said.temp = policy.TempMode(t), true }}
}

// WithLauncher chooses who makes the sandbox; Auto if it is not used.
func WithLauncher(l Launcher) Option {
	return Option{func(p *Policy) { p.launcher, p.said.launcher = l, true }}
}

// WithGuard says whether names that do not exist yet are held: a repository
// made during the run, a hook, a start-up file. It is on if this is not used
// and the kernel can (Linux 5.19); where it cannot, Policy.Warnings says so.
// Each file that is created or opened for writing takes longer with it.
func WithGuard(on bool) Option {
	return Option{func(p *Policy) { p.noGuard, p.said.guard = !on, true }}
}

// NewPolicy makes a policy for commands that work in the folder workspace,
// relative to the current folder; "" is the current folder. Symbolic links
// are resolved now, once: a link changed later does not move the policy.
//
// A folder that does not exist, or that would expose credentials or the
// system (a home folder, /etc, ~/.ssh), is a *RefusedError. On a platform
// without sandboxes every tier but Open is ErrUnavailable.
func NewPolicy(tier Tier, workspace string, opts ...Option) (Policy, error) {
	p := Policy{made: true, req: sandbox.Request{Tier: policy.Tier(tier), Workspace: workspace, Caches: policy.SharedCaches}}
	return p.With(opts...)
}

// With returns a copy of the policy with the changes made, under the same
// checks as NewPolicy. The policy itself stays as it is.
func (p Policy) With(opts ...Option) (Policy, error) {
	if !p.made {
		return Policy{}, errZero
	}
	for _, o := range opts {
		if o.apply != nil {
			o.apply(&p)
		}
	}
	if err := checkLauncher(p.launcher); err != nil {
		return Policy{}, err
	}
	if p.networkErr != nil {
		return Policy{}, public(p.networkErr)
	}
	v, err := p.inspect()
	if err != nil {
		return Policy{}, err
	}
	p.req.Workspace, p.dirs = v.workspace, v.dirs
	if p.files == nil {
		p.req.AddDirs = v.dirs
	} else if p.req.AddDirs, err = realDirs(p.req.AddDirs); err != nil {
		return Policy{}, public(err)
	}
	p.resolved = Tier(v.policy.Tier())
	p.warnings = v.warnings
	if err := guardSupported(); err != nil && v.wantsGuard && v.policy.Sandboxed() {
		p.warnings = append(p.warnings, err.Error()+": names that do not exist yet are not held")
	}
	return p, nil
}

func checkLauncher(l Launcher) error {
	switch l {
	case Auto, Native, Bwrap:
		return nil
	}
	return &RefusedError{What: "launcher " + quote(string(l)), Why: "it is not one of native and bwrap"}
}

var errZero = &RefusedError{What: "the zero Policy", Why: "it allows nothing", Lift: "make one with NewPolicy"}

// view is a policy on the host as it is now.
type view struct {
	policy     policy.Policy
	host       sandbox.Host
	workspace  string
	dirs       []string // the added folders, real
	launcher   Launcher
	upstream   upstream
	warnings   []string
	wantsGuard bool
}

// inspect looks at the host as it is now and makes the internal policy; asking
// is the environment of the command, if it has one of its own.
func (p Policy) inspect(asking ...string) (view, error) {
	req := p.req
	req.Environ, req.Asking = os.Environ(), p.asking(asking)
	if p.files != nil {
		return p.settle(req)
	}
	req.Guard = !p.noGuard && guardSupported() == nil
	req.Locks = sandbox.LocksIn(trust.StateDir(os.Getenv, os.Getenv("HOME")), os.Getenv("XDG_RUNTIME_DIR"))
	v := view{launcher: p.launcher, wantsGuard: !p.noGuard}
	cfg, host, err := sandbox.Inspect(req)
	if err != nil {
		return v, public(err)
	}
	v.host, v.workspace, v.dirs = host, cfg.Workspace, cfg.AddDirs
	v.policy, err = policy.New(cfg)
	v.warnings = append(v.policy.Warnings(), host.Warnings...)
	return v, public(err)
}

// asking is environ without a home, and folders of one, that lie where the
// command writes: a caller made them for it, and they hold nobody's credentials.
func (p Policy) asking(environ []string) []string {
	made := func(e string) bool {
		name, value, _ := strings.Cut(e, "=")
		if name != "HOME" && !strings.HasPrefix(name, "XDG_") {
			return false
		}
		real, err := sandbox.RealPath(filepath.Clean(value))
		return err == nil && policy.InsideAny(real, append([]string{p.req.Workspace}, p.dirs...))
	}
	return slices.DeleteFunc(slices.Clone(environ), made)
}

// Tier returns the tier, or the one that a fixed mode follows.
func (p Policy) Tier() Tier {
	switch {
	case p.req.Mode != policy.NoMode:
		return Tier(p.req.Mode.Tier())
	case p.files != nil:
		return p.resolved
	}
	return Tier(p.req.Tier)
}

// Mode returns the fixed mode; 0 for none.
func (p Policy) Mode() Mode { return Mode(p.req.Mode) }

// Workspace returns the workspace as an absolute path without links.
func (p Policy) Workspace() string { return p.req.Workspace }

// Dirs returns the added folders as absolute paths without links.
func (p Policy) Dirs() []string { return slices.Clone(p.dirs) }

// Warnings returns what a person should know: options that have no effect in
// this tier, and git settings that could not be read.
func (p Policy) Warnings() []string { return slices.Clone(p.warnings) }

// Verdict is the outcome of a decision. The zero value is Deny.
type Verdict uint8

const (
	Deny  = Verdict(policy.Deny)
	Ask   = Verdict(policy.Ask) // no rule decides: a person would be asked; without one it is a denial
	Allow = Verdict(policy.Allow)
)

// String returns "deny", "ask" or "allow".
func (v Verdict) String() string { return policy.Verdict(v).String() }

// Rule is what decided.
type Rule struct {
	ID   string // stable, for programs, as "credential:/home/me/.ssh"
	Text string // the reason, for people
	Lift string // what would change a denial; may be empty
}

// Decision is a verdict and its reason. The zero value denies.
type Decision struct {
	Verdict Verdict
	Rule    Rule
}

// Action is what a command may want to do: a Read, a Write or a Connect.
type Action interface{ action() }

// Read asks to open Path for reading. Path is relative to the current folder.
type Read struct{ Path string }

// Write asks to create, change, rename or remove Path, relative to the
// current folder.
type Write struct{ Path string }

func (Read) action()  {}
func (Write) action() {}

// Check says what the policy decides about an action on the host as it is
// now, links resolved. It never allows without a rule: what cannot be decided
// is denied, with the reason. The caller's own permissions hold besides: an
// allowed file may still belong to somebody else.
func (p Policy) Check(a Action) Decision {
	deny := func(id, text string) Decision { return Decision{Rule: Rule{ID: id, Text: text}} }
	if !p.made {
		return deny("policy:zero", errZero.Error())
	}
	v, err := p.inspect()
	if err != nil {
		return deny("policy:error", err.Error())
	}
	made := v.policy
	if c, ok := a.(Connect); ok {
		host, err := policy.ParseHost(c.Host)
		if err != nil {
			return deny("host:error", err.Error())
		}
		return decision(made.Decide(policy.Connect{Host: host, Port: c.Port}))
	}
	path, write := "", false
	switch a := a.(type) {
	case Read:
		path = a.Path
	case Write:
		path, write = a.Path, true
	default:
		return deny("action:unknown", "not a Read, a Write or a Connect")
	}
	if path, err = sandbox.RealPath(path); err != nil {
		return deny("path:error", err.Error())
	}
	var act policy.Action = policy.Read{Path: path}
	if write {
		act = policy.Write{Path: path}
	}
	return decision(made.Decide(act))
}

func decision(d policy.Decision) Decision {
	return Decision{Verdict(d.Verdict), Rule{d.Rule.ID, d.Rule.Text, d.Rule.Lift}}
}
