// Package audit keeps a record of runs and decisions: JSON lines in files that
// are only appended to, each line with the hash of the one before, so that an
// edit or a cut shows. docs/log.md describes the files and every field.
package audit

import (
	"time"

	"bawn/internal/policy"
)

// Version of the schema. A field that is added does not change it.
const Version = 1

// Kind says what a record is about.
type Kind string

const (
	Opened     Kind = "log"        // the first record of a file
	Started    Kind = "run"        // a command is about to start
	Decided    Kind = "decision"   // something was allowed or denied
	Connection Kind = "connection" // the end of a connection that was allowed
	Written    Kind = "written"    // a name was written that runs code outside later
	Process    Kind = "process"    // a process of a run
	Ended      Kind = "end"        // the command has ended, or did not start
	Staged     Kind = "staged"     // what it wrote is kept apart; Target says how much
	Kept       Kind = "keep"       // Target of that is about to be brought into the workspace, or was
	Discarded  Kind = "discard"    // what was left of it is thrown away
)

// kinds are all there are: nothing else is written.
var kinds = [...]Kind{Opened, Started, Decided, Connection, Written, Process, Ended, Staged, Kept, Discarded}

// Actions of decisions.
const (
	Run     = "run"     // Target is the command
	Connect = "connect" // Target is host:port
	Resolve = "resolve" // Target is a host
	Write   = "write"   // Target is a path
	Read    = "read"    // Target is a path
)

// Record is one line. Fields that do not belong to its Kind are zero, and a
// zero field is not written.
type Record struct {
	Seq  uint64    // counts all records of a log, from 1
	Time time.Time // in UTC, in microseconds
	Kind Kind
	Run  string // the run's id: 16 hexadecimal digits

	// Of a run.
	Command   string // the command line; elsewhere the name of who asked
	Dir       string // the workspace
	Tier      string // the tier, or the fixed mode
	Place     string // sandbox, outside (an exclusion or escape hatch) or open (no sandbox)
	Trace     string // the TRACEPARENT that the run continues
	Code      int    // exit code, of Ended
	Denied    int    // denials, of Ended
	Error     string // what went wrong, of Ended and Connection
	Duration  time.Duration
	File      int // number of the file, of Opened
	FirstFile int // number of the oldest file that is kept, of Opened

	// Of a decision and what follows from it.
	Verdict string // allow or deny
	Action  string
	Target  string
	Via     string // how a connection was asked for
	Addr    string // what was connected to
	Up      int64  // bytes that the client sent
	Down    int64  // and received
	PID     int    // as the host counts
	Inside  int    // as the sandbox counts
	Parent  int    // of Inside, of Process
	Count   int    // of Process: how many of that name Parent started, of which Inside was the first
	Rule    policy.Rule

	// Prev is the SHA-256 of the line before, in hexadecimal.
	Prev string
}
