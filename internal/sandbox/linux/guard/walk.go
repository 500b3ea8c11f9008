//go:build linux

package guard

import (
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	maxLinks   = 40 // links followed in one path (MAXSYMLINKS, linux/namei.h)
	openPath   = unix.O_PATH | unix.O_CLOEXEC
	openObject = openPath | unix.O_NOFOLLOW
)

// walk resolves one path as the kernel would for the caller. All that it opens
// is O_PATH: nothing happens on the way.
type walk struct {
	w     *worker
	links int // followed so far
}

// parent resolves all of path but its last component, which it returns with
// the slashes after it; for a path of slashes alone that is "/". The directory
// is the caller's to close. It does not touch base.
func (k *walk) parent(base int, path string) (dir int, last string, err unix.Errno) {
	if path == "" {
		return -1, "", unix.ENOENT
	}
	prefix, last := split(path)
	dir, err = k.directory(base, prefix)
	return dir, last, err
}

// split gives the path of the directory of what path names, and the rest.
func split(path string) (prefix, last string) {
	end := strings.TrimRight(path, "/")
	if end == "" {
		return "/", "/"
	}
	cut := strings.LastIndexByte(end, '/') + 1
	return path[:cut] + ".", path[cut:] // the directory must let itself be searched
}

// directory resolves a path to a directory, following all links.
func (k *walk) directory(base int, path string) (int, unix.Errno) {
	// Most paths have no link: one call, by which the kernel cannot be led
	// through a link that means the guard (/proc/self).
	fd, err := lookupStrict(base, path, openPath|unix.O_DIRECTORY)
	if err != unix.ELOOP {
		return fd, errnoOf(err)
	}
	return k.slow(base, path)
}

// slow goes one component at a time.
func (k *walk) slow(base int, path string) (cur int, err unix.Errno) {
	cur, e := lookup(base, start(path), openPath|unix.O_DIRECTORY)
	if e != nil {
		return -1, errnoOf(e)
	}
	for rest := strings.TrimLeft(path, "/"); rest != ""; {
		name, tail, _ := strings.Cut(rest, "/")
		tail = strings.TrimLeft(tail, "/")
		text, next, err := k.step(cur, name)
		if err == 0 && text != "" { // a link: its text comes first
			if text[0] == '/' {
				next, e = lookup(unix.AT_FDCWD, "/", openPath|unix.O_DIRECTORY)
			} else {
				next, e = lookup(cur, ".", openPath|unix.O_DIRECTORY)
			}
			err = errnoOf(e)
			tail = strings.TrimLeft(text+"/"+tail, "/")
		}
		closeFD(cur)
		if err != 0 {
			return -1, err
		}
		cur, rest = next, tail
	}
	var st unix.Stat_t
	if e := fstat(cur, &st); e != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		closeFD(cur)
		return -1, unix.ENOTDIR
	}
	return cur, 0
}

func start(path string) string {
	if path[0] == '/' {
		return "/"
	}
	return "."
}

// step opens the object of a name, or gives a link's text. Where the link is a
// magic one, it leads to the object at once.
func (k *walk) step(dir int, name string) (text string, obj int, err unix.Errno) {
	obj, e := lookup(dir, name, openObject)
	if e != nil {
		return "", -1, errnoOf(e)
	}
	var st unix.Stat_t
	if e := fstat(obj, &st); e != nil {
		closeFD(obj)
		return "", -1, errnoOf(e)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", obj, 0
	}
	text, magic, err := k.follow(dir, name, obj)
	closeFD(obj)
	return text, magic, err
}

// follow reads a link, held open as link and found under name in dir. A magic
// link gives the object it leads to, any other one its text.
func (k *walk) follow(dir int, name string, link int) (text string, obj int, err unix.Errno) {
	if k.links++; k.links > maxLinks {
		return "", -1, unix.ELOOP
	}
	if k.w.isProc(dir) {
		return k.procLink(dir, name, link)
	}
	text, err = k.w.readlink(link)
	return text, -1, err
}

