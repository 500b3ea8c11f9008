//go:build linux

package rules

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/gitdir"
	"bawn/internal/policy"
	"bawn/internal/sandbox/linux/guard"
)

// maxLayout bounds the look at a folder that becomes a git directory.
const maxLayout = 4096

// piece decides about HEAD, objects and refs, the three by which git knows a
// git directory without a .git. Each is an ordinary name, so only two things
// are refused: HEAD next to a control file that nobody judged (somebody may
// hold it open), and the last of the three where what is there would run.
func (r *rules) piece(c *guard.Call, s *spot, name string) (guard.Verdict, bool) {
	here := s.last()
	folder := c.Op == guard.Mkdir || c.Op == guard.RenameTo && c.Other != nil && mode(c.Other) == unix.S_IFDIR
	switch c.Op {
	case guard.Create, guard.Mkdir, guard.Mknod, guard.Symlink, guard.Link, guard.RenameTo:
	default:
		return allow, false
	}
	if r.lifted[LiftLayout] {
		return allow, false
	}
	// What takes the place of its like was judged with that. Something else was
	// not: a folder HEAD makes no git directory, and a socket of any name is
	// made without a question (bind); an exchange or a rename puts a file there.
	switch was, there := has(c.Target.Dir, name); {
	case !there:
	case name == "HEAD" && folder:
		return allow, false
	case name == "HEAD" && (was == unix.S_IFREG || was == unix.S_IFLNK), name != "HEAD" && was == unix.S_IFDIR:
		return allow, false
	}
	data := s.data(here)
	if data && name == "HEAD" && !folder && r.unjudged(c.Target.DirPath, true) {
		return deny(LiftLayout, layoutText+" around files that were not judged"), true
	}
	if s.wasData(here) && r.unjudged(c.Target.DirPath, false) {
		if s.dot >= 0 && !data || name != "HEAD" && s.has(here, "HEAD") || name == "HEAD" && !folder && (!data || s.has(here, "objects") || s.has(here, "refs")) {
			return deny(LiftLayout, layoutText+" around files that were not judged"), true
		}
	}
	// What is in refs/ and logs/ becomes data by it; that of .git is anyway.
	if name == "HEAD" && !folder && here != s.dot && (holdsControl(c.Target.DirPath+"/refs", "refs") || holdsControl(c.Target.DirPath+"/logs", "logs")) {
		return deny(LiftLayout, layoutText+" around files that were not judged"), true
	}
	if s.dot >= 0 && !data {
		if name == "HEAD" && here == s.dot+1 && (s.is(here, "modules") || s.is(here, "worktrees")) {
			return deny(LiftLayout, layoutText), true // it would make refs/ below it data
		}
		if s.placed(here) {
			return allow, false
		}
	}
	if name == "HEAD" && begins(c) && linksIn(c.Target.DirPath) {
		return deny(LiftLayout, layoutText+" around links"), true
	}
	head, objects, refs := s.has(here, "HEAD") || s.hasLinked(here), s.has(here, "objects"), s.has(here, "refs")
	switch {
	case name == "HEAD" && folder:
		return allow, false
	case name == "HEAD":
		head = true
		if (!data || objects || refs || s.has(here, "commondir")) && hasControl(c.Target.DirPath) {
			return deny(LiftLayout, layoutText+" around files that were not judged"), true
		}
	case name == "objects":
		objects = true
	case name == "refs":
		refs = true
	}
	if name != "HEAD" && head && c.Op == guard.Symlink {
		return deny(LiftLayout, linkText), true
	}
	// The last of the three may be a socket: bind asks nobody.
	if head && (objects || refs) {
		if data && objects && refs && hasControl(c.Target.DirPath) || r.unfit(c.Target.DirPath) {
			return deny(LiftLayout, layoutText+" around files that would run"), true
		}
	}
	return allow, false
}

// unjudged says whether dir, whose place may have been one for data, holds a
// control file but a harmless config. branches: what is in hooks may be some.
func (r *rules) unjudged(dir string, branches bool) bool {
	for _, name := range controlNames {
		if name == "config" && r.harmless(dir, name) == nil {
			continue
		}
		if hasFile(dir + "/" + name) {
			return true
		}
	}
	return !noHooks(dir+"/hooks", branches)
}

// errUnfit: not to be in a git directory. errNoLease: it may be as it is, but on
// this disk (NFS) nobody knows who else can write it.
var errUnfit, errNoLease = errors.New("unfit"), errors.New("no lease")

