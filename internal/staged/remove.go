//go:build linux

package staged

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func (k *keeper) remove(c *Change, dir int, name string, now *unix.Stat_t) error {
	if now == nil {
		k.kept(c)
		return nil
	}
	if _, ok := k.ask(c, Ask{Op: Remove, Dir: dir, Name: name, Old: now}); !ok {
		return nil
	}
	if err := k.removeTree(dir, name, c.Path, c.Root, k.forced(c)); err != nil {
		k.refuse(c, Refusal{Why: err.Error(), Conflict: true})
		return nil
	}
	k.kept(c)
	return nil
}

// removeTree removes a name with all below it, but nothing that was changed
// since the run began, nor anything of another mount.
func (k *keeper) removeTree(dir int, name, rel string, root int, forced bool) error {
	st, err := lstatAt(dir, name)
	if err != nil {
		return err
	}
	if !forced && k.r.after(st) && !k.j.knows(place{root, rel}, st) {
		return fmt.Errorf("%q was changed since the run began", rel)
	}
	if !isDir(st) {
		defer failpoint("removed")
		return unix.Unlinkat(dir, name, 0)
	}
	fd, err := openDirIn(dir, name)
	if err == unix.EACCES && int(st.Uid) == os.Geteuid() {
		if at, e := pathAt(dir, name); e == nil {
			_ = unix.Chmod(fdPath(at), 0o700)
			unix.Close(at)
			fd, err = openDirIn(dir, name)
		}
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if st.Mode&0o300 != 0o300 {
		_ = unix.Fchmod(fd, 0o700) // unlink says so if it could not be
	}
	names, err := namesIn(fd)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := k.removeTree(fd, n, join(rel, n), root, forced); err != nil {
			return err
		}
	}
	defer failpoint("removed folder")
	return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}
