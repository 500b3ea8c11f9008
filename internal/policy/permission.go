package policy

import "fmt"

// PermissionMode is how commands without a rule are treated (SPEC C1). The
// zero value asks.
type PermissionMode uint8

const (
	// AskMode: a command without a rule is a question.
	AskMode PermissionMode = iota
	// AutoMode: it runs, if the sandbox holds it or it only reads.
	AutoMode
	// BypassMode: everything runs that no rule denies.
	BypassMode
)

var permissionNames = [...]string{"ask", "auto", "bypass"}

func (m PermissionMode) String() string {
	if int(m) < len(permissionNames) {
		return permissionNames[m]
	}
	return fmt.Sprintf("permission(%d)", uint8(m))
}

// ParsePermissionMode reads a mode's name.
func ParsePermissionMode(s string) (PermissionMode, error) {
	for i, n := range permissionNames {
		if s == n {
			return PermissionMode(i), nil
		}
	}
	return AskMode, fmt.Errorf("unknown permission mode %q: ask, auto or bypass", s)
}
