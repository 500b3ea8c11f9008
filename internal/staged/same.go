//go:build linux

package staged

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"

	"golang.org/x/sys/unix"
)

// keptMode is what is kept of a mode: nothing that gives rights.
func keptMode(c *Change) uint32 {
	if isDir(c.up) {
		return c.mode & 0o7777
	}
	return c.mode & 0o777
}

// sameFile reports whether the workspace has this file already: nothing was
// changed in it, or an earlier keep has brought it there.
func (s *scanner) sameFile(up, ws int, name string, c *Change) bool {
	old := c.ws
	if old == nil || kindOf(old) != unix.S_IFREG || old.Size != c.up.Size || old.Mode&0o7777 != keptMode(c) {
		return false
	}
	sameTime := old.Mtim == c.up.Mtim // some disks cut it to seconds
	if !sameTime && !s.keptAlready(place{s.root, c.Path}, old) {
		return false
	}
	a, err := openFile(up, name)
	if err != nil {
		return false
	}
	defer a.Close()
	b, err := openFile(ws, name)
	if errors.Is(err, unix.EACCES) {
		return sameTime && s.run.after(old) // a keep has made it so: before the run it was another
	}
	if err != nil {
		return false
	}
	defer b.Close()
	if !sameAttrs(int(a.Fd()), int(b.Fd())) {
		return false
	}
	return sameContent(a, b, c.up.Size)
}

// settled reports whether a file that the workspace has already is also the
// one that it is to be: of several names in the layer each names the file that
// the others do.
func (s *scanner) settled(c *Change) bool {
	if c.up.Nlink < 2 {
		return true
	}
	p := place{s.root, c.Path}
	first, ok := s.inodes[c.up.Ino]
	switch {
	case !ok, first == 0 && s.run.after(c.ws): // a keep that was killed had this name asked for, or it first
		s.inodes[c.up.Ino] = c.ws.Ino
	case first != c.ws.Ino: // to be made one, but where a keep could not or had no other
		return s.keptAlready(p, c.ws)
	}
	s.out.links[c.up.Ino] = append(s.out.links[c.up.Ino], p)
	return true
}

// keptAlready reports whether a keep that was killed, or else somebody who had
// the same in mind, has put in place what looks like the layer's: the journal
// does not know of it, and the run began before.
func (s *scanner) keptAlready(p place, ws *unix.Stat_t) bool {
	return s.run.after(ws) && !s.j.knows(p, ws)
}

// sameAttrs compares what is kept of two files' attributes. What the file system
// of the second cannot hold is not missing there.
func sameAttrs(a, b int) bool {
	want, is := attrs(fdPath(a)), attrs(fdPath(b))
	for key := range want {
		if _, ok := is[key]; ok {
			continue
		}
		if _, err := unix.Fgetxattr(b, key, nil); err == unix.EOPNOTSUPP {
			delete(want, key)
		}
	}
	return maps.Equal(want, is)
}

func openFile(dir int, name string) (*os.File, error) {
	fd, err := openIn(dir, name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || kindOf(&st) != unix.S_IFREG {
		unix.Close(fd)
		return nil, errors.Join(err, unix.EINVAL)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// sameContent compares two files of this size. What is a hole in both is not
// read: a command can make one of many TB at no cost.
func sameContent(a, b *os.File, size int64) bool {
	x, y := make([]byte, 128<<10), make([]byte, 128<<10)
	for at := int64(0); at < size; {
		if at = min(nextData(a, at, size), nextData(b, at, size)); at >= size {
			break
		}
		n, err1 := a.ReadAt(x, at)
		m, err2 := b.ReadAt(y, at)
		if n == 0 || n != m || !bytes.Equal(x[:n], y[:n]) || err1 != nil && err1 != io.EOF || err2 != nil && err2 != io.EOF {
			return false
		}
		at += int64(n)
	}
	return true
}

// nextData is where the next data from at on begins, size if there is none.
func nextData(f *os.File, at, size int64) int64 {
	data, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
	switch {
	case err == unix.ENXIO:
		return size
	case err != nil: // a file system without holes
		return at
	}
	return data
}
