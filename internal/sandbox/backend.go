package sandbox

import (
	"errors"
	"net/netip"
	"os"

	"bawn/internal/policy"
)

// Backend starts what a Spec describes.
type Backend interface {
	// Start builds the sandbox and starts the command in it. An *Unavailable
	// error means that this mechanism cannot work here at all; nothing ran.
	Start(Spec, Stdio) (Process, error)
}

// Gated is a Backend that can ask, once the sandbox is described, whether the
// command may start: what it takes to know goes on while the boundary is made.
type Gated interface {
	Backend
	// WithGate is the same Backend, which asks gate before all others.
	WithGate(gate func() error) Backend
}

// Stdio are the command's standard streams. They are passed on as they are;
// with Spec.TTY they stay outside and the command gets a terminal instead.
type Stdio struct{ In, Out, Err *os.File }

// Process is a started sandbox, seen from outside.
type Process interface {
	// Next waits for the next thing to happen. After Exited or Failed there
	// is nothing more.
	Next() (Event, error)
	// Signal delivers a signal to the command's process group.
	Signal(sig int) error
	// Connect asks for a socket that is connected to a loopback port inside;
	// the answers, one EventConnected each, come in the order of the calls.
	Connect(port uint16) error
	// Owner finds the process that has the socket with this local address
	// inside: its pid outside, and its name. 0 if it cannot be told.
	Owner(peer netip.AddrPort) (pid int, command string)
	// Ack answers an EventTTY: size and modes of the terminal are set.
	Ack() error
	// Kill ends the sandbox and all in it at once.
	Kill()
	// Wait waits until nothing in the sandbox can act any more, but for what it
	// was started with outside of namespaces; after Exited, Failed or Kill.
	Wait()
	// Close waits for the launcher's own process and frees what it held.
	Close() error
}

// EventKind says what happened.
type EventKind uint8

const (
	EventStarted   EventKind = iota + 1
	EventTTY                 // TTY is the master of the command's terminal
	EventStopped             // by the signal in Code
	EventExited              // with the status in Code
	EventFailed              // the command did not run; Code is bawn's exit code
	EventNetwork             // Net holds what Spec.Net asked for
	EventName                // Name is what the guard refused or watched
	EventNotice              // Reason holds lines for a person: what they do not get
	EventConnected           // File is the socket, or nil and Reason says why
	EventProcesses           // Processes were seen
	EventCounts              // Counts is what the guard refused beyond that: once, before the end
	EventLost                // something was written to the folder Reason (Mount.Lost), and goes with the sandbox
)

// Event is one thing that happened in a sandbox.
type Event struct {
	Kind   EventKind
	Code   int
	Reason string
	TTY    *os.File
	File   *os.File
	Net    *Sockets
	Name   *NameEvent
	Counts *NameCounts

	Processes []Ancestor
}

// NameEvent is a name that a command was refused, or one that runs code
// outside later and was written.
type NameEvent struct {
	Allowed bool   // watched only
	Failed  bool   // the kernel refused it; there is no Rule
	PID     int    // in the sandbox
	Command string // the thread's name: text from inside, of at most 64 bytes
	Op      string
	Path    string
	Rule    policy.Rule
	Reason  string // what was wrong with the content, or ""
	// Line is the process and those that started it, the youngest first.
	Line []Ancestor
}

// MaxWatched is how many names that run code outside later are told of in one
// run; what is written beyond that is not.
const MaxWatched = 256

// NameCounts are the calls that the guard denied and did not tell one by one.
type NameCounts struct {
	Again []NameAgain
	More  int // of names beyond those that it tells
}

// NameAgain is a call that was denied more than once.
type NameAgain struct {
	Number int // of the NameEvent among those neither Allowed nor Failed, from 0
	Times  int // not counting the first
}

// Ancestor is one process of a line, as the sandbox counts.
type Ancestor struct {
	PID, Parent int
	Command     string
	// Count is how many of that name the same one started, this being the first;
	// 0 is not counted. Without a PID: how many there were besides all told.
	Count int
}

// Sockets are the supervisor's ends of a sandbox's network: made inside, so
// that nothing outside can reach them. Whoever gets them closes them.
type Sockets struct {
	Proxy *os.File // listens at ProxyAddr; nil if that failed, for Reason
	Local map[uint16]*os.File
	// Transparent mode: all nil if the launcher could not make it.
	TUN        *os.File
	Relay      *os.File // the engine's listener
	DNSPackets []*os.File
	DNSStreams []*os.File
	// Reason says why something that was asked for is missing.
	Reason string
}

// Close closes all that is open.
func (s *Sockets) Close() {
	if s == nil {
		return
	}
	for _, f := range append(append([]*os.File{s.Proxy, s.TUN, s.Relay}, s.DNSPackets...), s.DNSStreams...) {
		if f != nil {
			_ = f.Close()
		}
	}
	for _, f := range s.Local {
		_ = f.Close()
	}
}

// ErrUnavailable marks a mechanism that cannot work on this machine.
var ErrUnavailable = errors.New("sandbox mechanism unavailable")

// Unavailable says why a mechanism cannot work here.
type Unavailable struct {
	Mechanism string // native, bwrap
	Reason    string
}

func (e *Unavailable) Error() string { return e.Mechanism + ": " + e.Reason }

// Is makes every Unavailable match ErrUnavailable.
func (e *Unavailable) Is(target error) bool { return target == ErrUnavailable }
