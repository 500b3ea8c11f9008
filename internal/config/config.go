package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"bawn/internal/policy"
	"bawn/internal/shell/plain"
)

// Config is what all layers say together: an immutable value. The zero Config
// is the defaults of the table of keys.
type Config struct {
	workspace    string
	items        [numKeys][]Item
	clampedHosts bool // the built-in hosts are in the list, as far as they hold
	maxTier      Item // of the requirements; Text "" for none
	maxMode      Item // the same of the permission mode
	maxFolders   bool // the requirements list folders:
	folderLimit  []Item
	foldersBy    policy.Origin
	required     *values // the requirements; nil for none
	project      bool    // the workspace has a file
	trusted      bool
	pending      []Pending
	warnings     []string
	files        []string
}

// Items returns the entries of a list, the weakest layer's first, or the one
// value of a single key (with no Origin where it is the default). The key is
// named in full, as sandbox.exclude; an unknown one has none.
func (c Config) Items(path string) []Item {
	k := findKey(path)
	switch {
	case k < 0:
		return nil
	case keys[k].Kind.single(), c.defaultKeys(k):
		return []Item{c.value(k)}
	}
	return slices.Clone(c.items[k])
}

// Warnings returns what a person should know: settings that hold but open
// more than they say, and those that do not hold.
func (c Config) Warnings() []string { return slices.Clone(c.warnings) }

// Pending returns the settings of the project's file that were not taken.
func (c Config) Pending() []Pending { return slices.Clone(c.pending) }

// Files returns the files that were read, by the path at which commands must
// not be able to change them (of a link, where it leads).
func (c Config) Files() []string { return slices.Clone(c.files) }

// Project says whether the workspace has a file of its own, and whether that
// is trusted.
func (c Config) Project() (exists, trusted bool) { return c.project, c.trusted }

func (c Config) texts(k int) []string {
	out := make([]string, len(c.items[k]))
	for i, it := range c.items[k] {
		out[i] = it.Text
	}
	return out
}

// Enabled is the switch for agents that bawn is attached to (SPEC T2).
func (c Config) Enabled() bool { return c.value(keyEnabled).Text == "true" }

// Tier returns the tier to start in. Headless (nobody can be asked), one that
// is wider than guarded holds only if the command line says so (SPEC T8); then
// the next layer's counts.
func (c Config) Tier(headless bool) (policy.Tier, Item) {
	items := c.items[keyTier]
	for i := len(items) - 1; i >= 0; i-- {
		t, err := policy.ParseTier(items[i].Text)
		if err != nil { // no value that was read is one
			return policy.Airlock, items[i]
		}
		if !headless || t <= policy.Guarded || items[i].Layer == Flags {
			return t, items[i]
		}
	}
	return policy.Guarded, Item{Text: policy.Guarded.String()}
}

// AllowTier refuses a tier, or a fixed mode's tier, that the managed
// requirements exclude: what is asked for while a session runs is not in any
// layer.
func (c Config) AllowTier(t policy.Tier) error {
	if c.maxTier.Text == "" {
		return nil
	}
	if most, err := policy.ParseTier(c.maxTier.Text); err != nil || t > most {
		return &policy.RefusedError{
			What: "the tier " + t.String(), Why: fmt.Sprintf("the managed requirements allow %s at most (%s)", c.maxTier.Text, shown(c.maxTier.Origin.String())),
		}
	}
	return nil
}

// AllowMode is AllowTier for the mode of permissions: ask, auto or bypass.
func (c Config) AllowMode(mode string) error {
	if key := &keys[keyMode]; c.maxMode.Text == "" || key.rank(mode) <= key.rank(c.maxMode.Text) {
		return nil
	}
	return &policy.RefusedError{
		What: "the permission mode " + mode, Why: fmt.Sprintf("the managed requirements allow %s at most (%s)", c.maxMode.Text, shown(c.maxMode.Origin.String())),
	}
}

