package policy

import "fmt"

// Tier is how much a command may do. The zero value is Airlock, the strictest.
type Tier uint8

const (
	// Airlock: writes only in the workspace and a private temp; no network.
	Airlock Tier = iota
	// Guarded: also the tool caches, and the network by the allowlist.
	Guarded
	// Open: no sandbox; the caller's own permissions.
	Open
)

var tierNames = [...]string{"airlock", "guarded", "open"}

func (t Tier) String() string {
	if int(t) < len(tierNames) {
		return tierNames[t]
	}
	return fmt.Sprintf("tier(%d)", uint8(t))
}

// ParseTier reads a tier's name; any other text is an error that lists them.
func ParseTier(s string) (Tier, error) {
	for i, n := range tierNames {
		if s == n {
			return Tier(i), nil
		}
	}
	return Airlock, fmt.Errorf("unknown tier %q: it is open, guarded or airlock", s)
}

// Mode fixes a whole run to one behaviour (SPEC T7). The zero value fixes
// nothing: the tier decides.
type Mode uint8

const (
	NoMode Mode = iota
	// ReadOnly: no writes but a private temp, no network.
	ReadOnlyMode
	// WorkspaceWrite: as guarded, never asking.
	WorkspaceWrite
	// DangerFullAccess: as open, fixed.
	DangerFullAccess
)

var modeNames = [...]string{"", "read-only", "workspace-write", "danger-full-access"}

func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// ParseMode reads a fixed mode's name.
func ParseMode(s string) (Mode, error) {
	for i, n := range modeNames {
		if i > 0 && s == n {
			return Mode(i), nil
		}
	}
	return NoMode, fmt.Errorf("unknown sandbox mode %q: it is read-only, workspace-write or danger-full-access", s)
}

// Tier returns the tier whose network and escape rules a fixed mode follows.
func (m Mode) Tier() Tier {
	switch m {
	case WorkspaceWrite:
		return Guarded
	case DangerFullAccess:
		return Open
	}
	return Airlock
}
