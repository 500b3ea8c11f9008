package session

import (
	"bawn/internal/policy"
	"bawn/internal/shell/plain"
)

// Command is what is to be run.
type Command struct {
	// Args are the words; of shell text those after it ($0, $1, …).
	Args []string
	// Text is shell text, if IsText.
	Text   string
	IsText bool
	// Environ is that of the process which asked for it, where that is not the
	// session's own: what it names is hidden as well.
	Environ []string
	// Preset: it is the agent of bawn wrap, which has what its preset opens.
	Preset bool
}

// String is the command as a line of shell text that is safe to show.
func (c Command) String() string {
	if c.IsText {
		return plain.Quote([]string{c.Text})
	}
	return plain.Quote(c.Args)
}

// Place is where a command runs. The zero value is nowhere.
type Place uint8

const (
	Nowhere Place = iota // refused
	Inside               // in the sandbox; in the open tier there is none
	Outside              // beside the sandbox, as an exclusion or escape hatch
)

// Outcome is what becomes of a command.
type Outcome struct {
	Place Place
	// Decision is what decided: Deny with Nowhere, Ask if a person must say yes
	// first, else Allow.
	Decision policy.Decision
	// Program is what runs Outside.
	Program plain.Outside
	// Stays says why it does not run outside, if anything was written that could
	// be about it.
	Stays policy.Rule
}
