package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"bawn/internal/policy"
)

// textWidth is how many columns the short form of the policy takes. A path
// that is longer by itself goes beyond.
const textWidth = 80

// builtIn is the origin of what nobody has set.
var builtIn = policy.Origin{}.String()

// row is a line of the short form: what, and where it comes from or what it is.
type row struct{ name, note string }

// short is what holds: what somebody set is named, each with its origin, and
// what is built in is counted.
func (r policyReport) short(home string, outside []row) string {
	var b strings.Builder
	r.head(&b)
	if r.Tier == policy.Open.String() {
		return b.String()
	}
	tilde := func(path string) string {
		if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" {
			return "~/" + rest
		}
		return path
	}
	var workspace, writable, private, readOnly, hidden []row
	var caches []string
	cacheTitle := "tool caches"
	protected, secrets := counts{}, counts{}
	for _, f := range r.Files {
		id, _, _ := strings.Cut(f.Rule, ":")
		named := row{tilde(f.Path), f.Origin}
		if f.Origin == builtIn {
			named.note = f.Reason
		}
		switch {
		case id == "devices", id == "root", id == "home", id == "proc", id == "sys", id == "run":
			// The same in every policy.
		case f.Access == policy.Hidden.String() && f.Origin != builtIn:
			hidden = append(hidden, named)
		case f.Access == policy.Hidden.String():
			secrets.add(place(named.name))
		case id == "protect" && f.Origin == builtIn:
			what, _, _ := strings.Cut(f.Reason, ":")
			protected.add(what)
		case f.Access == policy.ReadOnly.String():
			readOnly = append(readOnly, named)
		case id == "cache":
			caches = append(caches, named.name)
			if f.Access == policy.PrivateCopy.String() { // all or none are
				cacheTitle = "tool caches, each a private copy"
			}
		case f.Access == policy.Private.String():
			private = append(private, row{named.name, "private, ends with the run"})
		case id == "workspace":
			workspace = append(workspace, named)
		default:
			writable = append(writable, named)
		}
	}
	section(&b, "writable", slices.Concat(workspace, writable, private))
	if len(caches) > 0 {
		words(&b, cacheTitle, caches)
	}
	section(&b, "read-only, like everything that is not named here", readOnly)
	if len(protected.names) > 0 {
		words(&b, "what would run code outside the sandbox later", protected.list())
	}
	section(&b, "hidden", hidden)
	if len(secrets.names) > 0 {
		words(&b, "credentials, sessions, histories and bawn's own files", secrets.list())
	}
	r.reach(&b)
	if len(outside) > 0 {
		section(&b, "outside the sandbox", outside)
	}
	r.tail(&b)
	b.WriteString("\nevery path and its rule: bawn policy --all\n")
	return b.String()
}

// reach is the network of the short form.
func (r policyReport) reach(b *strings.Builder) {
	var rows []row
	var defaults []string
	if !r.Network.Enabled {
		rows = append(rows, row{"none", r.Network.Reason})
	}
	for _, h := range r.Network.Rules {
		if h.Origin == builtIn && h.Effect == "allow" {
			defaults = append(defaults, h.Rule)
			continue
		}
		rows = append(rows, row{h.Effect + " " + h.Rule, h.Origin})
	}
	for _, h := range r.Network.Ports {
		rows = append(rows, row{"local port " + h.Rule, h.Origin})
	}
	section(b, "network", rows)
	if len(defaults) > 0 {
		words(b, "built-in hosts", defaults)
	}
}

// section writes a title and its rows, aligned as far as they are short.
func section(b *strings.Builder, title string, rows []row) {
	b.WriteString("\n" + title + "\n")
	width := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r.name); n <= textWidth/2 {
			width = max(width, n)
		}
	}
	for _, r := range rows {
		line := fmt.Sprintf("  %-*s  %s", width, r.name, r.note)
		if utf8.RuneCountInString(line) > textWidth {
			line = "  " + r.name + "\n      " + r.note
		}
		for l := range strings.SplitSeq(line, "\n") {
			b.WriteString(printable(l) + "\n")
		}
	}
}

// words writes a list that is broken at the edge.
func words(b *strings.Builder, title string, list []string) {
	b.WriteString("  " + title + ":\n")
	line := "   "
	for i, w := range list {
		if i < len(list)-1 {
			w += ","
		}
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > textWidth && line != "   " {
			b.WriteString(printable(line) + "\n")
			line = "   "
		}
		line += " " + w
	}
	b.WriteString(printable(line) + "\n")
}

// place is the part of the file system that a hidden path is counted for.
func place(path string) string {
	if strings.HasPrefix(path, "~/") {
		return "~"
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return "/" + first
}

// counts counts by name, in the order of the first.
type counts struct {
	names []string
	n     map[string]int
}

func (c *counts) add(name string) {
	if c.n == nil {
		c.n = map[string]int{}
	}
	if c.n[name]++; c.n[name] == 1 {
		c.names = append(c.names, name)
	}
}

// list has the greatest number first.
func (c *counts) list() (out []string) {
	names := slices.Clone(c.names)
	slices.SortStableFunc(names, func(a, b string) int { return c.n[b] - c.n[a] })
	for _, name := range names {
		out = append(out, fmt.Sprintf("%s (%d)", name, c.n[name]))
	}
	return out
}
