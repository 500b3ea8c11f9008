//go:build unix

package disk

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is an open folder. Close it.
type Dir struct{ f *os.File }

// Open opens a folder; links on the way are followed, as for any path that
// the caller's own configuration names.
func Open(path string) (*Dir, error) { return openDir(unix.AT_FDCWD, path, path, 0) }

// OpenPlain opens a folder whose own name is no link.
func OpenPlain(path string) (*Dir, error) {
	return openDir(unix.AT_FDCWD, path, path, unix.O_NOFOLLOW)
}

// Sub opens a folder inside d and follows no link.
func (d *Dir) Sub(name string) (*Dir, error) {
	return openDir(d.fd(), name, d.f.Name()+"/"+name, unix.O_NOFOLLOW)
}

func openDir(at int, name, shown string, flags int) (*Dir, error) {
	fd, err := openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|flags, 0)
	if err == unix.ENOTDIR && isLink(at, name) {
		err = ErrLink
	}
	switch err {
	case nil:
		return &Dir{os.NewFile(uintptr(fd), shown)}, nil
	case unix.ELOOP:
		err = ErrLink
	case unix.ENOTDIR:
		err = ErrNotDir
	}
	return nil, &os.PathError{Op: "open", Path: shown, Err: err}
}

// Make makes the folder and its parents, for the owner alone, and opens it.
func Make(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	return Open(path)
}

// MakeSub makes a folder inside d with the usual permissions and opens it.
func (d *Dir) MakeSub(name string) (*Dir, error) {
	if err := unix.Mkdirat(d.fd(), name, 0o755); err != nil && err != unix.EEXIST {
		return nil, &os.PathError{Op: "mkdir", Path: filepath.Join(d.f.Name(), name), Err: err}
	}
	return d.Sub(name)
}

func (d *Dir) fd() int { return int(d.f.Fd()) }

// Close lets go of the folder.
func (d *Dir) Close() error { return d.f.Close() }

// Info says who may change the folder.
func (d *Dir) Info() (Info, error) { return info(d.fd(), d.f.Name()) }

func info(fd int, path string) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Info{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return infoOf(&st), nil
}

func infoOf(st *unix.Stat_t) Info {
	return Info{UID: int(st.Uid), Perm: uint32(st.Mode) & 0o777, Sticky: uint32(st.Mode)&unix.S_ISVTX != 0 && uint32(st.Mode)&unix.S_IFMT == unix.S_IFDIR}
}

// reader reads from a descriptor.
type reader int

func (r reader) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(r), b)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// Read returns the content of a regular file in d, of at most limit bytes. It
// follows no link and waits for no FIFO or device that was put there.
func (d *Dir) Read(name string, limit int) ([]byte, Info, error) {
	shown := filepath.Join(d.f.Name(), name)
	fail := func(err error) ([]byte, Info, error) {
		return nil, Info{}, &os.PathError{Op: "read", Path: shown, Err: err}
	}
	fd, err := openat(d.fd(), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	switch err {
	case nil:
	case unix.ELOOP, unix.EMLINK: // the second is FreeBSD's
		return fail(ErrLink)
	case unix.ENXIO, unix.EOPNOTSUPP:
		return fail(ErrNotRegular)
	default:
		return fail(err)
	}
	defer unix.Close(fd) // no os.File, for which Go's poller would start
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail(err)
	}
	if uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG {
		return fail(ErrNotRegular)
	}
	in := infoOf(&st)
	// The size is not relied on: the file may grow while it is read.
	data, err := io.ReadAll(io.LimitReader(reader(fd), int64(limit)+1))
	if err != nil {
		return fail(err)
	}
	if len(data) > limit {
		return fail(&TooBigError{limit})
	}
	return data, in, nil
}

// OpenFile opens a regular file in d, with the flags and permissions of
// os.OpenFile. It follows no link and waits for no FIFO.
func (d *Dir) OpenFile(name string, flags int, perm uint32) (*os.File, error) {
	shown := filepath.Join(d.f.Name(), name)
	fd, err := openat(d.fd(), name, flags|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, perm)
	if err == nil {
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err == nil && uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG {
			err = ErrNotRegular
		}
		if err == nil {
			err = unix.SetNonblock(fd, false) // or os.File would try to poll it
		}
		if err == nil {
			return os.NewFile(uintptr(fd), shown), nil
		}
		unix.Close(fd)
	}
	switch err {
	case unix.ELOOP, unix.EMLINK: // the second is FreeBSD's
		err = ErrLink
	case unix.EISDIR, unix.ENXIO, unix.EOPNOTSUPP:
		err = ErrNotRegular
	}
	return nil, &os.PathError{Op: "open", Path: shown, Err: err}
}

