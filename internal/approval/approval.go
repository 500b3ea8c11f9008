// Package approval puts questions to a person and brings the answers back.
//
// What may be asked, and what an answer then allows, is decided elsewhere: an
// answer is one person's word about one prompt. Whoever cannot be asked has
// said no.
package approval

import (
	"context"
	"time"

	"bawn/internal/policy"
)

// Patience is how long a question waits for its answer (SPEC N7).
const Patience = 5 * time.Minute

// Scope is how far a yes reaches. The zero value is no.
type Scope uint8

const (
	No      Scope = iota // denied
	Once                 // what is waiting now
	Session              // until this run or session ends
	Always               // saved for later sessions
)

func (s Scope) String() string {
	switch s {
	case Once:
		return "once"
	case Session:
		return "session"
	case Always:
		return "always"
	}
	return "no"
}

// Offer is a yes that a prompt offers.
type Offer struct {
	Scope Scope
	// Text says what this yes allows, completely.
	Text string
	// Brief says the same in fewer words, beside the object of the prompt; "" is
	// Text.
	Brief string
}

// Prompt is one question. Its texts may come from anybody: they are shown as
// text, whatever they hold.
type Prompt struct {
	// Title is the question, one line.
	Title string
	// Brief is the title in a few words, for small screens; "" is Title.
	Brief string
	// Object is what it is about, whole: a command, or a host and port.
	Object string
	// Notes are what a person should know before answering, a line each.
	Notes []string
	// Rule is what made it a question.
	Rule policy.Rule
	// Offers are the ways to say yes, the narrowest first. No is always there,
	// and is what everything but an explicit yes means.
	Offers []Offer
}

// Answer is what came back. The zero value is no.
type Answer struct {
	Scope Scope
	// Given: a person said so. Otherwise it is no, because nobody could be
	// asked or nobody answered.
	Given bool
	// Reason says why it is no.
	Reason string
}

// Asker asks a person. It may be called from many goroutines and shows one
// question at a time. When ctx ends the question is withdrawn: the answer is
// no then, as it is after Patience. It only answers with a scope that the
// prompt offers.
type Asker interface {
	Ask(ctx context.Context, p Prompt) Answer
}

// Nobody is there to ask: every answer is no.
type Nobody struct {
	// Reason is why.
	Reason string
}

// Ask says no at once.
func (n Nobody) Ask(context.Context, Prompt) Answer {
	if n.Reason == "" {
		n.Reason = "there is nobody to ask"
	}
	return Answer{Reason: n.Reason}
}
