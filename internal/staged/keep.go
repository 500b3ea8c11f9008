//go:build linux

package staged

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

// Op is what is about to be done to a name of the workspace.
type Op uint8

const (
	// Put gives the name to a new file, link or fifo, in the place of what had
	// it, unless that is a folder.
	Put Op = iota + 1
	// Mkdir makes a folder.
	Mkdir
	// Remove takes the name away; of a folder, with all that is in it.
	Remove
	// SetMode changes the mode of a folder.
	SetMode
	// Link gives the name to a file that the workspace has under another, From.
	// Refused, the name gets a copy.
	Link
)

// Ask is one question to a Judge. Dir is open and is, at this moment, what the
// workspace has at DirPath.
type Ask struct {
	Op      Op
	Dir     int
	DirPath string
	Name    string
	Stat    *unix.Stat_t // of what is to be put: as the command left it
	Link    string       // the text of a symbolic link
	From    *From        // of Link
	Old     *unix.Stat_t // of what has the name now, nil for nothing
	// Content reads what is to be put, at most so many bytes.
	Content func(limit int64) ([]byte, error)
}

// From is the file that is to get one more name, by the one that it has. Dir is
// as in Ask.
type From struct {
	Dir     int
	DirPath string
	Name    string
	Stat    *unix.Stat_t
}

// Answer of a Judge; the zero value refuses.
type Answer struct {
	Allowed bool
	Rule    policy.Rule // why not; if allowed and set, the name is worth telling
	Reason  string      // more exactly than Rule, or ""
	Content []byte      // the bytes that were judged: they are put, nothing else
}

// Judge says what a sandboxed run could have done to the workspace itself.
type Judge interface{ Judge(Ask) Answer }

// Refusal is a change that was not kept, and stays staged.
type Refusal struct {
	Change
	Why      string
	Lift     string
	Rule     policy.Rule
	Conflict bool // the workspace was changed since: --force takes the staged one
	Below    int  // changes below it that were not kept for the same reason
}

// Outcome is what a keep did.
type Outcome struct {
	Kept    []Change
	Refused []Refusal
	Left    []Left
	Watched []Watched // kept names that run code outside later
	Rights  []Change  // kept without a setuid, setgid or sticky bit
	Staged  int       // changes that were not asked for, or refused
	Done    bool      // nothing is staged any more
}

// Watched is a kept name that a rule watches.
type Watched struct {
	Path string
	Rule policy.Rule
}

// KeepOptions choose what is kept.
type KeepOptions struct {
	Judge Judge
	// Paths below roots; none means all. A folder means all in it.
	Paths []string
	// Force are paths whose conflicts are settled for the staged one.
	Force []string
	// Turn waits until no command's guard judges a name on the file system of
	// dir, and keeps them from it until end is called: what was judged is put
	// before they go on. nil: there is nobody to wait for.
	Turn func(dir int) (end func(), err error)
}

// Keep brings what was staged into the workspace. It can be killed at any
// moment and called again. Nothing of the layers is removed before the
// workspace is on the disk. An error is one that ends it early.
func (r *Run) Keep(o KeepOptions) (Outcome, error) {
	j, err := openJournal(r.dir)
	if err != nil {
		return Outcome{}, err
	}
	defer j.close()
	r.cleanTemp()
	k := keeper{r: r, j: j, o: o, links: map[linkKey]linked{}, refused: map[place]int{}}
	defer k.close()
	if err := k.open(); err != nil {
		return k.out, err
	}
	room, err := reserve(keepRoom)
	if err != nil {
		return k.out, tooFew(err)
	}
	s, err := k.scan()
	closeAll(room)
	if err != nil {
		return k.out, tooFew(err)
	}
	k.out.Left = s.Left
	for ino, at := range s.links {
		k.noteLink(linkKey{at[0].root, ino}, at[0])
	}
	if err := j.approve(s.approve); err != nil {
		return k.out, err
	}
	old := unix.Umask(0)
	defer unix.Umask(old)
	for i := range s.Changes {
		c := &s.Changes[i]
		if !k.wanted(c, s.Changes) {
			k.out.Staged++
			continue
		}
		if err := k.keep(c); err != nil {
			return k.out, fmt.Errorf("%s: %w", k.path(c), err)
		}
	}
	if err := k.finish(); err != nil {
		return k.out, err
	}
	return k.out, k.settle()
}

