package seatbelt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Run is what a profile needs to know of one run, besides its policy. Paths
// are real and absolute.
type Run struct {
	Temp []string // folders of the run's own: temporary files, caches
	Hide string   // the folder of the profile itself; "" is none
	TTY  string   // the command's terminal; "" is none
}

// The operations of a rule about writing. The order in which a rule for a
// group (file-write*) and one for its part (file-write-create) count against
// each other is not documented: every rule about files names the same ones.
const (
	writing = "file-write* file-write-create file-write-unlink file-link"
	naming  = "file-write-create file-write-unlink" // making, removing, moving
	access  = "file-read* " + writing
)

// Profile is what the policy allows, in the language of sandbox-exec. It is
// pure. A name that cannot be written in it is a *policy.RefusedError.
//
// All that is allowed stands first, outer folders before inner ones; after
// that come denials alone. So a later rule may win, or the one with a filter,
// or the more specific one: the meaning is the same.
func Profile(p policy.Policy, h sandbox.Host, r Run) (string, error) {
	w := &writer{policy: p, host: h, run: r, table: p.Files()}
	w.lifted, w.open = p.Lifted()
	if err := w.check(); err != nil {
		return "", err
	}
	w.b.WriteString(base)
	if r.TTY != "" {
		w.rule("allow", "file-read* file-write*", literal(r.TTY))
	}
	w.folders()
	w.names()
	w.pins()
	w.hidden()
	if p.HasNetwork() {
		w.b.WriteString(network)
	}
	if len(r.Temp) > 0 {
		w.section("sockets of its own")
	}
	for _, d := range r.Temp {
		// Each in a rule of its own: of several in one the first alone counts.
		w.rule("allow", "network-bind", "(local unix-socket "+subpath(d)+")")
		w.rule("allow", "network-inbound", "(local unix-socket "+subpath(d)+")")
		w.rule("allow", "network-outbound", "(remote unix-socket "+subpath(d)+")")
	}
	return w.b.String(), nil
}

type writer struct {
	b      strings.Builder
	policy policy.Policy
	host   sandbox.Host
	run    Run
	table  policy.Table
	lifted []string
	open   []string // places in which no name is protected
	// Filters for folders that are not moved, and for those of them that are
	// not made.
	pinned, unmade []string
}

func (w *writer) section(what string) { fmt.Fprintf(&w.b, "\n; %s\n", what) }

func (w *writer) rule(verdict, operations string, filters ...string) {
	fmt.Fprintf(&w.b, "(%s %s", verdict, operations)
	for _, f := range filters {
		w.b.WriteString("\n  " + f)
	}
	w.b.WriteString(")\n")
}

// check refuses what the profile could not hold.
func (w *writer) check() error {
	refuse := func(what, why, lift string) error { return &policy.RefusedError{What: what, Why: why, Lift: lift} }
	if !w.policy.Sandboxed() {
		return refuse("the open tier", "it has no sandbox", "")
	}
	for _, id := range w.lifted {
		if strings.HasPrefix(id, "git.config:") {
			return refuse(fmt.Sprintf("unprotect %q", id), "macOS cannot judge a single key", `unprotect "git.config" as a whole`)
		}
	}
	paths := slices.Concat(w.run.Temp, w.open, w.host.Names, w.host.Pins, w.host.Control)
	for _, r := range w.table.Rules() {
		paths = append(paths, r.Path)
	}
	for _, path := range append(paths, w.run.Hide, w.run.TTY) {
		if path != "" && (!policy.IsClean(path) || !utf8.ValidString(path)) {
			return refuse(fmt.Sprintf("path %q", path), "it is not a clean path in UTF-8, so no rule can name it", "rename it")
		}
	}
	return nil
}

// folders opens what is writable and closes what lies in it, outer places
// before inner ones.
func (w *writer) folders() {
	w.section("temporary folders of its own")
	for _, d := range w.run.Temp {
		w.rule("allow", access, tree(d))
	}
	w.section("writable places, and what is closed in them")
	for _, r := range w.table.Rules() {
		if r.Path == "/" || policy.Inside(r.Path, "/dev") {
			continue
		}
		outer, inside := w.writableAbove(r.Path)
		switch {
		case r.Access == policy.ReadWrite && w.limited(r):
			w.narrow(r.Path)
		case r.Access == policy.ReadWrite:
			if above, _ := w.table.At(outer); !inside || w.limited(above) {
				w.rule("allow", writing, tree(r.Path))
			}
		case inside && r.Access != policy.Hidden:
			w.rule("deny", writing, w.inside(outer, r.Path))
		}
	}
}

// limited reports whether the profile of an install narrows a place.
func (w *writer) limited(r policy.PathRule) bool {
	if !w.policy.Writes().On {
		return false
	}
	switch r.Rule().ID {
	case "workspace", "add-dir", "git-dir":
		return true
	}
	return false
}

// writableAbove is the writable place in which path lies, if the deepest rule
// above it makes it writable.
func (w *writer) writableAbove(path string) (string, bool) {
	r := w.table.Lookup(policy.Parent(path))
	return r.Path, r.Access == policy.ReadWrite && path != "/"
}

// inside is a filter for path, in any spelling of the part below root, with
// all below it.
func (w *writer) inside(root, path string) string {
	return regex(exact(root) + folded(strings.TrimPrefix(path, root)) + below)
}

// hidden closes what can be neither read nor written. That it exists may be
// seen, as on Linux.
func (w *writer) hidden() {
	w.section("hidden")
	// The disk of the user's files has a second name; so has the rest of it.
	w.rule("deny", access, subpath(dataVolume+"/Users"))
	w.otherRuns()
	if w.run.Hide != "" {
		w.rule("deny", access, tree(w.run.Hide))
	}
	for _, r := range w.table.Rules() {
		if r.Access != policy.Hidden {
			continue
		}
		if outer, inside := w.writableAbove(r.Path); inside {
			w.rule("deny", access, w.inside(outer, r.Path))
			continue
		}
		filters := []string{tree(r.Path)}
		if !policy.Inside(r.Path, "/Users") {
			filters = append(filters, subpath(dataVolume+r.Path))
		}
		w.rule("deny", access, filters...)
		w.rule("allow", "file-read-metadata", literal(r.Path))
	}
}

const dataVolume = "/System/Volumes/Data"

// otherRuns closes the folders of other runs and their profiles: who could
// write one before sandbox-exec reads it would say what the other run may do.
// With tmp = "host" the places around them are writable, so this stands after
// all that is allowed.
func (w *writer) otherRuns() {
	var own []string
	for _, d := range w.run.Temp {
		own = append(own, not(literal(d)), not(subpath(d)))
	}
	mac := w.policy.MacOS()
	for _, d := range [...]string{mac.Temp, mac.Cache} {
		if d != "" {
			w.rule("deny", access, all(append([]string{regex(exact(d) + "/" + folded("bawn") + "-(" + folded("run") + "|" + folded("profile") + ")-[^/]+" + below)}, own...)...))
		}
	}
}
