//go:build linux

package guard

import (
	"strings"

	"golang.org/x/sys/unix"
)

// call carries out the call that was received.
func (w *worker) call() result {
	a := &w.req.data.args
	dir := func(i int) int32 { return int32(a[i]) }
	w.umasks.settle(w.pid())
	switch nr := uintptr(w.req.data.nr); nr {
	case unix.SYS_UMASK:
		w.umasks.change(w)
		return result{file: -1, proceed: true}
	case unix.SYS_CLONE, unix.SYS_UNSHARE:
		w.umasks.off.Store(true)
		return result{file: -1, proceed: true}
	case unix.SYS_OPENAT:
		return w.open(dir(0), a[1], int(int32(a[2])), uint32(a[3]))
	case unix.SYS_MKDIRAT:
		return failed(w.make(dir(0), a[1], Call{Op: Mkdir, Mode: uint32(a[2])}, 0))
	case unix.SYS_MKNODAT:
		return failed(w.mknod(dir(0), a[1], uint32(a[2]), uint32(a[3])))
	case unix.SYS_SYMLINKAT:
		return failed(w.symlink(a[0], dir(1), a[2]))
	case unix.SYS_LINKAT:
		return failed(w.link(dir(0), a[1], dir(2), a[3], int(int32(a[4]))))
	case unix.SYS_RENAMEAT2:
		return failed(w.rename(dir(0), a[1], dir(2), a[3], uint(uint32(a[4]))))
	case unix.SYS_RENAMEAT:
		return failed(w.rename(dir(0), a[1], dir(2), a[3], 0))
	case unix.SYS_UNLINKAT:
		return failed(w.remove(dir(0), a[1], int(int32(a[2]))))
	case unix.SYS_TRUNCATE:
		return failed(w.truncate(a[0], int64(a[1])))
	default:
		return w.oldCall(nr, a)
	}
}

// prepared is a worker's hold on one path of the call.
type prepared struct {
	base int
	path string
}

// prepare reads a path and opens what it starts from; afterwards the caller is
// known to be the one that was read.
func (w *worker) prepare(dirfd int32, addr uint64) (prepared, unix.Errno) {
	path, err := w.readPath(addr)
	if err != 0 {
		return prepared{base: -1}, err
	}
	return w.at(dirfd, path)
}

func (w *worker) at(dirfd int32, path string) (prepared, unix.Errno) {
	w.asked = asked{dirfd, path}
	p := prepared{-1, path}
	var err unix.Errno
	if path[0] != '/' {
		if p.base, err = w.base(dirfd); err != 0 {
			return p, err
		}
	}
	return p, 0
}

func (p prepared) close() {
	closeFD(p.base)
}

// gone reports that the caller was killed: what was read may be of a thread
// that has its number now.
func (w *worker) gone() bool { return !valid(w.fd, w.req.id) }

// entry opens the folder of the call's only path, and names what is in it.
func (w *worker) entry(dirfd int32, addr uint64) (dir int, last string, err unix.Errno) {
	p, err := w.prepare(dirfd, addr)
	defer p.close()
	if err != 0 {
		return -1, "", err
	}
	k := walk{w: w}
	if dir, last, err = k.parent(p.base, p.path); err != 0 {
		return -1, "", err
	}
	if w.gone() {
		closeFD(dir)
		return -1, "", unix.EINTR
	}
	return dir, last, 0
}

