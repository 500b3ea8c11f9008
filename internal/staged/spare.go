//go:build linux

package staged

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// spareName is an empty layer that an earlier run left for the next: to make
// the folders of one, and to remove them, is a good part of what a short staged
// run costs (docs/decisions/0021-staged.md).
const spareName = ".spare"

// claim begins a run with the spare layer; nil if there is none, or it is not
// free.
func (s Store) claim(m Meta) *Run {
	if len(m.Roots) != 1 {
		return nil
	}
	r := &Run{Meta: m, dir: filepath.Join(s.Dir, spareName)}
	var err error
	if r.lock, err = takeLock(r.dir); err != nil {
		return nil
	}
	// Killed in between, it is the spare one still: its record counts for nothing.
	if err = r.write(metaName); err == nil {
		failpoint("claimed")
		dir := filepath.Join(s.Dir, m.ID)
		if err = unix.Renameat2(unix.AT_FDCWD, r.dir, unix.AT_FDCWD, dir, unix.RENAME_NOREPLACE); err == nil {
			r.dir = dir
			r.clearWork()
			return r
		}
	}
	r.Close()
	return nil
}

// lastWork is what the last overlay had in its work folder, while it is removed.
const lastWork = "last"

// clearWork takes what the last overlay left out of the way of the next, whose
// mount would remove it first, and wait: each folder that goes is 0.2 ms, or a
// wait for the disk, where a rename is 15 µs. It is removed while the sandbox
// is made. Where that fails, or was killed, the stage removes it, or Discard.
func (r *Run) clearWork() {
	path := r.layer(0) + "/work"
	dir, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	if unix.Renameat(dir, "work", dir, lastWork) == unix.ENOTEMPTY { // one was not removed
		_ = removeAll(path + "/" + lastWork)
		_ = unix.Renameat(dir, "work", dir, lastWork)
	}
	r.clearing = make(chan struct{})
	go func() {
		defer close(r.clearing)
		defer unix.Close(dir)
		folders := [...]string{lastWork + "/incompat/volatile", lastWork + "/incompat", lastWork}
		if os.Geteuid() != 0 { // the kernel makes them for nobody to enter
			for _, name := range slices.Backward(folders[:]) {
				_ = unix.Fchmodat(dir, name, 0o700, 0)
			}
		}
		_ = unix.Unlinkat(dir, folders[0]+"/dirty", 0)
		for _, name := range folders {
			if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != nil && err != unix.ENOENT {
				_ = removeAll(path + "/" + lastWork)
				return
			}
		}
	}()
}

// cleared waits until nothing is removed in the run's folder any more.
func (r *Run) cleared() {
	if r.clearing != nil {
		<-r.clearing
	}
}

// Retire ends a run that changed nothing. Its layer is left as the spare one,
// or else removed. The run stays held until Close, which is to come when the
// kernel has cleared its mounts away.
func (r *Run) Retire() error {
	r.cleared()
	if !r.reusable() {
		return r.Discard()
	}
	spare := filepath.Join(filepath.Dir(r.dir), spareName)
	if unix.Renameat2(unix.AT_FDCWD, r.dir, unix.AT_FDCWD, spare, unix.RENAME_NOREPLACE) != nil {
		return r.Discard()
	}
	r.dir = spare
	return nil
}

// reusable reports whether nothing of the run is left in its layer, and clears
// what the overlay has noted there but for its name, which is that of the layer.
func (r *Run) reusable() bool {
	if len(r.Roots) != 1 {
		return false
	}
	if r.hasJournal() {
		return false
	}
	up, err := r.openUpper(0)
	if err != nil {
		return false
	}
	defer unix.Close(up)
	// Flags that the command has set on the folder: of a common one ext4 has two.
	const extents, index = 0x80000, 0x1000
	if flags, err := unix.IoctlGetUint32(up, unix.FS_IOC_GETFLAGS); err == nil && flags&^(extents|index) != 0 {
		return false
	}
	if !empty(up) {
		return false
	}
	list := make([]byte, 4<<10)
	n, err := unix.Flistxattr(up, list)
	if err != nil {
		return false
	}
	for _, key := range strings.Split(strings.Trim(string(list[:n]), "\x00"), "\x00") {
		if key == "" || key == uuidAttr {
			continue
		}
		if !strings.HasPrefix(key, overlayPrefix) || unix.Fremovexattr(up, key) != nil {
			return false
		}
	}
	return true
}

func (r *Run) hasJournal() bool {
	return unix.Faccessat(unix.AT_FDCWD, r.dir+"/"+journalName, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) != unix.ENOENT
}

// empty reports whether a folder that was just opened is known to have no
// entries.
func empty(dir int) bool {
	buf := make([]byte, 4<<10)
	for {
		n, err := unix.ReadDirent(dir, buf)
		if err != nil || n <= 0 {
			return err == nil
		}
		if _, entries, _ := unix.ParseDirent(buf[:n], -1, nil); entries > 0 {
			return false
		}
	}
}

// untouched reports whether it can be seen at a glance that the run changed
// nothing.
func (r *Run) untouched() bool {
	if r.hasJournal() {
		return false // which knows of widened modes
	}
	for n, root := range r.Roots {
		up, err := r.openUpper(n)
		if err != nil {
			return false
		}
		nothing := empty(up)
		var is, was unix.Stat_t
		nothing = nothing && unix.Fstat(up, &is) == nil && unix.Lstat(root.Path, &was) == nil && is.Mode == was.Mode
		unix.Close(up)
		if !nothing {
			return false
		}
	}
	return true
}
