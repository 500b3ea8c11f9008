//go:build linux

package stage

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// pool is one tmpfs that all private folders of its kind are cut from: a
// file system each would cost the run more than all its mounts. It is
// attached where /dev will cover it, so only the clones can be reached.
type pool struct {
	dir int // its root
	n   int // folders made
}

// makePools makes the writable pool, bounded in size and inodes, and the
// frame with what masks show: a folder and a file that nobody may open.
func (b *builder) makePools() (err error) {
	if b.pool, err = newPool(tempSize); err != nil {
		return err
	}
	if b.frame, err = newPool("16m"); err != nil {
		return err
	}
	if err := mkdirat(b.frame.dir, "d", 0); err != nil {
		return err
	}
	return mkfile(b.frame.dir, "f", 0)
}

// tempSize bounds what can be written to the private temp: half of the memory.
const tempSize = "50%"

// newPool mounts a tmpfs at /dev. size is tmpfs's own option; the number of
// inodes is bounded too, since each costs kernel memory.
func newPool(size string) (pool, error) {
	fs, err := newMount("tmpfs", attrBase, "size", size, "nr_inodes", "1000000", "mode", "755")
	if err != nil {
		return pool{}, fmt.Errorf("tmpfs: %w", err)
	}
	defer closeFD(fs)
	at, err := openPath(unix.AT_FDCWD, "/dev")
	if err != nil {
		return pool{}, err
	}
	defer closeFD(at)
	if err := moveTo(fs, at); err != nil {
		return pool{}, err
	}
	dir, err := openPath(unix.AT_FDCWD, "/dev")
	return pool{dir: dir}, err
}

// folder makes a new folder and returns a detached mount of it alone.
func (p *pool) folder(mode uint32) (int, error) {
	name := strconv.Itoa(p.n)
	p.n++
	if err := mkdirat(p.dir, name, mode); err != nil {
		return -1, err
	}
	return openTree(p.dir, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
}

// file makes a new file and returns a detached mount of it alone.
func (p *pool) file(mode uint32, content string) (int, error) {
	name := strconv.Itoa(p.n)
	p.n++
	if err := writeFile(p.dir, name, mode, content); err != nil {
		return -1, err
	}
	return openTree(p.dir, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
}
