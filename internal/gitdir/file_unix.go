//go:build unix

package gitdir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lstat costs half of os.Lstat, and Discover is little else.
func lstat(path string) (stat, error) {
	var st unix.Stat_t
	for {
		err := unix.Lstat(path, &st)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return stat{}, err
		}
	}
	s := stat{typ: typeOther, uid: int64(st.Uid)}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		s.typ = typeDir
	case unix.S_IFREG:
		s.typ = typeFile
	case unix.S_IFLNK:
		s.typ = typeLink
	}
	return s, nil
}

// readRegular reads a file of at most max bytes. It does not follow a link in
// the last place and does not wait for a FIFO or a device put there.
func readRegular(path string, max int) ([]byte, error) {
	return read(path, max, unix.O_NOFOLLOW)
}

// readLinked is readRegular that follows links: for paths of the user's.
func readLinked(path string, max int) ([]byte, error) { return read(path, max, 0) }

func read(path string, max, flags int) ([]byte, error) {
	var fd int
	for {
		var err error
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC|flags, 0)
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

// openDir does without os.Open, which would start Go's poller.
func openDir(path string) (*os.File, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		if err != unix.EINTR {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// owned says whether the caller may believe a file by its owner. Root
// believes every owner: git's layout still has to match both ways.
func owned(s stat) bool {
	euid := os.Geteuid()
	return euid == 0 || s.typ != typeNone && s.uid == int64(euid)
}

func isNotDir(err error) bool { return errors.Is(err, unix.ENOTDIR) }

// isBadName: no file can have this path.
func isBadName(err error) bool {
	return errors.Is(err, unix.ENAMETOOLONG) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EINVAL)
}
