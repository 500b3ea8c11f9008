//go:build unix

package main

import (
	"strconv"
	"strings"

	"bawn/internal/config/told"
	"bawn/internal/policy"
	"bawn/internal/session"
	"bawn/internal/shell/plain"
)

// maxDenialLines is how many denials a run tells about.
const maxDenialLines = 8

// printDenials says what the policy refused, one line each.
func printDenials(r session.Result) {
	for i, d := range r.Denials {
		if i == maxDenialLines {
			more := r.MoreDenials
			for _, d := range r.Denials[i:] {
				more += d.Count
			}
			warn("and %d more denials", more)
			return
		}
		what, who, times, way := d.String(), "", "", ""
		if d.Read {
			what = "reading " + what
		}
		if d.Command != "" {
			who = " to " + printable(d.Command)
		}
		if d.Count > 1 {
			times = " (" + strconv.Itoa(d.Count) + " times)"
		}
		if d.Rule.Lift != "" {
			way = "; " + lift(d.Rule.Lift)
		}
		if o := d.Rule.Origin; o != (policy.Origin{}) && !strings.HasPrefix(d.Rule.ID, "answer:") && !strings.Contains(way, o.String()) {
			way = " (rule at " + o.String() + ")" + way
		}
		if d.FromText {
			who = " (by its error text)"
		}
		warn("denied %s%s%s: %s%s", what, who, times, d.Rule.Text, way)
	}
}

// tellLost says which caches were kept in memory alone, each folder once.
func tellLost(dirs []string) {
	if len(dirs) == 0 {
		return
	}
	store := told.Notices(madeState())
	var keys []string
	for _, d := range dirs {
		keys = append(keys, told.Key("lost", d))
	}
	mkdir := []string{"mkdir", "-p"}
	seen, _ := store.Seen(keys...)
	for i, dir := range dirs {
		if !seen[i] {
			mkdir = append(mkdir, dir)
		}
	}
	if len(mkdir) == 2 {
		return
	}
	warn("a cache folder that does not exist outside is kept for this run alone; to keep it from now on: %s", plain.Quote(mkdir))
	_ = store.Note(keys...) // else the next run says it again
}

// maxUnheldLines is how many changed names a run tells about.
const maxUnheldLines = 16

// printUnheld says what a run without the name guard did to protected names.
func printUnheld(r session.Result) {
	for i, n := range r.Unheld {
		if i == maxUnheldLines {
			warn("and %d more such names", len(r.Unheld)-i)
			return
		}
		warn("%s appeared or changed during this run, which had no name guard: %s; look at it before you go on", printable(n.Path), n.Rule.Text)
	}
}
