package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// dirents is room for the names of one folder at a time.
var dirents = sync.Pool{New: func() any { return new([8 << 10]byte) }}

// readFolder lists a folder in order of its names, and says its permissions.
// It looks at no path twice, and costs a run of dozens half of what package os
// takes, which has its files ready for the poller. With short it is an error
// that there are more names than one call reads.
func readFolder(dir string, short bool) (entries []Entry, mode uint32, err error) {
	fd, err := openFolder(dir)
	if err != nil {
		return nil, 0, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, 0, err
	}
	err = eachName(fd, func(names int) error {
		if short && entries != nil {
			return errMany
		}
		entries = slices.Grow(entries, names)
		return nil
	}, func(name []byte, kind byte) {
		s := string(name)
		entries = append(entries, Entry{Name: s, Kind: direntKind(fd, s, kind)})
	})
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, st.Mode & 0o777, nil
}

var errMany = errors.New("many names")

// folderLinks are the names of a folder's symbolic links, in order; none if it
// cannot be read.
func folderLinks(dir string) (names []string) {
	fd, err := openFolder(dir)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	err = eachName(fd, func(int) error { return nil }, func(name []byte, kind byte) {
		if kind == unix.DT_LNK || kind == unix.DT_UNKNOWN && direntKind(fd, string(name), kind) == KindLink {
			names = append(names, string(name))
		}
	})
	if err != nil {
		return nil
	}
	slices.Sort(names)
	return names
}

// eachName reads an open folder. Before each part of it, room is told how many
// names that can be.
func eachName(fd int, room func(names int) error, each func(name []byte, kind byte)) error {
	buf := dirents.Get().(*[8 << 10]byte)
	defer dirents.Put(buf)
	for {
		n, err := unix.Getdents(fd, buf[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n <= 0:
			return nil
		}
		if err := room(n / 24); err != nil { // the least that an entry takes
			return err
		}
		for b := buf[:n]; len(b) > 0; {
			// struct linux_dirent64: inode, offset, length, kind, name.
			size := binary.NativeEndian.Uint16(b[16:])
			name, kind := b[19:size], b[18]
			b = b[size:]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			if string(name) != "." && string(name) != ".." {
				each(name, kind)
			}
		}
	}
}

func openFolder(dir string) (int, error) {
	for {
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// direntKind is the kind of an entry; some file systems do not tell it with the name.
func direntKind(dir int, name string, kind byte) Kind {
	switch kind {
	case unix.DT_DIR:
		return KindDir
	case unix.DT_REG:
		return KindFile
	case unix.DT_LNK:
		return KindLink
	case unix.DT_UNKNOWN:
		var st unix.Stat_t
		if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			return KindNone
		}
		return statKind(st.Mode)
	}
	return KindOther
}
