package session

import (
	"time"

	"golang.org/x/sys/unix"
)

// madeAt is when a file or folder was made. Where the file system does not
// keep that, nobody knows.
func madeAt(path string) (time.Time, bool) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)), err == nil && st.Mask&unix.STATX_BTIME != 0
}
