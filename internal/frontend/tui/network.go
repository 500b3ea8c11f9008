package tui

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"bawn/internal/approval"
	"bawn/internal/hostname"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// networkView is the log of connections, the latest last, as it happens.
type networkView struct {
	*frame
	all    []session.Connection
	shown  []session.Connection // those that the filter lets through
	list   list
	filter entry
	paused bool
}

func (v *networkView) title() string {
	t := fmt.Sprintf("Network: %s", plural(len(v.shown), "connection"))
	if len(v.shown) != len(v.all) {
		t += fmt.Sprintf(" of %d", len(v.all))
	}
	if v.paused {
		t += " (paused)"
	}
	return t
}

func (v *networkView) refresh() {
	if !v.paused {
		v.all = v.Connections()
	}
	v.sift()
}

// sift applies the filter. The cursor stays on its connection, or at the end
// if it was there.
func (v *networkView) sift() {
	last, id := v.list.at >= len(v.shown)-1, 0
	if !last {
		id = v.shown[v.list.at].ID
	}
	v.shown = nil
	want := strings.ToLower(string(v.filter.str))
	for _, c := range v.all {
		if strings.Contains(strings.ToLower(v.words(c)), want) {
			v.shown = append(v.shown, c)
		}
		if last || c.ID == id {
			v.list.at = max(0, len(v.shown)-1)
		}
	}
}

// words are what the filter looks at.
func (v *networkView) words(c session.Connection) string {
	return c.Decision.Verdict.String() + " " + at(c.Host, c.Port) + " " + c.Via + " " + c.Command
}

