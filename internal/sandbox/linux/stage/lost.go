//go:build linux

package stage

import (
	"os"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// emptySize is what a folder of a tmpfs without entries measures: the kernel
// counts 20 for each, with . and .. (BOGO_DIRENT_SIZE in mm/shmem.c).
const emptySize = 40

// tellLost tells which folders that the host does not have hold something that
// goes with the sandbox.
func tellLost(mounts []sandbox.Mount) {
	for _, m := range mounts {
		var st unix.Stat_t
		if !m.Lost || unix.Lstat(m.Target, &st) != nil || st.Size <= emptySize {
			continue
		}
		fd, err := unix.Open(m.Target, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // the command closed it to all
		}
		dir := os.NewFile(uintptr(fd), m.Target)
		if names, _ := dir.Readdirnames(1); len(names) > 0 {
			_ = send(MsgLost, []byte(m.Target)...)
		}
		dir.Close()
	}
}
