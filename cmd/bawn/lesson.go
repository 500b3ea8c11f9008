package main

import (
	"fmt"
	"os"
	"strings"

	"bawn/internal/audit"
	"bawn/internal/config"
	"bawn/internal/policy"
	"bawn/internal/session/learn"
)

// lesson is what a run taught.
type lesson struct {
	f         *runFlags
	args      []string
	change    config.UserChange
	after     []byte // with all proposals
	code      int
	more      int // denials that were only counted
	proposals []learn.Proposal
	left      []learn.Left
}

func entriesOf(list []learn.Proposal) []config.Entry {
	out := make([]config.Entry, len(list))
	for i, p := range list {
		out[i] = p.Entry
	}
	return out
}

// with is the file's text with some of the proposals.
func (r *lesson) with(list []learn.Proposal) ([]byte, error) {
	return config.AddEntries(r.change.Before, entriesOf(list), r.change.Path)
}

func (r *lesson) diff(after []byte) string {
	return lineDiff(r.change.Path, string(r.change.Before), string(after))
}

// show prints the change, and marks it.
func (r *lesson) show(after []byte) {
	for line := range strings.Lines(r.diff(after)) {
		fmt.Fprintln(os.Stderr, printable(strings.TrimSuffix(line, "\n")))
	}
	r.mark()
}

// mark tells what a person should know of the change.
func (r *lesson) mark() {
	for _, p := range r.proposals {
		if p.Careful != "" {
			warn("learn: careful with %q: %s", p.Value, p.Careful)
		}
	}
	for _, line := range r.widened() {
		warn("learn: with it, %s", line)
	}
}

// widened says what the change does besides what it names.
func (r *lesson) widened() (out []string) {
	o, err := r.f.options()
	if err != nil {
		return nil
	}
	before, err := config.Load(o)
	if err != nil {
		return nil
	}
	o.UserFile = append([]byte{}, r.after...)
	after, err := config.Load(o)
	if err != nil {
		return nil
	}
	for _, line := range before.Diff(after) {
		if !strings.HasPrefix(line, "sandbox.") {
			out = append(out, line)
		}
	}
	return out
}

// maxLeftLines is of how much that is not proposed a run tells.
const maxLeftLines = 8

// tellLeft says what is not proposed.
func (r *lesson) tellLeft() {
	for i, l := range r.left {
		if i == maxLeftLines {
			warn("learn: and %d more that are not proposed", len(r.left)-i)
			return
		}
		way := ""
		if l.Lift != "" {
			way = "; " + lift(l.Lift)
		}
		warn("learn: not proposed: %q: %s%s", l.What, l.Why, way)
		if l.Comment != "" {
			fmt.Fprintln(os.Stderr, "    "+printable(l.Comment))
		}
	}
}

// again says that more may come to light.
func (r *lesson) again() {
	if r.code != 0 {
		warn("learn: it may have stopped at the first denial; with this added, run it again")
	}
}

func listed(what []string) string {
	const most = 3
	if len(what) > most {
		return strings.Join(what[:most], ", ") + fmt.Sprintf(" and %d more", len(what)-most)
	}
	return strings.Join(what, ", ")
}

type learnReport struct {
	Version     int            `json:"version"`
	Command     string         `json:"command"`
	Code        int            `json:"code"`
	File        string         `json:"file"`
	Proposals   []proposalJSON `json:"proposals"`
	NotProposed []leftJSON     `json:"not_proposed"`
	More        int            `json:"more,omitempty"` // denials that are only counted
	Diff        string         `json:"diff"`           // "" if nothing is proposed
	Notes       []string       `json:"notes,omitempty"`
	Again       bool           `json:"again"` // it failed: with this added more may come to light
}

type proposalJSON struct {
	Key     string   `json:"key"`
	Value   string   `json:"value"`
	For     []string `json:"for"`
	Careful string   `json:"careful,omitempty"`
}

type leftJSON struct {
	What    string `json:"what"`
	Why     string `json:"why"`
	Lift    string `json:"lift,omitempty"`
	Comment string `json:"comment,omitempty"`
}

func (r *lesson) json() error {
	out := learnReport{
		Version: audit.Version, Command: policy.Redact(commandLine(r.f.command)), Code: r.code, File: r.change.Path,
		Proposals: []proposalJSON{}, NotProposed: []leftJSON{}, More: r.more, Diff: r.diff(r.after), Again: r.code != 0 && len(r.proposals) > 0,
		Notes: r.widened(),
	}
	for _, p := range r.proposals {
		var needs []string
		for _, n := range p.For {
			needs = append(needs, policy.Redact(n))
		}
		out.Proposals = append(out.Proposals, proposalJSON{p.Key, p.Value, needs, p.Careful})
	}
	for _, l := range r.left {
		out.NotProposed = append(out.NotProposed, leftJSON{policy.Redact(l.What), l.Why, lift(l.Lift), l.Comment})
	}
	return writeJSON(r.f.learn.out, out)
}
