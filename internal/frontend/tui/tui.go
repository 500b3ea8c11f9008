// Package tui is the session in a terminal: a status bar under whatever runs,
// questions, and pages about what happened.
package tui

import (
	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// Session is what the screen shows and steers. *session.Session is one; tests
// have their own. Its methods may be called from any goroutine and return
// without waiting for a command or a person.
type Session interface {
	State() session.State
	// Changes gets a token whenever State may be another; tokens that nobody
	// has taken are one. stop ends them.
	Changes() (tokens <-chan struct{}, stop func())

	// SetTier switches commands started from now on. saved says where the
	// tier was kept for the next session, "" if nowhere (SPEC T3, T4).
	SetTier(t policy.Tier) (saved string, err error)
	SetPermission(m policy.PermissionMode) error
	// Stage switches whether what commands write is staged.
	Stage(on bool) error
	// AnswerFreshClone settles the suggestion of SPEC T6.
	AnswerFreshClone(airlock bool) error

	// Answer settles a question; false if it is gone. Only scopes that the
	// prompt offers, and No, have an effect.
	Answer(id int, s approval.Scope) bool
	// DenyAll says no to every open question.
	DenyAll()

	// Connections are the latest decisions about the network, oldest first.
	Connections() []session.Connection
	// Denials are what was refused, each once.
	Denials() []session.Denial
	// AllowHost and DenyHost add a rule about a host, for the session or,
	// with Always, in the user's settings as well.
	AllowHost(rule string, s approval.Scope) error
	DenyHost(rule string, s approval.Scope) error

	// Publish shows a port of guarded commands on the host, until the session
	// ends.
	Publish(at session.Publish) error

	Policy() policy.Policy

	// Start runs a command: see session.Start.
	Start(c session.Start) (task int, err error)
	// Output is the end of what a background task wrote, at most limit bytes.
	Output(task int, limit int) ([]byte, error)
	// Stop ends a task: by SIGTERM, and the second time by SIGKILL.
	Stop(task int) error
}
