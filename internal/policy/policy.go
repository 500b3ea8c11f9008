package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrRefused marks a request that the rules forbid, as opposed to one that
// failed; callers map it to exit code 125.
var ErrRefused = errors.New("refused")

// RefusedError says what was refused, by which rule, and the way out.
type RefusedError struct {
	What, Why, Lift string
}

func (e *RefusedError) Error() string {
	s := e.What + ": " + e.Why
	if e.Lift != "" {
		s += "; " + e.Lift
	}
	return s
}

// Is makes every RefusedError match ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// TempMode says where a command's temporary files go.
type TempMode uint8

const (
	// PrivateTemp: a tmpfs of the run's own at /tmp and /var/tmp.
	PrivateTemp TempMode = iota
	// HostTemp: the host's /tmp and /var/tmp, writable.
	HostTemp
)

// Config is what a Policy is made from. All paths are absolute, clean and
// real; New checks the form, the caller vouches that links are resolved.
type Config struct {
	Tier      Tier
	Mode      Mode
	Workspace string
	AddDirs   []string
	Homes     []string
	RunUser   string // the runtime folder below /run/user, "" for none
	Temp      TempMode
	Env       EnvRules

	Hidden    []PathRule // credentials, by every path they have
	Caches    []PathRule // existing or not
	Protected []PathRule // existing control files inside writable folders
	GitDirs   []string   // git directories outside the workspace that git must write

	// DirOrigins says where an added folder was named, if a file did, and
	// TempOrigin where Temp was.
	DirOrigins map[string]Origin
	TempOrigin Origin

	Network NetworkConfig
	Guard   bool // Protected lists names that do not exist yet, too
	// MacOS is set on macOS, where nothing is mounted; nil is Linux.
	MacOS *MacOS

	// Writes narrows what is writable in the workspace, AddDirs and GitDirs.
	Writes WriteNames
	// Profile narrows all of this for one kind of command; see Narrow.
	Profile Profile
	Install Install
	// Lifted are ids of protected names (Name.Lift, git.hooks, …) that the
	// user's own settings lift; Unprotected are places in which none holds.
	Lifted, Unprotected []string
}

// Policy is what one sandboxed run may do: an immutable value. The zero
// Policy allows nothing.
type Policy struct {
	tier      Tier
	mode      Mode
	workspace string
	addDirs   []string
	homes     []string
	temp      TempMode
	env       EnvRules
	files     Table
	network   Network
	noNetwork Rule
	tierLift  string
	guard     bool
	writes    WriteNames
	profile   Profile
	lifted    []string
	open      []string // Config.Unprotected
	macOS     MacOS
	warnings  []string
}

func (p Policy) Tier() Tier        { return p.tier }
func (p Policy) Mode() Mode        { return p.mode }
func (p Policy) Workspace() string { return p.workspace }
func (p Policy) Homes() []string   { return append([]string(nil), p.homes...) }
func (p Policy) Temp() TempMode    { return p.temp }
func (p Policy) Env() EnvRules     { return p.env }
func (p Policy) Files() Table      { return p.files }

// Guard reports whether names that do not exist yet are held, which needs a
// sandbox with something writable in it.
func (p Policy) Guard() bool { return p.guard && p.Sandboxed() && p.mode != ReadOnlyMode }

// Writes are the names to which writes are limited; the caller must not change
// its lists.
func (p Policy) Writes() WriteNames { return p.writes }

// Lifted are the ids of protected names that do not hold, and the places in
// which no name is protected.
func (p Policy) Lifted() (ids, places []string) { return slices.Clone(p.lifted), slices.Clone(p.open) }

// AddDirs are the added folders that are writable.
func (p Policy) AddDirs() []string { return append([]string(nil), p.addDirs...) }

// Network decides connections. Where there is no network it is the zero
// value, which denies all of them.
func (p Policy) Network() Network { return p.network }

func (p Policy) Warnings() []string { return append([]string(nil), p.warnings...) }

