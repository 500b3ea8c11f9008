//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
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
			warn("and %d more denials", len(r.Denials)-i+r.MoreDenials)
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

// printUnreached says which allowed hosts could not be connected to: a client
// may hide the answer that says so.
func printUnreached(r session.Result) {
	for i, u := range r.Unreached {
		if i == maxDenialLines {
			warn("and %d more hosts that could not be reached", len(r.Unreached)-i)
			return
		}
		at, times := u.At.Host.String(), ""
		if u.At.Port != 0 {
			at = net.JoinHostPort(at, strconv.Itoa(int(u.At.Port)))
		}
		if u.Count > 1 {
			times = " (" + strconv.Itoa(u.Count) + " times)"
		}
		warn("could not reach %s%s: %s; it is allowed", at, times, u.Cause)
	}
}

// tellLost says which caches were kept in memory alone, each folder once.
func tellLost(dirs []string) {
	if len(dirs) == 0 {
		return
	}
	store := told.Open(trustState())
	var keys []string
	for _, d := range dirs {
		keys = append(keys, told.Key("lost", d))
	}
	mkdir := []string{"mkdir", "-p"}
	for i, seen := range store.Seen(keys) {
		if !seen {
			mkdir = append(mkdir, dirs[i])
		}
	}
	if len(mkdir) == 2 {
		return
	}
	warn("a cache folder that does not exist outside is kept for this run alone; to keep it from now on: %s", plain.Quote(mkdir))
	_ = store.Note(keys) // else the next run says it again
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

// printWatched says in one line which names the command wrote that run code
// outside later.
func printWatched(r session.Result) {
	var names []string
	dir, _ := os.Getwd()
	for _, e := range r.Watched {
		name := e.Path
		if dir != "" && policy.Inside(name, dir) {
			name, _ = filepath.Rel(dir, name)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	list, more := names, ""
	if n := len(names) - maxDenialLines; n > 0 {
		list, more = names[:maxDenialLines], fmt.Sprintf(" and %d more", n)
	}
	what := "names that run"
	if len(names) == 1 {
		what = "name that runs"
	}
	warn("wrote %d %s code outside later: %s%s", len(names), what, strings.Join(list, ", "), more)
}