func at(host string, port uint16) string {
	if port == 0 {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

func (v *networkView) typing() bool { return v.filter.on }

func (v *networkView) text(s string) {
	v.filter.text(s)
	v.sift()
}

func (v *networkView) key(k string) bool {
	if v.filter.on {
		v.filter.key(k)
		v.sift()
		return true
	}
	switch {
	case v.list.key(k):
	case k == "/":
		v.filter.on = true
	case k == "p":
		v.paused = !v.paused
		v.refresh()
	case k == "esc" && len(v.filter.str) > 0:
		v.filter.str = nil
		v.sift()
	case (k == "a" || k == "d") && v.list.at < len(v.shown):
		c := v.shown[v.list.at]
		v.ask(v.hostDialog(c.Host, c.Port, k == "a"))
	default:
		return false
	}
	return true
}

func (v *networkView) keys() []hint {
	if v.filter.on {
		return []hint{{"enter", "keep the filter"}}
	}
	return []hint{{"a", "allow"}, {"d", "deny"}, {"/", "filter"}, {"p", "pause"}, leaves}
}

func (v *networkView) lines(w, h int) []string {
	l := v.o.Look
	var foot []string
	if v.filter.on || len(v.filter.str) > 0 {
		foot = append(foot, v.filter.line(l, "/", w))
	}
	if v.list.at < len(v.shown) && h > 8 {
		foot = append(v.details(v.shown[v.list.at], w), foot...)
	}
	if len(v.shown) == 0 {
		return append([]string{"", " No connection" + map[bool]string{true: " yet.", false: " matches."}[len(v.all) == 0]}, foot...)
	}
	h -= len(foot)
	from, to := v.list.window(len(v.shown), h)
	var out []string
	for i := from; i < to; i++ {
		out = append(out, v.list.row(l, i, v.row(v.shown[i], w-2, i == v.list.at), w))
	}
	for len(out) < h {
		out = append(out, "")
	}
	return append(out, foot...)
}

// row is one connection: what has room, the most important first.
func (v *networkView) row(c session.Connection, w int, plainly bool) string {
	l := v.o.Look
	word, p := verdictWord(c.Decision.Verdict)
	verdict := fmt.Sprintf("%-5s", word)
	if !plainly {
		verdict = l.as(p, verdict)
	}
	hostWidth := w - 7
	var right string
	if w >= 56 {
		right += fmt.Sprintf("  %6s", v.took(c))
	}
	if w >= 76 {
		bytes := ""
		if c.Decision.Verdict == policy.Allow {
			bytes = fmt.Sprintf("%7s up %7s down", size(c.Up), size(c.Down))
		}
		right += fmt.Sprintf("  %23s", bytes)
	}
	if w >= 96 {
		right += "  " + l.fill(l.safe(c.Command), 16)
	}
	var left string
	if w >= 44 {
		left = c.Time.Format("15:04:05") + "  "
	}
	hostWidth -= width(left) + width(right)
	host := l.cutLeft(l.safe(at(c.Host, c.Port)), max(hostWidth, 4)) // whose end says whose it is
	return left + verdict + "  " + l.fill(host, max(hostWidth, 4)) + right
}

func verdictWord(v policy.Verdict) (string, paint) {
	switch v {
	case policy.Allow:
		return "allow", good
	case policy.Ask:
		return "asks", careful
	}
	return "deny", bad
}

func (v *networkView) took(c session.Connection) string {
	switch {
	case c.Ended && c.Err != "":
		return "failed"
	case c.Ended && c.Decision.Verdict == policy.Allow:
		return shortTime(c.Duration)
	case c.Decision.Verdict == policy.Allow:
		return "open"
	}
	return ""
}

// details are about the connection under the cursor.
func (v *networkView) details(c session.Connection, w int) []string {
	l := v.o.Look
	who := fmt.Sprintf("task %d", c.Task)
	if c.PID != 0 {
		who += fmt.Sprintf(", process %d", c.PID)
	}
	what := [2]string{"why", c.Decision.Rule.Text}
	if c.Err != "" {
		what = [2]string{"error", c.Err}
	}
	lines := []string{l.as(faint, strings.Repeat(l.glyph("─", "-"), w))}
	for _, row := range [...][2]string{what, {"rule", c.Decision.Rule.ID + " (" + c.Decision.Rule.Origin.String() + ")"}, {"who", who + ", " + c.Command}} {
		lines = append(lines, l.cut(" "+l.as(faint, l.fill(row[0], 6))+l.safe(row[1]), w))
	}
	return lines
}

// size is a number of bytes in at most 7 cells.
func size(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d B", max(n, 0))
	}
	f, u := float64(n), -1
	for f >= 999.5 && u < len(units)-1 {
		f /= 1000
		u++
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f %cB", f, units[u])
	}
	return fmt.Sprintf("%.0f %cB", f, units[u])
}

// hostDialog asks how far a rule about a host is to reach. The safe answer,
// which is highlighted, changes nothing.
func (f *frame) hostDialog(host string, port uint16, allow bool) *dialog {
	l := f.o.Look
	rule := at(host, port)
	d := &dialog{choices: choices{all: []choice{{"n", "leave it as it is", nil}}}}
	if h, err := policy.ParseHost(host); err == nil {
		if _, warning := hostname.Display(h); warning != "" {
			d.body = append(d.body, l.safe("careful: it "+warning))
		}
		if _, literal := h.Addr(); !literal {
			d.brief = append(slices.Clone(d.body), "Names below it too.")
			d.body = append(d.body, "The rule holds for all names below it too.")
		}
	}
	verb, do := "Deny", f.DenyHost
	if allow {
		verb, do = "Allow", f.AllowHost
	}
	d.heading, d.object = verb+" this host?", rule
	give := func(s approval.Scope) func() {
		return func() {
			if err := do(rule, s); err != nil {
				f.note = err.Error()
				return
			}
			f.note = rule + map[bool]string{true: " is allowed", false: " is denied"}[allow] +
				map[approval.Scope]string{approval.Session: " for this session", approval.Always: " from now on"}[s]
			f.refresh()
		}
	}
	d.choices.all = append(d.choices.all,
		choice{"s", "for this session", give(approval.Session)},
		choice{"a", "always (saved in your settings)", give(approval.Always)})
	return d
}