// make is mkdir, mknod and symlink: c has the operation and its arguments.
func (w *worker) make(dirfd int32, addr uint64, c Call, dev int) unix.Errno {
	dir, last, err := w.entry(dirfd, addr)
	if err != 0 {
		return err
	}
	defer closeFD(dir)
	if c.Op == Mkdir && taken(dir, last) { // of "mkdir -p" most
		return unix.EEXIST
	}
	if c.Op != Symlink {
		w.adoptUmask()
	}
	w.names.Lock()
	defer w.names.Unlock()
	at, err := w.takeTurn(dir)
	if err != 0 {
		return err
	}
	defer w.turn.End()
	t, err := w.newTarget(dir, last, at)
	if t.Name != "" { // else it can be nobody's, which is the kernel's to refuse
		switch err {
		case 0:
			return unix.EEXIST
		case unix.ENOENT:
		default:
			return err
		}
		c.PID, c.Target = w.pid(), t
		if v := w.check(&c); v.err != 0 {
			return v.err
		}
	}
	switch c.Op {
	case Mkdir:
		return errnoOf(w.masked(func() error { return unix.Mkdirat(dir, last, c.Mode) }))
	case Mknod:
		return errnoOf(w.masked(func() error { return unix.Mknodat(dir, last, c.Mode, dev) }))
	}
	return errnoOf(unix.Symlinkat(c.Link, dir, last))
}

// taken says that a name leads to something now, which ends a call that would
// make it: nothing is done by it, so nothing has to be held still.
func taken(dir int, last string) bool {
	name := strings.TrimRight(last, "/")
	var st unix.Stat_t
	return !special(name) && lstatAt(dir, name, &st) == nil
}

func (w *worker) mknod(dirfd int32, addr uint64, mode, dev uint32) unix.Errno {
	switch mode & unix.S_IFMT { // as the kernel, before it looks at the path
	case 0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFCHR, unix.S_IFBLK:
		return w.make(dirfd, addr, Call{Op: Mknod, Mode: mode}, int(dev))
	case unix.S_IFDIR:
		return unix.EPERM
	}
	return unix.EINVAL
}

func (w *worker) symlink(text uint64, dirfd int32, addr uint64) unix.Errno {
	link, err := w.readPath(text)
	if err != 0 {
		return err
	}
	return w.make(dirfd, addr, Call{Op: Symlink, Link: link}, 0)
}

// rename is all its variants. The kernel looks at both directories before it
// looks at either name, and so does this.
func (w *worker) rename(dirfd1 int32, addr1 uint64, dirfd2 int32, addr2 uint64, flags uint) unix.Errno {
	const known = unix.RENAME_NOREPLACE | unix.RENAME_EXCHANGE | unix.RENAME_WHITEOUT
	exchange := flags&unix.RENAME_EXCHANGE != 0
	if flags&^known != 0 || exchange && flags != unix.RENAME_EXCHANGE {
		return unix.EINVAL
	}
	from, err := w.prepare(dirfd1, addr1)
	defer from.close()
	if err != 0 {
		return err
	}
	// The order of the kernel's errors: first directory, then second path.
	k1, k2 := walk{w: w}, walk{w: w}
	dir1, last1, err := k1.parent(from.base, from.path)
	if err != 0 {
		return err
	}
	defer closeFD(dir1)
	path, err := w.readPath(addr2)
	if err != 0 {
		return err
	}
	prefix, last2 := split(path)
	dir2 := dir1
	if sameFolder(dirfd1, from.path, dirfd2, prefix) {
		w.asked = asked{dirfd2, path}
	} else {
		to, err := w.at(dirfd2, path)
		defer to.close()
		if err != 0 {
			return err
		}
		if dir2, last2, err = k2.parent(to.base, to.path); err != 0 {
			return err
		}
		defer closeFD(dir2)
	}
	if w.gone() {
		return unix.EINTR
	}
	w.names.Lock()
	defer w.names.Unlock()
	// One file system's: between two the kernel refuses.
	at2, err := w.takeTurn(dir2)
	if err != 0 {
		return err
	}
	defer w.turn.End()
	at1 := at2
	if dir1 != dir2 {
		if at1, err = placeOf(dir1); err != 0 {
			return err
		}
	}
	src, err1 := w.target(dir1, last1, at1)
	var dst Target
	var err2 unix.Errno
	if dst = targetOf(dir2, last2, at2); dir1 == dir2 && src.Name != "" && dst.Name != "" {
		dst.DirPath, err2 = src.DirPath, dst.see()
	} else {
		dst, err2 = w.target(dir2, last2, at2)
	}
	switch {
	case src.Name == "" || dst.Name == "":
		return errnoOf(unix.Renameat2(dir1, last1, dir2, last2, flags)) // the kernel refuses it
	case err1 != 0:
		return notThere(dir1, at1, at2, err1)
	case err2 != 0 && (exchange || err2 != unix.ENOENT):
		return notThere(dir1, at1, at2, err2)
	}
	pairs := [...][2]*Target{{&src, &dst}, {&dst, &src}}
	n := 1
	if exchange {
		n = 2
	}
	for _, p := range pairs[:n] {
		c := Call{PID: w.pid(), Op: Rename, Flags: uint64(flags), Target: *p[0], Other: p[1]}
		if v := w.check(&c); v.err != 0 {
			return v.err
		}
		c = Call{PID: w.pid(), Op: RenameTo, Flags: uint64(flags), Target: *p[1], Other: p[0]}
		v := w.check(&c)
		if v.err == 0 && v.Decision == Vet {
			switch {
			case exchange:
				v.err = w.deny(&c, v.Verdict, "")
			case flags&unix.RENAME_NOREPLACE != 0 && dst.Exists:
				v.err = unix.EEXIST // mv asks so first
			case at1.dev != at2.dev:
				v.err = unix.EXDEV // the turn is not at both; subvolumes can rename
			default:
				v.err = w.vetRename(&c, v.Verdict)
			}
		}
		if v.err != 0 {
			return v.err
		}
	}
	return errnoOf(unix.Renameat2(dir1, last1, dir2, last2, flags))
}

