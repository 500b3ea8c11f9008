//go:build linux

package staged

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Kind says what a change does to a name.
type Kind string

const (
	New     Kind = "new"
	Changed Kind = "changed"
	Deleted Kind = "deleted"
	Mode    Kind = "mode" // of a folder; its content has changes of its own
)

// Change is one name that a run made, changed or removed.
type Change struct {
	Root int    // index in Meta.Roots
	Path string // below the root; "." is the root itself
	Kind Kind
	Type string // file, folder, link or fifo: what there is afterwards, or was
	Size int64
	// Conflict says why the workspace's own state is in the way: somebody
	// changed it since the run began. "" if nothing is.
	Conflict string

	up   *unix.Stat_t // nil for a deletion
	ws   *unix.Stat_t // nil if the workspace has nothing there
	mode uint32       // as the command left it

	stuck bool // a conflict of a folder in which nothing was looked at: no force settles it
}

// Left is something of a layer that is never kept, and why.
type Left struct {
	Root int
	Path string
	Why  string
}

// maxChanges bounds what one run may leave to keep.
const maxChanges = 2_000_000

// Scan is what a run changed, in the order in which it is to be kept: git's own
// files first, folders before files, deletions last, so that nothing refers to
// what is not there yet.
type Scan struct {
	Changes []Change
	Left    []Left

	approve map[place]seen // what is approved with them (journal)
	links   map[uint64][]place
	closed  []folderMode // folders of the workspace that their owner may not look into
}

// scanner reads both trees.
type scanner struct {
	run     *Run
	j       *journal
	opened  []folderMode
	root    int
	up, ws  int // descriptors of the two roots
	out     *Scan
	deleted []Change
	widened map[uint64]uint32 // modes of what in the layer was let be read, by inode
	inodes  map[uint64]uint64 // of files with several names in the layer: inode there → in the workspace, 0 if not kept yet
}

// Scan reads what the run changed. It writes nothing but, where the user may
// not read what the command left, modes in the layer.
func (r *Run) Scan() (*Scan, error) {
	if r.untouched() {
		return &Scan{}, nil
	}
	j, err := openJournal(r.dir)
	if err != nil {
		return nil, err
	}
	defer j.close()
	s, err := r.scan(j, nil)
	return s, tooFew(err)
}

// scan takes the folders of the workspace that were opened for it, with the
// modes that they have without that.
func (r *Run) scan(j *journal, opened []folderMode) (*Scan, error) {
	out := &Scan{approve: map[place]seen{}, links: map[uint64][]place{}}
	var deleted []Change
	for n := range r.Roots {
		up, err := r.openUpper(n)
		if errors.Is(err, unix.ENOENT) {
			continue // it never started
		}
		if err != nil {
			return nil, err
		}
		ws, err := r.openRoot(n)
		if err != nil {
			unix.Close(up)
			return nil, err
		}
		s := scanner{run: r, j: j, opened: opened, root: n, up: up, ws: ws, out: out, inodes: map[uint64]uint64{}, widened: map[uint64]uint32{}}
		err = s.top()
		unix.Close(up)
		unix.Close(ws)
		if err != nil {
			return nil, fmt.Errorf("read what was staged of %s: %w", r.Roots[n].Path, err)
		}
		deleted = append(deleted, s.deleted...)
	}
	out.Changes = append(out.Changes, deleted...)
	return out, nil
}

