//go:build unix

package sandbox

import (
	"os"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

// kind looks at one path without following a last link, once.
func (in *inspector) kind(path string) Kind {
	if k, ok := in.host.Kinds[path]; ok {
		return k
	}
	k, dir := KindNone, policy.Parent(path)
	if list, ok := in.host.Dirs[dir]; ok {
		name := path[strings.LastIndexByte(path, '/')+1:]
		if e := entry(list, name); e != nil {
			k = e.Kind
		}
	} else if up, ok := in.host.Kinds[dir]; !ok || up == KindDir || up == KindLink {
		k = lstatKind(path)
	}
	in.host.Kinds[path] = k
	return k
}

// entry finds a name in the sorted list of a folder; nil if it is not there.
func entry(list []Entry, name string) *Entry {
	i := sort.Search(len(list), func(i int) bool { return list[i].Name >= name })
	if i == len(list) || list[i].Name != name {
		return nil
	}
	return &list[i]
}

func lstatKind(path string) Kind {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return KindNone
	}
	return statKind(uint32(st.Mode))
}

func statKind(mode uint32) Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return KindDir
	case unix.S_IFREG:
		return KindFile
	case unix.S_IFLNK:
		return KindLink
	}
	return KindOther
}

// list reads one folder, once; a folder that cannot be read is not listed, nor,
// with short, one of many names.
func (in *inspector) list(dir string, short bool) []Entry {
	if l, ok := in.host.Dirs[dir]; ok {
		return l
	}
	entries, mode, err := readFolder(dir, short)
	if err != nil {
		return nil
	}
	l := entries[:0]
	for _, e := range entries {
		if e.Kind == KindLink && !in.brief {
			if e.Link, err = os.Readlink(dir + "/" + e.Name); err != nil {
				continue
			}
		}
		l = append(l, e)
	}
	in.host.Dirs[dir], in.host.Modes[dir] = l, mode
	return l
}

// listTo lists home and the folders between it and dir.
func (in *inspector) listTo(home, dir string) {
	if _, ok := in.host.Dirs[dir]; ok {
		return
	}
	if in.brief && dir != home && dir != home+"/.config" && dir != home+"/.local/share" {
		return // few of the places lie in it: to look at each is less than to list it
	}
	if dir != home {
		in.listTo(home, policy.Parent(dir))
	}
	if in.kind(dir) == KindDir {
		in.list(dir, false)
	}
}
