//go:build linux

package staged

import (
	"errors"
	"io"
	"os"
	"path/filepath"
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
			return r
		}
	}
	r.Close()
	return nil
}

// Retire ends a run that changed nothing. Its layer is left as the spare one,
// or else removed. The run stays held until Close, which is to come when the
// kernel has cleared its mounts away.
func (r *Run) Retire() error {
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
// what the overlay has noted there.
func (r *Run) reusable() bool {
	if len(r.Roots) != 1 {
		return false
	}
	if _, err := os.Lstat(r.dir + "/" + journalName); !errors.Is(err, os.ErrNotExist) {
		return false
	}
	up, err := r.openUpper(0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(up), "upper")
	defer f.Close()
	// Flags that the command has set on the folder: of a common one ext4 has two.
	const extents, index = 0x80000, 0x1000
	if flags, err := unix.IoctlGetUint32(up, unix.FS_IOC_GETFLAGS); err == nil && flags&^(extents|index) != 0 {
		return false
	}
	if _, err := f.Readdirnames(1); err != io.EOF {
		return false
	}
	list := make([]byte, 4<<10)
	n, err := unix.Flistxattr(up, list)
	if err != nil {
		return false
	}
	for _, key := range strings.Split(strings.Trim(string(list[:n]), "\x00"), "\x00") {
		if key == "" {
			continue
		}
		if !strings.HasPrefix(key, overlayPrefix) || unix.Fremovexattr(up, key) != nil {
			return false
		}
	}
	return true
}
