//go:build linux

package guard

import (
	"sync"

	"golang.org/x/sys/unix"
)

// A held file is one whose name the host's own tools would act on without
// looking (git's config.lock). Under the name is an empty file of the guard's;
// what the caller writes is in a nameless one until a vetted rename takes it.

// maxHeld bounds the held files; the oldest is forgotten, and its rename then
// refused.
const maxHeld = 32

type held struct {
	dev, ino uint64
	pin      int // O_PATH of the file under the name: its number stays its own
	content  int // the nameless file
}

type heldFiles struct {
	mu  sync.Mutex
	all []held // the oldest first
}

// find gives a descriptor of the content of a held file, the caller's to
// close.
func (h *heldFiles) find(st *unix.Stat_t) (int, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.all {
		if h.all[i].dev == st.Dev && h.all[i].ino == st.Ino {
			fd, err := unix.FcntlInt(uintptr(h.all[i].content), unix.F_DUPFD_CLOEXEC, 0)
			return fd, err == nil
		}
	}
	return -1, false
}

func (h *heldFiles) add(n held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	keep := h.all[:0]
	for _, old := range h.all {
		var st unix.Stat_t
		if fstat(old.pin, &st) != nil || st.Nlink == 0 {
			old.close()
			continue
		}
		keep = append(keep, old)
	}
	h.all = keep
	if len(h.all) >= maxHeld {
		h.all[0].close()
		h.all = append(h.all[:0], h.all[1:]...)
	}
	h.all = append(h.all, n)
}

func (h *heldFiles) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.all {
		h.all[i].close()
	}
	h.all = nil
}

func (h *held) close() {
	closeFD(h.pin)
	closeFD(h.content)
}

// createHeld makes the empty file and gives the caller its content to write.
func (w *worker) createHeld(t *Target, flags int, mode uint32) (int, unix.Errno) {
	pin := -1
	if e := w.masked(func() (e error) {
		pin, e = unix.Openat(t.Dir, t.Name, unix.O_CREAT|unix.O_EXCL|unix.O_RDONLY|unix.O_CLOEXEC, mode&0o777)
		return e
	}); e != nil {
		return -1, errnoOf(e)
	}
	n := held{pin: pin, content: -1}
	fail := func(err unix.Errno) (int, unix.Errno) {
		n.close()
		_ = unix.Unlinkat(t.Dir, t.Name, 0)
		return -1, err
	}
	var st unix.Stat_t
	if e := fstat(pin, &st); e != nil {
		return fail(errnoOf(e))
	}
	n.dev, n.ino = st.Dev, st.Ino
	var err unix.Errno
	if n.content, err = scratch(0); err != 0 {
		return fail(err)
	}
	fd, err := w.reopen(n.content, flags&^(unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)|unix.O_CLOEXEC)
	if err != 0 {
		return fail(err)
	}
	w.held.add(n)
	return fd, 0
}

// openHeld opens the content of a file that is held, and no other.
func (w *worker) openHeld(f *found, v Verdict, flags int) (int, unix.Errno) {
	content, ok := w.held.find(&f.st)
	if !ok {
		t := f.target(w)
		return -1, w.deny(&Call{PID: w.pid(), Op: Open, Target: t}, v, "another program made it")
	}
	defer closeFD(content)
	// A command can have a lease on the content as well: it has a descriptor.
	return w.openRegular(content, flags&^(unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)|unix.O_CLOEXEC)
}
