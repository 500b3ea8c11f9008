//go:build linux

package guard

import (
	"golang.org/x/sys/unix"
)

// maxTries bounds how often an open starts over because a name came or went.
const maxTries = 64

// oTmpfile is O_TMPFILE without the O_DIRECTORY in it.
const oTmpfile = unix.O_TMPFILE &^ unix.O_DIRECTORY

// open is open, openat and creat. An object that exists is held first, asked
// about, and opened as that object; a name that does not is made on the
// directory that was asked about.
func (w *worker) open(dirfd int32, addr uint64, flags int, mode uint32) result {
	if flags&(oTmpfile|unix.O_DIRECTORY) != 0 {
		// Few combinations are valid, and which depends on the kernel: it says
		// so before it looks at the descriptor.
		if f, e := unix.Openat(-1, "x", flags|unix.O_CLOEXEC, mode); e != unix.EBADF {
			if e == nil {
				closeFD(f)
				e = unix.EINVAL
			}
			return failed(errnoOf(e))
		}
	}
	p, err := w.prepare(dirfd, addr)
	defer p.close()
	if err != 0 {
		return failed(err)
	}
	if w.gone() {
		return failed(unix.EINTR)
	}
	if flags&unix.O_CREAT != 0 || flags&oTmpfile != 0 {
		w.adoptUmask()
	}
	create := flags&unix.O_CREAT != 0 && flags&oTmpfile == 0
	making := create
	var r result
	if err := w.retry(func() unix.Errno {
		r = w.tryOpen(p, flags, mode, create, making)
		if r.err == errAgain {
			making = create && !making
		}
		return r.err
	}); err != 0 {
		return failed(err)
	}
	return r
}

// retry carries out a call that takes the locks itself, again where what it saw
// has changed meanwhile; for a lease it waits without the locks.
func (w *worker) retry(try func() unix.Errno) unix.Errno {
	for tries := 0; tries < maxTries; tries++ {
		switch err := try(); err {
		case errAgain:
		case errLeased:
			if err := w.pause(); err != 0 {
				return err
			}
			tries = 0
		default:
			return err
		}
	}
	return unix.EBUSY
}

// openRegular opens a regular file without waiting for whoever has a lease on
// it (F_SETLEASE, fcntl(2)): such a wait, of 45 s as Linux comes, would hold up
// all that the locks hold.
func (w *worker) openRegular(obj, flags int) (int, unix.Errno) {
	if flags&unix.O_NONBLOCK != 0 {
		return w.reopen(obj, flags)
	}
	fd, err := w.reopen(obj, flags|unix.O_NONBLOCK)
	switch err {
	case unix.EAGAIN:
		return -1, errLeased
	case 0:
		const kept = unix.O_APPEND | unix.O_DIRECT | unix.O_NOATIME
		if _, e := raw(unix.SYS_FCNTL, uintptr(fd), unix.F_SETFL, uintptr(flags&kept)); e != nil {
			closeFD(fd)
			return -1, errnoOf(e)
		}
	}
	return fd, err
}

// Errors of one try that no caller gets to see (retry).
const (
	errLeased = unix.Errno(1<<16 + iota) // the file has a lease, which the try breaks
	errAgain                             // it saw what is not so any more
)

