package audit

import (
	"fmt"
	"strings"

	"bawn/internal/policy"
)

// Timeline is one run as text: what is known of it, its processes as a tree,
// and what happened when. No text of a record makes a line of its own.
func Timeline(run RunRecords) string {
	var b strings.Builder
	fmt.Fprintf(&b, "run      %s\n", run.ID)
	fmt.Fprintf(&b, "command  %s\n", policy.Escape(run.Command()))
	if s := run.Start; s.Kind != "" {
		fmt.Fprintf(&b, "folder   %s\ntier     %s, %s\n", policy.Escape(s.Dir), s.Tier, s.Place)
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
	if tree := Tree(run); tree != "" {
		b.WriteString("\nprocesses\n" + tree)
	}
	b.WriteString("\n")
	for _, r := range run.Records {
		if r.Kind == Process {
			continue // in the tree
		}
		fmt.Fprintf(&b, "%9s  %-14s  %s\n", "+"+ShortTime(r.Time.Sub(run.Time())), r.What(), policy.Escape(r.Text()))
		if r.Verdict == "deny" {
			for _, why := range []string{r.Rule.Text, r.Rule.Lift} {
				if why != "" {
					fmt.Fprintf(&b, "%9s  %-14s  %s\n", "", "", policy.Escape(why))
				}
			}
		}
	}
	return b.String()
}