// sameFolder says that two paths of one call have all but their last component
// in common, of which prefix is the second one's. One look-up does for both: the
// kernel's two could come one right after the other.
func sameFolder(dirfd1 int32, path1 string, dirfd2 int32, prefix string) bool {
	first, _ := split(path1)
	return first == prefix && (dirfd1 == dirfd2 || prefix[0] == '/')
}

// notThere is the error of a call on a name for which a look-up gave err, in
// the order of the kernel's.
func notThere(dir int, at1, at2 place, err unix.Errno) unix.Errno {
	if at1.mount != at2.mount {
		return unix.EXDEV
	}
	var fs unix.Statfs_t
	if fstatfs(dir, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0 {
		return unix.EROFS
	}
	return err
}

func (w *worker) link(dirfd1 int32, addr1 uint64, dirfd2 int32, addr2 uint64, flags int) unix.Errno {
	if flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return unix.EINVAL
	}
	path, err := w.readString(addr1)
	if err != 0 {
		return err
	}
	if path == "" && flags&unix.AT_EMPTY_PATH == 0 {
		return unix.ENOENT
	}
	return w.retry(func() unix.Errno { return w.tryLink(dirfd1, path, dirfd2, addr2, flags) })
}

func (w *worker) tryLink(dirfd1 int32, path string, dirfd2 int32, addr2 uint64, flags int) (err unix.Errno) {
	byFD := path == ""
	var from prepared
	src := found{dir: -1, obj: -1}
	if byFD {
		src.obj, err = w.descriptor(dirfd1)
	} else {
		from, err = w.at(dirfd1, path)
		defer from.close()
	}
	if err != 0 {
		return err
	}
	w.names.Lock()
	defer w.names.Unlock()
	if byFD {
		err = errnoOf(fstat(src.obj, &src.st))
	} else {
		k := walk{w: w}
		src, err = k.find(from.base, from.path, flags&unix.AT_SYMLINK_FOLLOW != 0, false)
	}
	if err != 0 {
		return err
	}
	defer src.close()
	if src.obj < 0 {
		return unix.ENOENT
	}
	// The kernel looks at the second path last, and so does this.
	to, err := w.prepare(dirfd2, addr2)
	defer to.close()
	if err != 0 {
		return err
	}
	if w.gone() {
		return unix.EINTR
	}
	k := walk{w: w}
	dir, last, err := k.parent(to.base, to.path)
	if err != 0 {
		return err
	}
	defer closeFD(dir)
	at, err := w.takeTurn(dir)
	if err != 0 {
		return err
	}
	defer w.turn.End()
	if err := w.unchanged(&src); err != 0 {
		return err
	}
	t, err := w.target(dir, last, at)
	if t.Name != "" && src.kind() != unix.S_IFDIR { // else the kernel refuses it
		switch err {
		case 0:
			return unix.EEXIST
		case unix.ENOENT:
		default:
			return err
		}
		if err := w.named(&src, Link); err != 0 {
			return err
		}
		other := src.target(w)
		c := Call{PID: w.pid(), Op: Link, Flags: uint64(flags), Target: t, Other: &other}
		v := w.check(&c)
		if v.err == 0 && v.Decision == Vet {
			return w.vetLink(&c, v.Verdict, src.obj)
		}
		if v.err != 0 {
			return v.err
		}
	}
	if src.dir >= 0 && src.kind() == unix.S_IFLNK {
		return errnoOf(unix.Linkat(src.dir, src.name, dir, last, 0))
	}
	return errnoOf(unix.Linkat(w.fds, itoa(src.obj), dir, last, unix.AT_SYMLINK_FOLLOW))
}

