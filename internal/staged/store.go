//go:build linux

package staged

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"bawn/internal/config/disk"
)

// Store is the folder of all staged runs of a user (In).
type Store struct{ Dir string }

const (
	metaName    = "run.json"
	journalName = "journal"
	gonePrefix  = ".gone-" // a run that is being removed
	maxRuns     = 10_000
)

var (
	// ErrRunning: the run has not ended, or another bawn is at work on it.
	ErrRunning = errors.New("it is still running, or another bawn works on it")
	// ErrNone: there is no such staged run.
	ErrNone = errors.New("no such staged run")
)

// Run is a staged run that this process holds.
type Run struct {
	Meta
	dir    string
	lock   *os.File
	layers []*os.File // held as pid 1 of the sandbox holds them

	clearing chan struct{} // closed when what an earlier run left is gone; nil: nothing was
}

// Dir is the folder that holds the layers, for sandbox.Staged.
func (r *Run) Dir() string { return r.dir }

// Begin makes a staged run that is about to start, at Started, and fills in
// Since and what is known of the roots. What CheckMounts refuses it takes: the
// kernel refuses that. Nothing is synced: a staged run is not
// promised to outlive the machine (docs/staged.md).
func (s Store) Begin(m Meta, roots []string) (r *Run, err error) {
	for _, path := range roots {
		root, since, err := lookRoot(path)
		if err != nil {
			return nil, err
		}
		m.Roots, m.Since = append(m.Roots, root), max(m.Since, since)
	}
	// Coarse change times (docs/staged.md): all of the second counts as after.
	if m.Since == 0 {
		m.Since = m.Started.UnixNano()
	} else {
		m.Since = m.Started.Truncate(time.Duration(m.Since)).UnixNano()
	}
	if r := s.claim(m); r != nil {
		return r, nil
	}
	d, err := disk.Make(s.Dir)
	if err != nil {
		return nil, err
	}
	d.Close()
	r = &Run{Meta: m, dir: filepath.Join(s.Dir, m.ID)}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = r.Discard()
		}
	}()
	if r.lock, err = takeLock(r.dir); err != nil {
		return nil, err
	}
	for i := range roots {
		if err := os.Mkdir(r.layer(i), 0o700); err != nil {
			return nil, err
		}
	}
	return r, r.write(metaName)
}

// lookRoot notes which folder path is. since is the grain of its change times
// if that is coarse, else 0.
func lookRoot(path string) (root Root, since int64, err error) {
	if !utf8.ValidString(path) {
		return root, 0, fmt.Errorf("%q is not valid text, by which it could be found again", path)
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return root, 0, &fs.PathError{Op: "stage", Path: path, Err: err}
	}
	var sf unix.Statfs_t
	if err := unix.Statfs(path, &sf); err != nil {
		return root, 0, &fs.PathError{Op: "stage", Path: path, Err: err}
	}
	switch uint32(sf.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, 0x2fc12fc1 /* zfs */, 0xca451a4e /* bcachefs */ :
	default:
		return root, 0, fmt.Errorf("%s lies on a file system (type %#x) of which it is not known that it keeps change times by this machine's clock", path, uint32(sf.Type))
	}
	if st.Ctim.Nsec == 0 {
		since = int64(time.Second)
	}
	return Root{path, st.Dev, st.Ino, born(unix.AT_FDCWD, path)}, since, nil
}

func born(dir int, path string) int64 {
	var st unix.Statx_t
	err := unix.Statx(dir, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}

func (r *Run) layer(n int) string { return r.dir + "/" + strconv.Itoa(n) }

// End notes how the command ended.
func (r *Run) End(code int) error {
	r.Ended, r.Code = time.Now(), code
	return r.save()
}

func (r *Run) save() error {
	tmp := metaName + ".new"
	if err := r.write(tmp); err != nil {
		return err
	}
	return os.Rename(r.dir+"/"+tmp, r.dir+"/"+metaName)
}

// takeLock holds the folder of a run, one's own: root trusts no layer of a user,
// and its record. It may have got another name before it
// was held.
func takeLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		return nil, err
	}
	held, err := f.Stat()
	if err == nil && int(held.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		f.Close()
		return nil, fmt.Errorf("%s belongs to user %d, who alone can keep or discard it", dir, held.Sys().(*syscall.Stat_t).Uid)
	}
	if err == nil {
		var named fs.FileInfo
		if named, err = os.Lstat(dir); err == nil && os.SameFile(held, named) {
			return f, nil
		}
	}
	f.Close()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = ErrNone
	}
	return nil, err
}