// Sandboxed reports whether a boundary is to be built at all.
func (p Policy) Sandboxed() bool { return p.tier != Open }

// Decide answers one action; see Table.Decide. In the open tier the caller's
// own permissions decide, so everything is allowed here.
func (p Policy) Decide(a Action) Decision {
	if p.tier == Open {
		return Decision{Allow, Rule{ID: "tier:open", Text: "the open tier has no sandbox: your own permissions decide"}}
	}
	if c, ok := a.(Connect); ok {
		if !p.HasNetwork() {
			return Decision{Deny, p.NoNetwork()}
		}
		return p.network.Decide(c)
	}
	d := p.files.Decide(a)
	if w, ok := a.(Write); ok && d.Verdict == Allow && p.writes.On {
		if r := p.files.Lookup(w.Path); r.limited() {
			rel := strings.TrimPrefix(strings.TrimPrefix(w.Path, r.Path), "/")
			if at := p.writes.Place(rel); at < Way || at > Way && at < ListedFile {
				return Decision{Deny, p.writes.Rule}
			}
		}
	}
	return d
}

// HasNetwork reports whether any host can be reached.
func (p Policy) HasNetwork() bool {
	return p.tier == Open || p.tier == Guarded && p.mode != ReadOnlyMode && p.noNetwork.ID == ""
}

// WithHosts is p with further rules about hosts, which a person gave while
// commands run; where there is no network they change nothing.
func (p Policy) WithHosts(allow, deny []HostRule) (Policy, error) {
	if !p.HasNetwork() || p.tier == Open {
		return p, nil
	}
	var err error
	p.network, err = p.network.with(allow, deny)
	return p, err
}

// WithPublicHosts is p with a network of every public host that no rule denies;
// no rule opens an internal address there (SPEC N8). Where there is no network
// it changes nothing.
func (p Policy) WithPublicHosts() (Policy, error) {
	if !p.HasNetwork() || p.tier == Open {
		return p, nil
	}
	c := NetworkConfig{NoDefaults: true, Allow: []HostRule{{scope: scopeAny, origin: Origin{File: "web_fetch"}}}}
	for id, r := range p.network.Rules() {
		if strings.HasPrefix(id, listIDs[listDeny]) {
			c.Deny = append(c.Deny, r)
		}
	}
	var err error
	p.network, err = NewNetwork(c)
	return p, err
}

// WithoutNetwork is p without a way to the network, as the rule says.
func (p Policy) WithoutNetwork(why Rule) Policy {
	p.network = Network{}
	if p.noNetwork.ID == "" {
		p.noNetwork = why
	}
	return p
}

// WithTierLift is p with another word on what gives commands a network where the
// tier has none: flags are for a run, and not for a session.
func (p Policy) WithTierLift(lift string) Policy {
	p.tierLift = lift
	return p
}

// NoNetwork is the rule by which a tier, a mode or the settings have none.
func (p Policy) NoNetwork() Rule {
	if p.profile == ScratchProfile {
		return scratchRule("network:scratch", "the scratch profile has no network")
	}
	if p.noNetwork.ID != "" && p.tier == Guarded {
		return p.noNetwork
	}
	name, lift := p.tier.String(), "--tier guarded reaches allowed hosts"
	if p.mode != NoMode {
		name = p.mode.String()
	} else if p.tierLift != "" {
		lift = p.tierLift
	}
	return Rule{ID: "network:" + name, Text: name + " has no network", Lift: lift}
}

// CacheAccess reports whether the tier and mode make tool caches, added
// folders and git directories outside the workspace writable.
func (c Config) CacheAccess() bool {
	return c.Tier == Guarded && (c.Mode == NoMode || c.Mode == WorkspaceWrite)
}

func (c Config) name() string {
	if c.Mode != NoMode {
		return c.Mode.String()
	}
	return c.Tier.String()
}

