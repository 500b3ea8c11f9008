//go:build linux

package guard

import (
	"math"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Turn lets the guards of all runs of a user work on one file system one at a
// time: what one has looked at (a folder, a file that is vetted) no other
// changes before it has acted on that. Within one guard server.names does so;
// between guards it is a lock on one file, of the byte that has the file
// system's number (an open file description lock, fcntl(2)). A disk that hangs
// holds up those alone that use it. What else changes names that guards judge
// takes turns with them.
type Turn struct {
	file int        // -1: no other guard is known
	mu   sync.Mutex // the lock is the process's, not the thread's
	lock unix.Flock_t
}

// NewTurn takes turns by this file, open for writing; -1 for nobody else.
func NewTurn(file int) *Turn { return &Turn{file: file} }

// Take waits for the turn at the file system of dir. What was looked up before
// must be looked at again.
func (t *Turn) Take(dir int) unix.Errno {
	if t.file < 0 {
		return 0
	}
	p, err := placeOf(dir)
	if err != 0 {
		return err
	}
	return t.take(p)
}

// take is Take where the place is known.
func (t *Turn) take(p place) unix.Errno {
	if t.file < 0 {
		return 0
	}
	t.mu.Lock()
	t.lock = unix.Flock_t{Type: unix.F_WRLCK, Start: int64(p.dev & math.MaxInt64), Len: 1}
	err := t.set(unix.F_OFD_SETLK)
	for err == unix.EAGAIN || err == unix.EINTR {
		err = errnoOf(unix.FcntlFlock(uintptr(t.file), unix.F_OFD_SETLKW, &t.lock))
	}
	if err != 0 {
		t.mu.Unlock()
	}
	return err
}

// End lets the next one go on, after a Take that succeeded.
func (t *Turn) End() {
	if t.file < 0 {
		return
	}
	t.lock.Type = unix.F_UNLCK
	_ = t.set(unix.F_OFD_SETLK)
	t.mu.Unlock()
}

func (t *Turn) set(cmd uintptr) unix.Errno {
	_, err := raw(unix.SYS_FCNTL, uintptr(t.file), cmd, uintptr(unsafe.Pointer(&t.lock)))
	return errnoOf(err)
}

// takeTurn takes the turn for a folder, and says where that is.
func (w *worker) takeTurn(dir int) (place, unix.Errno) {
	p, err := placeOf(dir)
	if err == 0 {
		err = w.turn.take(p)
	}
	return p, err
}

// claim takes the turn for an object that was found. With an error, errAgain if
// another guard was faster, it is not taken.
func (w *worker) claim(f *found) unix.Errno {
	if w.turn.file < 0 {
		return 0
	}
	_ = w.name(f) // judged later, in the turn
	at := f.dir
	if at < 0 {
		at = f.obj
	}
	p, err := placeOf(at)
	if err != 0 {
		return err
	}
	if f.dir >= 0 {
		f.at = p
	}
	if err := w.turn.take(p); err != 0 {
		return err
	}
	err = w.unchanged(f)
	if err != 0 {
		w.turn.End()
	}
	return err
}

// unchanged looks again, in the turn, at an object that was found before it.
func (w *worker) unchanged(f *found) unix.Errno {
	if w.turn.file < 0 {
		return 0
	}
	if err := f.look(); err != 0 {
		return err
	}
	if !f.still() {
		return errAgain
	}
	return 0
}

// still says whether the object has the name by which it was found. One that
// has none is asked for its name when it is judged.
func (f *found) still() bool {
	if f.dir < 0 || special(f.name) {
		return true
	}
	var st unix.Stat_t
	return lstatAt(f.dir, f.name, &st) == nil && st.Dev == f.st.Dev && st.Ino == f.st.Ino
}
