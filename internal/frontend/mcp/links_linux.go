package mcp

import (
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"

	"bawn/internal/frontend/mcp/inside"
	"bawn/internal/policy"
)

// maxLooked bounds the files of hidden places that are compared with one.
const maxLooked = 20_000

// otherName reports whether a file with more than one name has one in a hidden
// place: a link in the workspace does not open a credential.
func otherName(p policy.Policy, v inside.Version) (policy.Rule, bool) {
	left := maxLooked
	for _, r := range p.Files().Rules() {
		if r.Access != policy.Hidden || policy.Inside(r.Path, "/sys") {
			continue // the kernel's own has no files of disks, and for root more than are looked at
		}
		found := false
		_ = filepath.WalkDir(r.Path, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // what cannot be looked into has no name that counts here
			}
			if left--; left < 0 {
				return fs.SkipAll
			}
			if d.Type().IsRegular() && is(path, v) {
				found = true
				return fs.SkipAll
			}
			return nil
		})
		if found {
			return r.Rule(), true
		}
		if left < 0 {
			return policy.Rule{ID: "links", Text: "the file has other names, and there are too many hidden files to tell that none of them is one", Lift: "copy the file"}, true
		}
	}
	return policy.Rule{}, false
}

// shown is the state of a file with more than one name of which none is in a
// hidden place; nil of any other. It is looked at before the call, so that a
// person is asked once; what counts is whether the file that is opened then is
// that one, in that state.
func shown(p policy.Policy, path string) *inside.Version {
	var s unix.Stat_t
	if unix.Stat(path, &s) != nil || s.Mode&unix.S_IFMT != unix.S_IFREG || s.Nlink < 2 {
		return nil
	}
	v := inside.VersionOf(&s)
	if _, hidden := otherName(p, v); hidden {
		return nil
	}
	return &v
}

func is(path string, v inside.Version) bool {
	var s unix.Stat_t
	return unix.Lstat(path, &s) == nil && uint64(s.Dev) == v.Dev && s.Ino == v.Ino
}
