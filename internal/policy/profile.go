package policy

import (
	"fmt"
	"slices"
)

// Profile narrows a tier for one kind of command; no profile allows more than
// the tier without it. The zero value narrows nothing.
type Profile uint8

const (
	NoProfile Profile = iota
	// InstallProfile is for package installs: of the workspace only dependency
	// folders, lock files and, where the command changes them, manifests can be
	// written; only package registries can be reached (SPEC F9).
	InstallProfile
	// ScratchProfile writes an empty folder of its own, in which it starts, and
	// reaches no network (SPEC F10).
	ScratchProfile
)

var profileNames = [...]string{"", "install", "scratch"}

func (p Profile) String() string {
	if int(p) < len(profileNames) {
		return profileNames[p]
	}
	return fmt.Sprintf("profile(%d)", uint8(p))
}

// ParseProfile reads a profile's name; any other text is an error.
func ParseProfile(s string) (Profile, error) {
	for i, n := range profileNames {
		if i > 0 && s == n {
			return Profile(i), nil
		}
	}
	return NoProfile, fmt.Errorf("unknown profile %q: it is install or scratch", s)
}

// Install is what one package installation needs, for InstallProfile. The
// zero value writes nothing in the workspace.
type Install struct {
	// Folders and Files may be written at any depth of the workspace, see
	// WriteNames.
	Folders, Files []string
	// Hosts are those rules of Network.Allow that hold in the profile too: what
	// a person named for this very run. A rule that is not in Network.Allow does
	// not become one by standing here.
	Hosts []HostRule
	// Lift is what to do to run without the profile; "" is the setting.
	Lift string
}

// installLift is how a person turns the profile off where it was chosen for
// them.
func (c *Config) installLift() string {
	switch {
	case c.Install.Lift != "":
		return c.Install.Lift
	case c.Tier == Airlock:
		return `--tier guarded with install_profile = "off" in ` + UserFile + ` runs it without the install profile`
	}
	return `install_profile = "off" in ` + UserFile + ` runs it without the install profile`
}

const (
	scratchID   = "workspace:scratch"
	scratchLift = "run it without --profile scratch"
)

func scratchRule(id, text string) Rule { return Rule{ID: id, Text: text, Lift: scratchLift} }

// Narrow applies the profile: what it does not want is taken out, and told
// where a person asked for it. New does it; whoever looks at the host for a
// Config does it before, so that both see the same. Done twice it changes
// nothing more. It never widens.
func (c *Config) Narrow() (leftOut []string, err error) {
	tier := c.Tier
	if c.Mode != NoMode {
		tier = c.Mode.Tier()
	}
	switch {
	case c.Profile > ScratchProfile:
		return nil, fmt.Errorf("unknown profile %d", c.Profile)
	case c.Profile == NoProfile:
		return nil, nil
	case tier == Open:
		return nil, &RefusedError{
			What: "the " + c.Profile.String() + " profile", Why: "the open tier has no sandbox that would hold it", Lift: "--tier guarded, or leave --profile out",
		}
	}
	if slices.ContainsFunc(c.AddDirs, func(d string) bool { return c.DirOrigins[d].Line == 0 }) { // typed for this run
		leftOut = append(leftOut, "added folders are not writable in the "+c.Profile.String()+" profile")
	}
	c.AddDirs = nil
	c.GitDirs = nil
	if c.Profile == ScratchProfile {
		c.Mode, c.Temp = ReadOnlyMode, PrivateTemp
		return leftOut, nil
	}
	if !c.Guard && c.Mode != ReadOnlyMode {
		return nil, &RefusedError{
			What: "the install profile", Why: "only the name guard can hold it, and that is off or cannot work here (it needs Linux 5.19)",
			Lift: "--guard on, or " + c.installLift(),
		}
	}
	return append(leftOut, c.narrowInstall()...), nil
}

func (c *Config) narrowInstall() (leftOut []string) {
	lift := c.installLift()
	c.Writes = WriteNames{
		On: true, Folders: c.Install.Folders, Files: c.Install.Files,
		Rule: Rule{ID: "install:write", Text: "a package install writes only dependency folders, lock files and, where the command changes it, the manifest", Lift: lift},
	}
	if !slices.ContainsFunc(c.Protected, func(r PathRule) bool { return r.kind == kindInstall }) {
		// A mount holds it, where it is there, besides the guard.
		c.Protected = append(slices.Clip(c.Protected), PathRule{Path: c.Workspace + "/.git", Access: ReadOnly, kind: kindInstall, what: lift})
	}
	n := &c.Network
	kept := NetworkConfig{
		Deny: n.Deny, NoDefaults: n.NoDefaults,
		Registries: Rule{ID: "install:host", Text: "a package install reaches only package registries", Lift: "--allow-domain HOST lets this run reach it; " + lift},
	}
	for _, r := range n.Allow {
		if slices.ContainsFunc(c.Install.Hosts, func(h HostRule) bool {
			h.origin = r.origin
			return h == r
		}) {
			kept.Allow = append(kept.Allow, r)
		}
	}
	for _, r := range n.AllowPrivate {
		// An internal name or address would be opened by this alone.
		if _, literal := r.host.Addr(); !literal && classOfHost(r.host) == Public {
			kept.AllowPrivate = append(kept.AllowPrivate, r)
		}
	}
	if (NetworkConfig{LocalPorts: n.LocalPorts, PortOrigins: n.PortOrigins}).typed() {
		leftOut = append(leftOut, "local ports are out of reach in the install profile")
	}
	*n = kept
	return leftOut
}

// Profile is the profile that the policy follows.
func (p Policy) Profile() Profile { return p.profile }
