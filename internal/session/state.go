package session

import (
	"os"
	"time"

	"bawn/internal/approval"
	"bawn/internal/policy"
)

// State is a session at one moment, as a screen shows it: a copy to keep.
type State struct {
	ID        string
	Workspace string
	Trusted   bool        // the project's settings may widen, and the tier is saved there
	Tier      policy.Tier // of commands started from now on
	Mode      policy.Mode // fixed for the whole session; with NoMode the tier can be switched
	// Permission says how commands without a rule are treated (SPEC C1).
	Permission policy.PermissionMode
	// NoNetwork says why commands started now have no network; "" if they have.
	NoNetwork string
	// Published are ports of the guarded commands' loopback that the host shows.
	Published []Publish
	// Allowed and Denied count decisions since the start: connections, and
	// denials of every kind.
	Allowed, Denied int
	// Staged is what holds back the writes of commands started now; nil is
	// nothing.
	Staged *StagedState
	// Asks: a person is asked what the policy leaves open.
	Asks bool
	// Questions are open, oldest first.
	Questions []Question
	// Tasks are the commands of this session, the running ones and the latest
	// of the others, oldest first.
	Tasks []Task
	// FreshClone: airlock is suggested and nobody has answered yet (SPEC T6).
	FreshClone bool
}

// StagedState is that commands write a layer in the place of the workspace.
type StagedState struct {
	ID  string // of the layer, "" if there is none
	Why string // why no command can start, "" if they can
}

// Question is one that waits for a person.
type Question struct {
	ID       int
	Kind     QuestionKind
	Prompt   approval.Prompt
	Deadline time.Time // then it is a no
	// Task is the command that it came from, with the process inside that
	// asked, as far as that is known.
	Task    int
	PID     int
	Command string
	Dir     string
	Waiting int // how many connections or commands wait for the answer
}

// QuestionKind is what a question is about.
type QuestionKind uint8

const (
	AboutHost    QuestionKind = iota + 1 // a connection to a host that is not on the list
	AboutCommand                         // a command that a rule wants asked about
	AboutOutside                         // run this one command outside the sandbox
	AboutAgain                           // run the command again, now that its host is allowed
	AboutOther                           // another process of the user's asks: see Put
)

// Task is one command of a session.
type Task struct {
	ID      int
	Kind    TaskKind
	Command string // as a line of shell text that is safe to show
	Dir     string
	Tier    policy.Tier
	Started time.Time
	Ended   time.Time // zero while it runs
	Code    int       // its exit code, when it has ended
	Reason  string    // why it did not run; "" if it did
	Output  int64     // bytes that it wrote, of a background task
	Denied  int
}

// TaskKind is how a command came to be.
type TaskKind uint8

const (
	Foreground TaskKind = iota + 1 // typed, or the agent of bawn wrap
	Background                     // goes on while others run
	Attached                       // bawn run in another terminal or a hook
	Inner                          // bawn run inside the sandbox of another task
)

// Connection is a decision about the network, with what became of it.
type Connection struct {
	ID       int
	Time     time.Time
	Host     string // in ASCII form
	Port     uint16
	Via      string
	Decision policy.Decision
	Task     int
	PID      int
	Command  string
	Ended    bool // Duration, Up, Down and Err are complete
	Duration time.Duration
	Up, Down int64
	Err      string
}

// Start describes a command of a session.
type Start struct {
	// Text is shell text; Args, if it is empty, the words.
	Text string
	Args []string
	// Dir is the working folder; "" is the workspace.
	Dir string
	// Preset: it is the agent of bawn wrap. No client can ask for that.
	Preset bool
	// As are the words that rules and the record see, where Args only do what
	// they name: the tools of a front end. Such a command never leaves the sandbox.
	As []string
	// Web lets it reach every public host that no rule denies, once a person has
	// allowed that for the session, or the permissions do (SPEC N8). It has a
	// network of its own.
	Web bool
	// NoEgress gives it no way to the network, whatever the tier (SPEC N9).
	NoEgress bool
	Kind     TaskKind
	// Terminal takes over the command's terminal when it has one: see Terminal.
	// A background task without one writes to a file that Output reads.
	Terminal Terminal
	// Notice is told, before the command starts, what its person should know by
	// then: what it writes comes after that. nil leaves it to Setup's.
	Notice func(line string)
	// Again is given the command when a person has said yes to running it once
	// more, to be started by whoever has its screen; nil leaves that to the
	// session. It is called before the answer returns.
	Again func(Start)
	// Keep, in the place of Text and Args, are words of bawn keep or discard,
	// about what the session has staged. No client can ask for that.
	Keep []string

	outside bool // without a sandbox, as a person said of this very command
}

// Terminal is a screen that a foreground command has to itself.
type Terminal interface {
	// Attach shows what the command writes to its terminal, whose master this
	// is, and sends it what is typed, until the last slave is closed; it closes
	// master then, unless it failed. Size and modes are set when it returns.
	Attach(task int, master *os.File) error
	// Drain waits until all that the command wrote has been shown.
	Drain(task int)
	// Tail is, after Drain, the end of what it wrote: at most hint.MaxText bytes.
	Tail(task int) []byte
}
