//go:build linux

package linux

import (
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// showInput shows a file below one of the sandbox's own temp folders if it is
// the command's input: the stage under bubblewrap opens it by its name, which
// the folder covers. It is the only thing of the host's there.
func showInput(mounts []sandbox.Mount, in *os.File) []sandbox.Mount {
	var st unix.Stat_t
	fd := int(in.Fd())
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDONLY || unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return mounts
	}
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return mounts
	}
	var named unix.Stat_t
	if unix.Lstat(path, &named) != nil || named.Dev != st.Dev || named.Ino != st.Ino {
		return mounts
	}
	over := sandbox.OpBind // what shows at path: the root, or the deepest, and of those the last
	deepest := ""
	for _, m := range mounts {
		if policy.Inside(path, m.Target) && len(m.Target) >= len(deepest) {
			over, deepest = m.Op, m.Target
		}
	}
	if over != sandbox.OpTmpfs || slices.ContainsFunc(mounts, func(m sandbox.Mount) bool {
		return m.Op == sandbox.OpSeal && m.Target == deepest
	}) {
		return mounts
	}
	return append(slices.Clone(mounts), sandbox.Mount{Op: sandbox.OpBind, Source: path, Target: path})
}