func flock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return nil
	}
	f.Close()
	if err == unix.EWOULDBLOCK {
		err = ErrRunning
	}
	return err
}

// Open takes hold of a staged run; ErrRunning while its command or another
// bawn does.
func (s Store) Open(id string) (*Run, error) {
	if !validID(id) {
		return nil, ErrNone
	}
	r := &Run{dir: filepath.Join(s.Dir, id)}
	var err error
	if r.Meta, err = readMeta(r.dir); err != nil {
		return nil, err
	}
	if r.ID != id {
		return nil, fmt.Errorf("staged run %s: its record is of another one", id)
	}
	if r.lock, err = takeLock(r.dir); err != nil {
		return nil, err
	}
	for i := range r.Roots {
		f, err := os.Open(r.layer(i))
		if err != nil {
			r.Close()
			return nil, err
		}
		if err := flock(f); err != nil { // pid 1 holds it until the last process is gone
			r.Close()
			return nil, err
		}
		r.layers = append(r.layers, f)
	}
	return r, nil
}

// Close lets go of the run.
func (r *Run) Close() {
	r.cleared()
	if r.releaseLayers(); r.lock != nil {
		r.lock.Close()
		r.lock = nil
	}
}

func validID(id string) bool {
	if len(id) != 16 {
		return false
	}
	return strings.Trim(id, "0123456789abcdef") == ""
}

// State of a staged run.
type State string

const (
	Running     State = "running"
	Interrupted State = "interrupted" // the run never told its end
	Ended       State = "ended"
)

// Entry is one staged run in a list.
type Entry struct {
	Meta
	State State
}

// List has all staged runs, the newest first. What earlier removals left is
// removed.
func (s Store) List() ([]Entry, error) {
	d, err := os.Open(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxRuns)
	if err != nil && len(names) == 0 {
		names = nil
	}
	var out []Entry
	for _, name := range names {
		if strings.HasPrefix(name, gonePrefix) {
			_ = removeAll(filepath.Join(s.Dir, name))
			continue
		}
		if !validID(name) {
			continue
		}
		m, err := readMeta(filepath.Join(s.Dir, name))
		if err != nil || m.ID != name {
			s.sweep(name)
			continue
		}
		out = append(out, Entry{m, s.state(m)})
	}
	slices.SortFunc(out, func(a, b Entry) int { return b.Started.Compare(a.Started) })
	return out, nil
}

// beginning is how long a run has at the most from its folder to its run.json.
const beginning = time.Minute

// sweep removes the folder of a run that was killed before it was one: no
// command has run in it, and nobody could name it. Left is one that begins in
// this moment, or is being removed.
func (s Store) sweep(name string) {
	dir := filepath.Join(s.Dir, name)
	st, err := os.Lstat(dir)
	if err != nil || !st.IsDir() || time.Since(st.ModTime()) < beginning {
		return
	}
	if _, err := os.Lstat(filepath.Join(dir, metaName)); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	lock, err := takeLock(dir)
	if err != nil {
		return
	}
	_ = (&Run{dir: dir, lock: lock}).Discard()
}

func (s Store) state(m Meta) State {
	r, err := s.Open(m.ID)
	if errors.Is(err, ErrRunning) {
		return Running
	}
	if err == nil {
		r.Close()
	}
	if m.Ended.IsZero() {
		return Interrupted
	}
	return Ended
}

// Discard removes the run and all that it staged, and lets go of it.
func (r *Run) Discard() error {
	r.cleared()
	r.cleanTemp()
	gone := filepath.Join(filepath.Dir(r.dir), gonePrefix+filepath.Base(r.dir))
	err := os.Rename(r.dir, gone)
	r.Close()
	if err != nil {
		return err
	}
	failpoint("gone")
	return removeAll(gone)
}

// Usage counts the names in the layers of a run and the bytes that they take
// on the disk.
func (s Store) Usage(id string) (names int, bytes int64) {
	dir := filepath.Join(s.Dir, id)
	m, err := readMeta(dir)
	if err != nil {
		return 0, 0
	}
	for i := range m.Roots {
		top := filepath.Join(dir, strconv.Itoa(i), "upper")
		_ = filepath.WalkDir(top, func(p string, e fs.DirEntry, err error) error {
			if err != nil || p == top {
				return nil // what cannot be read is not counted
			}
			if names++; names > maxChanges {
				return fs.SkipAll
			}
			var st unix.Stat_t
			if unix.Lstat(p, &st) == nil {
				bytes += st.Blocks * 512
			}
			return nil
		})
	}
	return names, bytes
}
