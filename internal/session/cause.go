//go:build unix

package session

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// explain gives what the guard told the rule that the policy has for it, with
// the place where that was written: the guard knows neither. false: it is no
// denial.
func explain(p policy.Policy, e *sandbox.NameEvent) bool {
	if e.Failed {
		rule, ok := causeOf(p, e.Path)
		e.Rule = rule
		return ok
	}
	if rule := p.Files().Lookup(e.Path); rule.IsSetting() && rule.Rule().ID == e.Rule.ID && e.Rule.Origin == (policy.Origin{}) {
		e.Rule = rule.Rule()
	}
	return true
}

// causeOf is the rule by which a command could not make or change a name.
// There is none if the policy allows it, or if it could not be done outside
// the sandbox either: an error that the policy did not cause is no denial.
func causeOf(p policy.Policy, path string) (policy.Rule, bool) {
	if byTheWay(path) {
		return policy.Rule{}, false
	}
	real, err := theirPlace(p, path)
	if err != nil {
		return policy.Rule{}, false
	}
	d := p.Decide(policy.Write{Path: real})
	if d.Verdict == policy.Allow || !writableOutside(real) {
		return policy.Rule{}, false
	}
	return d.Rule, true
}

// byTheWay reports whether a name is one that tools try to write with every
// command and do without: told, it would hide what a command really failed by.
func byTheWay(path string) bool {
	return strings.Contains(path+"/", "/__pycache__/") || // Python, for every module
		strings.Contains(path, "/go/telemetry/local/") // go, its counters
}

// writableOutside reports whether this process could make or change the path.
func writableOutside(path string) bool {
	err := unix.Access(path, unix.W_OK)
	if err == unix.ENOENT {
		err = unix.Access(filepath.Dir(path), unix.W_OK)
	}
	return err == nil
}
