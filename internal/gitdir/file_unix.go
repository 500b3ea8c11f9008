//go:build unix

package gitdir

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// readRegular reads a file of at most max bytes. It does not follow a link in
// the last place and does not wait for a FIFO or a device put there.
func readRegular(path string, max int) ([]byte, error) {
	var fd int
	for {
		var err error
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err == nil {
			break
		}
		switch err {
		case unix.EINTR:
			continue
		case unix.ELOOP, unix.ENXIO: // a link; a FIFO or socket
			err = errNotRegular
		}
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errNotRegular
	}
	if st.Size > int64(max) {
		return nil, ErrLimit
	}
	buf := make([]byte, 0, min(int(st.Size), max)+1)
	for {
		if len(buf) > max { // it grew meanwhile
			return nil, ErrLimit
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			return buf, nil
		}
		buf = buf[:len(buf)+n]
	}
}

// owned says whether the caller may believe a file by its owner. Root
// believes every owner: git's layout still has to match both ways.
func owned(info fs.FileInfo) bool {
	euid := os.Geteuid()
	if euid == 0 {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(st.Uid) == int64(euid)
}

func isNotDir(err error) bool { return errors.Is(err, unix.ENOTDIR) }

// isBadName: no file can have this path.
func isBadName(err error) bool {
	return errors.Is(err, unix.ENAMETOOLONG) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EINVAL)
}
