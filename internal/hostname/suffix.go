package hostname

import (
	_ "embed"
	"fmt"
	"strings"

	"bawn/internal/policy"
)

// ParseRule is policy.ParseHostRule for what a person writes: the host may be
// international. Errors wrap policy.ErrHost.
func ParseRule(s string, o policy.Origin) (policy.HostRule, error) {
	if plain(s) {
		return policy.ParseHostRule(s, o)
	}
	body, insists := strings.CutSuffix(s, "!")
	name, below := strings.CutPrefix(body, "*.")
	name, port, hasPort := strings.Cut(name, ":")
	a, err := ToASCII(name)
	if err != nil {
		return policy.HostRule{}, err
	}
	if below {
		a = "*." + a
	}
	if hasPort {
		a += ":" + port
	}
	if insists {
		a += "!"
	}
	return policy.ParseHostRule(a, o)
}

// ParseAllowed is ParseRule for a rule that allows: CheckRule holds for it.
func ParseAllowed(s string, o policy.Origin) (policy.HostRule, error) {
	r, err := ParseRule(s, o)
	if err == nil {
		err = CheckRule(r)
	}
	return r, err
}

// CheckRule refuses an allowing rule for a top-level domain or another public
// suffix (com, *.co.uk, github.io): it would open the hosts of everybody who
// registers below it. A final ! in the rule insists, as in "*.github.io!".
// The error is a *policy.RefusedError. A denying rule may be as wide as it
// likes and needs no check.
func CheckRule(r policy.HostRule) error {
	name := r.Host().String()
	if _, isAddr := r.Host().Addr(); isAddr || name == "" || r.Insists() {
		return nil
	}
	if !isSuffix(name) && !isSuffix("x."+name) { // or one where every name below it is a suffix: compute.amazonaws.com
		return nil
	}
	return &policy.RefusedError{
		What: fmt.Sprintf("host rule %q (%v)", r, r.Origin()),
		Why:  name + " is a public suffix: names below it belong to many owners",
		Lift: fmt.Sprintf("name the host, or write %q to insist", r.String()+"!"),
	}
}

// Registrable returns the part of a name that its owner registered
// (example.co.uk of a.b.example.co.uk), or the whole host where there is none.
func Registrable(h policy.Host) string {
	name := h.String()
	if _, isAddr := h.Addr(); isAddr || name == "" {
		return name
	}
	suffix, _ := suffixOf(name)
	if suffix == name {
		return name
	}
	owner := strings.TrimSuffix(name, "."+suffix)
	return name[strings.LastIndexByte(owner, '.')+1:]
}

// isSuffix reports whether the list has name as a suffix. A top-level name
// that it does not know is one of somebody's own network.
func isSuffix(name string) bool {
	suffix, listed := suffixOf(name)
	return listed && suffix == name
}

// suffixOf returns the public suffix of a name by the algorithm of
// publicsuffix.org: the longest rule decides, *.x is a rule for each name
// right below x, !y.x takes y.x out, and a top-level name that no rule knows
// is a suffix too, though not a listed one.
func suffixOf(name string) (suffix string, listed bool) {
	for rest := name; ; {
		_, parent, more := strings.Cut(rest, ".")
		switch {
		case more && inList("!"+rest):
			return parent, true
		case inList(rest), more && inList("*."+parent):
			return rest, true
		case !more:
			return rest, false
		}
		rest = parent
	}
}

// suffixes are the rules of publicsuffix.org's list as golang.org/x/net has
// them, and each top-level domain, sorted, a line each. The package there would link net/http, whose
// set-up every run of the program would pay for. A test writes and compares.
//
//go:embed suffixes.txt
var suffixes string

// inList looks for a line of suffixes, by halves.
func inList(rule string) bool {
	for text := suffixes; text != ""; {
		start := strings.LastIndexByte(text[:len(text)/2], '\n') + 1
		line, after, _ := strings.Cut(text[start:], "\n")
		switch {
		case rule == line:
			return true
		case rule < line:
			text = text[:start]
		default:
			text = after
		}
	}
	return false
}