func (r *Run) openUpper(n int) (int, error) {
	return unix.Open(r.layer(n)+"/upper", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// openRoot opens a folder of the host, which must still be the one that the
// run began with.
func (r *Run) openRoot(n int) (int, error) {
	want := r.Roots[n]
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, want.Path, &how)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: want.Path, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Dev != want.Dev || st.Ino != want.Ino || born(fd, "") != want.Born {
		unix.Close(fd)
		return -1, fmt.Errorf("%s is another folder than the one that the run began with: bawn discard %s gives up what was staged of that", want.Path, r.ID[:8])
	}
	return fd, nil
}

func (s *scanner) top() error {
	up, err := lstatAt(s.up, ".")
	if err != nil {
		return err
	}
	ws, err := lstatAt(s.ws, ".")
	if err != nil {
		return err
	}
	mode, err := s.readable(s.up, ".", ".", up)
	if err != nil {
		return err
	}
	closed := s.isClosed(".", ws)
	if mode&0o7777 != s.modeOf(".", ws) {
		s.add(Change{Path: ".", Kind: Mode, Type: "folder", up: up, ws: ws, mode: mode})
	}
	return s.folder(".", look{there: !closed})
}

func (s *scanner) add(c Change) {
	c.Root = s.root
	s.out.Changes = append(s.out.Changes, c)
}

func (s *scanner) leave(rel, why string) {
	s.out.Left = append(s.out.Left, Left{s.root, rel, why})
}

// readable lets the user read what the command left, and returns the mode that
// it left. The journal has it before it is widened.
func (s *scanner) readable(dir int, name, rel string, st *unix.Stat_t) (uint32, error) {
	p := place{s.root, rel}
	if m, ok := s.j.modes[p]; ok {
		s.widened[st.Ino] = m
		return m, nil
	}
	if m, ok := s.widened[st.Ino]; ok { // by another name
		return m, s.j.mode(p, m)
	}
	need := uint32(0o400)
	if isDir(st) {
		need = 0o700
	}
	mode := st.Mode & 0o7777
	if mode&need == need || os.Geteuid() == 0 {
		return mode, nil
	}
	fd, err := pathAt(dir, name)
	if err != nil {
		return mode, err
	}
	defer unix.Close(fd)
	if err := s.j.mode(p, mode); err != nil {
		return mode, err
	}
	s.widened[st.Ino] = mode
	return mode, unix.Chmod(fdPath(fd), mode|need)
}

// look says how a folder of the layer is read.
type look struct {
	there   bool // the workspace has that folder too
	hides   bool // only what is in the layer is to be left in it
	foreign bool // it came to the workspace since, or may have: what is in it may be older
}

// folder reads the entries of one folder of the layer.
func (s *scanner) folder(rel string, how look) error {
	up, err := openDirIn(s.up, rel)
	if err != nil {
		return err
	}
	defer unix.Close(up)
	names, err := namesIn(up)
	if err != nil {
		return err
	}
	ws := -1
	if how.there {
		if ws, err = openDirIn(s.ws, rel); err != nil {
			return err
		}
		defer unix.Close(ws)
	}
	// What looks at a single name takes a failure for an answer.
	room, err := reserve(4)
	if err != nil {
		return err
	}
	closeAll(room)
	stats := make(map[string]*unix.Stat_t, len(names))
	for _, name := range names {
		if stats[name], err = lstatAt(up, name); err != nil {
			return err
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if x, y := rank(a, stats[a]), rank(b, stats[b]); x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		if len(s.out.Changes)+len(s.deleted) > maxChanges {
			return fmt.Errorf("more than %d names", maxChanges)
		}
		sub, err := s.entry(up, ws, join(rel, name), name, stats[name], how)
		if err != nil {
			return fmt.Errorf("%q: %w", join(rel, name), err)
		}
		if sub != nil {
			if err := sub(); err != nil {
				return err
			}
		}
	}
	if !how.hides || ws < 0 {
		return nil
	}
	old, err := namesIn(ws)
	if err != nil {
		return err
	}
	slices.Sort(old)
	for _, name := range old {
		if stats[name] == nil {
			if err := s.delete(ws, join(rel, name), name, how.foreign); err != nil {
				return err
			}
		}
	}
	return nil
}

func rank(name string, st *unix.Stat_t) int {
	switch {
	case name == ".git":
		return 0
	case isDir(st):
		return 1
	}
	return 2
}

// entry judges one name; below reads the folder that it is, if it is one. What
// lies in a folder that hides all hides all too, and has no mark of its own.
func (s *scanner) entry(up, ws int, rel, name string, st *unix.Stat_t, how look) (below func() error, err error) {
	var old *unix.Stat_t
	if ws >= 0 {
		if old, err = lstatAt(ws, name); err != nil && err != unix.ENOENT {
			return nil, err
		}
	}
	switch {
	case len(s.run.Roots[s.root].Path)+len(rel) > unix.PathMax-64:
		s.leave(rel, "its path is too long")
		return nil, nil
	case name == s.run.tempName():
		s.leave(rel, "the name is bawn's own, for the time of a keep")
		return nil, nil
	case whiteout(up, name, st):
		if old == nil {
			return nil, nil
		}
		return nil, s.delete(ws, rel, name, how.foreign)
	}
	c := Change{Path: rel, Kind: New, up: st, ws: old}
	if old != nil {
		c.Kind = Changed
	}
	if c.mode, err = s.readable(up, name, rel, st); err != nil {
		return nil, err
	}
	switch kindOf(st) {
	case unix.S_IFDIR:
		return s.directory(up, ws, c, name, how)
	case unix.S_IFREG:
		c.Type, c.Size = "file", st.Size
		if s.sameFile(up, ws, name, &c) && s.settled(&c) {
			return nil, nil
		}
		if st.Nlink > 1 {
			if _, ok := s.inodes[st.Ino]; !ok {
				s.inodes[st.Ino] = 0
			}
		}
	case unix.S_IFLNK:
		c.Type = "link"
		if old != nil && kindOf(old) == unix.S_IFLNK {
			a, err1 := readlinkAt(up, name)
			b, err2 := readlinkAt(ws, name)
			if err1 == nil && err2 == nil && a == b {
				return nil, nil
			}
		}
	case unix.S_IFIFO:
		c.Type = "fifo"
		if old != nil && kindOf(old) == unix.S_IFIFO && old.Mode&0o777 == c.mode&0o777 {
			return nil, nil
		}
	case unix.S_IFSOCK:
		s.leave(rel, "a socket")
		return nil, nil
	default:
		s.leave(rel, "a device")
		return nil, nil
	}
	if c.Conflict, err = s.conflict(ws, rel, name, old, how.foreign); err != nil {
		return nil, err
	}
	s.add(c)
	return nil, nil
}

func (s *scanner) directory(up, ws int, c Change, name string, how look) (func() error, error) {
	c.Type = "folder"
	hides := how.hides || opaque(up, name)
	there, foreign := isDir(c.ws), how.foreign
	copied, merged := origin(up, name)
	merged = merged && !hides
	if there && (hides || !copied) {
		if s.run.after(c.ws) && !s.knows(c.Path, c.ws) {
			foreign = true // perhaps another
		} else {
			s.out.approve[place{s.root, c.Path}] = seenOf(c.ws)
		}
	}
	switch {
	case there && s.isClosed(c.Path, c.ws):
		if c.mode != s.modeOf(c.Path, c.ws) {
			c.Kind = Mode
			s.add(c)
		}
		there = false
	case there:
		fd, err := openDirIn(ws, name)
		switch {
		case err == unix.EXDEV:
			c.stuck, c.Conflict = true, "something was mounted there since the run began"
		case err != nil:
			c.stuck, c.Conflict = true, "the folder cannot be read: "+err.Error()
		default:
			if merged && otherOrigin(up, name, fd) {
				c.Conflict = "another folder was put there since the run began"
			}
			unix.Close(fd)
		}
		if c.Conflict == "" && c.mode == s.modeOf(c.Path, c.ws) {
			break
		}
		c.Kind = Mode
		s.add(c)
		if c.stuck {
			return nil, nil
		}
	default:
		var err error
		if c.Conflict, err = s.conflict(ws, c.Path, name, c.ws, foreign); err != nil {
			return nil, err
		}
		if c.Conflict == "" && merged {
			c.Conflict = "the folder was removed or moved away since the run began"
		}
		s.add(c)
	}
	return func() error { return s.folder(c.Path, look{there, hides, foreign}) }, nil
}

// isClosed reports whether the workspace's folder may not be looked into by its
// owner, who may change that: a keep does (Keep), a look does not.
func (s *scanner) isClosed(rel string, st *unix.Stat_t) bool {
	if os.Geteuid() == 0 || int(st.Uid) != os.Geteuid() || st.Mode&0o500 == 0o500 {
		return false
	}
	s.out.closed = append(s.out.closed, folderMode{place: place{s.root, rel}, mode: st.Mode & 0o7777})
	return true
}

// modeOf returns the mode of a folder of the workspace.
func (s *scanner) modeOf(rel string, st *unix.Stat_t) uint32 {
	for _, o := range s.opened {
		if o.place == (place{s.root, rel}) {
			return o.mode
		}
	}
	return st.Mode & 0o7777
}

// delete adds the deletion of what the workspace has.
func (s *scanner) delete(ws int, rel, name string, foreign bool) error {
	old, err := lstatAt(ws, name)
	if err != nil {
		return err
	}
	c := Change{Root: s.root, Path: rel, Kind: Deleted, Type: typeName(old), Size: old.Size, ws: old}
	if c.Conflict, err = s.conflict(ws, rel, name, old, foreign); err != nil {
		return err
	}
	s.deleted = append(s.deleted, c)
	return nil
}

func typeName(st *unix.Stat_t) string {
	switch kindOf(st) {
	case unix.S_IFDIR:
		return "folder"
	case unix.S_IFLNK:
		return "link"
	case unix.S_IFIFO:
		return "fifo"
	case unix.S_IFREG:
		return "file"
	}
	return "other"
}
