package policy

import (
	"fmt"
	"slices"
)

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
	// Repository is the folder above the workspace in which its repository
	// begins, "" for none. It grants nothing: denials name it.
	Repository string

	// About, if Few is set, are the only paths that the policy answers about;
	// rules that decide about none of them may be left out above.
	About []string

	// DirOrigins says where an added folder was named, if a file did, and
	// TempOrigin where Temp was.
	DirOrigins map[string]Origin
	TempOrigin Origin

	Network NetworkConfig
	Few     bool // About alone will be asked about: the table of paths is not sorted
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
	// Named are places that git's settings name and where nothing is yet.
	Named []string
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
		guard: c.Guard, profile: c.Profile, warnings: left, lifted: slices.Clone(c.Lifted), open: slices.Clone(c.Unprotected), named: slices.Clone(c.Named),
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
	if c.Mode != ReadOnlyMode && c.Profile == NoProfile && c.Repository != "" && checkFolder("workspace", c.Repository, c) == nil {
		p.repository = c.Repository
	}
	if p.files = (Table{rules: c.rules(), loose: c.Few, about: slices.Clone(c.About)}); !c.Few {
		p.files = newTable(p.files.rules)
	}
	if !p.HasNetwork() {
		if c.Network.typed() {
			p.warnings = append(p.warnings, p.NoNetwork().Text+": the hosts that were allowed are left out")
		}
		return p, nil
	}
	if p.network, err = NewNetwork(c.Network); err != nil {
		return Policy{}, fmt.Errorf("network rules: %w", err)
	}
	return p, nil
}

// typed reports whether something is allowed for this run alone: what a file
// says for every run goes without saying where there is no network.
func (c NetworkConfig) typed() bool {
	typed := func(r HostRule) bool { return r.origin.Line == 0 }
	return slices.ContainsFunc(c.Allow, typed) || slices.ContainsFunc(c.AllowPrivate, typed) ||
		slices.ContainsFunc(c.LocalPorts, func(p uint16) bool { return c.PortOrigins[p].Line == 0 })
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
		if !inCache && !h.IsSetting() && !h.IsSingle() && Inside(h.Path, dir) {
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
