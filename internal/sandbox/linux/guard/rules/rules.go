//go:build linux

// Package rules decides which names a sandboxed command may make or change:
// git's control files wherever they are or would come to be, shell start-up
// files, the settings of agents and of bawn (SPEC F2, F3). It decides on what
// the parent folder is, by looking at it, and on what the call would make of
// it. It keeps no list of what exists.
package rules

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox/linux/guard"
)

// Config is what the rules hold for. The zero value protects nothing, because
// it names no place; what is writable at all is for the mounts.
type Config struct {
	// Roots are the writable folders in which names are guarded: workspace,
	// added folders, git directories outside them. Real, clean, absolute.
	Roots []string
	// Exempt are writable places that the host sees and whose names are not
	// guarded: caches (cargo, Go and pip keep repositories there). One inside
	// a root is exempt, and a root inside one is guarded.
	Exempt []string
	// Home: the names protected at the root of a workspace are protected
	// here too. "" for none.
	Home string
	// Paths are further places that must not change, with all below them:
	// what gitdir.Repo lists in ReadOnly and Names.
	Paths []string
	// Lifted are the ids that the user's own settings lift: those of
	// policy.Name, the git.* ids of this package, or git.config:SECTION.KEY.
	Lifted []string
	// Protected are places that the settings keep as they are, wherever they
	// lie; no id lifts them.
	Protected []string
	// Linked are places to which symbolic links lead from protected names, each
	// followed by the name (policy.Name.Path): they are as protected.
	Linked []string
	// Unprotected are places in which no other name is protected.
	Unprotected []string
	// Mounts are the places that are mount points elsewhere and are none here
	// (Mounted). Empty where there are mounts.
	Mounts []Mount
}

// The ids of git's control files, for Config.Lifted.
const (
	LiftHooks   = "git.hooks"   // programs in hooks folders
	LiftConfig  = "git.config"  // any key in config files
	LiftPointer = "git.pointer" // .git files, commondir, gitdir
	LiftLayout  = "git.layout"  // whole git directories: moved, linked, completed
	LiftTarget  = "git.target"  // what git's existing config names (Config.Paths)
)

// New makes the rules of one run.
func New(c Config) guard.Rules {
	r := &rules{Config: c, lifted: make(map[string]bool, len(c.Lifted))}
	for _, id := range c.Lifted {
		r.lifted[id] = true
	}
	r.mounts = newPlaces(c.Mounts)
	r.places = append(r.places, c.Roots...)
	if c.Home != "" {
		r.places = append(r.places, c.Home)
	}
	r.protected = index(policy.ProtectedNames())
	r.watches = index(policy.WatchedNames())
	return r
}

// index finds names by their first element.
func index(names []policy.Name) map[string][]*policy.Name {
	out := make(map[string][]*policy.Name, len(names))
	for i := range names {
		first, _, _ := strings.Cut(names[i].Path, "/")
		out[first] = append(out[first], &names[i])
	}
	return out
}

type rules struct {
	Config
	lifted map[string]bool
	places []string // at whose root names are protected
	mounts places

	protected, watches map[string][]*policy.Name // by their first element

	mu     sync.Mutex
	recent []string // directories of linked worktrees and submodules begun lately, the latest first
}

var allow = guard.Verdict{Decision: guard.Allow}

func deny(id, text string) guard.Verdict {
	return guard.Verdict{Decision: guard.Deny, Errno: unix.EACCES, Rule: policy.NameRule(id, text)}
}

// Check implements guard.Rules.
func (r *rules) Check(c *guard.Call) guard.Verdict {
	t := &c.Target
	if t.Dir >= 0 {
		if v, done := r.named(c); done {
			return v
		}
	}
	// One more name for a protected file, made before the run, or now. A file
	// without a known name may have one that it had not been opened by.
	if (c.Op == guard.Open || c.Op == guard.Truncate) && (t.Dir < 0 || t.Stat.Nlink > 1) && r.isProtected(&t.Stat) {
		return deny(LiftTarget, "another name of a protected file")
	}
	if c.Op == guard.Link && c.Other != nil {
		if v, done := r.linked(c); done {
			return v
		}
	}
	if t.Dir >= 0 {
		return r.watch(c)
	}
	return allow
}

// Blind implements guard.Blind. Where a rule looks at the name itself (piece), it
// allows what it would have judged before, and what is allowed at all may come
// again. A linked worktree that is remembered and not begun is looked at again.
func (r *rules) Blind() bool { return true }

