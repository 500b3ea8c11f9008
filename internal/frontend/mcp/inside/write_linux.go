package inside

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxEdit bounds a file that is edited, in bytes.
const maxEdit = 16 << 20

// New content has such a name before it has its own.
const tempStart, tempEnd = ".bawn-", ".tmp"

// NewTemp is a name of that kind that nothing has.
func NewTemp() string { return tempStart + strings.ToLower(rand.Text()) + tempEnd }

// IsTemp reports whether a path is of that kind.
func IsTemp(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, tempStart) && strings.HasSuffix(name, tempEnd)
}

// IsTempName reports whether a name, and no path, is of that kind.
func IsTempName(name string) bool { return IsTemp(name) && !strings.Contains(name, "/") }

// target is where a file is to be: a folder that is held open, and a name in it.
type target struct {
	dir  int
	real string
	name string
	temp string
	old  *opened // the file that is there; nil is none
}

func (t *target) close() {
	unix.Close(t.dir)
	if t.old != nil {
		t.old.close()
	}
}

// aim finds the place to write to. A link at the end is followed to the file
// that it leads to; one that leads nowhere is refused.
func aim(r Request) (*target, error) {
	old, err := find(r)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	default:
		return nil, err
	}
	t := &target{real: filepath.Clean(r.Path), temp: r.Temp, old: old, dir: -1}
	if old != nil {
		t.real = old.real
	}
	fail := func(err error) (*target, error) {
		if old != nil {
			old.close()
		}
		if t.dir >= 0 {
			unix.Close(t.dir)
		}
		return nil, err
	}
	t.name = filepath.Base(t.real)
	if t.name == "/" || strings.HasSuffix(r.Path, "/") {
		return fail(fmt.Errorf("%q names a folder", r.Path))
	}
	parent := filepath.Dir(t.real)
	if old == nil {
		if err := makeParents(parent, r.Roots); err != nil {
			return fail(err)
		}
	}
	if t.dir, err = at(parent, unix.O_DIRECTORY); err != nil {
		return fail(&fs.PathError{Op: "open", Path: parent, Err: err})
	}
	real, err := place(t.dir)
	if err != nil {
		return fail(err)
	}
	t.real = filepath.Join(real, t.name)
	if err := within(t.real, r.Roots); err != nil {
		return fail(err)
	}
	var st unix.Stat_t
	switch err := unix.Fstatat(t.dir, t.name, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case err == unix.ENOENT && old == nil:
	case err != nil:
		return fail(&fs.PathError{Op: "stat", Path: t.real, Err: err})
	case old == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return fail(fmt.Errorf("%s is a link that leads nowhere", t.real))
	case old == nil || st.Dev != old.stat.Dev || st.Ino != old.stat.Ino:
		return fail(fmt.Errorf("%s changed meanwhile; read it again", t.real))
	}
	return t, nil
}

// makeParents makes the folders above a new file, within the roots: the deepest
// that is there decides.
func makeParents(dir string, roots []string) error {
	var missing []string
	fd := -1
	for d := dir; ; d = filepath.Dir(d) {
		var err error
		if fd, err = at(d, unix.O_DIRECTORY); err == nil {
			break
		}
		if err != unix.ENOENT || d == "/" {
			return &fs.PathError{Op: "open", Path: d, Err: err}
		}
		missing = append(missing, filepath.Base(d))
	}
	defer func() { unix.Close(fd) }()
	real, err := place(fd)
	if err != nil {
		return err
	}
	for i := len(missing) - 1; i >= 0; i-- {
		real = filepath.Join(real, missing[i])
		if err := within(real, roots); err != nil {
			return err
		}
		// In the folder that is held, never through the name again.
		if err := unix.Mkdirat(fd, missing[i], 0o777); err != nil && err != unix.EEXIST {
			return &fs.PathError{Op: "mkdir", Path: real, Err: err}
		}
		next, err := unix.Openat(fd, missing[i], unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return &fs.PathError{Op: "open", Path: real, Err: err}
		}
		unix.Close(fd)
		fd = next
	}
	return nil
}

