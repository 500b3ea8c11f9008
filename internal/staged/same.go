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
	if old == nil || kindOf(old) != unix.S_IFREG || old.Size != c.up.Size || old.Mode&0o7777 != keptMode(c) || old.Mtim != c.up.Mtim {
		return false
	}
	if first, ok := s.inodes[c.up.Ino]; ok && first != old.Ino {
		return false // a name of the same file, which is another one here
	}
	a, err := openFile(up, name)
	if err != nil {
		return false
	}
	defer a.Close()
	b, err := openFile(ws, name)
	if errors.Is(err, unix.EACCES) {
		return s.run.after(old) // a keep has made it so: before the run it was another
	}
	if err != nil {
		return false
	}
	defer b.Close()
	if !maps.Equal(attrs(fdPath(int(a.Fd()))), attrs(fdPath(int(b.Fd())))) {
		return false
	}
	return sameContent(a, b)
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

func sameContent(a, b io.Reader) bool {
	x, y := make([]byte, 128<<10), make([]byte, 128<<10)
	for {
		n, err1 := io.ReadFull(a, x)
		m, err2 := io.ReadFull(b, y)
		if n != m || !bytes.Equal(x[:n], y[:m]) {
			return false
		}
		if err1 != nil || err2 != nil {
			end := func(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }
			return end(err1) && end(err2)
		}
	}
}
