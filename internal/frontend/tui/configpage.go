package tui

import (
	"fmt"

	"bawn/internal/policy"
	"bawn/internal/session"
)

// configView is the page of /config general: the tier, which Enter cycles, and
// the policy, of which Enter shows the details (SPEC T5).
type configView struct {
	*frame
	list    list
	details bool
	text    list // the details
}

func (v *configView) title() string {
	if v.details {
		return "Config / General / Sandbox policy"
	}
	return "Config / General"
}

func (v *configView) refresh() {}

func (v *configView) key(k string) bool {
	switch {
	case v.details && (k == "backspace" || k == "esc" || k == "q"):
		v.details = false
	case v.details:
		return v.text.key(k)
	case v.list.key(k):
	case k == "enter" && v.list.at == 0:
		v.pickTier(cycled(v.State()))
	case k == "enter":
		v.details, v.text = true, list{}
	default:
		return false
	}
	return true
}

func (v *configView) keys() []hint {
	switch {
	case v.details:
		return append(v.text.more(), hint{"backspace", "back"})
	case v.list.at == 0:
		return []hint{{"enter", "next tier"}, leaves}
	}
	return []hint{{"enter", "details"}, leaves}
}

func (v *configView) lines(w, h int) []string {
	l, st := v.o.Look, v.State()
	if v.details {
		return v.text.text(policyDetails(v.Session, v.o, w), h)
	}
	tier := st.Tier.String()
	if st.Mode != policy.NoMode {
		tier = st.Mode.String() + " (fixed)"
	}
	v.list.window(2, 2)
	return []string{
		"",
		v.list.row(l, 0, l.fill("Sandbox tier", 18)+tier, min(w, maxBox)),
		v.list.row(l, 1, l.fill("Sandbox policy", 18)+l.safe(writableWord(st)), min(w, maxBox)),
	}
}

func writableWord(st session.State) string {
	switch {
	case st.Mode == policy.ReadOnlyMode:
		return "writes only in a private temp folder"
	case tierOf(st) == policy.Open:
		return "unrestricted"
	case tierOf(st) == policy.Airlock:
		return "writes in the workspace; no network"
	}
	return "writes in the workspace and caches; network " + networkWord(st)
}

// policyDetails are the tier, what is writable and how it is enforced.
func policyDetails(s Session, o Options, w int) []string {
	l, st, p := o.Look, s.State(), s.Policy()
	var out []string
	field := func(name, text string, paints ...paint) {
		for _, s := range wrap(text, max(12, w-14)) {
			for _, p := range paints {
				s = l.as(p, s)
			}
			out = append(out, " "+l.as(faint, l.fill(name, 12))+s)
			name = ""
		}
	}
	out = append(out, "")
	field("Tier", tierWord(st))
	if st.Mode != policy.NoMode {
		field("", fixedNote(st.Mode))
	}
	out = append(out, "")
	if tierOf(st) == policy.Open {
		field("Writable", "unrestricted")
	} else {
		name := "Writable"
		for _, first := range [...]bool{true, false} { // the workspace, then the many caches
			for _, r := range p.Files().Rules() {
				if r.Access != policy.ReadWrite || policy.Inside(r.Path, "/dev") || (r.Path == p.Workspace()) != first {
					continue
				}
				field(name, o.folder(r.Path)+"  ("+l.safe(r.Rule().Text)+")")
				name = ""
			}
		}
		if p.Temp() == policy.PrivateTemp {
			field(name, "a private temp folder at /tmp")
		}
	}
	out = append(out, "")
	field("Network", l.safe(networkSentence(st)))
	if wider := widerTasks(st); wider != "" {
		field("", "running commands keep what their tier gave them: "+wider)
	}
	for _, at := range st.Published {
		field("", fmt.Sprintf("%s of this machine leads to port %d of guarded commands", at, at.Port))
	}
	out = append(out, "")
	enforced := o.Enforced
	if tierOf(st) == policy.Open {
		enforced = "nothing is enforced"
	}
	field("Enforced", l.safe(enforced))
	return out
}

func networkSentence(st session.State) string {
	switch w := networkWord(st); {
	case st.NoNetwork != "":
		return "none: " + st.NoNetwork
	case w == "asks":
		return "the hosts on the list; others are asked about"
	case w == "listed":
		return "the hosts on the list; others are refused"
	case w == "open":
		return "unrestricted"
	}
	return "none"
}
