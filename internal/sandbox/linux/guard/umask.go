//go:build linux

package guard

import (
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A caller's umask is told by /proc/PID/status alone, which costs more than any
// other look-up of a call. So umask(2) is stopped as well, and one that was read
// is good until the next: whose umask is changed nobody else's is, but that of
// threads of the same process. Calls by which others would share it, or threads
// would not, are stopped too, and end this for the run.

const (
	maxKnown     = 8  // callers whose umask is kept
	maxUnsettled = 64 // threads that called umask and nothing since
	commRoom     = 64
)

type umasks struct {
	off       atomic.Bool  // for good: umasks are read anew each time
	changing  atomic.Int32 // len(unsettled)
	mu        sync.Mutex
	changes   uint64 // calls of umask so far, and 1
	unsettled []thread
	known     [maxKnown]umaskOf
	clock     uint64
}

type thread struct{ tid, tgid int }

type umaskOf struct {
	thread
	// comm is the thread's /proc/TID/comm: read again it tells that it is that
	// thread which has the number, and that it runs the same program. -1: the
	// thread was seen once.
	comm    int
	name    [commRoom]byte
	size    int
	umask   int
	changes uint64 // when it was read; 0: not to be used
	used    uint64
}

func (u *umasks) start() {
	u.changes = 1
	for i := range u.known {
		u.known[i].comm = -1
	}
}

// of is the umask of a caller, if it is known.
func (u *umasks) of(tid int) (umask int, known bool) {
	if u.off.Load() {
		return 0, false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	k := u.find(tid)
	if k == nil || k.changes != u.changes || u.busy(k.tgid) {
		return 0, false
	}
	var name [commRoom]byte
	if n := readComm(k.comm, &name); n <= 0 || n != k.size || name != k.name {
		return 0, false
	}
	return k.umask, true
}

// now numbers a reading that is about to start.
func (u *umasks) now() uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.changes
}

// learn keeps what was read of the caller, the second time it calls.
func (u *umasks) learn(w *worker, tgid, umask int, changes uint64) {
	if u.off.Load() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clock++
	k := u.find(w.pid())
	if k == nil {
		k = &u.known[0]
		for i := range u.known {
			if u.known[i].used < k.used {
				k = &u.known[i]
			}
		}
		k.drop()
		k.tid, k.used = w.pid(), u.clock
		return
	}
	k.used, k.changes, k.name = u.clock, 0, [commRoom]byte{}
	if k.size = readComm(k.comm, &k.name); k.size <= 0 { // new, or another thread has the number
		closeFD(k.comm)
		if fd, err := w.procOpen("comm", unix.O_RDONLY); err == nil {
			k.comm = fd
			k.size = readComm(fd, &k.name)
		} else {
			k.comm = -1
		}
	}
	// If the caller still waits, all this was read of it.
	if k.size > 0 && !u.busy(tgid) && !w.gone() {
		k.tgid, k.umask, k.changes = tgid, umask, changes
	}
}

// change notes that the caller is about to change its umask. When that is done
// is known once the thread makes another call.
func (u *umasks) change(w *worker) {
	if u.off.Load() {
		return
	}
	tgid := w.status().tgid
	u.mu.Lock()
	defer u.mu.Unlock()
	u.changes++
	if len(u.unsettled) >= maxUnsettled {
		alive := u.unsettled[:0]
		for _, t := range u.unsettled {
			if unix.Faccessat(w.proc, strconv.Itoa(t.tid), unix.F_OK, 0) == nil {
				alive = append(alive, t)
			}
		}
		u.unsettled = alive
	}
	if tgid == 0 || len(u.unsettled) >= maxUnsettled {
		u.off.Store(true)
	}
	u.unsettled = append(u.unsettled, thread{w.pid(), tgid})
	u.changing.Store(int32(len(u.unsettled)))
}

// settle notes that a thread is out of its last call.
func (u *umasks) settle(tid int) {
	if u.changing.Load() == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	left := u.unsettled[:0]
	for _, t := range u.unsettled {
		if t.tid != tid {
			left = append(left, t)
		}
	}
	u.unsettled = left
	u.changing.Store(int32(len(left)))
}

func (u *umasks) busy(tgid int) bool {
	for _, t := range u.unsettled {
		if t.tgid == tgid {
			return true
		}
	}
	return false
}

func (u *umasks) find(tid int) *umaskOf {
	for i := range u.known {
		if u.known[i].tid == tid {
			return &u.known[i]
		}
	}
	return nil
}

func (k *umaskOf) drop() {
	closeFD(k.comm)
	*k = umaskOf{comm: -1}
}

func (u *umasks) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range u.known {
		u.known[i].drop()
	}
}

// readComm gives what it read's length, or less than 1.
func readComm(fd int, buf *[commRoom]byte) int {
	if fd < 0 {
		return -1
	}
	for {
		n, _, e := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), commRoom, 0, 0, 0)
		if e != unix.EINTR {
			n, _ := given(n, e)
			return n
		}
	}
}

// adoptUmask gives this thread the caller's umask, since only the kernel knows
// where a default ACL takes its place. The thread shares it with no other, or
// has it for as long as masked runs.
func (w *worker) adoptUmask() {
	u, known := w.umasks.of(w.pid())
	if !known {
		u = w.readUmask()
	}
	if u != w.umask {
		if !w.commonFS {
			unix.Umask(u)
		}
		w.umask = u
	}
}

func (w *worker) readUmask() int {
	at := w.umasks.now()
	text, err := w.callerStatus()
	if err != nil {
		return 0o777 // as strict as can be
	}
	u := int(statusNumber(text, "Umask", 8))
	tgid := int(statusNumber(text, "Tgid", 10))
	w.saw(text)
	w.umasks.learn(w, tgid, u, at)
	return u
}

// masked makes a name under the adopted umask. do must not wait for anybody.
func (w *worker) masked(do func() error) error {
	if w.commonFS {
		w.umaskMu.Lock()
		defer w.umaskMu.Unlock()
		unix.Umask(w.umask)
	}
	return do()
}