// tryOpen opens once. making: it holds the names still and can make the file or
// open a regular one, else only open what is there; errAgain if it was the other
// case.
func (w *worker) tryOpen(p prepared, flags int, mode uint32, create, making bool) result {
	locked := true
	unlock := func() {
		switch {
		case !locked:
		case making:
			w.names.Unlock()
		default:
			w.names.RUnlock()
		}
		locked = false
	}
	if making {
		w.names.Lock()
	} else {
		w.names.RLock()
	}
	defer unlock()
	exclusive := create && flags&unix.O_EXCL != 0
	k := walk{w: w}
	if exclusive && making && w.blind {
		f := found{obj: -1}
		var err unix.Errno
		if f.dir, f.name, err = k.parent(p.base, p.path); err != 0 {
			return failed(err)
		}
		if !special(f.name) && f.name[len(f.name)-1] != '/' {
			defer closeFD(f.dir)
			return w.create(&f, flags, mode, true)
		}
		closeFD(f.dir)
	}
	f, err := k.find(p.base, p.path, flags&unix.O_NOFOLLOW == 0 && !exclusive, create)
	if err != 0 {
		return failed(err)
	}
	defer f.close()
	clean := flags&^(unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW) | unix.O_CLOEXEC | unix.O_NOCTTY
	if f.obj < 0 {
		if !create {
			return failed(unix.ENOENT)
		}
		if special(f.name) {
			return failed(unix.ENOENT)
		}
		if !making {
			return failed(errAgain)
		}
		return w.create(&f, flags, mode, false)
	}
	if making && !exclusive && f.kind() != unix.S_IFREG { // it may have to wait, or take long
		return failed(errAgain)
	}
	switch {
	case exclusive:
		err = unix.EEXIST
	case flags&unix.O_DIRECTORY != 0 && f.kind() != unix.S_IFDIR:
		err = unix.ENOTDIR
	case f.kind() == unix.S_IFLNK:
		err = unix.ELOOP
	case create && f.kind() == unix.S_IFDIR:
		err = unix.EISDIR
	}
	if err != 0 {
		return failed(err)
	}
	if flags&oTmpfile != 0 {
		fd := -1
		e := w.masked(func() (err error) {
			fd, err = unix.Openat(f.obj, ".", flags&^unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
			return err
		})
		return result{file: fd, flags: flags, err: errnoOf(e)}
	}
	fd := -1
	switch f.kind() {
	case unix.S_IFREG:
		if w.inProc(&f) {
			fd, err = w.openProc(f.obj, clean)
			break
		}
		if flags&(unix.O_ACCMODE|unix.O_TRUNC) == 0 {
			fd, err = w.openRegular(f.obj, clean) // O_CREAT alone: only reads
			break
		}
		if err := w.claim(&f); err != 0 {
			return failed(err)
		}
		defer w.turn.End()
		v := w.checkObject(&f, Call{Op: Open, Flags: uint64(uint32(flags)), Mode: mode})
		switch {
		case v.err != 0:
			err = v.err
		case v.Decision == Fixed:
			fd, err = w.openFixed(&f, v.Verdict, flags)
		case v.Decision == Held:
			fd, err = w.openHeld(&f, v.Verdict, flags)
		default:
			fd, err = w.openRegular(f.obj, clean)
		}
	case unix.S_IFIFO:
		unlock()
		fd, err = w.openPipe(f.obj, clean)
	case unix.S_IFCHR:
		fd, err = w.reopen(f.obj, clean)
		if f.st.Rdev == unix.Mkdev(5, 0) && (err == 0 || err == unix.ENXIO) {
			// /dev/tty may be opened; but this, if anything, is the guard's own.
			if err == 0 {
				closeFD(fd)
			}
			fd, err = w.terminal(clean)
		}
	default:
		fd, err = w.reopen(f.obj, clean)
	}
	return result{file: fd, flags: flags, err: err}
}

// create makes the file at a place where nothing is; unseen: where nobody has
// looked, with O_EXCL.
func (w *worker) create(f *found, flags int, mode uint32, unseen bool) result {
	at, err := w.takeTurn(f.dir)
	if err != 0 {
		return failed(err)
	}
	defer w.turn.End()
	t := Target{Dir: f.dir, Name: f.name, at: at, unseen: unseen}
	t.DirPath, _ = w.folderPath(f.dir)
	c := Call{PID: w.pid(), Op: Create, Flags: uint64(uint32(flags)), Mode: mode, Target: t}
	v := w.check(&c)
	if v.err != 0 {
		return failed(v.err)
	}
	var fd int
	switch v.Decision {
	case Held:
		fd, err = w.createHeld(&t, flags, mode)
	case Fixed:
		fd, err = w.createFixed(&t, v.Verdict, flags, mode)
	default:
		err = errnoOf(w.masked(func() (e error) {
			fd, e = unix.Openat(f.dir, f.name, flags|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOCTTY, mode)
			return e
		}))
	}
	if err == unix.EEXIST && (flags&unix.O_EXCL == 0 || v.Decision == Allow && !unseen) {
		err = errAgain
	}
	return result{file: fd, flags: flags, err: err}
}
