//go:build linux

package guard

import (
	"bytes"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

const pathMax = 4096 // with the NUL (linux/limits.h)

// readString reads a path from the caller's memory, once, with the errors of
// the kernel's own getname. No read crosses into a page that may not be there.
func (w *worker) readString(addr uint64) (string, unix.Errno) {
	buf := &w.path
	for n := 0; n < pathMax; {
		at := addr + uint64(n)
		size := min(pathMax-n, 4096-int(at%4096))
		got, err := w.readMemory(at, buf[n:n+size])
		if err != 0 {
			return "", err
		}
		if i := bytes.IndexByte(buf[n:n+got], 0); i >= 0 {
			return string(buf[:n+i]), 0
		}
		n += got
	}
	return "", unix.ENAMETOOLONG
}

// readPath is readString for a path that may not be empty.
func (w *worker) readPath(addr uint64) (string, unix.Errno) {
	s, err := w.readString(addr)
	if err == 0 && s == "" {
		err = unix.ENOENT
	}
	return s, err
}

func (w *worker) readMemory(addr uint64, buf []byte) (int, unix.Errno) {
	n, err := readProcess(w.pid(), addr, buf)
	switch {
	case err == unix.EFAULT || err == nil && n == 0:
		return 0, unix.EFAULT
	case err != nil:
		// The caller is gone, or may not be read (made itself non-dumpable where
		// the guard has no capability for that).
		return 0, unix.EPERM
	}
	return n, 0
}

func (w *worker) pid() int { return int(w.req.pid) }

// procOpen opens a file about the calling thread.
func (w *worker) procOpen(name string, flags int) (int, error) {
	return lookup(w.proc, strconv.Itoa(w.pid())+"/"+name, flags)
}

func (w *worker) procRead(name string, buf []byte) ([]byte, error) {
	fd, err := w.procOpen(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer closeFD(fd)
	n, err := readFD(fd, buf)
	return buf[:max(n, 0)], err
}

// base opens the directory that a relative path starts from.
func (w *worker) base(dirfd int32) (int, unix.Errno) {
	name := "cwd"
	if dirfd != unix.AT_FDCWD {
		if dirfd < 0 {
			return -1, unix.EBADF
		}
		name = "fd/" + strconv.Itoa(int(dirfd))
	}
	fd, err := w.procOpen(name, unix.O_PATH|unix.O_DIRECTORY)
	if err == unix.ENOENT {
		err = unix.EBADF
	}
	return fd, errnoOf(err)
}

// descriptor opens what the caller's descriptor is of.
func (w *worker) descriptor(dirfd int32) (int, unix.Errno) {
	if dirfd == unix.AT_FDCWD {
		return w.base(dirfd)
	}
	fd, err := w.procOpen("fd/"+strconv.Itoa(int(dirfd)), unix.O_PATH)
	if err == unix.ENOENT {
		err = unix.EBADF
	}
	return fd, errnoOf(err)
}

// status is what /proc/PID/status tells about the caller.
type status struct {
	tgid, threads                      int
	ownPending, sharedPending, blocked uint64
}

// status reads it anew each time: the caller may change all of it at will.
func (w *worker) status() status { return parseStatus(w.callerStatus()) }

// callerStatus keeps the file of the last caller open: read again, it tells
// about now, and nothing once that thread is gone, whoever has its number.
func (w *worker) callerStatus() ([]byte, error) {
	if w.statusFD >= 0 && w.statusOf == w.pid() {
		n, err := raw(unix.SYS_PREAD64, uintptr(w.statusFD), uintptr(unsafe.Pointer(&w.text[0])), uintptr(len(w.text)), 0)
		if err == nil && n > 0 {
			return w.text[:n], nil
		}
	}
	closeFD(w.statusFD)
	var err error
	if w.statusFD, err = w.procOpen("status", unix.O_RDONLY); err != nil {
		w.statusFD = -1
		return nil, err
	}
	w.statusOf = w.pid()
	n, err := readFD(w.statusFD, w.text[:])
	return w.text[:max(n, 0)], err
}

func parseStatus(text []byte, err error) status {
	var s status
	if err != nil {
		return s
	}
	number := func(field string, base int) uint64 { return statusNumber(text, field, base) }
	s.tgid, s.threads = int(number("Tgid", 10)), int(number("Threads", 10))
	s.ownPending, s.sharedPending = number("SigPnd", 16), number("ShdPnd", 16)
	s.blocked = number("SigBlk", 16)
	return s
}

func statusNumber(text []byte, field string, base int) uint64 {
	_, rest, ok := bytes.Cut(text, []byte("\n"+field+":\t"))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.ParseUint(string(line), base, 64)
	return n
}

// terminal opens the caller's controlling terminal: /dev/tty would be the
// guard's own.
func (w *worker) terminal(flags int) (int, unix.Errno) {
	text, err := w.procRead("stat", w.text[:])
	if err != nil {
		return -1, unix.ENXIO
	}
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) < 5 {
		return -1, unix.ENXIO
	}
	// tty_nr: bits 31 to 20 and 7 to 0 are the minor number, 15 to 8 the major.
	nr, err := strconv.ParseInt(string(f[4]), 10, 64)
	major, minor := uint32(nr>>8&0xfff), uint32(nr&0xff|nr>>12&0xfff00)
	if err != nil || major < 136 || major > 143 { // Unix98 pseudo-terminals
		return -1, unix.ENXIO
	}
	name := "/dev/pts/" + strconv.Itoa(int((major-136)<<20|minor))
	fd, err := unix.Open(name, flags, 0)
	if err != nil {
		return -1, unix.ENXIO
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Rdev != unix.Mkdev(major, minor) {
		unix.Close(fd)
		return -1, unix.ENXIO
	}
	return fd, 0
}

// errnoOf gives the number in an error of package unix.
func errnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := err.(unix.Errno); ok {
		return errno
	}
	return unix.EIO
}

// saw reports the caller, by its status, which was read anyway; once as long as
// it calls.
func (w *worker) saw(text []byte) {
	tgid := int(statusNumber(text, "Tgid", 10))
	name, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("Name:\t")), []byte("\n"))
	if tgid != w.pid() || tgid == w.sawPID && string(name) == w.sawName { // of a thread the name is its own
		return
	}
	w.sawPID, w.sawName = tgid, string(name)
	w.report(Event{Seen: true, TGID: tgid, Parent: int(statusNumber(text, "PPid", 10)), Command: w.sawName})
}