// scan reads what there is to keep. Folders that their owner may not look into
// are opened for the while, the outer ones first.
func (k *keeper) scan() (*Scan, error) {
	for {
		s, err := k.r.scan(k.j, k.loose)
		if err != nil || len(s.closed) == 0 {
			return s, err
		}
		if err := k.j.approve(s.approve); err != nil { // it moves their change times
			return nil, err
		}
		for _, m := range s.closed {
			fd, err := openIn(k.ws[m.root], m.rel, unix.O_PATH|unix.O_DIRECTORY, 0)
			if err == nil {
				err = unix.Chmod(fdPath(fd), m.mode|0o700)
				unix.Close(fd)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k.r.PathOf(m.root, m.rel), err)
			}
			k.loose = append(k.loose, m)
		}
	}
}

type linkKey struct {
	root int
	ino  uint64
}

type keeper struct {
	r       *Run
	j       *journal
	o       KeepOptions
	out     Outcome
	up, ws  []int              // roots
	dir     place              // of dirFD
	dirFD   int                // the folder of the workspace that is worked in
	links   map[linkKey]linked // files of several names that have one already
	refused map[place]int      // folders → index in out.Refused
	modes   []folderMode       // folders to finish, when their content is there
	loose   []folderMode       // folders that were made writable for a while
}

func (k *keeper) open() error {
	k.dirFD = -1
	for n := range k.r.Roots {
		ws, err := k.r.openRoot(n)
		if err != nil {
			return err
		}
		k.ws = append(k.ws, ws)
		up, err := k.r.openUpper(n)
		if errors.Is(err, unix.ENOENT) {
			up, err = -1, nil
		}
		if err != nil {
			return err
		}
		k.up = append(k.up, up)
	}
	return nil
}

