//go:build linux

package guard

import (
	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

// Op is what a call does to a name.
type Op uint8

const (
	// Open gives a descriptor that can change a file that exists, or cuts it
	// to nothing by O_TRUNC. Only regular files are asked about.
	Open Op = iota + 1
	// Create makes a regular file by open or creat.
	Create
	// Mkdir makes a directory.
	Mkdir
	// Mknod makes a pipe, a socket or an empty file; Call.Mode has the type.
	Mknod
	// Symlink makes a symbolic link to Call.Link.
	Symlink
	// Link gives the object Call.Other one more name, Call.Target.
	Link
	// Rename takes the name Call.Target away from its object, which becomes
	// Call.Other.
	Rename
	// RenameTo gives the object Call.Other the name Call.Target. What had the
	// name before is replaced, or with RENAME_EXCHANGE in Call.Flags gets the
	// other's name, which is asked about in a second pair of calls.
	RenameTo
	// Truncate changes the size of a file that exists.
	Truncate
	// Remove takes a name away, a folder's or a file's. It is asked about only
	// where the listener was installed for it.
	Remove
)

// Target is a name in a directory, or an object without one.
type Target struct {
	// Dir is an O_PATH descriptor of the directory itself, after every link.
	// It is valid during Check only. -1: the file was reached by a descriptor
	// and no name of it is known (made by O_TMPFILE, unlinked meanwhile, or
	// handed in from outside); DirPath and Name are then empty and only Stat
	// tells. Open and Truncate of a file with no link left are not asked about.
	Dir int
	// DirPath is the directory's path in the sandbox as the kernel tells it:
	// absolute, clean, without links. Whoever decides by it decides on the
	// object: no call inside can move a directory during Check.
	DirPath string
	// Name is the last component: not empty, not "." or "..", no slash, any
	// other byte. Case is as the caller wrote it.
	Name string
	// Exists says that the name leads to an object now. For names that are to
	// be made it is false, except that RenameTo may replace one.
	Exists bool
	// Stat is the object itself (a link, not what it leads to), if Exists.
	// Nlink > 1 means that it has other names: compare Dev and Ino with what
	// is protected.
	Stat unix.Stat_t

	at     place // of Dir, if it was asked for
	unseen bool  // nobody has looked whether it exists
}

// Call is one question. A rename asks twice (Rename, then RenameTo), and so
// does each half of an exchange; all must be allowed.
type Call struct {
	PID    int // of the thread that calls, in the sandbox's PID namespace
	Op     Op
	Flags  uint64 // of open, renameat2 or linkat, as the kernel numbers them
	Mode   uint32 // of the call, before the umask
	Target Target
	Other  *Target // the counterpart of Link, Rename and RenameTo, else nil
	Link   string  // the text of a symbolic link
}

// Decision is how a call ends. The zero value refuses.
type Decision uint8

const (
	// Deny refuses the call with Verdict.Errno.
	Deny Decision = iota
	// Allow carries it out.
	Allow
	// Vet is for RenameTo and Link of a regular file: its content is read,
	// Verdict.Vet is asked, and if it returns nil the bytes it saw are written
	// to a new file that nobody else holds open, which takes the name; the
	// source loses its name if the call is a rename. For every other call and
	// every other kind of object it is a denial.
	Vet
	// Fixed is for Create and Open: the name gets Verdict.Content, whatever
	// the caller goes on to write: its descriptor is of a nameless file. It
	// serves files that a tool writes in place with one right content. A file
	// that exists with another content is denied.
	Fixed
	// Held is for Create: the name gets an empty file, and what the caller
	// writes is kept apart until a Vet takes it from there. It serves names
	// that a tool on the host renames without looking. Open is allowed if the
	// file is one made so in this run, and so is Rename.
	Held
	// Refuse ends the call with Verdict.Errno, any one, as the kernel does where
	// a mount holds the name: it is told as the kernel's refusal is (Event.Failed).
	Refuse
)

// Verdict is the answer to a Call.
type Verdict struct {
	Decision Decision
	// Errno of a denial: EACCES, EPERM or EROFS. 0 is EACCES. Of a Refuse: any.
	Errno unix.Errno
	// Rule is the reason. An allowed call with a Rule is reported as watched.
	Rule policy.Rule
	// Vet judges the content of the file; an error is a denial with its text,
	// and with the way out of a LiftError.
	Vet func(content []byte) error
	// MaxSize bounds what Vet is given, in bytes; a larger file is denied.
	// More than 1 MiB is taken as 1 MiB, 0 as an empty file.
	MaxSize int64
	// Content of a Fixed file. Replace: an existing one of another content,
	// and of one name, gets it. Sealed: what the caller writes to a new one
	// fails (EPERM), for a name that a tool makes and leaves empty.
	Content []byte
	Replace bool
	Sealed  bool
}

// LiftError is a refusal by Vet that has a narrower way out than the Rule.
type LiftError struct {
	Err  error
	Lift string
}

func (e *LiftError) Error() string { return e.Err.Error() }

func (e *LiftError) Unwrap() error { return e.Err }

// Rules decides. While Check runs no call inside can make, move or link a name
// anywhere, so what it finds out about the directory, or about several names
// of it, holds until the call is done; only unlink goes on. It may look at the
// file system, by Target.Dir, but must not block, nor open anything for
// writing. Several threads may be in it at once, with Open and Truncate.
type Rules interface {
	Check(*Call) Verdict
}

// Blind are Rules for which it makes no difference to Create (with O_EXCL),
// Mkdir, Mknod and Symlink whether the name is taken, which fails the call: they
// decide the same, and keep nothing of such a call that is untrue then. They are
// asked before anybody has looked.
type Blind interface {
	Rules
	Blind() bool
}

// Event is a call that was denied, or allowed and watched.
type Event struct {
	PID     int    // of the thread that called
	TGID    int    // of its process
	Command string // the thread's name, see FullName
	Op      Op
	Path    string // in the sandbox
	Allowed bool   // watched only
	Rule    policy.Rule
	Reason  string // Vet's error text, or ""
	// Failed: the kernel refused it, for whatever reason, and not the rules.
	Failed bool
	// Seen: nothing was decided; a process makes names. TGID, Parent and Command
	// alone are set.
	Seen   bool
	Parent int
	// Line is the process and those that started it, up to the guard's child.
	Line []Ancestor
}

// Ancestor is one process of a line, as the sandbox counts.
type Ancestor struct {
	PID, Parent int
	Command     string // as the kernel has it
}

// Path is the target's path in the sandbox, or "" if it has no name.
func (t *Target) Path() string {
	switch {
	case t.Dir < 0:
		return ""
	case t.DirPath == "/":
		return "/" + t.Name
	}
	return t.DirPath + "/" + t.Name
}

func (op Op) String() string {
	names := [...]string{
		Open: "open", Create: "create", Mkdir: "mkdir", Mknod: "mknod", Symlink: "symlink", Link: "link",
		Rename: "rename", RenameTo: "rename to", Truncate: "truncate", Remove: "remove",
	}
	if int(op) >= len(names) || op == 0 {
		return "unknown"
	}
	return names[op]
}
