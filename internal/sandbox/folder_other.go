//go:build unix && !linux

package sandbox

import (
	"io/fs"
	"os"
)

// readFolder lists a folder in order of its names, and says its permissions.
func readFolder(dir string, _ bool) (entries []Entry, mode uint32, err error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return nil, 0, err
	}
	entries = make([]Entry, 0, len(list))
	for _, e := range list {
		entries = append(entries, Entry{Name: e.Name(), Kind: modeKind(e.Type())})
	}
	return entries, uint32(st.Mode().Perm()), nil
}

// folderLinks are the names of a folder's symbolic links, in order; none if it
// cannot be read.
func folderLinks(dir string) (names []string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range list {
		if modeKind(e.Type()) == KindLink {
			names = append(names, e.Name())
		}
	}
	return names
}

func modeKind(m fs.FileMode) Kind {
	switch {
	case m.IsDir():
		return KindDir
	case m.IsRegular():
		return KindFile
	case m&fs.ModeSymlink != 0:
		return KindLink
	}
	return KindOther
}
