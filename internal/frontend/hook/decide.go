package hook

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"bawn/internal/policy"
)

// decide asks the policy about a file or an address: the strictest verdict of
// all that the event names.
func (e Event) decide(f Facts) policy.Decision {
	out := policy.Decision{Verdict: policy.Allow}
	keep := func(d policy.Decision) {
		if d.Verdict < out.Verdict {
			out = d
		}
	}
	for _, p := range e.places(f) {
		keep(e.file(p, f))
	}
	if f.Inside { // the sandbox around the agent decides where it connects
		return out
	}
	for _, u := range e.urls {
		keep(fetch(u, f.Policy))
	}
	if e.Kind == WebSearch && !f.Policy.HasNetwork() {
		keep(policy.Decision{Rule: f.Policy.NoNetwork()})
	}
	return out
}

// places are what the event's paths may mean.
func (e Event) places(f Facts) (out []string) {
	for _, p := range e.paths {
		for _, c := range candidates(p, e.Dir, f.Home) {
			out = append(out, filepath.Clean(c))
			// Some agents take a .. away with the name before it, for others it leads
			// up from where a link of that name leads.
			if up := f.physical(c); up != "" {
				out = append(out, up)
			}
		}
	}
	return out
}

// Real are the real paths that Answer asks Facts.Policy about.
func (e Event) Real(f Facts) (out []string) {
	for _, p := range e.places(f) {
		if real, links, err := f.judged(p); err == nil {
			out = append(append(out, real), links...)
		}
	}
	return out
}

// judged is the real path of one that can be judged, and the links on its way.
func (f Facts) judged(path string) (real string, links []string, err error) {
	if strings.IndexByte(path, 0) >= 0 || !filepath.IsAbs(path) {
		return "", nil, fmt.Errorf("%q: not a path that can be judged", path)
	}
	return f.Real(path)
}

// candidates are the places that a path may mean: agents differ in whether they
// know ~, and in what they take off a path first (white space, the @ of a
// mention, file://).
func candidates(path, dir, home string) (out []string) {
	add := func(path string) {
		abs := path
		if !filepath.IsAbs(path) && dir != "" {
			abs = dir + "/" + path
		}
		out = append(out, abs)
		if path == "~" || strings.HasPrefix(path, "~/") {
			out = append(out, home+path[1:])
		}
	}
	add(path)
	bare := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(path), "@"), "file://")
	if bare != path && bare != "" {
		add(bare)
	}
	return out
}

// physical is the place of a path with .. in it as the kernel takes it; "" where
// that is the same, or is not known.
func (f Facts) physical(path string) string {
	if !filepath.IsAbs(path) || !strings.Contains(path+"/", "/../") || strings.IndexByte(path, 0) >= 0 {
		return ""
	}
	place, _, err := f.Real(path)
	if err != nil {
		return "" // a loop: nobody opens that
	}
	return place
}

// file decides on the place that a path leads to, and first on the links that
// lead there: those in hidden places are not for the agent to follow. In the open
// tier the user's own permissions decide.
func (e Event) file(path string, f Facts) policy.Decision {
	real, links, err := f.judged(path)
	if err != nil {
		return policy.Decision{Rule: policy.Rule{ID: "path:form", Text: err.Error()}}
	}
	var d policy.Decision
	for _, link := range links {
		if f.Inside {
			d = own(link, false, f.Hidden)
		} else {
			d = f.Policy.Decide(policy.Read{Path: link})
		}
		if d.Verdict != policy.Allow {
			d.Rule.Text = fmt.Sprintf("%q: %s", link, d.Rule.Text)
			return d
		}
	}
	switch {
	case f.Inside:
		d = own(real, e.Kind == Search, f.Hidden)
	case e.Kind == Read || e.Kind == Search:
		if d = f.Policy.Decide(policy.Read{Path: real}); d.Verdict == policy.Allow && e.Kind == Search {
			d = searched(real, f.Policy)
		}
	default:
		d = f.Policy.Decide(policy.Write{Path: real})
		rule, named := f.Policy.Named(real)
		switch {
		case d.Verdict != policy.Allow:
		case named:
			d = policy.Decision{Rule: rule}
		case !inFolders(real, f.Policy):
			// What else a command may write is its private temp, which is not
			// this file, and caches, which are not for editing.
			d = policy.Decision{Rule: policy.Rule{
				ID: "file-tool:outside", Text: "file tools write in the workspace and the added folders alone",
				Lift: "add the folder to allowed_paths in " + policy.UserFile,
			}}
		}
	}
	d.Rule.Text = fmt.Sprintf("%q: %s", real, d.Rule.Text)
	return d
}

// own decides about what only the process of an agent may see.
func own(real string, search bool, hidden []policy.PathRule) policy.Decision {
	for _, r := range hidden {
		at, below := policy.Inside(real, r.Path), search && policy.Inside(r.Path, real)
		if !at && !below {
			continue
		}
		rule := policy.Rule{ID: r.Rule().ID, Text: "it is the agent's own login, which its model does not read"}
		if !at {
			rule.Text, rule.Lift = fmt.Sprintf("%q lies below it: %s", r.Path, rule.Text), "search a folder further down"
		}
		return policy.Decision{Rule: rule}
	}
	return policy.Decision{Verdict: policy.Allow}
}

func inFolders(real string, p policy.Policy) bool {
	if !p.Sandboxed() || policy.Inside(real, p.Workspace()) {
		return true
	}
	for _, d := range p.AddDirs() {
		if policy.Inside(real, d) {
			return true
		}
	}
	return false
}

// searched refuses a search that would read hidden places on its way down.
func searched(real string, p policy.Policy) policy.Decision {
	if p.Sandboxed() && !policy.Inside(real, p.Workspace()) {
		for _, r := range p.Files().Below(real) {
			if r.Access == policy.Hidden {
				rule := r.Rule()
				rule.Text = fmt.Sprintf("%q lies below it: %s", r.Path, rule.Text)
				rule.Lift = "search a folder further down"
				return policy.Decision{Rule: rule}
			}
		}
	}
	return policy.Decision{Verdict: policy.Allow}
}

// fetch decides about the host of an address.
func fetch(text string, p policy.Policy) policy.Decision {
	u, err := address(text)
	port := uint64(443)
	if err == nil {
		switch {
		case u.Port() != "":
			port, err = strconv.ParseUint(u.Port(), 10, 16)
		case strings.EqualFold(u.Scheme, "http"):
			port = 80
		}
	}
	var host policy.Host
	if err == nil {
		host, err = policy.ParseHost(u.Hostname())
	}
	if err != nil {
		return policy.Decision{Rule: policy.Rule{ID: "fetch:form", Text: fmt.Sprintf("%q: %v", text, err)}}
	}
	d := p.Decide(policy.Connect{Host: host, Port: uint16(port)})
	d.Rule.Text = fmt.Sprintf("%s: %s", host, d.Rule.Text)
	return d
}

// address reads a web address of the one form that all readers take alike:
// browsers leave out white space, take \ for / and need no slashes at all.
func address(text string) (*url.URL, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return nil, errors.New("not an address in its plain form")
	}
	u, err := url.Parse(text)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		err = errors.New("not an http or https address")
	}
	return u, err
}
