// Package sandbox describes a confined process as data. Inspect reads the
// facts of this machine, Plan turns a policy and those facts into a Spec
// (pure), and a Backend starts what the Spec says.
package sandbox

import "bawn/internal/policy"

// Op is one step in building the file system that a command sees.
type Op uint8

const (
	// OpTmpfs mounts a new tmpfs at Target, made if its parent is the
	// sandbox's own. Mode is the root folder's mode.
	OpTmpfs Op = iota + 1
	// OpSkeleton shows the folder Target as a new empty tmpfs that later
	// steps fill with chosen children of the host's folder. A skeleton inside
	// a skeleton is a folder of the same tmpfs.
	OpSkeleton
	// OpBind shows the host's Source at Target, read-only unless Write.
	OpBind
	// OpPin mounts what the sandbox has at Target onto itself, read-only
	// unless Write: a mount point can be neither renamed nor removed.
	OpPin
	// OpDir makes a folder in a tmpfs made earlier.
	OpDir
	// OpFile makes a file with Data in a tmpfs made earlier.
	OpFile
	// OpSymlink makes a symbolic link with the text Data in such a tmpfs.
	OpSymlink
	// OpMask covers what exists at Target with an unreadable stub of the same
	// kind (Dir tells which).
	OpMask
	// OpSeal makes the tmpfs mounted at Target read-only.
	OpSeal
	// OpProc mounts a proc of the sandbox's own pid namespace.
	OpProc
	// OpDev mounts a minimal /dev with its own devpts and shared memory.
	OpDev
	// OpReplace shows a read-only file with Data over the file at Target.
	OpReplace
	// OpLayer shows the host's folder at Target with a layer of the sandbox's
	// own over it, which takes what is written. The layers are kept below
	// Source, and no two runs write one at a time. Where that cannot be, or
	// the host has no such folder, it shows Source's OwnFolder alone.
	OpLayer
	// OpStaged shows the host's folder at Target, with what is written kept in
	// a layer of this one run at Source, and none of it in the folder. Where
	// that cannot be the run ends. Data is Staged.Since in decimal. With Kept the
	// layer is one that a Keeper holds (Keeper.Stage).
	OpStaged
)

// OwnFolder is the name, below an OpLayer's Source, of the folder that all runs
// without a layer share.
const OwnFolder = "own"

// Mount is one step. Paths are absolute, clean and real.
type Mount struct {
	Op     Op
	Target string
	Source string
	// Data is a file's content or a link's text. For OpBind and OpPin under a
	// launcher that mounts by path it is the object that Target must show.
	Data  string
	Mode  uint32
	Write bool // OpBind, OpPin: writable
	Dir   bool // OpBind, OpPin, OpMask: Target is a folder
	Kept  bool // OpTmpfs, OpStaged: a Keeper shows what is the session's own here instead
	// Lost, of an OpTmpfs: it stands for a folder that the host does not have,
	// and the supervisor is told if the command left anything in it.
	Lost bool
	// Try: what is not there is left out. For OpPin and OpMask that means the
	// name does not exist; any other reason stops the run, as a protection
	// that cannot be made always does.
	Try bool
}

// Spec is one confined process as data. It holds no secret but what the
// caller's kept environment holds, and travels by descriptor, never in argv.
type Spec struct {
	Args   []string // the command; Args[0] is looked up in Path inside
	Env    []string // the whole environment
	Path   string   // the folders in which Args[0] is looked for
	Dir    string   // the working folder, a real path
	Mounts []Mount
	TTY    bool // give the command a terminal of its own
	Net    Network
	Guard  Guard
}

// Guard is what the name guard holds inside; the zero value is no guard. See
// package guard/rules for the fields.
type Guard struct {
	On     bool
	Roots  []string // writable folders in which names are guarded
	Exempt []string // writable places in them that are not: caches
	Paths  []string // further places that must not change
	Home   string
	Lifted []string // ids that the user's own settings lift
	// What settings add to the protected names, and where they lift all.
	Protected, Unprotected []string
	// Linked are the places to which symbolic links lead from protected names,
	// each followed by its name (policy.Name.Path).
	Linked []string
	// Only narrows what may be written in Roots, but for Exempt.
	Only policy.WriteNames
	// Locks are where the file may lie by which the guards of all runs of this
	// user take turns. They are for the supervisor alone, and not marshalled.
	Locks []string
}

// Network is what the sandbox's network namespace holds besides its own
// loopback. The zero value is nothing. Listeners are made inside and handed
// to the supervisor, which alone can reach anything else.
type Network struct {
	// Proxy: a listener for the egress at ProxyAddr.
	Proxy bool
	// Transparent: also a TUN device with the default route, a resolver and
	// the engine's listener, for programs that ignore proxies. A launcher that
	// cannot make them leaves them out and says why.
	Transparent bool
	// Local are loopback ports of which the supervisor gets the listeners too.
	Local []uint16
}

// ProxyAddr is where the egress listens inside.
const ProxyAddr = "127.0.0.1:3128"

// InnerSocket is where a command of a session asks for a sibling of its sandbox.
const InnerSocket = "/run/bawn/inner.sock"

// ResolverAddr is the sandbox's own name server.
const ResolverAddr = "198.18.0.1"
