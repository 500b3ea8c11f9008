// Package sandbox describes a confined process as data. Inspect reads the
// facts of this machine, Plan turns a policy and those facts into a Spec
// (pure), and a Backend starts what the Spec says.
package sandbox

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
)

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
}