// InCache reports whether dir is a tool cache or lies in one.
func (c Config) InCache(dir string) bool {
	for _, cache := range c.Caches {
		if Inside(dir, cache.Path) {
			return true
		}
	}
	return false
}

// New checks a Config and makes the Policy. A workspace or added folder that
// would expose a credential or the whole system is a *RefusedError.
func New(c Config) (Policy, error) {
	if c.Mode > DangerFullAccess {
		return Policy{}, fmt.Errorf("unknown mode %d", c.Mode)
	}
	left, err := c.Narrow()
	if err != nil {
		return Policy{}, err
	}
	if c.Mode != NoMode {
		c.Tier = c.Mode.Tier()
	}
	p := Policy{
		guard: c.Guard, profile: c.Profile, warnings: left, lifted: slices.Clone(c.Lifted), open: slices.Clone(c.Unprotected),
		tier: c.Tier, mode: c.Mode, workspace: c.Workspace, temp: c.Temp, env: c.Env,
		homes: append([]string(nil), c.Homes...), addDirs: append([]string(nil), c.AddDirs...),
	}
	if c.MacOS != nil {
		p.macOS = *c.MacOS
	}
	if c.Tier > Open {
		return Policy{}, fmt.Errorf("unknown tier %d", c.Tier)
	}
	if err := c.Env.Validate(); err != nil {
		return Policy{}, err
	}
	if c.Writes.On {
		p.writes = c.Writes.clone()
		if err := p.checkWrites(); err != nil {
			return Policy{}, err
		}
	}
	if c.Tier == Open && c.Workspace != "" {
		return p, nil // nothing is decided by path; on Windows it has another form
	}
	if !IsClean(c.Workspace) {
		return Policy{}, &RefusedError{What: fmt.Sprintf("workspace %q", c.Workspace), Why: "not an absolute clean path"}
	}
	if err := checkFolder("workspace", c.Workspace, c); err != nil {
		return Policy{}, err
	}
	if c.Temp == HostTemp && !c.CacheAccess() {
		p.warnings = append(p.warnings, "the host's temp folder is not writable in "+c.name()+", which has a private one")
		c.Temp, p.temp = PrivateTemp, PrivateTemp
	}
	if c.Network.Off {
		p.noNetwork = Rule{ID: "network:off", Text: "the settings switch the network off", Lift: "enabled = true in [sandbox.proxy]", Origin: c.Network.Origin}
	}
	if len(c.AddDirs) > 0 && !c.CacheAccess() {
		p.warnings = append(p.warnings, "added folders are not writable in "+c.name())
		c.AddDirs, p.addDirs = nil, nil
	}
	for _, d := range c.AddDirs {
		if !IsClean(d) {
			return Policy{}, &RefusedError{What: fmt.Sprintf("added folder %q", d), Why: "not an absolute clean path"}
		}
		if err := checkFolder("added folder", d, c); err != nil {
			return Policy{}, err
		}
	}
	// The deepest rule decides, so a folder inside a protected place would
	// lift the protection, which only unprotect may do.
	c.AddDirs = slices.DeleteFunc(slices.Clone(c.AddDirs), func(d string) bool {
		i := slices.IndexFunc(c.Protected, func(r PathRule) bool { return Inside(d, r.Path) && !Inside(c.Workspace, r.Path) })
		if i >= 0 {
			p.warnings = append(p.warnings, fmt.Sprintf("added folder %q stays read-only: %s is protected", d, c.Protected[i].Path))
		}
		return i >= 0
	})
	p.addDirs = slices.Clone(c.AddDirs)
	// Where git keeps its files is what the workspace says: it opens nothing
	// that a person could not open by name.
	var gitDirs []string
	for _, d := range c.GitDirs {
		err := checkFolder("git directory", d, c)
		if err == nil && !IsClean(d) {
			err = &RefusedError{What: fmt.Sprintf("git directory %q", d), Why: "not an absolute clean path"}
		}
		if err != nil {
			p.warnings = append(p.warnings, err.Error()+"; git cannot write there")
			continue
		}
		gitDirs = append(gitDirs, d)
	}
	c.GitDirs = gitDirs
	p.files = NewTable(c.rules())
	if !p.HasNetwork() {
		if n := c.Network; len(n.Allow)+len(n.LocalPorts)+len(n.AllowPrivate) > 0 {
			p.warnings = append(p.warnings, p.NoNetwork().Text+": the hosts that were allowed are left out")
		}
		return p, nil
	}
	if p.network, err = NewNetwork(c.Network); err != nil {
		return Policy{}, fmt.Errorf("network rules: %w", err)
	}
	return p, nil
}

