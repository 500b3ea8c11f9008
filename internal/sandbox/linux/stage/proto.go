//go:build linux

// Package stage is the code that runs inside the sandbox before the command:
// as pid 1 of its namespaces it builds the file system by descriptor,
// confines one thread, starts the command from it, reaps and forwards signals.
package stage

import (
	"runtime"
	"strconv"
	"strings"
)

// Descriptors that the launcher hands to the stage, above the command's
// standard ones.
const (
	ControlFD = 3 // SOCK_SEQPACKET to the supervisor
	SpecFD    = 4 // memfd with the Spec
	StdioFD   = 5 // bwrap only: the command's three streams, since bwrap has its own
	ExeFD     = 8 // bwrap only: this program

	// Kept only: mounts of the session's temp, for /tmp and /var/tmp.
	TempFD    = 5
	VarTempFD = 6

	SlaveFD = 5 // Guarding only: the command's terminal, if it gets one
)

// EnvMark is the variable that makes a start a stage's; its value is a Mark.
const (
	EnvMark = "BAWN_STAGE"
	Native  = "native"
	Bwrap   = "bwrap"
	Keeper  = "keeper" // no stage: what the commands of a session share
	Kept    = "kept"   // a stage that the keeper started ahead

	// Guarding is no stage of the supervisor's: the name guard that the stage of
	// the weaker mode starts, which starts the command.
	Guarding = "guard"
)

// Mark tells the stage how it was started.
type Mark struct {
	Launcher string
	UID, GID int // the caller's, to be mapped to themselves
}

func (m Mark) String() string {
	return m.Launcher + "," + strconv.Itoa(m.UID) + "," + strconv.Itoa(m.GID)
}

// Environ is all the environment that a stage starts with: its mark, and as
// many processors as there are here. Without them Go's runtime reads the files
// of the control groups before anything else.
func (m Mark) Environ() []string {
	return []string{EnvMark + "=" + m.String(), "GOMAXPROCS=" + strconv.Itoa(runtime.GOMAXPROCS(0))}
}

// parseMark reads what String wrote; anything else is not a stage.
func parseMark(s string) (Mark, bool) {
	f := strings.Split(s, ",")
	if len(f) != 3 {
		return Mark{}, false
	}
	uid, err1 := strconv.Atoi(f[1])
	gid, err2 := strconv.Atoi(f[2])
	return Mark{f[0], uid, gid}, err1 == nil && err2 == nil
}

// Messages on the control socket: one packet each, the first byte says what.
const (
	MsgReady   = 'R' // stage: the boundary stands; lines about what could be made only in part
	MsgTTY     = 'P' // stage: the terminal's master, by SCM_RIGHTS
	MsgStarted = 'S' // stage: the command runs
	MsgFailed  = 'E' // stage: exit code byte, then the reason
	MsgStopped = 'T' // stage: the command was stopped by a signal
	MsgExited  = 'X' // stage: exit code byte; nothing but pid 1 is left in the sandbox
	MsgNetwork = 'N' // stage: count, a netns.Kind for each descriptor, then a line for each thing that is missing
	MsgName    = 'G' // stage: '-', '+' or '!', then NUL-ended pid, command, operation, path, rule, text, lift, reason; or '=' and counts
	MsgProcess = 'Y' // stage: processes that were seen, each NUL-ended: number, parent, count (0: as yet one; number 0: others), command
	MsgLost    = 'L' // stage: the path of a folder (Mount.Lost) in which something is left
	MsgConnect = 'C' // supervisor: two bytes of port; stage: the socket by SCM_RIGHTS, or the reason
	MsgSpec    = 'D' // supervisor: the Spec file is complete; how many descriptors are the stage's own (a kept one gets the file and the command's streams, but for a terminal), then mounts of the session's layers, then, if the next byte is 1, the guard's lock (sandbox.Guard.Locks)
	MsgRun     = 'A' // supervisor, to a native stage: the command may start
	MsgSignal  = 'K' // supervisor: signal byte, for the command's process group

	// To the keeper. MsgNetwork comes with the socket on which that network is
	// answered for from then on: a byte of NetProxy and NetTransparent, two
	// bytes for each local port. There MsgConnect is as above, and each request
	// gets one answer: itself or MsgFailed.
	MsgFork = 'F' // two bytes: writable folders to make room for; one: layers; keeper: a stage's control socket and pidfd

	// MsgStage to the keeper comes with the socket on which layers are answered
	// for, and a Spec file whose OpStaged mounts say which. Each request there,
	// the first one too, gets one answer: MsgFailed, or itself, with a mount of
	// each layer but for the first. What ends them is the end of the socket for
	// writing; the keeper's end follows when they are let go of.
	MsgStage = 'O'
)

// Bits of MsgNetwork to the keeper.
const (
	NetProxy       = 1
	NetTransparent = 2
)

// MaxStaged bounds the layers of a session.
const MaxStaged = 64

// MaxLocal bounds Spec.Net.Local: one packet carries at most 253 descriptors
// (unix(7)).
const MaxLocal = 200

// CodeUnavailable in MsgFailed means that namespaces or mounts are not
// permitted here at all, so that another launcher may be tried. Any other
// failure is final: falling back could trade a strict check for a weaker one.
const CodeUnavailable = 124
