//go:build unix

package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// TrialFolder makes a folder to try something in, by its real path, and removes
// those of that kind that a killed process of this user's has left. Each is held
// locked by whoever made it, until that ends in whatever way.
func TrialFolder(kind string) (dir string, done func(), err error) {
	base, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", nil, err
	}
	list, _ := os.ReadDir(base) // what cannot be listed is not swept
	for _, e := range list {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), kind) {
			continue
		}
		old := filepath.Join(base, e.Name())
		if fd, err := hold(old); err == nil {
			_ = os.RemoveAll(old)
			unix.Close(fd)
		}
	}
	for {
		if dir, err = os.MkdirTemp(base, kind); err != nil {
			return "", nil, err
		}
		switch fd, err := hold(dir); err {
		case nil:
			return dir, func() { unix.Close(fd) }, nil
		case unix.EWOULDBLOCK, unix.ENOENT: // another process sweeps it
		default: // the file system has no locks: nobody sweeps here
			return dir, func() {}, nil
		}
	}
}

// hold locks a folder of this user's that nobody holds.
func hold(dir string) (fd int, err error) {
	fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = unix.Fstat(fd, &st)
	}
	switch {
	case err == nil && st.Nlink == 0:
		err = unix.ENOENT
	case err == nil && int(st.Uid) != os.Geteuid():
		err = unix.EPERM
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
