//go:build linux

package rules

import (
	"errors"
	"io"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"

	"bawn/internal/gitdir"
	"bawn/internal/policy"
	"bawn/internal/sandbox/linux/guard"
)

// branch decides about a name in refs/ or logs/ that git would read as a control
// file, which may be a branch's. Nothing else may come under it: HEAD may come
// beside it from the host's git (a fetch writes any reference), and nobody is
// asked about sockets called objects and refs (bind). git gives a branch its
// content by a lock and a rename, which vet judges. Its log git writes in place:
// that stays as it is.
func (r *rules) branch(c *guard.Call, s *spot, id, text string, vet func([]byte) error) guard.Verdict {
	if r.lifted[id] || c.Op == guard.Mkdir || c.Op == guard.Rename && c.Flags&unix.RENAME_EXCHANGE == 0 {
		return allow
	}
	v := deny(id, text)
	switch c.Op {
	case guard.RenameTo:
		if c.Other != nil && mode(c.Other) == unix.S_IFREG && c.Flags&unix.RENAME_EXCHANGE == 0 {
			v.Decision, v.MaxSize, v.Vet = guard.Vet, maxConfig, vet
		}
	case guard.Create, guard.Open:
		if !slices.Contains(s.elems, "logs") {
			break
		}
		v.Decision = guard.Fixed
		if c.Op == guard.Open {
			// What does not fit is found to be another one, and refused.
			v.Content, _ = gitdir.ReadFile(c.Target.Path(), maxConfig)
		}
	}
	return v
}

// dataBy says whether what is in the folder name here would be data.
func (s *spot) dataBy(name string) bool {
	return s.data(s.last()) || s.has(s.last(), "HEAD") && (s.plain(s.dir, name, "refs") || s.plain(s.dir, name, "logs"))
}

// holdsControl says whether a folder that becomes data, under the name given,
// has a file in it that branch would have judged, or to which a pointer of git's
// may lead, or cannot be looked through.
func holdsControl(dir, name string) bool {
	left := maxLayout
	return controlIn(dir, name, &left)
}

func controlIn(dir, called string, left *int) bool {
	d, err := openFolder(dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR)
	}
	entries, err := d.ReadDir(*left + 1)
	d.Close()
	if err != nil && err != io.EOF || len(entries) > *left {
		return true
	}
	*left -= len(entries)
	for _, e := range entries {
		name := e.Name()
		switch {
		case e.IsDir():
			if controlIn(dir+"/"+name, name, left) {
				return true
			}
		case slices.Contains(controlNames[:], canon(name)), canon(name) == "gitdir", canon(called) == "hooks" && policy.HookLike(name):
			return true
		}
	}
	return false
}
