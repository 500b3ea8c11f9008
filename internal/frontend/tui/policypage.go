package tui

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"bawn/internal/hostname"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// policyView shows the rules that hold, each with the place that says it, and
// has a box to try them.
type policyView struct {
	*frame
	rules  []string
	list   list
	test   entry
	result []string
}

// maxRules is how many lines are shown: the rules of the network may be a
// million.
const maxRules = 5000

func (v *policyView) title() string { return "Policy of tier " + tierWord(v.State()) }

func (v *policyView) refresh() { v.rules = policyRules(v.Policy(), v.o) }

func (v *policyView) typing() bool  { return v.test.on }
func (v *policyView) text(s string) { v.test.text(s) }

func (v *policyView) key(k string) bool {
	switch {
	case v.test.on:
		if v.test.key(k) && k == "enter" {
			v.result = v.o.tryLines(v.Policy(), string(v.test.str))
		}
	case v.list.key(k):
	case k == "/" || k == "t" || k == "enter":
		v.test.on, v.test.str, v.result = true, nil, nil
	default:
		return false
	}
	return true
}

func (v *policyView) keys() []hint {
	if v.test.on {
		return []hint{{"enter", "try"}}
	}
	return []hint{{"t", "try a rule"}, leaves}
}

func (v *policyView) lines(w, h int) []string {
	l := v.o.Look
	var foot []string
	for _, s := range v.result {
		for i, s := range wrap(s, w-8) {
			if i > 0 {
				s = "      " + s
			}
			foot = append(foot, " "+s)
		}
	}
	if v.test.on && len(v.test.str) == 0 {
		foot = append(foot, l.as(faint, " read PATH, write PATH or connect HOST"))
	}
	if v.test.on || len(v.test.str) > 0 {
		foot = append([]string{v.test.line(l, "try", w)}, foot...)
	}
	if len(foot) > 0 {
		foot = append([]string{l.as(faint, strings.Repeat(l.glyph("─", "-"), w))}, foot...)
	}
	foot = foot[:min(len(foot), h-1)]
	h -= len(foot)
	from, to := v.list.window(len(v.rules), h)
	var out []string
	for i := from; i < to; i++ {
		out = append(out, v.list.row(l, i, v.rules[i], w))
	}
	for len(out) < h {
		out = append(out, "")
	}
	return append(out, foot...)
}

// policyRules are the rules as lines, the shortest column first.
func policyRules(p policy.Policy, o Options) []string {
	l := o.Look
	if !p.Sandboxed() {
		return []string{"no sandbox: your own permissions decide"}
	}
	out := []string{"files (the deepest rule decides)"}
	add := func(s string) bool {
		out = append(out, s)
		return len(out) < maxRules
	}
	kernel := false
	for _, r := range p.Files().Rules() {
		rule, path := r.Rule(), o.folder(r.Path)
		if slices.Contains(policy.KernelFiles(), r.Path) { // as one
			if kernel {
				continue
			}
			kernel, path = true, "the kernel's files in /proc"
		}
		add(fmt.Sprintf("  %-10s  %s  (%s)", r.Access, path, l.safe(rule.ID+", "+rule.Origin.String())))
	}
	add("network")
	if !p.HasNetwork() {
		add("  none: " + l.safe(p.NoNetwork().Text))
		return out
	}
	for id, r := range p.Network().Rules() {
		effect, _, _ := strings.Cut(strings.TrimPrefix(id, "host:"), ":")
		if !add(fmt.Sprintf("  %-13s  %s  (%s)", effect, l.safe(r.String()), l.safe(r.Origin().String()))) {
			return append(out, "  and more: bawn policy prints them all")
		}
	}
	for _, port := range p.Network().LocalPorts() {
		add(fmt.Sprintf("  local port     %d  (%s)", port, l.safe(p.Network().PortOrigin(port).String())))
	}
	return out
}

// try decides about an action that a person typed: read PATH, write PATH or
// connect HOST[:PORT]. A relative path is the workspace's.
func try(p policy.Policy, text string) (policy.Action, policy.Decision, error) {
	fail := func(err error) (policy.Action, policy.Decision, error) { return nil, policy.Decision{}, err }
	verb, object, _ := strings.Cut(strings.TrimSpace(text), " ")
	if object = strings.TrimSpace(object); object == "" {
		return fail(errors.New("type: read PATH, write PATH or connect HOST[:PORT]"))
	}
	var a policy.Action
	switch verb {
	case "connect":
		c, err := hostname.ParseConnect(object)
		if err != nil {
			return fail(err)
		}
		a = c
	case "read", "write":
		if !filepath.IsAbs(object) {
			object = filepath.Join(p.Workspace(), object)
		}
		real, err := sandbox.ShownPath(p, object)
		if err != nil {
			return fail(err)
		}
		a = policy.Write{Path: real}
		if verb == "read" {
			a = policy.Read{Path: real}
		}
	default:
		return fail(fmt.Errorf("unknown action %q: it is read, write or connect", verb))
	}
	return a, p.Decide(a), nil
}

// tryLines is the decision in words.
func (o Options) tryLines(p policy.Policy, text string) []string {
	l := o.Look
	if verb, path, ok := strings.Cut(text, " ~/"); ok && o.Home != "" {
		text = verb + " " + filepath.Join(o.Home, path)
	}
	a, d, err := try(p, text)
	if err != nil {
		return []string{l.as(bad, l.safe(err.Error()))}
	}
	object := ""
	switch a := a.(type) {
	case policy.Read:
		object = "read " + l.safe(a.Path)
	case policy.Write:
		object = "write " + l.safe(a.Path)
	case policy.Connect:
		object = "connect " + a.String()
	}
	word, paint := verdictWord(d.Verdict)
	out := []string{
		l.as(paint, word) + "  " + object,
		"rule  " + l.safe(d.Rule.ID+" ("+d.Rule.Origin.String()+")"),
		"why   " + l.safe(d.Rule.Text),
	}
	if d.Rule.Lift != "" && d.Verdict != policy.Allow {
		out = append(out, "lift  "+l.safe(d.Rule.Lift))
	}
	return out
}
