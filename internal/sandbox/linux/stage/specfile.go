//go:build linux

package stage

import "golang.org/x/sys/unix"

// SpecFile puts data where only the child that gets the descriptor can read it:
// never in argv, which every process of the machine sees.
func SpecFile(data []byte) (int, error) {
	fd, err := unix.MemfdCreate("bawn-spec", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if err := WriteAll(fd, data); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// WriteAll writes all of data to a file.
func WriteAll(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err != nil && err != unix.EINTR {
			return err
		}
		data = data[max(n, 0):]
	}
	return nil
}