// Names are the entries of d, sorted.
func (d *Dir) Names() ([]string, error) {
	f, err := d.Sub(".") // a reading position of its own
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// Remove takes a file out of d.
func (d *Dir) Remove(name string) error {
	if err := unix.Unlinkat(d.fd(), name, 0); err != nil {
		return &os.PathError{Op: "remove", Path: filepath.Join(d.f.Name(), name), Err: err}
	}
	return nil
}

// Replace puts a new file with this content in the place of name. Whoever
// looks sees the old content or the new, also after a crash. Callers hold the
// Lock that belongs to the file.
func (d *Dir) Replace(name string, data []byte, perm uint32) error {
	return d.ReplaceIf(name, data, perm, func() error { return nil })
}

// ReplaceIf is Replace that asks last, with the new content whole on the disk,
// whether the file is still what it is made from. An error leaves it alone.
func (d *Dir) ReplaceIf(name string, data []byte, perm uint32, same func() error) (err error) {
	shown := filepath.Join(d.f.Name(), name)
	tmp := fresh(name)
	fd, err := d.claim(tmp)
	if err != nil {
		return &os.PathError{Op: "replace", Path: shown, Err: err}
	}
	f := os.NewFile(uintptr(fd), shown)
	defer f.Close()
	defer func() {
		if err != nil && d.is(tmp, fd) {
			_ = unix.Unlinkat(d.fd(), tmp, 0) // err says what went wrong
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := unix.Fchmod(fd, perm); err != nil {
		return &os.PathError{Op: "chmod", Path: shown, Err: err}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := same(); err != nil {
		return err
	}
	if err := unix.Renameat(d.fd(), tmp, d.fd(), name); err != nil {
		return &os.PathError{Op: "replace", Path: shown, Err: err}
	}
	return d.f.Sync()
}

// fresh is the name of new content until it has its own: one, so that the next
// takes away what a killed save left.
func fresh(name string) string { return "." + name + ".new" }

// claim makes a file that is empty and nobody else's as long as it is open:
// whoever saves the same file under another lock, or none, waits.
func (d *Dir) claim(tmp string) (int, error) {
	for end := time.Now().Add(lockWait); ; {
		fd, err := openat(d.fd(), tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
		switch err {
		case nil:
			if err = hold(fd); err == nil && d.is(tmp, fd) {
				return fd, nil
			}
			unix.Close(fd) // another took it for a killed one's, before it was locked
		case unix.EEXIST:
			err = d.sweep(tmp)
		default:
			return -1, err
		}
		switch {
		case err != nil && err != unix.EWOULDBLOCK:
			return -1, err
		case time.Now().After(end):
			return -1, fmt.Errorf("another bawn writes it for more than %v; end that one", lockWait)
		case err != nil:
			time.Sleep(time.Millisecond)
		}
	}
}

// Sweep takes away what a save of the file that was killed left beside it.
func (d *Dir) Sweep(name string) { _ = d.sweep(fresh(name)) }

// sweep removes new content that nobody writes any more. EWOULDBLOCK says that
// somebody does.
func (d *Dir) sweep(tmp string) error {
	fd, err := openat(d.fd(), tmp, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err == nil {
		defer unix.Close(fd)
		if err = hold(fd); err != nil || !d.is(tmp, fd) {
			return err
		}
	} // else it is a link, or somebody else's
	if err = unix.Unlinkat(d.fd(), tmp, 0); err == unix.ENOENT {
		err = nil
	}
	return err
}

// hold locks an open file, where the file system has locks.
func hold(fd int) error {
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err == unix.EWOULDBLOCK {
		return err
	}
	return nil
}

// is reports whether a name is still that of an open file.
func (d *Dir) is(name string, fd int) bool {
	var a, b unix.Stat_t
	return unix.Fstat(fd, &a) == nil && unix.Fstatat(d.fd(), name, &b, unix.AT_SYMLINK_NOFOLLOW) == nil && a.Dev == b.Dev && a.Ino == b.Ino
}

// lockWait is how long Lock waits: whoever holds the lock replaces one file.
var lockWait = 10 * time.Second

// Lock waits until no other process or goroutine holds the folder's lock; a
// process that was stopped while it holds it makes that an error. The lock is a
// file of its own: NFS locks no folders.
func (d *Dir) Lock() (unlock func(), err error) {
	shown := d.f.Name() + "/.lock"
	fd, err := openat(d.fd(), ".lock", unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err == unix.ELOOP {
		err = ErrLink
	}
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: shown, Err: err}
	}
	// Most hold it for microseconds.
	pause := 50 * time.Microsecond
	for end := time.Now().Add(lockWait); ; pause = min(2*pause, 5*time.Millisecond) {
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EINTR && err != unix.EWOULDBLOCK || time.Now().After(end) {
			break
		}
		time.Sleep(pause)
	}
	if err == unix.EWOULDBLOCK {
		err = fmt.Errorf("another bawn holds it for more than %v; end that one", lockWait)
	}
	if err != nil {
		unix.Close(fd)
		return nil, &os.PathError{Op: "lock", Path: shown, Err: err}
	}
	return func() { unix.Close(fd) }, nil
}

func openat(at int, name string, flags int, perm uint32) (int, error) {
	for {
		fd, err := unix.Openat(at, name, flags|unix.O_CLOEXEC, perm)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func isLink(at int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && uint32(st.Mode)&unix.S_IFMT == unix.S_IFLNK
}
