package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bawn/internal/policy"
)

// process is one node of the tree.
type process struct {
	pid      int
	parent   int
	commands []string // what it executed, in order
	count    int      // how many of the last of them the parent started
	at       time.Duration
}

// maxTree bounds the lines of a tree.
const maxTree = 200

// Tree draws the processes of a run, each below the one that started
// it, with all that it became.
func Tree(run RunRecords) string {
	known := map[int]*process{}
	var order []*process
	more := 0
	for _, r := range run.Records {
		if r.Kind != Process {
			continue
		}
		if r.Inside == 0 {
			more += r.Count
			continue
		}
		p := known[r.Inside]
		if p == nil || p.parent != r.Parent { // another, if the number was used again
			p = &process{pid: r.Inside, parent: r.Parent, at: r.Time.Sub(run.Time())}
			known[r.Inside] = p
			order = append(order, p)
		}
		command := policy.Escape(r.Command)
		if r.Count > 0 { // of one that was told before
			if p.count = r.Count; slices.Contains(p.commands, command) {
				continue
			}
		}
		p.commands = append(p.commands, command)
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
		times := ""
		if p.count > 1 {
			times = fmt.Sprintf(" (%d times)", p.count)
		}
		fmt.Fprintf(&b, "%s%d  %s%s  +%s\n", indent, p.pid, strings.Join(p.commands, " → "), times, ShortTime(p.at))
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
	if more += max(lines-maxTree, 0); more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String()
}