// AllowFolder refuses an added folder that the managed requirements exclude.
// It is asked with the real path: that of a setting may lead elsewhere by a
// link.
func (c Config) AllowFolder(real string) error {
	if !c.maxFolders {
		return nil
	}
	for _, it := range c.folderLimit {
		if at, err := filepath.EvalSymlinks(it.Text); err == nil && policy.Inside(real, filepath.ToSlash(at)) {
			return nil
		}
	}
	return &policy.RefusedError{What: fmt.Sprintf("added folder %q", real), Why: "the managed requirements exclude it (" + shown(c.foldersBy.String()) + ")"}
}

// Folders returns the folders to add to the workspace (SPEC F6), before links
// are resolved. Those that policy.Config.CheckFolder refuses are dropped with
// a warning.
func (c Config) Folders() []Item { return slices.Clone(c.items[keyAllowedPaths]) }

// Network returns the rules for hosts. With [sandbox.proxy] enabled = false
// it is Off.
func (c Config) Network() policy.NetworkConfig {
	n := policy.NetworkConfig{
		Allow: c.hosts(keyAllowed), Deny: c.hosts(keyDenied), AllowPrivate: c.hosts(keyPrivate),
		NoDefaults: c.clampedHosts || c.value(keyDefaults).Text != "true",
	}
	if it := c.value(keyProxy); it.Text != "true" {
		n.Off, n.Origin = true, it.Origin
	}
	for _, it := range c.items[keyLocalPorts] {
		p, err := strconv.ParseUint(it.Text, 10, 16)
		if err == nil && p != 0 {
			n.LocalPorts = append(n.LocalPorts, uint16(p))
			if n.PortOrigins == nil {
				n.PortOrigins = map[uint16]policy.Origin{}
			}
			n.PortOrigins[uint16(p)] = it.Origin
		}
	}
	return n
}

func (c Config) hosts(k int) []policy.HostRule {
	if len(c.items[k]) == 0 {
		return nil
	}
	out := make([]policy.HostRule, len(c.items[k]))
	for i, it := range c.items[k] {
		out[i] = it.host
	}
	return out
}

// Upstream is how bawn itself connects.
type Upstream uint8

const (
	UpstreamNone Upstream = iota // directly
	UpstreamEnv                  // through the proxy of the environment, if there is one
	UpstreamURL                  // through the given one
)

// Egress says whether guarded commands have a way out, and through which
// proxy bawn connects. The URL may hold a password: it is never printed.
func (c Config) Egress() (enabled bool, how Upstream, url string) {
	enabled = c.value(keyProxy).Text == "true"
	switch text := c.value(keyUpstream).Text; text {
	case "env":
		return enabled, UpstreamEnv, ""
	case "none":
		return enabled, UpstreamNone, ""
	default:
		return enabled, UpstreamURL, text
	}
}

// Env returns the rules for variables (SPEC E1).
func (c Config) Env() policy.EnvRules {
	return policy.EnvRules{Keep: c.texts(keyEnvKeep), Drop: c.texts(keyEnvDrop)}
}

// Temp says where temporary files go (SPEC F5).
func (c Config) Temp() policy.TempMode {
	if c.value(keyTmp).Text == "host" {
		return policy.HostTemp
	}
	return policy.PrivateTemp
}

// Caches says whether guarded commands write the tools' caches themselves or a
// copy of the sandbox's own.
func (c Config) Caches() policy.CacheMode {
	if c.value(keyCaches).Text == "shared" {
		return policy.SharedCaches
	}
	return policy.PrivateCaches
}

// Guard reports whether names that do not exist yet are guarded.
func (c Config) Guard() bool { return c.value(keyGuard).Text != "off" }

// Launcher is auto, native or bwrap.
func (c Config) Launcher() string { return c.value(keyLauncher).Text }

// Search is the address of the search service, "" for none.
func (c Config) Search() string {
	if at := c.value(keySearch).Text; at != "none" {
		return at
	}
	return ""
}

// StrictPrecheck reports whether absolute paths outside the writable ones are
// refused by the command's text (SPEC C2).
func (c Config) StrictPrecheck() bool { return c.value(keyPrecheck).Text != "default" }

// Hidden returns rules for the places that are hidden besides the credentials.
func (c Config) Hidden() []policy.PathRule { return c.places(keyHidden, policy.Hidden) }

