// Package learn proposes the smallest settings under which a command that was
// refused something would pass.
//
// It proposes what a person may want to allow, and nothing that would give the
// sandbox away: no credential, no protected name, no way outside. Each proposal
// is tried before it is made: the settings with it must allow what was refused.
package learn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bawn/internal/config"
	"bawn/internal/hostname"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// Facts are what is known of the run, and of the host.
type Facts struct {
	// Denials are what the command was refused; of a run that ended well none
	// was needed.
	Denials []session.Denial
	// Answered are connections that a person allowed for this run alone.
	Answered []policy.Connect
	// Real resolves the links of a path, as far as it exists.
	Real func(path string) (string, error)
	// Path are the folders of the user's PATH, links resolved.
	Path []string
	// IsDir reports whether a folder exists.
	IsDir func(path string) bool
	// Try is the policy of the command with further entries in the user's
	// settings. why says what of them would not hold, "" for nothing.
	Try func(entries []config.Entry) (p policy.Policy, why string)
}

// Proposal is one entry of a list of [sandbox] in the user's file.
type Proposal struct {
	config.Entry
	// For are what it is needed for: paths, or hosts.
	For []string
	// Careful says why it wants a yes of its own; "" if it does not.
	Careful string
}

// Left is what is not proposed, and why.
type Left struct {
	What, Why string
	// Lift is the way out, if there is one; Comment a line that a person could
	// write into the file by hand.
	Lift, Comment string
}

// maxProposals bounds what one run proposes.
const maxProposals = 64

// Keys of the lists.
const (
	keyPaths   = "sandbox.allowed_paths"
	keyHosts   = "sandbox.allowed_domains"
	keyPrivate = "sandbox.allow_private"
)

type proposer struct {
	f    Facts
	out  []Proposal
	left []Left
}

// Propose returns what to add, folders first, and what is left out.
func Propose(f Facts) ([]Proposal, []Left) {
	p := proposer{f: f}
	var paths []session.Denial
	for _, c := range f.Answered {
		p.host(c.Host, c.Port, "you allowed it in this run")
	}
	for _, d := range f.Denials {
		switch {
		case d.Path == "":
			p.denied(d)
		case d.Rule.ID == "root" || d.Rule.ID == "home":
			paths = append(paths, d)
		default:
			p.name(d)
		}
	}
	p.folders(paths)
	order := []string{keyPaths, keyHosts, keyPrivate}
	slices.SortStableFunc(p.out, func(a, b Proposal) int {
		return cmp.Compare(slices.Index(order, a.Key), slices.Index(order, b.Key))
	})
	if n := len(p.out) - maxProposals; n > 0 {
		p.out = p.out[:maxProposals]
		p.left = append(p.left, Left{What: fmt.Sprintf("%d more", n), Why: "one run proposes no more", Lift: "run it again"})
	}
	return p.out, p.left
}

func (p *proposer) leave(l Left) {
	if !slices.Contains(p.left, l) {
		p.left = append(p.left, l)
	}
}

// add notes a proposal, unless it would not help.
func (p *proposer) add(key, value, what, careful string, helps func(policy.Policy) bool) {
	for i, o := range p.out {
		if o.Key == key && o.Value == value {
			if !slices.Contains(o.For, what) {
				p.out[i].For = append(o.For, what)
			}
			return
		}
	}
	one := Proposal{config.Entry{Key: key, Value: value}, []string{what}, careful}
	with, why := p.f.Try([]config.Entry{one.Entry})
	if why == "" && !helps(with) {
		why = "the settings that hold would still refuse it"
	}
	if why != "" {
		p.leave(Left{What: what, Why: why})
		return
	}
	p.out = append(p.out, one)
}

// name leaves out a path that no folder setting opens.
func (p *proposer) name(d session.Denial) {
	l := Left{What: d.Path, Why: d.Rule.Text, Lift: d.Rule.Lift}
	kind, rest, _ := strings.Cut(d.Rule.ID, ":")
	switch {
	case kind == "credential" || kind == "own":
		l.Lift = ""
		l.Why += ", and are never proposed"
	case d.Rule.Origin != (policy.Origin{}):
		l.Why += " (" + d.Rule.Origin.String() + ")"
	case kind == "name" || kind == "protect":
		l.Lift, l.Comment = "make the change outside the sandbox, or add the line by hand", fmt.Sprintf("# unprotect = [%q]", rest)
	}
	p.leave(l)
}

// denied proposes a host that was refused, or leaves it out.
func (p *proposer) denied(d session.Denial) {
	host, err := policy.ParseHost(d.Host)
	kind, _, _ := strings.Cut(d.Rule.ID, ":")
	c := policy.Connect{Host: host, Port: d.Port}
	switch {
	case err != nil:
		p.leave(Left{What: d.String(), Why: d.Rule.Text, Lift: d.Rule.Lift})
	case d.Rule.ID == "host:unlisted":
		p.host(host, d.Port, "")
	case d.Rule.ID == "answer:no":
		p.leave(Left{What: d.String(), Why: "you denied it"})
	case d.Rule.ID == "address:"+policy.Metadata.String():
		p.leave(Left{What: d.String(), Why: d.Rule.Text + ": never proposed"})
	case kind == "address":
		key, entry := policy.Opener(c, d.Rule)
		if key == "" {
			p.leave(Left{What: d.String(), Why: d.Rule.Text, Lift: d.Rule.Lift})
			return
		}
		p.add("sandbox."+key, entry, d.String(), d.Rule.Text, func(with policy.Policy) bool {
			_, literal := host.Addr()
			return !literal || with.Decide(c).Verdict == policy.Allow
		})
	default:
		why := d.Rule.Text
		if o := d.Rule.Origin; o != (policy.Origin{}) {
			why += " (" + o.String() + ")"
		}
		p.leave(Left{What: d.String(), Why: why, Lift: d.Rule.Lift})
	}
}

// host proposes one host: at the port that was asked for, if one was. A name
// that was asked for alone may be needed at any.
func (p *proposer) host(h policy.Host, port uint16, note string) {
	value := h.String()
	if port != 0 {
		value = policy.Connect{Host: h, Port: port}.String()
	}
	what := value
	if note != "" {
		what += " (" + note + ")"
	}
	if rule, err := hostname.ParseAllowed(value, policy.Origin{}); err != nil || rule.Wide() {
		p.leave(Left{What: value, Why: h.String() + " is a public suffix: names below it belong to many owners", Lift: "name the host that is needed"})
		return
	}
	careful := ""
	if _, literal := h.Addr(); literal {
		careful = "it is an address: whose it is, and will be, no name says"
	} else if !strings.Contains(h.String(), ".") {
		careful = "it has no dot: which host that is each network says for itself"
	}
	if _, warning := hostname.Display(h); warning != "" {
		careful = "it " + warning
	}
	p.add(keyHosts, value, what, careful, func(with policy.Policy) bool {
		if port == 0 {
			return with.Network().DecideName(h).Verdict == policy.Allow
		}
		return with.Decide(policy.Connect{Host: h, Port: port}).Verdict == policy.Allow
	})
}
