//go:build linux

package stage

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// inputs are the command's streams that read a file of the host. The caller's
// descriptor keeps the host's mount: through /proc/self/fd/0 the file could be
// opened anew for writing, and its mode changed. The command gets the file as
// the sandbox shows it.
type inputs []input

type input struct {
	stream       int
	caller, mine int // both to the same file; the offsets differ
}

// reopen must be called while the host's files can be opened by their names
// and none of them is writable, or, by a stage that mounts nothing, where the
// boundary stands.
func (in *inputs) reopen() error {
	for stream := range 3 {
		one, err := reopenInput(stream)
		if err != nil {
			return fmt.Errorf("standard stream %d: %w; put a pipe between, as in: cat FILE | bawn run …", stream, err)
		}
		if one != nil {
			*in = append(*in, *one)
		}
	}
	return nil
}

func reopenInput(stream int) (*input, error) {
	var st unix.Stat_t
	if err := unix.Fstat(stream, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, nil
	}
	flags, err := unix.FcntlInt(uintptr(stream), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDONLY {
		return nil, err // the caller gave it to be written
	}
	mine, err := openSame(stream, flags, &st)
	if err != nil {
		if st.Nlink == 0 {
			return nil, nil // without a name (a here-document) it is nobody's but the caller's
		}
		if int(st.Uid) != unix.Getuid() && unix.Faccessat(unix.AT_FDCWD, fdPath(stream), unix.W_OK, 0) != nil {
			return nil, nil // nothing to gain from it
		}
		return nil, fmt.Errorf("the file could be changed through it, since the sandbox cannot open it by its name (%w)", err)
	}
	one := input{stream: stream, mine: mine}
	if one.caller, err = unix.FcntlInt(uintptr(stream), unix.F_DUPFD_CLOEXEC, 3); err != nil {
		return nil, err
	}
	if err := unix.Dup3(mine, stream, 0); err != nil {
		return nil, err
	}
	return &one, nil
}

// openSame opens the stream's file by its name, at the same offset.
func openSame(stream, flags int, st *unix.Stat_t) (int, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink(fdPath(stream), buf)
	if err != nil {
		return -1, err
	}
	// Held first: what the name leads to by now may be a pipe, whose open waits.
	at, err := openPath(unix.AT_FDCWD, string(buf[:n]))
	if err != nil {
		return -1, err
	}
	defer closeFD(at)
	var now unix.Stat_t
	if err := unix.Fstat(at, &now); err != nil {
		return -1, err
	}
	if now.Dev != st.Dev || now.Ino != st.Ino {
		return -1, errMoved
	}
	mine, err := unix.Open(fdPath(at), flags&(unix.O_PATH|unix.O_NONBLOCK|unix.O_DIRECT)|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	offset, err := unix.Seek(stream, 0, unix.SEEK_CUR)
	if err == nil {
		_, err = unix.Seek(mine, offset, unix.SEEK_SET)
	}
	if err != nil && flags&unix.O_PATH == 0 {
		closeFD(mine)
		return -1, err
	}
	return mine, nil
}

// settle leaves the caller's descriptors where the command stopped to read, as
// one that is shared does.
func (in inputs) settle() {
	for _, one := range in {
		if offset, err := unix.Seek(one.mine, 0, unix.SEEK_CUR); err == nil {
			_, _ = unix.Seek(one.caller, offset, unix.SEEK_SET)
		}
	}
}

func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
