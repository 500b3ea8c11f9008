package shell

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"bawn/internal/policy"
)

// Facts are what the check before a run knows. The zero value is a run in
// airlock that may write nowhere.
type Facts struct {
	Policy policy.Policy
	// CanAsk: somebody answers when a host is not on the list.
	CanAsk bool
	// Strict also refuses absolute paths that the run could not write.
	Strict bool
	// Dir is the run's working folder: absolute, links resolved.
	Dir string
	// Home is what ~ stands for; "" leaves such paths alone.
	Home string
	// Connect decides about a host, as policy.Network does. Nil denies.
	Connect func(policy.Connect) policy.Decision
	// Real resolves the links of an absolute path as far as it exists; nil takes
	// paths as they are written.
	Real func(path string) string
}

// Precheck looks at a command before it is run in the sandbox. Deny means
// that the run is refused with that reason, because the boundary would stop it
// anyway; Allow, that it is tried. It grants nothing.
func Precheck(c Commands, f Facts) policy.Decision {
	if d := f.run(); d.Verdict != policy.Allow || !f.Policy.Sandboxed() {
		return d
	}
	list, err := c()
	switch {
	case errors.Is(err, ErrTooLong):
		return refuse("precheck:length", "the command text is longer than 128 KiB, more than a shell can be given", "put it into a script file and run that")
	case err != nil:
		return policy.Decision{Verdict: policy.Allow, Rule: policy.Rule{ID: "precheck:unread", Text: "the command text is not understood; the sandbox holds it"}}
	}
	return f.commands(list)
}

func refuse(id, text, lift string) policy.Decision {
	return policy.Decision{Rule: policy.Rule{ID: id, Text: text, Lift: lift}}
}

var passes = policy.Decision{Verdict: policy.Allow, Rule: policy.Rule{ID: "precheck:pass", Text: "nothing in it is sure to be blocked"}}

// run checks what does not depend on the command.
func (f Facts) run() policy.Decision {
	p := f.Policy
	if !p.Sandboxed() || policy.IsClean(f.Dir) && p.Workspace() != "" && policy.Inside(f.Dir, p.Workspace()) || f.writable(f.Dir) {
		return passes
	}
	return refuse("precheck:dir", fmt.Sprintf("the working folder %q is neither in the workspace nor writable", f.Dir),
		"-C DIR makes it the workspace, --add-dir DIR adds it")
}

func (f Facts) writable(p string) bool {
	return f.Policy.Decide(policy.Write{Path: p}).Verdict == policy.Allow
}

func (f Facts) commands(list []Command) policy.Decision {
	for _, c := range list {
		for _, w := range fetched(c) {
			if d := f.url(w); d.Verdict != policy.Allow {
				return d
			}
		}
		if !f.Strict {
			continue
		}
		for _, w := range pathWords(c) {
			if d := f.path(w); d.Verdict != policy.Allow {
				return d
			}
		}
	}
	return passes
}

// url refuses an address whose host the egress is sure to refuse: one that is
// denied, as no answer changes that, or one that is not allowed when there is
// nobody to ask.
func (f Facts) url(w Word) policy.Decision {
	c, ok := target(w)
	if !ok || loopback(c.Host) {
		return passes
	}
	if f.Policy.Tier() == policy.Airlock {
		return refuse("precheck:airlock", c.Host.String()+" cannot be reached: there is no network in airlock", f.Policy.NoNetwork().Lift)
	}
	var d policy.Decision
	if f.Connect != nil {
		d = f.Connect(c)
	}
	if d.Verdict == policy.Allow || d.Verdict == policy.Ask && f.CanAsk {
		return passes
	}
	d.Verdict = policy.Deny
	if d.Rule.ID == "" {
		d.Rule = policy.Rule{ID: "precheck:url", Text: c.Host.String() + " is not allowed"}
	}
	return d
}

// target reads the host and port of an http or https address, if it is sure
// where the host ends.
func target(w Word) (policy.Connect, bool) {
	s := strings.TrimPrefix(w.Text, "git+")
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return policy.Connect{}, false
	}
	port := uint16(443)
	switch strings.ToLower(scheme) {
	case "http":
		port = 80
	case "https":
	default:
		return policy.Connect{}, false
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		if !w.Known {
			return policy.Connect{}, false
		}
		end = len(rest)
	}
	authority := rest[:end]
	if strings.ContainsAny(authority, "\\ \t\n") {
		return policy.Connect{}, false // programs differ about where the host is
	}
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	host := authority
	if colon := strings.LastIndexByte(authority, ':'); colon > strings.LastIndexByte(authority, ']') {
		host = authority[:colon]
		if digits := authority[colon+1:]; digits != "" {
			n, err := strconv.ParseUint(digits, 10, 16)
			if err != nil || n == 0 {
				return policy.Connect{}, false
			}
			port = uint16(n)
		}
	}
	h, err := policy.ParseHost(host)
	if err != nil {
		return policy.Connect{}, false
	}
	return policy.Connect{Host: h, Port: port}, true
}

// loopback reports whether a host is the sandbox's own loopback, which is open
// in every tier.
func loopback(h policy.Host) bool {
	if a, ok := h.Addr(); ok {
		return a.IsLoopback() || a.IsUnspecified()
	}
	return h.String() == "localhost" || strings.HasSuffix(h.String(), ".localhost")
}

// pathWords lists the words of a command that may be absolute paths.
func pathWords(c Command) []Word {
	var out []Word
	add := func(w Word) {
		if strings.HasPrefix(w.Text, "-") {
			_, value, ok := strings.Cut(w.Text, "=")
			if !ok {
				return
			}
			w.Text = value
		}
		if strings.HasPrefix(w.Text, "/") || w.Home {
			out = append(out, w)
		}
	}
	for _, w := range c.Words {
		add(w)
	}
	for _, a := range c.Assigns {
		add(a.Value)
	}
	for _, r := range c.Redirects {
		add(r.Target)
	}
	return out
}

// path refuses an absolute path that is surely outside the writable places.
func (f Facts) path(w Word) policy.Decision {
	p, whole := w.Text, w.Known
	if w.Home {
		rest := strings.TrimPrefix(p, "~")
		if f.Home == "" || rest != "" && rest[0] != '/' {
			return passes // another user's
		}
		p, whole = f.Home+rest, w.rest
	}
	if !whole {
		p = p[:strings.LastIndexByte(p, '/')+1]
	}
	p = path.Clean(p)
	if policy.Inside(p, "/dev") {
		return passes
	}
	if f.Real != nil {
		p = f.Real(p)
	}
	if f.writable(p) || !whole && f.mayLead(p) {
		return passes
	}
	return refuse("precheck:path", fmt.Sprintf("%q is outside the writable paths, and precheck is strict", p),
		"use a path relative to the workspace, a file tool, or --add-dir; precheck = \"default\" only refuses what is sure to fail")
}

// mayLead reports whether something writable lies below a folder.
func (f Facts) mayLead(dir string) bool {
	for _, r := range f.Policy.Files().Below(dir) {
		if r.Access >= policy.Private {
			return true
		}
	}
	return false
}