// harmless gives nil if the config file name in dir would pass as a new one, and
// stays so: nobody has it open for writing, nor another name for it. That is so
// of one that a guard has vetted, this or another, until it is opened again.
// The error is fs.ErrNotExist if there is none.
func (r *rules) harmless(dir, name string) error {
	path := dir + "/" + name
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) // ends the lease
	var open, named unix.Stat_t
	if unix.Fstat(fd, &open) != nil || open.Nlink != 1 || open.Mode&unix.S_IFMT != unix.S_IFREG {
		return errUnfit
	}
	// A lease for reading is given if no descriptor or mapping can write.
	_, lease := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	data, err := gitdir.ReadFile(path, maxConfig)
	if err != nil || r.vetConfig(dir, nil)(data) != nil ||
		unix.Lstat(path, &named) != nil || named.Ino != open.Ino || named.Dev != open.Dev {
		return errUnfit
	}
	switch lease {
	case nil:
		return nil
	case unix.EINVAL, unix.EOPNOTSUPP, unix.ENOSYS:
		return errNoLease
	}
	return errUnfit
}

var controlNames = [...]string{"config", "config.worktree", "commondir"}

func hasFile(path string) bool {
	i, err := os.Lstat(path)
	return err == nil && !i.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// hasControl says whether dir holds a control file that git would use.
func hasControl(dir string) bool {
	for _, name := range controlNames {
		if hasFile(dir + "/" + name) {
			return true
		}
	}
	return !onlySamples(dir + "/hooks")
}

// openFolder does not wait where the command has made a pipe of that name: all
// guards of the user would wait with it.
func openFolder(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func onlySamples(hooks string) bool { return noHooks(hooks, false) }

// noHooks says that git would run nothing in the folder hooks, if there is one:
// it holds samples, or also branches.
func noHooks(hooks string, branches bool) bool {
	i, err := os.Lstat(hooks)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if !i.IsDir() {
		return false
	}
	d, err := openFolder(hooks)
	if err != nil {
		return false
	}
	defer d.Close()
	entries, err := d.ReadDir(maxLayout + 1)
	if err != nil && err != io.EOF {
		return false
	}
	for _, e := range entries {
		if branches && !policy.HookLike(e.Name()) {
			continue
		}
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".sample") {
			return false
		}
	}
	return len(entries) <= maxLayout
}

// unfit looks through dir before it becomes a git directory: its config must
// be harmless, its hooks samples, and nothing in it a link through which git
// would write.
func (r *rules) unfit(dir string) bool {
	if !onlySamples(dir + "/hooks") {
		return true
	}
	for _, name := range [...]string{"config", "config.worktree"} {
		switch err := r.harmless(dir, name); {
		case err == nil, err == errNoLease, errors.Is(err, fs.ErrNotExist):
		default:
			return true
		}
	}
	return !plainFolder(dir, "")
}

// begins says whether what comes as HEAD is one to git.
func begins(c *guard.Call) bool {
	switch o := c.Other; {
	case c.Op == guard.Symlink:
		return strings.HasPrefix(c.Link, symref)
	case o == nil || o.Dir < 0:
		return c.Op != guard.Mkdir
	case mode(o) == unix.S_IFLNK:
		return isSymref(o.Dir, o.Name)
	default:
		return mode(o) == unix.S_IFREG
	}
}

// linksIn says whether there are links in dir or its sections through which git
// would write, were it a git directory, or may be.
func linksIn(dir string) bool {
	d, err := openFolder(dir)
	if err != nil {
		return true
	}
	defer d.Close()
	entries, err := d.ReadDir(maxLayout + 1)
	if err != nil && err != io.EOF || len(entries) > maxLayout {
		return true
	}
	for _, e := range entries {
		switch {
		case e.Type()&fs.ModeSymlink != 0 && canon(e.Name()) != "head":
			return true
		case e.IsDir() && slices.ContainsFunc(sections[:], func(s string) bool { return strings.EqualFold(s, e.Name()) }) && !plainFolder(dir+"/"+e.Name(), "x/"):
			return true
		}
	}
	return false
}

// plainFolder is plainBelow with as many entries as a look may have.
func plainFolder(dir, rel string) bool {
	left := maxLayout
	return plainBelow(dir, rel, &left)
}

// plainBelow says whether dir, which is at rel in a folder that becomes a git
// directory, holds at most left entries that may be there. It reads no more of
// a folder than that: other guards wait for their turn meanwhile.
func plainBelow(dir, rel string, left *int) bool {
	d, err := openFolder(dir)
	if err != nil {
		return false
	}
	entries, err := d.ReadDir(*left + 1)
	d.Close()
	if err != nil && err != io.EOF || len(entries) > *left {
		return false
	}
	*left -= len(entries)
	for _, e := range entries {
		at := dir + "/" + e.Name()
		below := rel + e.Name()
		switch {
		case e.Type()&fs.ModeSymlink != 0, below == "commondir", below == "sequencer/opts":
			return false
		case below == "modules", below == "worktrees":
			if none := 0; !plainBelow(at, below+"/", &none) {
				return false
			}
		case !e.IsDir(), below == "objects", below == "hooks":
			// git writes no file in these two in place
		case !plainBelow(at, below+"/", left):
			return false
		}
	}
	return true
}
