//go:build linux

package linux

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/guard"
)

// Turn is for this process itself to take, as a guard of g would.
func Turn(g sandbox.Guard) (t *guard.Turn, notice string) {
	fd, notice := openTurn(g) // for as long as this process lives
	return guard.NewTurn(fd), notice
}

// openTurn opens the file by which the guards of all runs of this user take
// turns, the first of paths that serves; it is the caller's to close. Without
// one runs at a time in one workspace do not see what the others are about, and
// the notice says so.
func openTurn(g sandbox.Guard) (fd int, notice string) {
	if !g.On {
		return -1, ""
	}
	why := errors.New("no folder of bawn's own is known that commands cannot see: set HOME or XDG_STATE_HOME")
	for i, path := range g.Locks {
		fd, err := openLock(path)
		if err == nil {
			return fd, ""
		}
		if i == 0 {
			why = lockFault(path, err)
		}
	}
	return -1, fmt.Sprintf("name guard: run nothing else in this workspace meanwhile: runs cannot take turns (%v)", why)
}

// lockFault says what is wrong with a file that does not serve, and what to do.
func lockFault(path string, err error) error {
	var st unix.Stat_t
	if e := unix.Lstat(path, &st); e != nil {
		return fmt.Errorf("%q: %w; set XDG_STATE_HOME to a folder that you can write", path, err)
	}
	what := ""
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		switch {
		case int(st.Uid) != os.Geteuid():
			what = fmt.Sprintf("belongs to the user with id %d", st.Uid)
		case st.Mode&0o777 != 0o600:
			what = fmt.Sprintf("has mode %04o", st.Mode&0o777)
		default: // the disk does not serve
			return fmt.Errorf("%q: %w; set XDG_STATE_HOME to a folder on a disk of this machine that you can write", path, err)
		}
	case unix.S_IFLNK:
		what = "is a symbolic link"
	case unix.S_IFDIR:
		what = "is a folder"
	default:
		what = "is no regular file"
	}
	return fmt.Errorf("%q %s, and must be a file of your own with mode 0600: remove it while nothing runs, and it is made anew", path, what)
}

func openLock(path string) (int, error) {
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
	fd, err := unix.Open(path, flags, 0o600)
	if err == unix.ENOENT {
		if err = makeFolder(filepath.Dir(path), stateDepth); err == nil {
			fd, err = unix.Open(path, flags, 0o600)
		}
	}
	if err != nil {
		return -1, err
	}
	if err := usableLock(fd); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// stateDepth is how many folders of a home may be made: .local/state/bawn. No
// home is.
const stateDepth = 3

func makeFolder(path string, depth int) error {
	err := unix.Mkdir(path, 0o700)
	if err == unix.ENOENT && depth > 1 {
		if err := makeFolder(filepath.Dir(path), depth-1); err != nil {
			return err
		}
		err = unix.Mkdir(path, 0o700)
	}
	if err == unix.EEXIST {
		return nil
	}
	return err
}

func usableLock(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		return errors.New("it is not a file of this user alone (mode 0600)")
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return err
	}
	switch fs.Type {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC,
		unix.FUSE_SUPER_MAGIC, unix.V9FS_MAGIC, unix.AFS_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC:
		// Each call of a command would wait for it.
		return errors.New("it lies on another machine's disk, or a program's")
	}
	// A byte that stands for no file system: whether such locks work at all.
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: math.MaxInt64 - 1, Len: 1}
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &l)
}
