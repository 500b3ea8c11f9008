package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Timeline is one run as text: what is known of it, its processes as a tree,
// and what happened when.
func Timeline(run RunRecords) string {
	var b strings.Builder
	fmt.Fprintf(&b, "run      %s\n", run.ID)
	fmt.Fprintf(&b, "command  %s\n", run.Command())
	if s := run.Start; s.Kind != "" {
		fmt.Fprintf(&b, "folder   %s\ntier     %s, %s\n", s.Dir, s.Tier, s.Place)
	}
	fmt.Fprintf(&b, "began    %s\n", run.Time().Local().Format("2006-01-02 15:04:05.000"))
	fmt.Fprintf(&b, "outcome  %s", run.Outcome())
	if run.End.Kind != "" {
		fmt.Fprintf(&b, " after %s", ShortTime(run.End.Duration))
	}
	if n := run.Denied(); n > 0 {
		fmt.Fprintf(&b, ", %d denied", n)
	}
	b.WriteString("\n")
	if tree := processTree(run); tree != "" {
		b.WriteString("\nprocesses\n" + tree)
	}
	b.WriteString("\n")
	for _, r := range run.Records {
		if r.Kind == Process {
			continue // in the tree
		}
		fmt.Fprintf(&b, "%9s  %-14s  %s\n", "+"+ShortTime(r.Time.Sub(run.Time())), r.What(), r.Text())
		if r.Verdict == "deny" {
			for _, why := range []string{r.Rule.Text, r.Rule.Lift} {
				if why != "" {
					fmt.Fprintf(&b, "%9s  %-14s  %s\n", "", "", why)
				}
			}
		}
	}
	return b.String()
}

// process is one node of the tree.
type process struct {
	pid      int
	parent   int
	commands []string // what it executed, in order
	at       time.Duration
}

// maxTree bounds the lines of a tree.
const maxTree = 200

// processTree draws the processes of a run, each below the one that started
// it, with all that it became.
func processTree(run RunRecords) string {
	known := map[int]*process{}
	var order []*process
	for _, r := range run.Records {
		if r.Kind != Process {
			continue
		}
		p := known[r.Inside]
		if p == nil || p.parent != r.Parent { // another, if the number was used again
			p = &process{pid: r.Inside, parent: r.Parent, at: r.Time.Sub(run.Time())}
			known[r.Inside] = p
			order = append(order, p)
		}
		p.commands = append(p.commands, r.Command)
	}
	var b strings.Builder
	lines := 0
	drawn := map[*process]bool{}
	var draw func(p *process, indent string)
	draw = func(p *process, indent string) {
		if drawn[p] {
			return
		}
		drawn[p] = true
		if lines++; lines > maxTree {
			return
		}
		fmt.Fprintf(&b, "%s%d  %s  +%s\n", indent, p.pid, strings.Join(p.commands, " → "), ShortTime(p.at))
		for _, c := range order {
			if c.parent == p.pid && c != p {
				draw(c, indent+"  ")
			}
		}
	}
	for _, p := range order {
		if !slices.ContainsFunc(order, func(c *process) bool { return c.pid == p.parent && c != p }) {
			draw(p, "  ")
		}
	}
	for _, p := range order { // what only hangs on itself
		draw(p, "  ")
	}
	if lines > maxTree {
		fmt.Fprintf(&b, "  and %d more\n", lines-maxTree)
	}
	return b.String()
}