// write replaces a file, or makes it, with what next returns: it gets what is
// there, of an edit, and whether anything is.
func write(r Request, next func(old []byte, exists bool) ([]byte, error)) Answer {
	if !IsTempName(r.Temp) {
		return failed(fmt.Errorf("%q is no name for new content", r.Temp), r.Path)
	}
	t, err := aim(r)
	if err != nil {
		return failed(err, r.Path)
	}
	defer t.close()
	a := Answer{Real: t.real, Created: t.old == nil}
	var content []byte
	mode := uint32(0o666)
	if t.old != nil {
		// Not the set-id bits, which any write takes away.
		mode, a.Links = t.old.stat.Mode&0o777, uint64(t.old.stat.Nlink)
		if r.Seen != nil && *r.Seen != t.old.version() {
			return failed(fmt.Errorf("%s changed since it was read; read it again", t.real), t.real)
		}
		if t.old.stat.Mode&0o222 == 0 {
			return failed(&fs.PathError{Op: "write", Path: t.real, Err: unix.EACCES}, t.real)
		}
		if r.Op == "edit" {
			if r.Alone && a.Links > 1 && (r.Looked == nil || *r.Looked != t.old.version()) {
				a.Linked, a.Version, a.Failed = true, t.old.version(), fmt.Sprintf("%s changed meanwhile; read it again", t.real)
				return a
			}
			if content, err = t.content(); err != nil {
				return failed(err, t.real)
			}
		}
	}
	made, err := next(content, t.old != nil)
	if err != nil {
		return failed(err, t.real)
	}
	if a.Version, err = t.replace(made, mode); err != nil {
		return failed(err, t.real)
	}
	return a
}

// content is all of the file that is there.
func (t *target) content() ([]byte, error) {
	if t.old.stat.Size > maxEdit {
		return nil, fmt.Errorf("%s has %d bytes: files of more than %d MiB are not edited", t.real, t.old.stat.Size, maxEdit>>20)
	}
	f, err := t.old.reopen()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, _, err := fill(f, nil, t.old.stat.Size, Request{Max: maxEdit})
	if err == nil && len(b) > maxEdit {
		err = fmt.Errorf("%s grows while it is read", t.real)
	}
	return b, err
}

// replace puts the content in the place of the file, whole or not at all. It is
// written to a file without a name, of which nothing is left whenever this
// process ends; where there is no such file, to one beside it.
func (t *target) replace(content []byte, mode uint32) (Version, error) {
	v, err := t.put(content, mode, false)
	if errors.Is(err, errNamed) {
		v, err = t.put(content, mode, true)
	}
	return v, err
}

var errNamed = errors.New("the new content needs a name")

func (t *target) put(content []byte, mode uint32, named bool) (v Version, err error) {
	temp, fd := t.temp, -1
	if named {
		fd, err = unix.Openat(t.dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	} else if fd, err = unix.Openat(t.dir, ".", unix.O_WRONLY|unix.O_TMPFILE|unix.O_CLOEXEC, mode); err != nil {
		return v, errNamed
	}
	if err != nil {
		return v, &fs.PathError{Op: "write", Path: t.real, Err: err}
	}
	f := os.NewFile(uintptr(fd), t.real)
	defer f.Close()
	remove := named
	defer func() {
		if remove {
			_ = unix.Unlinkat(t.dir, temp, 0)
		}
	}()
	if _, err = f.Write(content); err != nil {
		return v, err
	}
	if t.old != nil {
		if err := unix.Fchmod(fd, mode); err != nil {
			return v, &fs.PathError{Op: "chmod", Path: t.real, Err: err}
		}
	}
	if err := t.same(); err != nil {
		return v, err
	}
	switch {
	case t.old == nil && !named: // over nothing that appeared meanwhile, as below
		err = t.link(fd, t.name)
	case t.old == nil:
		err = unix.Renameat2(t.dir, temp, t.dir, t.name, unix.RENAME_NOREPLACE)
		if err == unix.EINVAL || err == unix.ENOSYS {
			if err = unix.Linkat(t.dir, temp, t.dir, t.name, 0); err == nil {
				_ = unix.Unlinkat(t.dir, temp, 0)
			}
		}
	default:
		if !named {
			err = t.link(fd, temp) // a name for the rename alone
			remove = err == nil
		}
		if err == nil {
			err = unix.Renameat(t.dir, temp, t.dir, t.name)
		}
	}
	if errors.Is(err, errNamed) {
		return v, err
	}
	if err != nil {
		return v, &fs.PathError{Op: "write", Path: t.real, Err: err}
	}
	remove = false
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return v, err
	}
	return VersionOf(&st), nil
}

