package learn

import (
	"fmt"
	"slices"
	"strings"

	"bawn/internal/config"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// manySiblings is from how many folders beside one another on the one above
// them is proposed.
const manySiblings = 3

// need is a folder in which something was to be written.
type need struct {
	dir   string
	paths []string
}

// folders proposes the smallest folders that hold what could not be written.
func (p *proposer) folders(list []session.Denial) {
	var needs []need
	for _, d := range list {
		path, err := p.f.Real(d.Path)
		if err != nil {
			p.leave(Left{What: d.Path, Why: d.Rule.Text, Lift: d.Rule.Lift})
			continue
		}
		dir := path
		for !p.f.IsDir(dir) {
			dir = policy.Parent(dir)
		}
		if why, wide := p.mayNot(dir, path); why != "" {
			p.small(d, dir, why, wide)
			continue
		}
		if i := slices.IndexFunc(needs, func(n need) bool { return n.dir == dir }); i >= 0 {
			needs[i].paths = append(needs[i].paths, path)
			continue
		}
		needs = append(needs, need{dir, []string{path}})
	}
	for _, n := range p.merged(needs) {
		for _, path := range n.paths {
			p.add(keyPaths, config.PlainPath(n.dir), path, careful(n.dir, p.homes()), func(with policy.Policy) bool { return allows(with, path) })
		}
	}
}

func allows(p policy.Policy, path string) bool {
	return p.Decide(policy.Write{Path: path}).Verdict == policy.Allow
}

// homes are the home folders of the command.
func (p *proposer) homes() []string {
	with, _ := p.f.Try(nil)
	return with.Homes()
}

// mayNot says why a folder cannot be allowed or is never proposed, "" if it is;
// wide: one inside it could be.
func (p *proposer) mayNot(dir, path string) (why string, wide bool) {
	with, why := p.f.Try([]config.Entry{{Key: keyPaths, Value: config.PlainPath(dir)}})
	if why == "" {
		if d := with.Decide(policy.Write{Path: path}); d.Verdict != policy.Allow {
			return d.Rule.Text, false
		}
		return p.runs(dir, with.Homes()), false
	}
	why, wide = strings.CutPrefix(why, fmt.Sprintf("added folder %q: ", dir))
	why, _, _ = strings.Cut(why, "; ") // what is the way out of another refusal
	return why, wide
}

// small leaves out what lies in a folder that cannot be allowed. Where that is
// too wide, a home or the system, a folder of its own there can be, once it exists.
func (p *proposer) small(d session.Denial, dir, why string, wide bool) {
	l := Left{What: d.Path, Why: fmt.Sprintf("%q cannot be allowed: %s", dir, why)}
	if !wide {
		l.Why = fmt.Sprintf("%q is never proposed: %s", dir, why)
	}
	if name := strings.TrimPrefix(strings.TrimPrefix(d.Path, dir), "/"); wide && d.Rule.ID == "home" && name != "" {
		first, _, _ := strings.Cut(name, "/")
		l.Lift = fmt.Sprintf("if %q is to be a folder, make it, and run this again", strings.TrimSuffix(dir, "/")+"/"+first)
	}
	p.leave(l)
}

// merged leaves out folders inside others, and puts many beside one another
// together.
func (p *proposer) merged(needs []need) []need {
	slices.SortFunc(needs, func(a, b need) int { return strings.Compare(a.dir, b.dir) })
	var out []need
	for _, n := range needs {
		if i := slices.IndexFunc(out, func(o need) bool { return policy.Inside(n.dir, o.dir) }); i >= 0 {
			out[i].paths = append(out[i].paths, n.paths...)
			continue
		}
		out = append(out, n)
	}
	siblings := map[string]int{}
	for _, n := range out {
		siblings[policy.Parent(n.dir)]++
	}
	for _, n := range slices.Clone(out) {
		above := policy.Parent(n.dir)
		// Right below the root lies what is not one project's.
		if siblings[above] < manySiblings || policy.Parent(above) == "/" {
			continue
		}
		if why, _ := p.mayNot(above, n.paths[0]); why != "" {
			continue
		}
		whole := need{dir: above}
		out = slices.DeleteFunc(out, func(o need) bool {
			if policy.Inside(o.dir, above) {
				whole.paths = append(whole.paths, o.paths...)
				return true
			}
			return false
		})
		siblings[above] = 0
		out = append(out, whole)
	}
	return out
}
