//go:build linux

package staged

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// LimitError is that this process may hold too few files open for folders as
// deep as these. Nothing was done.
type LimitError struct{ Limit uint64 }

func (e *LimitError) Error() string {
	return fmt.Sprintf("this process may hold only %d files open (ulimit -n), too few for folders as deep as what is staged; nothing was done", e.Limit)
}

func tooFew(err error) error {
	var limit unix.Rlimit
	if !errors.Is(err, unix.EMFILE) || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return err
	}
	return &LimitError{limit.Cur}
}

// keepRoom is how many descriptors a keep holds at most beside those of the
// scan before it, which goes as deep, with more for each folder on the way.
const keepRoom = 32

// reserve takes so many descriptors, for a scan to find out whether there are
// enough before anything is done.
func reserve(n int) (fds []int, err error) {
	for range n {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			closeAll(fds)
			return nil, err
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
