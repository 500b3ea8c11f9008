package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// hostScope is which hosts a rule is about. The zero value is none.
type hostScope uint8

const (
	scopeNone  hostScope = iota
	scopeHost            // the host, and for a name all below it
	scopeBelow           // only what is below the name
	scopeAny             // every host
)

// HostRule is a pattern for hosts (SPEC N5). The zero value matches nothing,
// and NewNetwork refuses it.
type HostRule struct {
	host    Host
	scope   hostScope
	port    uint16 // 0: every port
	insists bool
	origin  Origin
}

// ParseHostRule reads a pattern: example.com is the name and all below it,
// *.example.com only what is below it, * every host, an address that address.
// Each may end in :port and is then about that port alone. An IPv6 address
// stands in brackets where its end could be read as a port. A final ! insists
// on a pattern that package hostname would refuse as too wide.
// Only the syntax is checked here. Errors wrap ErrHost.
func ParseHostRule(s string, o Origin) (HostRule, error) {
	r := HostRule{origin: o}
	body, insists := strings.CutSuffix(s, "!")
	r.insists = insists
	if strings.HasPrefix(body, "!") {
		return HostRule{}, hostError(s, "a rule takes nothing back: put the host in the list of denied ones")
	}
	// The last colon begins a port, unless it stands in an address.
	if i := strings.LastIndexByte(body, ':'); i >= 0 && body[len(body)-1] != ']' {
		bare := body[0] != '[' && strings.IndexByte(body[:i], ':') >= 0
		port, ok := parsePort(body[i+1:])
		switch {
		case bare:
			if _, why := parseHost(body[:i]); ok && why == "" {
				return HostRule{}, hostError(s, "the end may be a port: put the address in brackets")
			}
		case !ok && strings.Contains(body, "/"):
			return HostRule{}, hostError(s, "a rule is a host, without scheme, path or mask")
		case !ok:
			return HostRule{}, hostError(s, "a port is a decimal number from 1 to 65535")
		default:
			r.port, body = port, body[:i]
		}
	}
	if body == "*" {
		r.scope = scopeAny
		return r, nil
	}
	name, below := strings.CutPrefix(body, "*.")
	h, why := parseHost(name)
	_, isAddr := h.Addr()
	switch {
	case strings.Contains(body, "/"):
		why = "a rule is a host, without scheme, path or mask"
	case strings.Contains(name, "*"):
		why = "the only patterns are * and *.name"
	case why == "" && below && isAddr:
		why = "nothing is below an address"
	}
	if why != "" {
		return HostRule{}, hostError(s, why)
	}
	r.host, r.scope = h, scopeHost
	if below {
		r.scope = scopeBelow
	}
	return r, nil
}

// Host returns the host that the pattern names; no host for *.
func (r HostRule) Host() Host { return r.host }

// Port returns the one port the rule is about, or 0 for every port.
func (r HostRule) Port() uint16 { return r.port }

// Any reports whether the pattern is *, with or without a port.
func (r HostRule) Any() bool { return r.scope == scopeAny }

// Wide reports whether it is about more than one host with all below it.
func (r HostRule) Wide() bool { return r.scope != scopeHost || r.insists }

// Insists reports whether the rule was written with a final !.
func (r HostRule) Insists() bool { return r.insists }

// Origin says where the rule was written.
func (r HostRule) Origin() Origin { return r.origin }

// String is the rule in its canonical spelling, which reads back as the same
// rule.
func (r HostRule) String() string {
	if r.insists {
		return r.pattern() + "!"
	}
	return r.pattern()
}

func (r HostRule) pattern() string {
	var s string
	switch r.scope {
	case scopeAny:
		s = "*"
	case scopeBelow:
		s = "*." + r.host.name
	case scopeHost:
		s = r.host.bracketed()
	}
	if r.port != 0 {
		s += ":" + strconv.Itoa(int(r.port))
	}
	return s
}

// Covers reports whether the pattern matches a connection. It says nothing
// about whether a rule may open an internal address: see Network.
func (r HostRule) Covers(c Connect) bool {
	if c.Host == (Host{}) || r.port != 0 && r.port != c.Port {
		return false
	}
	switch r.scope {
	case scopeAny:
		return true
	case scopeHost:
		return c.Host == r.host || belowName(c.Host, r.host)
	case scopeBelow:
		return belowName(c.Host, r.host)
	}
	return false
}

func belowName(h, parent Host) bool {
	n := len(h.name) - len(parent.name)
	return parent.name != "" && n > 1 && h.name[n-1] == '.' && h.name[n:] == parent.name
}

const allowID = "host:allow:"

// defaultHosts are what an ordinary build needs (SPEC N1): the package
// registries and code hosts, each with its subdomains, which serve the files.
// They stand here as the IDs of their rules, so that a run makes none. The
// registries come first.
var defaultHosts = [...]string{
	allowID + "npmjs.org", allowID + "yarnpkg.com", allowID + "crates.io", allowID + "pypi.org", allowID + "pythonhosted.org",
	allowID + "golang.org",
	allowID + "github.com", allowID + "githubusercontent.com", allowID + "gitlab.com",
	allowID + "bitbucket.org", allowID + "huggingface.co", allowID + "hf.co",
}

// registryHosts is how many of defaultHosts are package registries: all that
// a package install reaches (SPEC F9).
const registryHosts = 6

// defaultRule is a built-in rule; its origin is the program itself.
func defaultRule(i int) HostRule {
	return HostRule{host: Host{name: defaultHosts[i][len(allowID):]}, scope: scopeHost}
}

// DefaultHosts returns the rules that hold unless they are turned off.
func DefaultHosts() []HostRule {
	out := make([]HostRule, len(defaultHosts))
	for i := range out {
		out[i] = defaultRule(i)
	}
	return out
}

// checkHostRules refuses what no list may hold.
func checkHostRules(list string, rules []HostRule) error {
	if len(rules) > maxHostRules {
		return fmt.Errorf("%s: %d rules, at most %d", list, len(rules), maxHostRules)
	}
	for i, r := range rules {
		if r.scope == scopeNone {
			return fmt.Errorf("%s: rule %d is empty", list, i+1)
		}
	}
	return nil
}
