//go:build linux

package staged

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// conflict says why what the workspace has is not to be replaced or removed, ""
// if nothing is in the way. In a foreign folder everything is that no keep put
// there.
func (s *scanner) conflict(ws int, rel, name string, old *unix.Stat_t, foreign bool) (string, error) {
	if foreign && !s.knows(rel, old) {
		return "it came with its folder since the run began", nil
	}
	return s.inTheWay(ws, rel, name, old)
}

// inTheWay says who changed what is to be replaced or removed, a folder with
// all in it, and notes what it looked at.
func (s *scanner) inTheWay(ws int, rel, name string, old *unix.Stat_t) (string, error) {
	if old == nil {
		return "", nil
	}
	if s.run.after(old) && !s.j.knows(place{s.root, rel}, old) {
		return "changed since the run began", nil
	}
	if kindOf(old) != unix.S_IFDIR {
		if old.Nlink > 1 {
			s.out.approve[place{s.root, rel}] = seenOf(old)
		}
		return "", nil
	}
	s.out.approve[place{s.root, rel}] = seenOf(old)
	if s.isClosed(rel, old) {
		return "", nil
	}
	fd, err := openDirIn(ws, name)
	if err == unix.EMFILE {
		return "", err
	}
	if err != nil {
		return "cannot be looked into: " + err.Error(), nil
	}
	defer unix.Close(fd)
	names, err := namesIn(fd)
	if errors.Is(err, unix.EMFILE) {
		return "", err
	}
	if err != nil {
		return "cannot be looked into: " + err.Error(), nil
	}
	for _, n := range names {
		if len(s.out.approve) > maxChanges {
			return "", fmt.Errorf("more than %d names", maxChanges)
		}
		st, err := lstatAt(fd, n)
		if err != nil {
			return "", err
		}
		why, err := s.inTheWay(fd, join(rel, n), n, st)
		if err != nil {
			return "", err
		}
		if why != "" {
			if why == "changed since the run began" {
				why = fmt.Sprintf("%q in it was changed since the run began", n)
			}
			return why, nil
		}
	}
	return "", nil
}

// knows is journal.knows; nothing is known too.
func (s *scanner) knows(rel string, st *unix.Stat_t) bool {
	return st == nil || s.j.knows(place{s.root, rel}, st)
}

// after reports whether what st is of was changed after the run began: nothing
// but the kernel sets a change time.
func (r *Run) after(st *unix.Stat_t) bool { return st.Ctim.Nano() >= r.Since }
