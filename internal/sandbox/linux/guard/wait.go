//go:build linux

package guard

import (
	"errors"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An open of a named pipe waits for the other end, for ever if nobody comes.
// A worker waits in the caller's place; these are the ways out when the caller
// is killed or gets a signal, which it cannot act on itself while it waits for
// the guard.

// interrupt is the signal that ends a worker's wait: the last one, which no
// runtime or C library takes for itself (glibc does 32 and 33).
const interrupt = unix.Signal(64)

// errRestart makes the kernel deliver the caller's pending signal and run the
// call again, or fail it with EINTR, as the signal's handler wants (ERESTARTSYS,
// linux/errno.h). It may only be given to a thread with a signal pending.
const errRestart = unix.Errno(512)

// waitTick is how often waiting callers are looked at.
const waitTick = 20 * time.Millisecond

// waits are the workers that wait for a pipe.
type waits struct {
	mu      sync.Mutex
	of      map[int]*wait // by thread
	running bool
}

type wait struct {
	w   *worker
	out unix.Errno // why it was interrupted
}

// pause waits one tick for whoever has a lease on the caller's file; an error
// is why the caller waits no longer.
func (w *worker) pause() unix.Errno {
	if !w.recruit() {
		return unix.EAGAIN
	}
	me := &wait{w: w}
	tid := unix.Gettid()
	w.waits.add(tid, me)
	defer w.waits.remove(tid)
	nap(waitTick)
	w.waits.mu.Lock()
	defer w.waits.mu.Unlock()
	if me.out == 0 {
		me.out = me.reason()
	}
	return me.out
}

// openPipe opens a named pipe held by obj, waiting if the flags say so.
func (w *worker) openPipe(obj, flags int) (int, unix.Errno) {
	if flags&unix.O_NONBLOCK != 0 || flags&unix.O_ACCMODE == unix.O_RDWR {
		return w.reopen(obj, flags)
	}
	if !w.recruit() {
		return -1, unix.ENFILE
	}
	me := &wait{w: w}
	tid := unix.Gettid()
	w.waits.add(tid, me)
	defer w.waits.remove(tid)
	if err := quiet(true); err != nil {
		return -1, errnoOf(err)
	}
	defer func() { _ = quiet(false) }()
	for {
		fd, err := w.reopen(obj, flags)
		if err != unix.EINTR {
			return fd, err
		}
		w.waits.mu.Lock()
		out := me.out
		w.waits.mu.Unlock()
		if out != 0 {
			return -1, out
		}
	}
}

func (ws *waits) add(tid int, w *wait) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.of == nil {
		ws.of = map[int]*wait{}
	}
	ws.of[tid] = w
	if !ws.running {
		ws.running = true
		go ws.watch()
	}
}

func (ws *waits) remove(tid int) {
	ws.mu.Lock()
	delete(ws.of, tid)
	ws.mu.Unlock()
}

// watch looks at all that wait, as long as somebody does. A signal that comes
// before the worker is in the kernel is lost, so it is sent each time.
func (ws *waits) watch() {
	for {
		time.Sleep(waitTick)
		ws.mu.Lock()
		for tid, w := range ws.of {
			if w.out == 0 {
				w.out = w.reason()
			}
			if w.out != 0 {
				_ = unix.Tgkill(w.w.self, tid, interrupt)
			}
		}
		if len(ws.of) == 0 {
			ws.running = false
			ws.mu.Unlock()
			return
		}
		ws.mu.Unlock()
	}
}

// reason is why the caller no longer waits, or 0.
func (w *wait) reason() unix.Errno {
	if !valid(w.w.fd, w.w.req.id) {
		return unix.EINTR
	}
	var text [4096]byte
	s := parseStatus(w.w.procRead("status", text[:])) // not by what the worker keeps
	own, shared := s.ownPending&^s.blocked != 0, s.sharedPending&^s.blocked != 0
	switch {
	case own, shared && s.threads == 1:
		return errRestart
	case shared:
		return unix.EINTR // perhaps another thread's
	}
	return 0
}

// quiet keeps all signals from the calling thread but those of its own faults
// and, if it asks for them, the one that ends a wait. A signal in the middle of
// handing over a descriptor would make the kernel drop it and give the caller 0,
// and anyone inside can send one to pid 1.
func quiet(interruptible bool) error {
	mask := ^uint64(0)
	for _, s := range [...]unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP} {
		mask &^= 1 << (s - 1)
	}
	if interruptible {
		mask &^= 1 << (interrupt - 1)
	}
	_, err := raw(unix.SYS_RT_SIGPROCMASK, sigSetmask, uintptr(unsafe.Pointer(&mask)), 0, unsafe.Sizeof(mask))
	return err
}

const sigSetmask = 2 // SIG_SETMASK, asm-generic/signal-defs.h

// interruptAll ends all waits; the guard has ended.
func (s *server) interruptAll() {
	s.waits.mu.Lock()
	defer s.waits.mu.Unlock()
	for _, w := range s.waits.of {
		w.out = unix.EINTR // sent by the watch
	}
}

// letInterrupt gives interrupt the handler that the Go runtime has for the
// signal it sends to its own threads, in cgo programs as well: it does nothing
// for a signal that nobody asked for. It ends a system call, which is not
// restarted.
func letInterrupt() error {
	// struct sigaction of the kernel: handler, flags, restorer (amd64), mask.
	var act [4]uintptr
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGURG), 0, uintptr(unsafe.Pointer(&act)), 8, 0, 0); errno != 0 {
		return errno
	}
	if act[0] <= 1 { // SIG_DFL, SIG_IGN
		return errors.New("the Go runtime handles no signals")
	}
	const restart = 0x10000000 // SA_RESTART
	act[1] &^= restart
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(interrupt), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
