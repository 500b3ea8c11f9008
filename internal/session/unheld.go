//go:build unix

package session

import (
	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// unheld are the known names of a run without the name guard, as they were
// before it.
type unheld struct {
	names  []sandbox.KnownName
	before []look
}

// look is what stands at a path. The zero value is nothing.
type look struct {
	dev, ino uint64
	mode     uint32
	size     int64
	changed  unix.Timespec // also by a rename or a new entry in it
}

func lookAt(path string) look {
	var s unix.Stat_t
	if unix.Lstat(path, &s) != nil {
		return look{}
	}
	return look{uint64(s.Dev), uint64(s.Ino), uint32(s.Mode), s.Size, s.Ctim}
}

func newUnheld(names []sandbox.KnownName) *unheld {
	u := &unheld{names: names, before: make([]look, len(names))}
	for i, n := range names {
		u.before[i] = lookAt(n.Path)
	}
	return u
}

// changed lists the names at which something else stands now. What was there
// and is gone runs nothing.
func (u *unheld) changed() (out []sandbox.KnownName) {
	for i, n := range u.names {
		now := lookAt(n.Path)
		switch was := u.before[i]; {
		case now == look{} || now == was:
		case n.Rule.ID == "name:git.layout" && was != look{} && was.ino == now.ino && was.dev == now.dev:
			// A git directory changes with every commit.
		default:
			out = append(out, n)
		}
	}
	return out
}