// readlink gives the text of a link held open.
func (w *worker) readlink(link int) (string, unix.Errno) {
	buf := &w.path
	n, e := readlinkat(link, "", buf[:])
	switch {
	case e != nil:
		return "", errnoOf(e)
	case n == 0:
		return "", unix.ENOENT
	case n == len(buf):
		return "", unix.ENAMETOOLONG
	}
	return string(buf[:n]), 0
}

// path is where the kernel says that an object is.
func (w *worker) pathOf(fd int) (string, unix.Errno) {
	n, e := readlinkat(w.fds, strconv.Itoa(fd), w.path[:])
	if e != nil {
		return "", errnoOf(e)
	}
	return string(w.path[:n]), 0
}

// folderPath is pathOf for a folder, in two calls that cost less: by the current
// folder of this thread, which means nothing else. Where it has none of its own,
// or the path is not one from the root, pathOf says what is so.
func (w *worker) folderPath(dir int) (string, unix.Errno) {
	if !w.commonFS {
		if _, _, e := unix.RawSyscall(unix.SYS_FCHDIR, uintptr(dir), 0, 0); e == 0 {
			n, _, e := unix.RawSyscall(unix.SYS_GETCWD, uintptr(unsafe.Pointer(&w.path[0])), uintptr(len(w.path)), 0)
			if e == 0 && n > 1 && w.path[0] == '/' {
				return string(w.path[:n-1]), 0 // without its NUL
			}
		}
	}
	return w.pathOf(dir)
}

// reopen opens an object that is held by an O_PATH descriptor, with the rights
// that a path to it would give.
func (w *worker) reopen(fd, flags int) (int, unix.Errno) {
	f, e := unix.Openat(w.fds, strconv.Itoa(fd), flags, 0)
	return f, errnoOf(e)
}

// found is what a path leads to.
type found struct {
	dir  int    // its directory, or -1: a descriptor led there
	name string // in dir, with slashes if nothing is there or it is special
	obj  int    // O_PATH of the object, or -1: nothing is there
	st   unix.Stat_t
	at   place // of dir, if it was asked for

	objAt place // of obj, likewise
}

func (f *found) close() {
	closeFD(f.dir)
	closeFD(f.obj)
}

func (f *found) kind() uint32 { return f.st.Mode & unix.S_IFMT }

// find resolves a path to an object, or to the place where it would be. With
// create a slash after the last component is EISDIR, as for O_CREAT.
func (k *walk) find(base int, path string, follow, create bool) (found, unix.Errno) {
	var err unix.Errno
	from := -1 // the directory of the last link, ours
	defer func() { closeFD(from) }()
	for {
		f := found{obj: -1}
		if f.dir, f.name, err = k.parent(base, path); err != 0 {
			return f, err
		}
		name := strings.TrimRight(f.name, "/")
		slash := len(name) < len(f.name)
		if special(name) {
			name = start(f.name)
			if f.name[0] == '.' {
				name = f.name
			}
		} else if slash && create {
			f.close()
			return f, unix.EISDIR
		}
		var e error
		if f.obj, e = lookup(f.dir, name, openObject); e != nil {
			f.obj = -1
			if e == unix.ENOENT && !slash {
				return f, 0
			}
			f.close()
			return f, errnoOf(e)
		}
		if e := fstat(f.obj, &f.st); e != nil {
			f.close()
			return f, errnoOf(e)
		}
		if f.kind() != unix.S_IFLNK || !follow && !slash {
			if slash && f.kind() != unix.S_IFDIR {
				f.close()
				return f, unix.ENOTDIR
			}
			if !special(name) {
				f.name = name
			}
			return f, 0
		}
		text, obj, err := k.follow(f.dir, name, f.obj)
		if err != 0 {
			f.close()
			return f, err
		}
		closeFD(f.obj)
		f.obj = obj
		if obj >= 0 { // led by descriptor
			closeFD(f.dir)
			f.dir, f.name = -1, ""
			if e := fstat(obj, &f.st); e != nil || slash && f.kind() != unix.S_IFDIR {
				f.close()
				return f, unix.ENOTDIR
			}
			return f, 0
		}
		closeFD(from)
		from, base = f.dir, f.dir
		path = text + f.name[len(name):]
	}
}

// special reports whether a component, without its slashes, is no name.
func special(name string) bool { return name == "" || name == "." || name == ".." }
