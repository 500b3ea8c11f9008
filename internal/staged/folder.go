//go:build linux

package staged

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

type folderMode struct {
	place
	mode  uint32
	times []unix.Timespec // nil: as they are
}

// folder makes a folder, in the place of whatever else had the name.
func (k *keeper) folder(c *Change, dir int, name string, now *unix.Stat_t) error {
	if isDir(now) {
		return k.folderMode(c)
	}
	end, err := k.turn(dir)
	if err != nil {
		return k.failed(c, err)
	}
	defer end()
	if _, ok := k.ask(c, Ask{Op: Mkdir, Dir: dir, Name: name, Stat: c.up, Old: now}); !ok {
		return nil
	}
	if now != nil {
		if err := unix.Unlinkat(dir, name, 0); err != nil {
			return k.failed(c, err)
		}
		failpoint("replaced")
	}
	if err := unix.Mkdirat(dir, name, c.mode&0o777|0o700); err != nil {
		return k.failed(c, err)
	}
	failpoint("mkdir")
	k.later(c)
	k.kept(c)
	return nil
}

// later gives a folder its mode and times when its content is there.
func (k *keeper) later(c *Change) {
	k.modes = append(k.modes, folderMode{place{c.Root, c.Path}, keptMode(c), []unix.Timespec{c.up.Atim, c.up.Mtim}})
}

func (k *keeper) folderMode(c *Change) error {
	parent, name := split(c.Path)
	dir := -1
	if c.Path == "." {
		parent, name = ".", "."
	}
	dir, err := k.enter(place{c.Root, parent})
	if err != nil {
		return k.noFolder(c, err)
	}
	if _, ok := k.ask(c, Ask{Op: SetMode, Dir: dir, Name: name, Stat: c.up, Old: c.ws}); !ok {
		return nil
	}
	k.modes = append(k.modes, folderMode{place: place{c.Root, c.Path}, mode: keptMode(c)})
	k.kept(c)
	return nil
}

func depth(rel string) int {
	if rel == "." {
		return 0
	}
	return 1 + strings.Count(rel, "/")
}

// finish gives folders their modes, the deepest first, and waits until all is
// on the disk.
func (k *keeper) finish() error {
	k.leaveDir()
	set := map[place]bool{}
	// What the command left comes before, and wins over, what was there.
	all := append(k.modes, k.loose...)
	slices.SortStableFunc(all, func(a, b folderMode) int { return depth(b.rel) - depth(a.rel) })
	for _, m := range all {
		if set[m.place] {
			continue
		}
		set[m.place] = true
		fd, err := openDirIn(k.ws[m.root], m.rel)
		if err != nil {
			continue // removed meanwhile, or moved: it is not ours any more
		}
		err = unix.Fchmod(fd, m.mode)
		failpoint("mode")
		if err == nil && m.times != nil {
			err = unix.UtimesNanoAt(unix.AT_FDCWD, fdPath(fd), m.times, 0)
		}
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("%s: %w", k.r.PathOf(m.root, m.rel), err)
		}
	}
	k.loose = nil
	failpoint("finish")
	for _, fd := range k.ws {
		if err := unix.Syncfs(fd); err != nil {
			return fmt.Errorf("write to the disk: %w", err)
		}
	}
	failpoint("synced")
	return nil
}
