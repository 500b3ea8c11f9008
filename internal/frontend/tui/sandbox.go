package tui

import (
	"bawn/internal/policy"
)

// sandboxView shows the tiers and switches between them.
type sandboxView struct {
	*frame
	list list
	set  bool // the cursor has been put on the tier that holds
}

// tierRows are the tiers, the widest first, in the words of people.
var tierRows = [...]struct {
	tier policy.Tier
	does []string
}{
	{policy.Open, []string{"no sandbox: your own permissions decide"}},
	{policy.Guarded, []string{
		"writes in the workspace, its temp folder and the tools' caches", "reaches the hosts on the list, and asks about others", "reads everything but credentials",
	}},
	{policy.Airlock, []string{"writes in the workspace and its temp folder alone", "has no network", "reads everything but credentials"}},
}

func (v *sandboxView) title() string { return "Sandbox" }

func (v *sandboxView) refresh() {
	if v.set {
		return
	}
	v.set = true
	for i, r := range tierRows {
		if r.tier == v.State().Tier {
			v.list.at = i
		}
	}
}

func (v *sandboxView) key(k string) bool {
	switch {
	case v.list.key(k):
	case k == "enter":
		v.pickTier(tierRows[v.list.at].tier)
	default:
		return false
	}
	return true
}

func (v *sandboxView) keys() []hint { return []hint{{"enter", "switch new commands to it"}, leaves} }

func (v *sandboxView) lines(w, h int) []string {
	l, st := v.o.Look, v.State()
	out := []string{""}
	v.list.window(len(tierRows), len(tierRows))
	for i, r := range tierRows {
		name := r.tier.String()
		if r.tier == st.Tier {
			name += "  (now)"
		}
		out = append(out, v.list.row(l, i, name, min(w, maxBox)))
		for _, d := range r.does {
			for _, s := range wrap(d, w-6) {
				out = append(out, "     "+l.as(faint, s))
			}
		}
	}
	out = append(out, "")
	if st.Mode != policy.NoMode {
		for _, s := range wrap(fixedNote(st.Mode), w-2) {
			out = append(out, " "+l.as(careful, s))
		}
	}
	if st.NoNetwork != "" && tierOf(st) != policy.Airlock { // which says so itself
		for _, s := range wrap("no network now: "+l.safe(st.NoNetwork), w-2) {
			out = append(out, " "+s)
		}
	}
	return out[:min(len(out), h)]
}
