//go:build linux

package stage

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

var errMoved = errors.New("it changed while the sandbox was built")

// Identity names the object at path, by no link, as Mount.Data holds it.
func Identity(path string) (string, error) {
	id, _, err := identity(path)
	return id, err
}

// identity also says whether a mount begins at path.
func identity(path string) (id string, root bool, err error) {
	fd, err := openPath(unix.AT_FDCWD, path)
	if err != nil {
		return "", false, err
	}
	defer closeFD(fd)
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT, unix.STATX_INO, &st); err != nil {
		return "", false, err
	}
	id = strconv.Itoa(int(st.Dev_major)) + ":" + strconv.Itoa(int(st.Dev_minor)) + ":" + strconv.FormatUint(st.Ino, 10)
	return id, st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, nil
}

// verify looks at what another program mounted by path: one who can write in a
// folder on the way may have put a link there for a moment, and a mount gone
// through it shows another place or lies over one. As many mounts as targets,
// and one beginning at each target, leave none that is elsewhere.
func verify(mounts []sandbox.Mount) error {
	seen := make(map[string]bool, len(mounts))
	for _, m := range mounts {
		switch {
		case m.Op != sandbox.OpBind && m.Op != sandbox.OpPin && m.Op != sandbox.OpMask:
			continue
		case policy.Inside(m.Target, "/proc"), m.Op == sandbox.OpMask && m.Try:
			continue // nobody's to change; a mask that went elsewhere shows nothing
		}
		id, root, err := identity(m.Target)
		switch {
		case m.Try && err == unix.ENOENT:
			continue
		case err == unix.ELOOP || err == nil && (!root || seen[m.Target] || m.Data != "" && id != m.Data):
			err = errMoved
		}
		if err != nil {
			return stepError(m, err)
		}
		seen[m.Target] = true
	}
	return nil
}
