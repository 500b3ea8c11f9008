//go:build unix

package tty

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// Read reads from the master of a pseudo-terminal, or from another stream. EIO
// says that every slave is closed, and that all they wrote has been read. Linux
// looks at its buffer first and then at whether they are closed: what was written
// between the two comes after the first EIO, so that only a second one is true.
func Read(r io.Reader, b []byte) (int, error) {
	n, err := r.Read(b)
	if n == 0 && errors.Is(err, unix.EIO) {
		return r.Read(b)
	}
	return max(n, 0), err
}