// Protect returns rules for the places that stay read-only besides the
// protected names. They win over Unprotect.
func (c Config) Protect() []policy.PathRule { return c.places(keyProtect, policy.ReadOnly) }

func (c Config) places(k int, a policy.Access) []policy.PathRule {
	var out []policy.PathRule
	for _, it := range c.items[k] {
		out = append(out, policy.SettingRule(it.Text, a, it.Origin))
	}
	return out
}

// Unprotect returns what of the protected names the user lifted: their ids,
// and the places in which none holds.
func (c Config) Unprotect() (ids, places []string) {
	for _, it := range c.items[keyUnprotect] {
		if policy.IsClean(it.Text) {
			places = append(places, it.Text)
		} else {
			ids = append(ids, it.Text)
		}
	}
	return ids, places
}

// Presets reports whether bawn wrap uses what it knows of agents.
func (c Config) Presets() bool { return c.value(keyPresets).Text == "true" }

// Required leaves out of further hosts and variables, which no layer names,
// what the managed requirements exclude.
func (c Config) Required(hosts []policy.HostRule, env []string) ([]policy.HostRule, []string) {
	r := c.required
	if r != nil && r.set[keyAllowed] {
		within := newLimit(&keys[keyAllowed], r.items[keyAllowed])
		hosts = slices.DeleteFunc(slices.Clone(hosts), func(h policy.HostRule) bool { return !within(Item{Text: h.String(), host: h}) })
	}
	if r != nil && r.set[keyEnvKeep] {
		within := newLimit(&keys[keyEnvKeep], r.items[keyEnvKeep])
		env = slices.DeleteFunc(slices.Clone(env), func(name string) bool { return !within(Item{Text: name}) })
	}
	return hosts, env
}

// NarrowInstalls reports whether package installs get the narrower profile in
// guarded; in airlock they always do (SPEC F9). Unless it is set, it depends on
// whether somebody wrote folders or hosts into a file by hand: saved answers,
// variables and flags do not count, nor what waits for trust.
func (c Config) NarrowInstalls() bool {
	switch c.value(keyInstall).Text {
	case "off":
		return false
	case "auto":
		for _, k := range [...]int{keyAllowedPaths, keyAllowed} {
			for _, it := range c.items[k] {
				if it.Layer == Managed || it.Layer == User || it.Layer == ProjectFile {
					return false
				}
			}
		}
	}
	return true
}

// Exceptions returns the commands that may run outside (SPEC C3, C4); none of
// them comes from a project's file.
func (c Config) Exceptions() plain.Exceptions {
	var e plain.Exceptions
	// What was read once is read again; an error could only make them fewer.
	for _, it := range c.items[keyExclude] {
		if x, _, err := plain.ParseExclusion(it.Text, it.Origin); err == nil {
			e.Exclude = append(e.Exclude, x)
		}
	}
	for _, it := range c.items[keyEscape] {
		if h, _, err := plain.ParseHatch(it.Text, it.Origin); err == nil {
			e.Hatches = append(e.Hatches, h)
		}
	}
	return e
}

// Permissions is whether commands run at all (SPEC C1).
type Permissions struct {
	Mode             string // ask, auto or bypass, for policy.ParsePermissionMode
	Allow, Ask, Deny []plain.Pattern
}

// Permissions returns the mode and the rules by command.
func (c Config) Permissions() Permissions {
	return Permissions{c.value(keyMode).Text, c.patterns(keyRunAllow), c.patterns(keyRunAsk), c.patterns(keyRunDeny)}
}

func (c Config) patterns(k int) []plain.Pattern {
	var out []plain.Pattern
	for _, it := range c.items[k] {
		out = append(out, *it.pattern)
	}
	return out
}

// Keys returns the keys of an action of [keybindings], as alt+s; none for an
// unknown action.
func (c Config) Keys(action string) []string {
	k := findKey("keybindings." + action)
	if k < 0 {
		return nil
	}
	if c.defaultKeys(k) {
		return []string{keys[k].Default}
	}
	return c.texts(k)
}

// defaultKeys reports whether an action has the key that it has by itself: an
// empty list takes it away.
func (c Config) defaultKeys(k int) bool {
	return keys[k].Kind == Chords && c.items[k] == nil && keys[k].Default != ""
}
