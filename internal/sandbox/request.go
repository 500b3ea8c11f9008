package sandbox

import (
	"strings"

	"bawn/internal/policy"
)

// Request is what a caller asks for, before anything is checked.
type Request struct {
	Tier       policy.Tier
	Mode       policy.Mode
	Workspace  string   // "" is the current folder
	AddDirs    []string // relative to the current folder
	Temp       policy.TempMode
	Env        policy.EnvRules
	Environ    []string // the caller's environment
	Asking     []string // that of the process which asks for it, where it is another: what it names is hidden as well
	Network    policy.NetworkConfig
	Caches     policy.CacheMode
	Guard      bool          // names that do not exist yet can be held too
	TempOrigin policy.Origin // who set Temp

	// What settings say. Paths are absolute and clean, not yet real.

	// Folders are added as AddDirs are.
	Folders []Folder
	// MayAdd refuses an added folder, by its real path; nil refuses none.
	MayAdd func(real string) error
	// Own are files and folders of bawn's own settings and state: hidden.
	Own []string
	// Layers is the folder for what is written in private caches, made when
	// there is something. No sandboxed command may reach it.
	Layers string
	// Locks are Guard.Locks. No sandboxed command may reach them.
	Locks []string
	// Settings are hidden and read-only places: rules of policy.SettingRule.
	Settings []policy.PathRule
	// Lifted are ids of protected names that do not hold, Unprotected places
	// in which none does.
	Lifted, Unprotected []string

	// Plugins are folders that installed plugins declare (SPEC F7): added as
	// AddDirs are, but left out with a warning where they cannot be.
	Plugins []PluginFolder

	// Preset is what a coding agent needs of its own, for its own process; nil
	// for every other command. It holds in guarded and workspace-write alone.
	Preset *Preset

	// Profile narrows all of this for one kind of command; Install is what
	// policy.InstallProfile needs to know.
	Profile policy.Profile
	Install policy.Install

	// Decisions: the policy is asked about the real paths About, and denies every
	// other; nothing is started. The Host lacks what only a file system is made
	// from. Reads: besides, nothing is asked about writes, and the policy does not
	// know of protected names.
	Decisions, Reads bool
	About            []string
}

// Preset opens what a coding agent keeps for itself: its own credentials (the
// rules whose PathRule.Agent it is), and the folders of its state.
type Preset struct {
	Agent, Title string
	// State are folders that it writes, absolute and clean, not yet real; Kept
	// the names in them that stay as they are, Private those that it writes in a
	// copy of the sandbox's own, where they are folders; else they are kept.
	State, Kept, Private []string
	Hosts                []policy.HostRule
	Env                  []string // names of variables that it sees
	// Shell is a variable that names the shim through which the agent is to run
	// commands, and the shim; "" for none.
	Shell, Shim string
	Origin      policy.Origin
}

// PluginFolder is a folder that a plugin's manifest names.
type PluginFolder struct {
	Path   string // absolute and clean, not yet real
	Plugin string
	Origin policy.Origin
}

// Folder is a folder to add, and who named it.
type Folder struct {
	Path   string
	Origin policy.Origin
	// Must: where it cannot be added the run is refused. Otherwise it is left
	// out with a warning.
	Must bool
}

// Keep names what is bawn's own, by its folders of settings and of state and
// the user's runtime folder, each "" if that is unknown: the first two are
// hidden, and layers and locks lie in the last two.
func (r *Request) Keep(settings, state, runtime string) {
	for _, dir := range []string{settings, state} {
		if dir != "" {
			r.Own = append(r.Own, dir)
		}
	}
	r.Layers, r.Locks = LayersIn(state), LocksIn(state, runtime)
}

// LocksIn is where Request.Locks lie: in bawn's state folder, and in the
// user's runtime folder, either "" if that is unknown.
func LocksIn(state, runtime string) (out []string) {
	if state != "" {
		out = append(out, state+"/guard.lock")
	}
	if strings.HasPrefix(runtime, "/") {
		out = append(out, runtime+"/bawn/guard.lock")
	}
	return out
}

// LayersIn is where layers lie in bawn's state folder; "" if that is unknown.
// They cannot lie in its cache folder, which is one of those that they cover.
func LayersIn(state string) string {
	if state == "" {
		return ""
	}
	return state + "/caches"
}
