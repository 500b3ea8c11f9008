//go:build unix

package tty

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// late is a terminal whose last words come after it was called closed.
type late struct{ left []string }

func (l *late) Read(b []byte) (int, error) {
	if len(l.left) == 0 {
		return 0, &os.PathError{Op: "read", Path: "/dev/ptmx", Err: unix.EIO}
	}
	s := l.left[0]
	l.left = l.left[1:]
	if s == "" {
		return 0, &os.PathError{Op: "read", Path: "/dev/ptmx", Err: unix.EIO}
	}
	return copy(b, s), nil
}

func TestReadPastTheFirstEIO(t *testing.T) {
	l := &late{[]string{"hello\n", "", "over\n"}}
	got, buf := "", make([]byte, 64)
	for {
		n, err := Read(l, buf)
		got += string(buf[:n])
		if err != nil {
			if !errors.Is(err, unix.EIO) {
				t.Error(err)
			}
			break
		}
	}
	if got != "hello\nover\n" {
		t.Errorf("%q", got)
	}
}
