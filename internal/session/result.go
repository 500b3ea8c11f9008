package session

import "bawn/internal/sandbox"

// Result is how a run ended.
type Result struct {
	// Code is the command's exit status, 128+n if signal n ended it; 126 or
	// 127 if it could not be executed or found, 125 if bawn failed.
	Code int
	// Reason says why the command did not run; empty if it did.
	Reason string
	// Denials are the connections and names that were refused.
	Denials     []Denial
	Watched     []sandbox.NameEvent // written names that run code outside later
	MoreDenials int                 // of those, how many are only counted
	// Lost are cache folders that do not exist outside: what the command wrote
	// to them is gone.
	Lost []string
	// Unreached are allowed hosts that could not be connected to.
	Unreached []Unreached
	// Unheld are protected names that appeared or changed during a run
	// without the name guard. Whatever runs there runs outside the sandbox.
	Unheld []sandbox.KnownName
}
