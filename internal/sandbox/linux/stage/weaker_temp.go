//go:build linux

package stage

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// RemoveTemp removes a folder that a command had to itself, whatever it made
// in it: folders without permissions, and nesting deeper than a path or the
// descriptors of a process reach. No link is followed. Nobody may use the
// folder meanwhile.
func RemoveTemp(path string) error {
	dir, err := openForRemoval(unix.AT_FDCWD, path)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	moved := 0
	for {
		left, err := emptyOnce(dir, &moved)
		if err != nil {
			return err
		}
		if !left {
			return unix.Rmdir(path)
		}
	}
}

// emptyOnce removes every entry of dir; folders inside its folders are moved
// up into it, for the next round.
func emptyOnce(dir int, moved *int) (left bool, err error) {
	names, err := readNames(dir)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if err := unix.Unlinkat(dir, name, 0); err == nil || err == unix.ENOENT {
			continue
		}
		if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err == nil {
			continue
		}
		sub, err := openForRemoval(dir, name)
		if err != nil {
			return false, err
		}
		err = hoist(sub, dir, moved)
		unix.Close(sub)
		if err != nil {
			return false, err
		}
		if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != nil {
			return false, err
		}
	}
	return len(names) > 0, nil
}

// hoist empties sub: files go, folders move to the folder to.
func hoist(sub, to int, moved *int) error {
	names, err := readNames(sub)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := unix.Unlinkat(sub, name, 0); err == nil {
			continue
		}
		if err := unix.Unlinkat(sub, name, unix.AT_REMOVEDIR); err == nil {
			continue
		}
		// A folder's own permissions decide about its move: its ".." changes.
		fd, err := openForRemoval(sub, name)
		if err != nil {
			return err
		}
		unix.Close(fd)
		for {
			*moved++
			err = unix.Renameat2(sub, name, to, ".bawn-remove-"+strconv.Itoa(*moved), unix.RENAME_NOREPLACE)
			if err != unix.EEXIST {
				break
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openForRemoval opens a folder of our own and gives its owner all rights.
func openForRemoval(at int, name string) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := unix.Openat2(at, name, &how)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	if err := unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700); err != nil {
		return -1, err
	}
	return unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

func readNames(dir int) (names []string, err error) {
	if _, err := unix.Seek(dir, 0, 0); err != nil {
		return nil, err
	}
	for buf := make([]byte, 32<<10); ; {
		n, err := unix.ReadDirent(dir, buf)
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}
