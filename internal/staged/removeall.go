//go:build linux

package staged

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxNested bounds the descriptors that a removal holds. A command can nest
// folders deeper than any process may have files open, so those that are
// deeper are moved up first.
const maxNested = 64

// removeAll removes a folder with all in it, also what its owner may not enter,
// however deep it is. It follows no link and enters no mount. What is gone
// already is no error; of several errors it tells the first and goes on.
func removeAll(path string) error {
	top, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.EACCES {
		if os.Chmod(path, 0o700) == nil { // #nosec G302 -- a folder, which its owner is to enter
			top, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		}
	}
	if err == unix.ENOENT {
		return nil
	}
	if err == nil {
		r := remover{top: top}
		r.empty(top, 0)
		for len(r.moved) > 0 {
			name := r.moved[len(r.moved)-1]
			r.moved = r.moved[:len(r.moved)-1]
			r.folder(top, name, 0)
		}
		unix.Close(top)
		if err = r.err; err == nil {
			err = unix.Rmdir(path)
		}
	}
	if err != nil && err != unix.ENOENT {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	return nil
}

type remover struct {
	top   int
	moved []string // folders that were moved up into top
	n     int
	err   error
}

func (r *remover) failed(err error) bool {
	if err != nil && err != unix.ENOENT && r.err == nil {
		r.err = err
	}
	return err != nil
}

// empty removes what is in a folder, until nothing more can be.
func (r *remover) empty(dir, depth int) {
	_ = unix.Fchmod(dir, 0o700) // unlink says so if it could not be
	buf := make([]byte, 16<<10)
	for before := r.err; r.err == before; {
		if _, err := unix.Seek(dir, 0, unix.SEEK_SET); r.failed(err) {
			return
		}
		removed := 0
		for {
			n, err := unix.ReadDirent(dir, buf)
			if r.failed(err) || n <= 0 {
				break
			}
			_, _, names := unix.ParseDirent(buf[:n], -1, nil)
			for _, name := range names {
				err := unix.Unlinkat(dir, name, 0)
				switch {
				case err == unix.EISDIR:
					r.folder(dir, name, depth+1)
				default:
					r.failed(err)
				}
				removed++
			}
		}
		if removed == 0 {
			return
		}
	}
}

// folder removes a folder, or moves it up.
func (r *remover) folder(dir int, name string, depth int) {
	err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	if err == nil || err != unix.ENOTEMPTY && err != unix.EEXIST {
		r.failed(err)
		return
	}
	at, err := pathAt(dir, name)
	if r.failed(err) {
		return
	}
	var st unix.Stat_t
	if unix.Fstat(at, &st) == nil && st.Mode&0o700 != 0o700 {
		_ = unix.Chmod(fdPath(at), 0o700)
	}
	unix.Close(at)
	if depth >= maxNested {
		for {
			up := ".deep-" + strconv.Itoa(r.n)
			r.n++
			switch err := unix.Renameat2(dir, name, r.top, up, unix.RENAME_NOREPLACE); err {
			case unix.EEXIST:
				continue
			case nil:
				r.moved = append(r.moved, up)
			default:
				r.failed(err)
			}
			return
		}
	}
	sub, err := openDirIn(dir, name)
	if r.failed(err) {
		return
	}
	r.empty(sub, depth)
	unix.Close(sub)
	r.failed(unix.Unlinkat(dir, name, unix.AT_REMOVEDIR))
}
