package config

import (
	"fmt"
	"strings"
)

// Report is a Config for people and, as JSON, for programs.
type Report struct {
	Settings []Setting      `json:"settings"`
	Project  *ProjectReport `json:"project,omitempty"`
	Files    []string       `json:"files"`
	Warnings []string       `json:"warnings"`
}

// Setting is one key's value, or one entry of its list.
type Setting struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Layer   string `json:"layer"`
	Origin  string `json:"origin"`
	Default bool   `json:"default"`
	list    bool
}

// ProjectReport is the state of the project's file.
type ProjectReport struct {
	Trusted bool     `json:"trusted"`
	Pending []string `json:"pending"`
}

// Report lists every value that holds and where it comes from. A password in
// a proxy's URL is left out.
func (c Config) Report() Report {
	r := Report{Settings: []Setting{}, Files: append([]string{}, c.files...), Warnings: append([]string{}, c.warnings...)}
	for k := range keys {
		key := &keys[k]
		for _, it := range c.Items(key.Path()) {
			value := it.Text
			if key.Kind == Proxy {
				value = strings.Trim(quoteProxy(it.Text), `"`)
			}
			r.Settings = append(r.Settings, Setting{key.Path(), value, it.Layer.String(), it.Origin.String(), it.Layer == BuiltIn, !key.Kind.single()})
		}
	}
	if c.project {
		p := &ProjectReport{Trusted: c.trusted, Pending: []string{}}
		for _, w := range c.pending {
			p.Pending = append(p.Pending, w.Text())
		}
		r.Project = p
	}
	return r
}

// Text is the report for people: what was set first, then the defaults.
func (r Report) Text() string {
	var b strings.Builder
	for _, defaults := range [...]bool{false, true} {
		for _, s := range r.Settings {
			if s.Default != defaults {
				continue
			}
			op := "="
			if s.list {
				op = "+="
			}
			fmt.Fprintf(&b, "%s %s %s  (%s)\n", s.Key, op, shown(s.Value), shown(s.Origin))
		}
	}
	if p := r.Project; p != nil {
		state := "not trusted: only what makes the sandbox stricter is taken from it"
		if p.Trusted {
			state = "trusted"
		}
		fmt.Fprintf(&b, "project file: %s\n", state)
		for _, w := range p.Pending {
			fmt.Fprintf(&b, "  %s\n", shown(w))
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", shown(w))
	}
	return b.String()
}
