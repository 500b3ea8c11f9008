package sandbox

import "bawn/internal/policy"

// Request is what a caller asks for, before anything is checked.
type Request struct {
	Tier      policy.Tier
	Mode      policy.Mode
	Workspace string   // "" is the current folder
	AddDirs   []string // relative to the current folder
	Temp      policy.TempMode
	Env       policy.EnvRules
	Environ   []string // the caller's environment
	Network   policy.NetworkConfig
	Guard     bool // names that do not exist yet can be held too
}