// guarded says whether names in dir are guarded: the deepest place decides.
func (r *rules) guarded(dir string) bool {
	root, exempt := -1, -1
	for _, p := range r.Roots {
		if policy.Inside(dir, p) {
			root = max(root, len(p))
		}
	}
	if root < 0 {
		return false
	}
	for _, p := range r.Exempt {
		if policy.Inside(dir, p) {
			exempt = max(exempt, len(p))
		}
	}
	return root >= exempt
}

// exempt says whether the host sees path as a place that the command fills
// unguarded.
func (r *rules) exempt(path string) bool {
	if r.guarded(path) {
		return false
	}
	for _, p := range r.Exempt {
		if policy.Inside(path, p) {
			return true
		}
	}
	return false
}

// isProtected compares an object with the protected files as they are now: git
// on the host replaces them.
func (r *rules) isProtected(s *unix.Stat_t) bool {
	if s.Nlink == 0 || s.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	same := func(path string) bool {
		return !policy.InsideAny(path, r.Unprotected) && r.mayBe(path, s)
	}
	for _, p := range r.Paths {
		if r.lifted[LiftTarget] {
			break
		}
		if same(p) {
			return true
		}
		if base(p) == "hooks" {
			entries, err := os.ReadDir(p)
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) && r.guarded(p) {
				return true
			}
			for _, e := range entries {
				if same(p + "/" + e.Name()) {
					return true
				}
			}
		}
	}
	for _, p := range r.Protected {
		if r.mayBe(p, s) {
			return true
		}
	}
	for _, place := range r.places {
		for _, n := range policy.ProtectedNames() {
			if !r.lifted[n.Lift] && same(place+"/"+n.Path) {
				return true
			}
		}
		for _, n := range [...]string{"/.git/config", "/.git/config.worktree", "/.git/commondir", "/.git", "/config"} {
			if !r.lifted[LiftConfig] && same(place+n) {
				return true
			}
		}
	}
	return false
}

// mayBe says whether path leads to the object, or cannot be looked at where the
// command may have closed a folder. Elsewhere the sandbox has (hidden places).
func (r *rules) mayBe(path string, s *unix.Stat_t) bool {
	var o unix.Stat_t
	switch unix.Lstat(path, &o) {
	case nil:
		return o.Dev == s.Dev && o.Ino == s.Ino
	case unix.ENOENT, unix.ENOTDIR:
		return false
	}
	return r.guarded(path)
}

// linked decides about the object of a hard link by the name it has: a second
// name would be a way to write it.
func (r *rules) linked(c *guard.Call) (guard.Verdict, bool) {
	o := c.Other
	if (o.Dir < 0 || o.Stat.Nlink > 1) && r.isProtected(&o.Stat) {
		return deny(LiftTarget, "another name of a protected file"), true
	}
	if o.Dir < 0 {
		return allow, false
	}
	// As if it were opened: what may not be written may not be linked.
	asked := guard.Call{PID: c.PID, Op: guard.Open, Target: *o}
	if v, done := r.named(&asked); done && v.Decision != guard.Allow {
		return v, true
	}
	return allow, false
}

// named decides by the name; false: no rule of this package is about it.
func (r *rules) named(c *guard.Call) (guard.Verdict, bool) {
	if strings.HasPrefix(canon(c.Target.Name), policy.KeepPrefix) {
		return guard.Verdict{Decision: guard.Deny, Errno: unix.EACCES, Rule: policy.KeepRule}, true
	}
	if v, done := r.added(c); done {
		return v, true
	}
	if policy.InsideAny(c.Target.Path(), r.Unprotected) {
		return allow, false
	}
	if v, done := r.settings(c); done {
		return v, true
	}
	if r.guarded(c.Target.DirPath) {
		if v, done := r.git(c); done {
			return v, true
		}
	}
	return r.paths(c)
}

func (r *rules) remember(g string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	const keep = 16
	next := append(make([]string, 0, keep), g)
	for _, old := range r.recent {
		if old != g && len(next) < keep {
			next = append(next, old)
		}
	}
	r.recent = next
}

func (r *rules) latest() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.recent // replaced as a whole, never changed
}

func mode(t *guard.Target) uint32 { return t.Stat.Mode & unix.S_IFMT }

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
