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
	named     []string // Config.Named
	macOS     MacOS
	warnings  []string

	repository string // Config.Repository, where it could be the workspace
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
	if w, ok := a.(Write); ok && d.Verdict == Deny && (d.Rule.ID == "home" || d.Rule.ID == "root") && p.repository != "" && Inside(w.Path, p.repository) {
		d.Rule.Text = "it belongs to the workspace's repository, but the workspace is a folder further down in that"
		d.Rule.Lift = fmt.Sprintf("--workspace %q makes all of the repository writable", p.repository)
		return d
	}
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

// HasControl reports whether a path holds a control character; such a name is
// shown quoted, never raw.
func HasControl(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }) >= 0
}