// reserved folders are the kernel's or the sandbox's own.
var reserved = [...]string{"/proc", "/sys", "/dev", "/run", "/boot"}

// checkFolder refuses a writable folder that is a credential location, lies
// in one or holds one, a home or its parents, or a system folder.
func checkFolder(kind, dir string, c Config) error {
	refuse := func(why, lift string) error {
		return &RefusedError{What: fmt.Sprintf("%s %q", kind, dir), Why: why, Lift: lift}
	}
	pick := "name a project folder with -C DIR"
	if kind != "workspace" {
		pick = "name a folder inside it that holds no secrets"
	}
	if why := c.tooWide(dir); why != "" {
		return refuse(why, pick)
	}
	inCache := c.InCache(dir) // the secrets inside a cache are masked
	for _, h := range c.Hidden {
		if Inside(dir, h.Path) {
			return refuse("it is or lies in "+h.Path+": "+h.Rule().Text, pick)
		}
		// What the settings hide may lie in a writable folder: that is its use.
		if !inCache && !h.IsSetting() && Inside(h.Path, dir) {
			return refuse("it contains "+h.Path+": "+h.Rule().Text, pick)
		}
	}
	return nil
}

func reservedPlace(dir string) string {
	for _, r := range reserved {
		if Inside(dir, r) && !Inside(dir, "/run/media") {
			return r
		}
	}
	return ""
}

// OwnPlace reports whether the sandbox has something of its own at dir, a real
// path: taken for a home folder, the host's would be shown there instead.
func OwnPlace(dir string) bool {
	return reservedPlace(dir) != "" || dir == "/tmp" || dir == "/var/tmp"
}

// tooWide says why a folder may never be writable, whatever it holds.
func (c Config) tooWide(dir string) string {
	for _, h := range c.Homes {
		if dir == h {
			return "it is a home folder, which holds credentials and start-up files"
		}
		if Inside(h, dir) {
			return "it holds the home folder " + h
		}
	}
	if r := reservedPlace(dir); r != "" {
		return r + " belongs to the system and is private in the sandbox"
	}
	switch dir {
	case "/", "/tmp", "/var/tmp", "/var", "/usr", "/etc", "/opt", "/srv", "/bin", "/sbin", "/lib", "/home":
		return "it is shared by the whole system; make a folder in it"
	}
	if c.MacOS != nil && c.MacOS.wide(dir) {
		return "it is shared by the whole system; make a folder in it"
	}
	return ""
}

