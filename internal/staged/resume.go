//go:build linux

package staged

import (
	"golang.org/x/sys/unix"
)

// Resume prepares a run that was opened to be gone on with: it lets go of the
// layers, which a mount will hold, but not of the run. What a look at them or
// a keep widened is as the command left it again.
func (r *Run) Resume() error {
	r.cleanTemp()
	j, err := openJournal(r.dir)
	if err != nil {
		return err
	}
	defer j.close()
	up := map[int]int{}
	defer func() {
		for _, fd := range up {
			unix.Close(fd)
		}
	}()
	for p, mode := range j.modes {
		if p.root < 0 || p.root >= len(r.Roots) {
			continue
		}
		if _, ok := up[p.root]; !ok {
			fd, err := r.openUpper(p.root)
			if err != nil {
				return err
			}
			up[p.root] = fd
		}
		fd, err := openIn(up[p.root], p.rel, unix.O_PATH, 0)
		if err == unix.ENOENT {
			continue // kept
		}
		if err == nil {
			var st unix.Stat_t
			// What is wider by one of its owner's rights alone is what was widened.
			if err = unix.Fstat(fd, &st); err == nil && kindOf(&st) != unix.S_IFLNK && st.Mode&^0o700 == (st.Mode&unix.S_IFMT|mode)&^0o700 {
				err = unix.Chmod(fdPath(fd), mode)
			}
			unix.Close(fd)
		}
		if err != nil {
			return err
		}
	}
	if len(j.modes)+len(j.at) > 0 {
		if err := j.compact(); err != nil {
			return err
		}
	}
	r.releaseLayers()
	return nil
}

func (r *Run) releaseLayers() {
	for _, f := range r.layers {
		f.Close()
	}
	r.layers = nil
}

// Widen notes that a command in another tier writes the layers too; the widest
// is that by which they are kept.
func (r *Run) Widen(tier string) error {
	r.Tier = tier
	return r.save()
}
