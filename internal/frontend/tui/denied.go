package tui

import (
	"fmt"
	"strings"

	"bawn/internal/session"
)

// deniedView lists what was refused, each once, with what would lift it.
type deniedView struct {
	*frame
	all  []session.Denial
	list list
}

func (v *deniedView) title() string { return fmt.Sprintf("Denied: %d", len(v.all)) }
func (v *deniedView) refresh()      { v.all = v.Denials() }

func (v *deniedView) key(k string) bool {
	switch {
	case v.list.key(k):
	case k == "a" && v.list.at < len(v.all):
		d := v.all[v.list.at]
		if d.Host == "" {
			v.note = "a file is allowed in your settings: see lift"
			return true
		}
		v.ask(v.hostDialog(d.Host, d.Port, true))
	default:
		return false
	}
	return true
}

func (v *deniedView) keys() []hint { return []hint{{"a", "allow a host"}, leaves} }

func (v *deniedView) lines(w, h int) []string {
	l := v.o.Look
	if len(v.all) == 0 {
		return []string{"", " Nothing was denied."}
	}
	var foot []string
	if h > 10 {
		foot = v.details(v.all[min(v.list.at, len(v.all)-1)], w, (h-1)/2)
	}
	from, to := v.list.window(len(v.all), h-len(foot))
	var out []string
	for i := from; i < to; i++ {
		d := v.all[i]
		times := ""
		if d.Count > 1 {
			times = fmt.Sprintf("%s%d", l.glyph("×", "x"), d.Count)
		}
		what := "host"
		switch {
		case d.Read:
			what = "read"
		case d.Path != "":
			what = "file"
		}
		out = append(out, v.list.row(l, i, what+"  "+l.fill(l.cutLeft(l.safe(d.String()), max(4, w-15)), max(4, w-15))+fmt.Sprintf(" %6s", times), w))
	}
	for len(out) < h-len(foot) {
		out = append(out, "")
	}
	return append(out, foot...)
}

// details are about the one under the cursor, in at most h lines.
func (v *deniedView) details(d session.Denial, w, h int) []string {
	l := v.o.Look
	out := []string{l.as(faint, strings.Repeat(l.glyph("─", "-"), w))}
	if s := l.safe(d.String()); width(s) > w-15 { // what the row has no room for
		for i, s := range l.ends(fold(s, w-7), 3) {
			name := ""
			if i == 0 {
				name = "name"
			}
			out = append(out, " "+l.as(faint, l.fill(name, 6))+s)
		}
	}
	for _, f := range [...][2]string{
		{"why", why(d)}, {"rule", d.Rule.ID + " (" + d.Rule.Origin.String() + ")"}, {"lift", d.Rule.Lift}, {"who", who(d.PID, d.Command)},
	} {
		if f[1] == "" {
			continue
		}
		for i, s := range wrap(l.safe(f[1]), w-7) {
			if i > 0 {
				f[0] = ""
			}
			out = append(out, " "+l.as(faint, l.fill(f[0], 6))+s)
		}
	}
	return out[:min(len(out), h)]
}

// ends are at most n lines of a text, the first and always the last.
func (l Look) ends(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	return append(append(lines[:n-2:n-2], l.glyph("⋮", ":")), lines[len(lines)-1])
}

// why is the reason, and how bawn knows, if it did not see it happen.
func why(d session.Denial) string {
	if d.FromText {
		return d.Rule.Text + " (told by the command's error text)"
	}
	return d.Rule.Text
}

func who(pid int, command string) string {
	if pid == 0 {
		return command
	}
	return fmt.Sprintf("process %d, %s", pid, command)
}