// remove is unlink and rmdir. What cannot be removed is the kernel's to refuse.
func (w *worker) remove(dirfd int32, addr uint64, flags int) unix.Errno {
	if flags&^unix.AT_REMOVEDIR != 0 {
		return unix.EINVAL
	}
	dir, last, err := w.entry(dirfd, addr)
	if err != 0 {
		return err
	}
	defer closeFD(dir)
	w.names.Lock()
	defer w.names.Unlock()
	at, err := w.takeTurn(dir)
	if err != 0 {
		return err
	}
	defer w.turn.End()
	if t, err := w.target(dir, last, at); t.Name != "" {
		if err != 0 {
			return notThere(dir, at, at, err)
		}
		if v := w.check(&Call{PID: w.pid(), Op: Remove, Flags: uint64(flags), Target: t}); v.err != 0 {
			return v.err
		}
	}
	return errnoOf(unix.Unlinkat(dir, last, flags))
}

func (w *worker) truncate(addr uint64, size int64) unix.Errno {
	if size < 0 {
		return unix.EINVAL
	}
	p, err := w.prepare(unix.AT_FDCWD, addr)
	defer p.close()
	if err != 0 {
		return err
	}
	if w.gone() {
		return unix.EINTR
	}
	return w.retry(func() unix.Errno { return w.tryTruncate(p, size) })
}

func (w *worker) tryTruncate(p prepared, size int64) unix.Errno {
	w.names.RLock()
	defer w.names.RUnlock()
	k := walk{w: w}
	f, err := k.find(p.base, p.path, true, false)
	if err != 0 {
		return err
	}
	defer f.close()
	switch {
	case f.obj < 0:
		return unix.ENOENT
	case f.kind() == unix.S_IFDIR:
		return unix.EISDIR
	case f.kind() != unix.S_IFREG:
		return unix.EINVAL
	}
	if w.inProc(&f) { // there it does nothing
		return errnoOf(unix.Truncate("/proc/self/fd/"+itoa(f.obj), size))
	}
	if err := w.claim(&f); err != 0 {
		return err
	}
	defer w.turn.End()
	if v := w.checkObject(&f, Call{Op: Truncate}); v.err != 0 {
		return v.err
	}
	fd, err := w.openRegular(f.obj, unix.O_WRONLY|unix.O_CLOEXEC)
	if err != 0 {
		return err
	}
	defer closeFD(fd)
	return errnoOf(unix.Ftruncate(fd, size))
}
