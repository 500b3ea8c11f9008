package config

import (
	"fmt"
	"strings"
)

// Review is what a person sees before trusting a project's file.
type Review struct {
	Path    string   `json:"path"`
	Exists  bool     `json:"exists"`
	Trusted bool     `json:"trusted"`
	Content []byte   `json:"-"`      // what trusting is about: exactly this
	Widens  []string `json:"widens"` // what trusting would allow, or allows; see Config.Diff
	Never   []string `json:"never"`  // what the file says in vain
}

// LoadReview reads all layers once and merges them twice, with the project's
// file trusted and not.
func LoadReview(o Options) (Review, error) {
	l, err := read(o)
	if err != nil {
		return Review{}, err
	}
	r := Review{Exists: l.project != nil, Trusted: l.trusted, Content: l.content, Widens: []string{}, Never: []string{}}
	if l.project != nil {
		r.Path = l.project.file
	}
	l.trusted = false
	before := l.merge()
	l.trusted = true
	after := l.merge()
	r.Widens = append(r.Widens, before.Diff(after)...)
	for _, p := range after.Pending() {
		r.Never = append(r.Never, p.Text())
	}
	return r, nil
}

// Text is the review for people. Every value in it is quoted: none acts on the
// terminal or hides another.
func (r Review) Text() string {
	var b strings.Builder
	if !r.Exists {
		return "this workspace has no settings of its own\n"
	}
	path := shown(r.Path)
	switch {
	case len(r.Widens) == 0:
		fmt.Fprintf(&b, "%s widens nothing\n", path)
	case r.Trusted:
		fmt.Fprintf(&b, "%s is trusted, and widens:\n", path)
	default:
		fmt.Fprintf(&b, "trusting %s would widen:\n", path)
	}
	for _, w := range r.Widens {
		fmt.Fprintf(&b, "  %s\n", w)
	}
	for _, n := range r.Never {
		fmt.Fprintf(&b, "  (%s)\n", n)
	}
	return b.String()
}