// systemRules are those for the places that every sandbox has.
func (c Config) systemRules() []PathRule {
	if c.MacOS != nil {
		return c.MacOS.rules(c.Temp, c.TempOrigin)
	}
	fixed := FixedRule
	write, temp := Private, "the sandbox has its own temp folder, empty at the start"
	if c.Temp == HostTemp {
		write, temp = ReadWrite, "the host's temp folder"
	}
	rs := make([]PathRule, 0, len(c.Hidden)+len(c.Protected)+len(c.Caches)+40)
	rs = append(rs,
		fixed("/", ReadOnly, "root", "the system is read-only in the sandbox"),
		fixed("/tmp", write, "temp", temp).From(c.TempOrigin),
		fixed("/var/tmp", write, "temp", temp).From(c.TempOrigin),
		fixed("/dev", ReadOnly, "devices", "the sandbox has a minimal /dev"),
		fixed("/dev/shm", Private, "temp", "the sandbox has its own shared memory"),
		fixed("/dev/pts", Private, "devices", "the sandbox has its own terminals"),
		fixed("/proc", ReadOnly, "proc", "the sandbox sees its own processes only"),
		fixed("/sys", ReadOnly, "sys", "the kernel's settings are read-only"),
		fixed("/run", ReadOnly, "run", "the sandbox has its own, empty /run"),
	)
	for _, d := range devices {
		rs = append(rs, fixed("/dev/"+d, ReadWrite, "devices", "a harmless device"))
	}
	if c.RunUser != "" {
		rs = append(rs, fixed(c.RunUser, Private, "run", "the sandbox has its own runtime folder"))
	}
	return rs
}

func (c Config) rules() []PathRule {
	fixed := FixedRule
	rs := c.systemRules()
	for _, h := range c.Homes {
		home := PathRule{Path: h, Access: ReadOnly, kind: kindHome}
		if !c.CacheAccess() { // where --add-dir lifts nothing
			home = fixed(h, ReadOnly, "home", "the home folder is read-only in the sandbox")
		}
		rs = append(rs, home)
	}
	ws, text := ReadWrite, "the workspace"
	if c.Mode == ReadOnlyMode {
		ws, text = ReadOnly, "the workspace is not writable in read-only"
	}
	if c.Profile == ScratchProfile {
		rs = append(rs, fixed(c.Workspace, ws, scratchID, "the scratch profile writes its own folder alone"))
	} else {
		rs = append(rs, fixed(c.Workspace, ws, "workspace", text))
	}
	for _, d := range c.AddDirs {
		r := fixed(d, ReadWrite, "add-dir", "an added folder")
		if o, ok := c.DirOrigins[d]; ok {
			r = r.From(o)
		}
		rs = append(rs, r)
	}
	hidden := make(pathSet, len(c.Hidden))
	for _, r := range c.Hidden {
		hidden[r.Path] = struct{}{}
	}
	if c.CacheAccess() {
		for _, r := range c.Caches {
			// A variable may name any folder as a cache.
			if c.tooWide(r.Path) == "" && !hidden.holds(r.Path) && !c.asFolder(r) {
				rs = append(rs, r)
			}
		}
		for _, d := range c.GitDirs {
			rs = append(rs, fixed(d, ReadWrite, "git-dir", "the git directory of this working tree"))
		}
	}
	for _, r := range c.Protected {
		if !hidden.holds(r.Path) {
			rs = append(rs, r)
		}
	}
	return append(rs, c.Hidden...)
}

// asFolder reports whether a cache that would be private lies in a folder that
// is writable anyway: it is part of that one, whether it exists or not.
func (c Config) asFolder(cache PathRule) bool {
	inside := func(dir string) bool { return Inside(cache.Path, dir) }
	return cache.Access == PrivateCopy && (inside(c.Workspace) || slices.ContainsFunc(c.AddDirs, inside) || slices.ContainsFunc(c.GitDirs, inside))
}

// devices are the nodes the sandbox's /dev has.
var devices = [...]string{"null", "zero", "full", "random", "urandom", "tty", "ptmx"}

// Devices lists the names of the device nodes in the sandbox's /dev.
func Devices() []string { return devices[:6] } // ptmx is devpts' own

// pathSet is a set of absolute paths.
type pathSet map[string]struct{}

// holds reports whether path is, or is inside, one of the set. There are many
// of both.
func (s pathSet) holds(path string) bool {
	for d := path; ; d = Parent(d) {
		if _, ok := s[d]; ok {
			return true
		}
		if d == "/" {
			return false
		}
	}
}

// HasControl reports whether a path holds a control character; such a name is
// shown quoted, never raw.
func HasControl(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }) >= 0
}