func (k *keeper) close() {
	k.leaveDir()
	for i := len(k.loose) - 1; i >= 0; i-- { // it ended early
		m := k.loose[i]
		if fd, err := openDirIn(k.ws[m.root], m.rel); err == nil {
			_ = unix.Fchmod(fd, m.mode)
			unix.Close(fd)
		}
	}
	for _, fd := range append(k.ws, k.up...) {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

func (k *keeper) path(c *Change) string { return join2(k.r.Roots[c.Root].Path, c.Path) }

// PathOf is a change's path on the host.
func (r *Run) PathOf(root int, rel string) string { return join2(r.Roots[root].Path, rel) }

func join2(root, rel string) string {
	if rel == "." {
		return root
	}
	return root + "/" + rel
}

func inside(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// wanted reports whether a change was asked for, or is a folder in which one
// lies that was.
func (k *keeper) wanted(c *Change, all []Change) bool {
	if len(k.o.Paths) == 0 {
		return true
	}
	path := k.path(c)
	for _, p := range k.o.Paths {
		if inside(path, p) {
			return true
		}
		if c.Kind != Deleted && c.Type == "folder" && !isDir(c.ws) && inside(p, path) {
			for i := range all {
				if inside(k.path(&all[i]), p) {
					return true
				}
			}
		}
	}
	return false
}

func (k *keeper) forced(c *Change) bool {
	for _, p := range k.o.Force {
		if inside(k.path(c), p) {
			return true
		}
	}
	return false
}

func (k *keeper) refuse(c *Change, f Refusal) {
	f.Change = *c
	k.out.Staged++
	if c.Type == "folder" && c.Kind != Deleted {
		k.refused[place{c.Root, c.Path}] = len(k.out.Refused)
	}
	k.out.Refused = append(k.out.Refused, f)
}

// below reports whether the folder that c lies in was refused; then c is too.
func (k *keeper) below(c *Change) bool {
	for dir, _ := split(c.Path); dir != "."; dir, _ = split(dir) {
		if i, ok := k.refused[place{c.Root, dir}]; ok {
			k.out.Refused[i].Below++
			k.out.Staged++
			return true
		}
	}
	return false
}

// keep does one change. What cannot be kept is noted; an error ends all.
func (k *keeper) keep(c *Change) error {
	if k.below(c) {
		return nil
	}
	if c.Conflict != "" && (c.stuck || !k.forced(c)) {
		k.refuse(c, Refusal{Why: c.Conflict, Conflict: !c.stuck})
		return nil
	}
	if c.Path == "." {
		return k.folderMode(c)
	}
	parent, name := split(c.Path)
	dir, err := k.enter(place{c.Root, parent})
	if err != nil {
		return k.noFolder(c, err)
	}
	now, err := lstatAt(dir, name)
	if err != nil && err != unix.ENOENT {
		return k.failed(c, err)
	}
	if !sameObject(now, c.ws) && !k.forced(c) {
		k.refuse(c, Refusal{Why: "changed while it was kept", Conflict: true})
		return nil
	}
	if c.Kind == Deleted {
		return k.remove(c, dir, name, now)
	}
	if c.Type == "folder" {
		return k.folder(c, dir, name, now)
	}
	return k.put(c, dir, name, now)
}

func sameObject(a, b *unix.Stat_t) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Dev == b.Dev && a.Ino == b.Ino && kindOf(a) == kindOf(b) && (isDir(a) || a.Size == b.Size && a.Mtim == b.Mtim)
}

// enter opens the folder of the workspace that is worked in, and makes it
// writable for the while if its owner may not write it.
func (k *keeper) enter(p place) (int, error) {
	if k.dirFD >= 0 && k.dir == p && k.inPlace() == nil {
		return k.dirFD, nil
	}
	k.leaveDir()
	fd, err := openDirIn(k.ws[p.root], p.rel)
	if err != nil {
		return -1, err
	}
	if err := k.isAt(fd, p); err != nil {
		unix.Close(fd)
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if st.Mode&0o300 != 0o300 && int(st.Uid) == os.Geteuid() && os.Geteuid() != 0 {
		if unix.Fchmod(fd, st.Mode&0o7777|0o300) == nil {
			k.loose = append(k.loose, folderMode{place: p, mode: st.Mode & 0o7777})
		}
	}
	if err := k.j.enter(p); err != nil {
		unix.Close(fd)
		return -1, err
	}
	k.dir, k.dirFD = p, fd
	return fd, nil
}

// noFolder notes that the folder of a change cannot be worked in.
func (k *keeper) noFolder(c *Change, err error) error {
	moved := (*movedError)(nil)
	switch {
	case errors.As(err, &moved), errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.EXDEV):
		k.refuse(c, Refusal{Why: "its folder was moved or replaced since the run began: " + err.Error(), Conflict: true})
		return nil
	}
	return k.failed(c, err)
}

// isAt reports an error if the folder fd is not the one at p any more: a
// command may move it to where other rules hold, while a file is copied.
func (k *keeper) isAt(fd int, p place) error {
	at, err := os.Readlink(fdPath(fd))
	if err == nil && at != k.r.PathOf(p.root, p.rel) {
		err = &movedError{fmt.Sprintf("it is at %q now", at)}
	}
	return err
}

func (k *keeper) inPlace() error { return k.isAt(k.dirFD, k.dir) }

func (k *keeper) leaveDir() {
	if k.dirFD >= 0 {
		unix.Close(k.dirFD)
		k.dirFD = -1
	}
}

func (k *keeper) turn(dir int) (end func(), err error) {
	if k.o.Turn == nil {
		return func() {}, nil
	}
	return k.o.Turn(dir)
}

// ask asks the Judge, and notes what is refused.
func (k *keeper) ask(c *Change, a Ask) (Answer, bool) {
	a.DirPath = k.r.PathOf(k.dir.root, k.dir.rel)
	answer := k.o.Judge.Judge(a)
	if !answer.Allowed {
		why := answer.Reason
		if why == "" {
			why = answer.Rule.Text
		}
		k.refuse(c, Refusal{Why: why, Lift: answer.Rule.Lift, Rule: answer.Rule})
	}
	return answer, answer.Allowed
}

// watch notes a kept name that the rules only watch.
func (k *keeper) watch(c *Change, answer Answer) {
	if answer.Rule.ID != "" {
		k.out.Watched = append(k.out.Watched, Watched{k.path(c), answer.Rule})
	}
}

func (k *keeper) kept(c *Change) { k.out.Kept = append(k.out.Kept, *c) }

// failed notes what the file system refuses for one name; a full disk ends all,
// and so does what cannot be noted.
func (k *keeper) failed(c *Change, err error) error {
	unnoted := (*journalError)(nil)
	switch {
	case errors.As(err, &unnoted), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EIO), errors.Is(err, unix.EROFS):
		return err
	}
	k.refuse(c, Refusal{Why: err.Error()})
	return nil
}
