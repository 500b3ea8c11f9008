//go:build linux

package guard

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"
)

// maxVet bounds what is read of a file to be vetted, in bytes.
const maxVet = 1 << 20

// Vetted content is written to a file that nobody but the guard can have open,
// and that nobody can open for writing before it has its name: such opens wait
// for the lock that is held here (server.names), and those of other guards for
// the turn. So it stays what the rules saw.

// vet reads the file held by obj and asks about its content.
func (w *worker) vet(c *Call, v Verdict, obj int) ([]byte, unix.Errno) {
	limit := min(v.MaxSize, maxVet)
	if content, ok := w.held.find(&c.Other.Stat); ok {
		defer closeFD(content)
		obj = content
	}
	fd, err := w.reopen(obj, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != 0 {
		return nil, err
	}
	defer closeFD(fd)
	content, err := readAll(fd, limit)
	if err == unix.EFBIG {
		return nil, w.deny(c, v, "it is too large to be checked")
	}
	if err != 0 {
		return nil, err
	}
	// What is judged and what is written are the same bytes, whatever Vet does
	// to its argument.
	if e := v.Vet(bytes.Clone(content)); e != nil {
		if l := (*LiftError)(nil); errors.As(e, &l) {
			v.Rule.Lift = l.Lift
		}
		return nil, w.deny(c, v, e.Error())
	}
	w.watched(c, v)
	return content, 0
}

func readAll(fd int, limit int64) ([]byte, unix.Errno) {
	buf := make([]byte, 0, min(limit+1, 4096))
	for {
		if int64(len(buf)) > limit {
			return nil, unix.EFBIG
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, e := unix.Read(fd, buf[len(buf):cap(buf)])
		if e != nil && e != unix.EINTR {
			return nil, errnoOf(e)
		}
		if n == 0 && e == nil {
			return buf, 0
		}
		buf = buf[:len(buf)+max(n, 0)]
	}
}

// vetRename puts a vetted copy in the place of the source. The rename itself,
// which the caller does next, then moves that.
func (w *worker) vetRename(c *Call, v Verdict) unix.Errno {
	src := c.Other
	obj, e := unix.Openat(src.Dir, src.Name, openObject, 0)
	if e != nil {
		return errnoOf(e)
	}
	defer closeFD(obj)
	content, err := w.vet(c, v, obj)
	if err != 0 {
		return err
	}
	return w.writeNew(src.Dir, src.Name, content, src.Stat.Mode&0o777, true)
}

// vetLink gives the name to a vetted copy instead of the object itself.
func (w *worker) vetLink(c *Call, v Verdict, obj int) unix.Errno {
	content, err := w.vet(c, v, obj)
	if err != 0 {
		return err
	}
	return w.writeNew(c.Target.Dir, c.Target.Name, content, c.Other.Stat.Mode&0o777, false)
}

// writeNew makes a file that was not there, or is to be replaced. It is whole
// before it gets its name, so a full disk leaves all as it was.
func (w *worker) writeNew(dir int, name string, content []byte, mode uint32, replace bool) unix.Errno {
	fd, e := unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	nameless := e == nil
	switch e {
	case nil:
	case unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL: // not on every file system
		if replace {
			if e := unix.Unlinkat(dir, name, 0); e != nil {
				return errnoOf(e)
			}
		}
		if fd, e = unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600); e != nil {
			return errnoOf(e)
		}
	default:
		return errnoOf(e)
	}
	defer closeFD(fd)
	err := writeAll(fd, content)
	if err == 0 {
		err = errnoOf(unix.Fchmod(fd, mode))
	}
	switch {
	case !nameless:
		if err != 0 {
			_ = unix.Unlinkat(dir, name, 0)
		}
		return err
	case err != 0:
		return err
	case replace:
		if e := unix.Unlinkat(dir, name, 0); e != nil {
			return errnoOf(e)
		}
	}
	return errnoOf(unix.Linkat(w.fds, itoa(fd), dir, name, unix.AT_SYMLINK_FOLLOW))
}

// createFixed makes a file with its one right content, and gives the caller a
// nameless one to write to.
func (w *worker) createFixed(t *Target, v Verdict, flags int, mode uint32) (int, unix.Errno) {
	if err := w.writeNew(t.Dir, t.Name, v.Content, mode&0o777&^uint32(w.umask), false); err != 0 {
		return -1, err
	}
	if v.Sealed {
		return sealed()
	}
	return scratch(flags)
}

// sealed is an empty file in memory that stays so.
func sealed() (int, unix.Errno) {
	fd, e := unix.MemfdCreate("file", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if e != nil {
		return -1, errnoOf(e)
	}
	if _, e := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL); e != nil {
		closeFD(fd)
		return -1, errnoOf(e)
	}
	return fd, 0
}

// openFixed is createFixed for a file that is there, which must be right.
func (w *worker) openFixed(f *found, v Verdict, flags int) (int, unix.Errno) {
	fd, err := w.openRegular(f.obj, unix.O_RDONLY|unix.O_CLOEXEC|flags&unix.O_NONBLOCK)
	if err != 0 {
		return -1, err
	}
	defer closeFD(fd)
	have, err := readAll(fd, int64(len(v.Content)))
	if err != 0 && err != unix.EFBIG {
		return -1, err
	}
	switch {
	case err == 0 && bytes.Equal(have, v.Content):
	case v.Replace && f.st.Nlink == 1:
		if err := w.rewrite(f.obj, v.Content, flags); err != 0 {
			return -1, err
		}
	default:
		t := f.target(w)
		return -1, w.deny(&Call{PID: w.pid(), Op: Open, Target: t}, v, "its content is not the one that is right here")
	}
	return scratch(flags)
}

// rewrite gives a file, which nobody inside has open for writing, its content.
// It is cut at the end only: on a full disk the old one is kept.
func (w *worker) rewrite(obj int, content []byte, flags int) unix.Errno {
	fd, err := w.openRegular(obj, unix.O_WRONLY|unix.O_CLOEXEC|flags&unix.O_NONBLOCK)
	if err != 0 {
		return err
	}
	defer closeFD(fd)
	if err := writeAll(fd, content); err != 0 {
		return err
	}
	return errnoOf(unix.Ftruncate(fd, int64(len(content))))
}

func writeAll(fd int, content []byte) unix.Errno {
	for len(content) > 0 {
		n, e := unix.Write(fd, content)
		if e != nil && e != unix.EINTR {
			return errnoOf(e)
		}
		content = content[max(n, 0):]
	}
	return 0
}

// scratch is a file in memory that is gone with its last descriptor.
func scratch(flags int) (int, unix.Errno) {
	fd, e := unix.MemfdCreate("file", unix.MFD_CLOEXEC)
	if e == nil && flags&unix.O_APPEND != 0 {
		_, e = unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_APPEND)
	}
	return fd, errnoOf(e)
}
