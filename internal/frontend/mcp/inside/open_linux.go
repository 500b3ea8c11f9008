package inside

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

// opened is a regular file that was found, and nothing of which is read yet:
// opening a device or a pipe for reading is an act already.
type opened struct {
	fd   int
	real string
	stat unix.Stat_t
}

func (o *opened) close() { unix.Close(o.fd) }

func (o *opened) version() Version { return VersionOf(&o.stat) }

// VersionOf is the state that a look at a file found.
func VersionOf(s *unix.Stat_t) Version {
	return Version{Dev: uint64(s.Dev), Ino: s.Ino, Size: s.Size, Mtime: unix.TimespecToNsec(s.Mtim), Ctime: unix.TimespecToNsec(s.Ctim)}
}

// refusal is an error that an answer tells as such.
type refusal struct {
	text  string
	real  string
	limit bool
}

func (r *refusal) Error() string { return r.text }

// at opens a name without acting on what it leads to. Links are followed, those
// of /proc that lead out of every folder are not; the name guard knows no
// openat2, and behind it such a link leads nowhere but the sandbox.
func at(path string, flags uint64) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	if err == unix.ENOSYS || err == unix.EPERM {
		return unix.Openat(unix.AT_FDCWD, path, unix.O_PATH|unix.O_CLOEXEC|int(flags), 0)
	}
	return fd, err
}

// place is the real path of an open descriptor.
func place(fd int) (string, error) {
	real, err := os.Readlink(through(fd))
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(real, "/") || strings.HasSuffix(real, " (deleted)") {
		return "", errors.New("the file has no name any more")
	}
	return real, nil
}

func through(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// within limits a real path to the folders of the request.
func within(real string, roots []string) error {
	if len(roots) == 0 || policy.InsideAny(real, roots) {
		return nil
	}
	return &refusal{text: fmt.Sprintf("%s is outside the folders of the file tools (%s)", real, strings.Join(roots, ", ")), real: real, limit: true}
}

// find opens the regular file that a path leads to.
func find(r Request) (*opened, error) {
	if !filepath.IsAbs(r.Path) || strings.IndexByte(r.Path, 0) >= 0 {
		return nil, fmt.Errorf("%q is no absolute path", r.Path)
	}
	fd, err := at(r.Path, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: r.Path, Err: err}
	}
	o := &opened{fd: fd}
	// Its names are counted before it is seen to have this one still: one that is
	// taken away in between is no way to have fewer.
	if err = unix.Fstat(fd, &o.stat); err == nil {
		o.real, err = place(fd)
	}
	if err == nil {
		err = within(o.real, r.Roots)
	}
	if err == nil {
		err = regular(r.Path, &o.stat)
	}
	if err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

func regular(path string, s *unix.Stat_t) error {
	what := ""
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return nil
	case unix.S_IFDIR:
		what = "a folder: list it with bash"
	case unix.S_IFIFO:
		what = "a named pipe"
	case unix.S_IFSOCK:
		what = "a socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		what = "a device"
	default:
		what = "of an unknown kind"
	}
	return fmt.Errorf("%s is no regular file but %s", path, what)
}

// reopen opens the very file for reading.
func (o *opened) reopen() (*os.File, error) {
	fd, err := unix.Open(through(o.fd), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: o.real, Err: err}
	}
	return os.NewFile(uintptr(fd), o.real), nil
}

// failed is an error as an answer.
func failed(err error, real string) Answer {
	a := Answer{Failed: err.Error(), Real: real}
	var r *refusal
	switch {
	case errors.As(err, &r):
		a.Denied, a.Limit, a.Real = true, r.limit, r.real
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS), errors.Is(err, unix.EBUSY), errors.Is(err, unix.EXDEV):
		a.Denied = true
	}
	return a
}