// link names a file that has no name yet.
func (t *target) link(fd int, name string) error {
	err := unix.Linkat(unix.AT_FDCWD, through(fd), t.dir, name, unix.AT_SYMLINK_FOLLOW)
	switch err {
	case nil, unix.EEXIST, unix.EACCES, unix.EROFS:
		return err
	}
	return errNamed // the file system, or the kernel, has no such thing
}

// same reports a file that is another, or was written, since it was opened.
func (t *target) same() error {
	if t.old == nil {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstatat(t.dir, t.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || VersionOf(&st) != t.old.version() {
		return fmt.Errorf("%s changed meanwhile; read it again", t.real)
	}
	return nil
}

// edit replaces text of a file.
func edit(r Request, from, to []byte) Answer {
	places := 0
	a := write(r, func(old []byte, exists bool) (next []byte, err error) {
		if !exists {
			return nil, &fs.PathError{Op: "open", Path: r.Path, Err: unix.ENOENT}
		}
		next, places, err = replaced(old, from, to, r.All)
		return next, err
	})
	if a.Failed == "" {
		a.Changed = places
	}
	return a
}

// replaced is content with old made new; where the file's lines end in CRLF
// and the model wrote LF, they stay CRLF.
func replaced(content, from, to []byte, all bool) (next []byte, places int, err error) {
	if len(from) == 0 {
		return nil, 0, errors.New("old_string is empty; write_file makes a file")
	}
	if bytes.IndexByte(content[:min(len(content), sniff)], 0) >= 0 {
		return nil, 0, errors.New("it is a binary file")
	}
	if !bytes.Contains(content, from) && !bytes.Contains(from, []byte("\r")) && bytes.Contains(content, []byte("\r\n")) {
		from = bytes.ReplaceAll(from, []byte("\n"), []byte("\r\n"))
	}
	if crlf(content) && !bytes.Contains(to, []byte("\r")) {
		to = bytes.ReplaceAll(to, []byte("\n"), []byte("\r\n"))
	}
	if bytes.Equal(from, to) {
		return nil, 0, errors.New("old_string and new_string are the same")
	}
	places = bytes.Count(content, from)
	switch {
	case places == 0:
		return nil, 0, errors.New("old_string is not in the file; read it again")
	case places > 1 && !all:
		return nil, 0, fmt.Errorf("old_string is there %d times; give more of what is around it, or replace_all", places)
	case !all:
		return bytes.Replace(content, from, to, 1), 1, nil
	}
	if int64(len(content))+int64(places)*int64(len(to)-len(from)) > maxEdit {
		return nil, 0, fmt.Errorf("the file would have more than %d MiB", maxEdit>>20)
	}
	return bytes.ReplaceAll(content, from, to), places, nil
}

// crlf reports whether all lines end in CRLF.
func crlf(b []byte) bool {
	n := bytes.Count(b, []byte("\n"))
	return n > 0 && n == bytes.Count(b, []byte("\r\n"))
}
