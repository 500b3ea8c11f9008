package tui

import (
	"fmt"
	"strings"
	"time"

	"bawn/internal/counting"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// part is a piece of the status bar in all its forms, the widest first. A part
// whose last form is "" may be left out.
type part []string

// The parts, from left to right.
const (
	partTier = iota
	partStaged
	partQuestions
	partWorkspace
	partNetwork
	partCounts
	partTasks
	partLast
	partKeys
	numParts
)

// giveUp is the order in which parts become shorter when the bar is too wide:
// the least important first. Tier, that it is staged, and questions stay.
var giveUp = [...]int{
	partKeys, partKeys, partLast, partWorkspace, partNetwork, partCounts, partWorkspace, partTasks,
	partWorkspace, partLast, partNetwork, partTasks, partCounts, partQuestions,
}

// statusBar is the line under everything: at most w cells of styled text. A
// note, if there is one, takes the place of all but the badges and the questions.
func statusBar(st session.State, note string, w int, o Options) string {
	l := o.Look
	parts := o.statusParts(st)
	if note != "" {
		parts[partWorkspace] = part{l.safe(note)}
		for i := partNetwork; i < numParts; i++ {
			parts[i] = nil
		}
	}
	var at [numParts]int
	bar := l.joinParts(parts, at, w)
	for _, i := range giveUp {
		if width(bar) <= w {
			break
		}
		if at[i] < len(parts[i])-1 {
			at[i]++
			bar = l.joinParts(parts, at, w)
		}
	}
	return l.cut(bar, w)
}

func (l Look) joinParts(parts [numParts]part, at [numParts]int, w int) string {
	var left []string
	for i, p := range parts[:partKeys] {
		if len(p) > 0 && p[at[i]] != "" {
			left = append(left, p[at[i]])
		}
	}
	bar := strings.Join(left, " "+l.as(faint, l.glyph("│", "|"))+" ")
	if p := parts[partKeys]; len(p) > 0 && p[at[partKeys]] != "" {
		keys := p[at[partKeys]]
		bar += strings.Repeat(" ", max(2, w-width(bar)-width(keys))) + keys
	}
	return bar
}

func (o Options) statusParts(st session.State) (parts [numParts]part) {
	l := o.Look
	parts[partTier] = part{l.badge(tierPaint(st), tierWord(st))}
	if st.Staged != nil {
		parts[partStaged] = part{l.badge(stagedPaint(st), "staged")}
	}
	if n := len(st.Questions); n > 0 {
		parts[partQuestions] = part{l.badge(careful, plural(n, "question")), l.badge(careful, fmt.Sprintf("?%d", n))}
	}
	ws := o.folder(st.Workspace)
	parts[partWorkspace] = part{l.cutLeft(ws, 48), l.cutLeft(ws, 28), l.cutLeft(ws, 16), ""}
	net, wider := networkWord(st), widerTasks(st)
	if wider != "" && net == "off" {
		net = "off for new"
	}
	parts[partNetwork] = part{"network " + net, "net " + net, ""}
	parts[partCounts] = part{
		fmt.Sprintf("%d allowed, %s", st.Allowed, l.as(deniedPaint(st), fmt.Sprintf("%d denied", st.Denied))),
		fmt.Sprintf("%s%d %s", l.glyph("✓", "+"), st.Allowed, l.as(deniedPaint(st), fmt.Sprintf("%s%d", l.glyph("✗", "-"), st.Denied))), "",
	}
	if running := len(runningTasks(st)); running > 0 {
		parts[partTasks] = part{fmt.Sprintf("%d running", running), fmt.Sprintf("%s%d", l.glyph("▶", "&"), running), ""}
		if wider != "" { // which stays, whatever the width
			parts[partTasks] = part{fmt.Sprintf("%d running, %s", running, wider), fmt.Sprintf("%s%d, %s", l.glyph("▶", "&"), running, wider), l.glyph("▶", "&") + wider}
		}
	}
	parts[partLast] = l.lastPart(st)
	var keys []string
	for _, a := range [...]Action{CycleTier, Prefix} {
		if k := o.Keys.Keys(a); len(k) > 0 {
			keys = append(keys, k[0]+" "+actions[a].short)
		}
	}
	parts[partKeys] = part{l.as(faint, strings.Join(keys, "  ")), ""}
	if len(keys) > 0 {
		parts[partKeys] = part{parts[partKeys][0], l.as(faint, keys[0]), ""}
	}
	return parts
}

// lastPart tells how the latest command that a person watched has ended.
func (l Look) lastPart(st session.State) part {
	var last session.Task
	for _, t := range st.Tasks {
		if t.Kind == session.Foreground && t.Ended.After(last.Ended) {
			last = t
		}
	}
	switch {
	case last.Ended.IsZero():
		return nil
	case last.Reason != "":
		return part{l.as(bad, "did not run"), ""}
	}
	exit := l.as(exitPaint(last.Code), fmt.Sprintf("exit %d", last.Code))
	return part{exit + " in " + shortTime(last.Ended.Sub(last.Started)), exit, ""}
}

// widerTasks counts the running commands that began in a wider tier than the one
// that holds now, and keep what that gave them; "" if there are none.
func widerTasks(st session.State) string {
	if st.Mode != policy.NoMode { // which nobody switches
		return ""
	}
	var n [policy.Open + 1]int
	for _, t := range runningTasks(st) {
		n[t.Tier]++
	}
	var out []string
	for t := policy.Open; t > st.Tier; t-- {
		if n[t] > 0 {
			out = append(out, fmt.Sprintf("%d from %s", n[t], t))
		}
	}
	return strings.Join(out, ", ")
}

func exitPaint(code int) paint {
	if code != 0 {
		return bad
	}
	return plain
}

func deniedPaint(st session.State) paint {
	if st.Denied > 0 {
		return bad
	}
	return plain
}

// tierWord names the tier, or the fixed mode.
func tierWord(st session.State) string {
	if st.Mode != policy.NoMode {
		return st.Mode.String()
	}
	return st.Tier.String()
}

func stagedPaint(st session.State) paint {
	if st.Staged.Why != "" {
		return bad
	}
	return careful
}

// tierOf is the tier whose rules hold.
func tierOf(st session.State) policy.Tier {
	if st.Mode != policy.NoMode {
		return st.Mode.Tier()
	}
	return st.Tier
}

func tierPaint(st session.State) paint {
	switch tierOf(st) {
	case policy.Open:
		return bad
	case policy.Guarded:
		return good
	}
	return calm
}

// networkWord says what a command started now can reach.
func networkWord(st session.State) string {
	switch {
	case st.NoNetwork != "":
		return "off"
	case st.Mode == policy.WorkspaceWrite:
		return "listed"
	case st.Mode == policy.ReadOnlyMode || tierOf(st) == policy.Airlock:
		return "off"
	case tierOf(st) == policy.Open:
		return "open"
	}
	return "asks"
}

// folder is a path as people write it, safe to show.
func (o Options) folder(path string) string {
	if o.Home != "" && o.Home != "/" && policy.Inside(path, o.Home) {
		path = "~" + path[len(o.Home):]
	}
	return o.Look.safe(path)
}

var plural = counting.Count

// shortTime is a duration in at most 6 cells.
func shortTime(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", max(d, 0).Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
