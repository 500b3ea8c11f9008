//go:build linux

package guard

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// maxWorkers bounds the threads, most of which wait for the other end of
	// a pipe if there are many. Calls beyond that wait, or such an open fails.
	maxWorkers = 64
	// workerFiles is how many descriptors a worker has open in a call, and
	// ownFiles how many the rest of the process may.
	workerFiles, ownFiles = 8, 32
	// tick is how long a call may be stuck on a slow disk before another
	// thread takes the next one.
	tick = 2 * time.Millisecond
	// spareProcs: see Serve.
	spareProcs = 8
	// queueLook is how many calls go by between looks whether others wait.
	queueLook = 4
	// idleTicks without a call end the ticking.
	idleTicks = 25
)

// server is one guard. One worker at a time waits for calls, because the
// kernel wakes all that wait; others join in while calls queue up.
type server struct {
	fd      int
	rules   Rules
	blind   bool // see Blind
	report  func(Event)
	streams []Stream
	mounts  mounts
	proc    int // O_PATH of /proc
	fds     int // O_PATH of the guard's own /proc/PID/fd
	self    int // pid

	// names is held still while a verdict about names is found and carried
	// out; what opens a file that exists shares it. So a directory cannot move,
	// nor a name appear, between question and act.
	names sync.RWMutex
	turn  *Turn // the same between guards; taken after names

	umasks  umasks
	umaskMu sync.Mutex // the process's umask, where threads have none of their own; taken last

	calls     atomic.Uint64 // received
	receiving atomic.Int32  // workers that wait for a call, or are about to
	ticking   atomic.Bool
	wake      chan struct{} // starts the ticking
	spare     chan struct{} // each value sends a parked worker to receive

	mu      sync.Mutex
	workers int
	most    int // workers, for which there are descriptors
	parked  int
	waits   waits
	held    heldFiles
	ended   error         // before done
	done    chan struct{} // closed at the end
	all     sync.WaitGroup
}

// Serve answers the calls that come to listener until nobody is left who
// could call, and then closes it. An error ends the guard, not the filter: the
// process must end. It reads callers by CAP_SYS_PTRACE in its own
// user namespace, if the process has it; the threads it works on keep nothing
// else. report is called from them and must not block.
//
// streams are the command's (Streams).
//
// lock is a descriptor, opened for writing by nobody else, of the file by
// which the guards of one user take turns; -1 for none. Serve closes it.
//
// If the process ends, calls under the filter fail with ENOSYS.
func Serve(listener, lock int, streams []Stream, rules Rules, report func(Event)) error {
	s := &server{
		fd: listener, streams: streams, rules: rules, report: report, self: os.Getpid(), turn: NewTurn(lock),
		most: affordable(), wake: make(chan struct{}, 1), spare: make(chan struct{}, maxWorkers), done: make(chan struct{}),
	}
	if b, ok := rules.(Blind); ok {
		s.blind = b.Blind()
	}
	s.umasks.start()
	var err error
	if s.proc, err = unix.Open("/proc", openPath|unix.O_DIRECTORY, 0); err != nil {
		return fmt.Errorf("name guard: open /proc: %w", err)
	}
	if s.fds, err = unix.Open("/proc/self/fd", openPath|unix.O_DIRECTORY, 0); err != nil {
		return fmt.Errorf("name guard: open its descriptors: %w", err)
	}
	// Wake the guard on the caller's CPU, since the caller does nothing until
	// it answers. Kernels before 6.6 cannot.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(s.fd), ioctlSetFlags, flagSyncWakeUp)
	if err := letInterrupt(); err != nil {
		return fmt.Errorf("name guard: %w", err)
	}
	// A thread that comes back from a system call needs one of the scheduler's
	// processors: with spare ones it never waits for another thread's.
	if n := runtime.GOMAXPROCS(0); n < spareProcs {
		runtime.GOMAXPROCS(spareProcs)
	}
	s.recruit()
	go s.watch()
	<-s.done
	if s.ended != nil {
		return s.ended // workers may still be in a call: their descriptors stay
	}
	s.all.Wait()
	s.held.close()
	s.umasks.close()
	for _, fd := range [...]int{s.fds, s.proc, listener, lock} {
		closeFD(fd)
	}
	return nil
}

// affordable is how many workers there may be: a call that waits for one is
// slow, and one for which the guard has no descriptor left fails.
func affordable() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil || l.Cur >= maxWorkers*workerFiles+ownFiles {
		return maxWorkers
	}
	return max(4, (int(l.Cur)-ownFiles)/workerFiles)
}

// end stops the guard: all workers leave, those in a call after it.
func (s *server) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
	default:
		s.ended = err
		close(s.done)
	}
}

// worker is a thread that answers calls.
type worker struct {
	*server
	capable            bool // has CAP_SYS_PTRACE
	umask              int  // of the caller, and of this thread unless commonFS
	commonFS           bool // the process has one umask for all threads, see masked
	req                notification
	statusOf, statusFD int // see callerStatus
	asked              asked
	denied             bool // by the rules, in this call
	sawPID             int  // see saw
	sawName            string
	// Room for what is read, so that answering makes little garbage: each
	// collection of it would wake other threads.
	path [pathMax]byte
	text [4096]byte
	fs   unix.Statfs_t
}

// work runs a worker on a thread of its own, which ends with it.
func (s *server) work() {
	runtime.LockOSThread()
	w := &worker{server: s, umask: -1, statusFD: -1}
	defer func() { closeFD(w.statusFD) }()
	if err := w.confine(); err != nil {
		s.end(fmt.Errorf("name guard: confine a thread: %w", err))
		return
	}
	for w.serveWhileNeeded() && w.park() {
	}
}

// confine gives the thread its own umask, where that can be, and no capability
// but the one to read callers.
func (w *worker) confine() error {
	if err := quiet(false); err != nil {
		return err
	}
	switch err := unix.Unshare(unix.CLONE_FS); err {
	case nil:
	case unix.EPERM: // a container's filter around the guard
		w.commonFS = true
	default:
		return err
	}
	w.capable = hasCapability()
	return setCapability(w.capable, w.capable)
}

// park waits until another receiver is needed; false: the guard has ended.
func (s *server) park() bool {
	s.mu.Lock()
	s.parked++
	s.mu.Unlock()
	select {
	case <-s.spare:
		return true
	case <-s.done:
		return false
	}
}

// recruit sends one more worker to receive; false: all are busy.
func (s *server) recruit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return false
	default:
	}
	switch {
	case s.parked > 0:
		s.parked--
		s.receiving.Add(1)
		s.spare <- struct{}{}
	case s.workers < s.most:
		s.workers++
		s.receiving.Add(1)
		s.all.Go(s.work)
	default:
		return false
	}
	return true
}

// serveWhileNeeded receives and answers calls until another worker receives
// them and none is queued; false: the guard has ended.
func (w *worker) serveWhileNeeded() bool {
	for {
		err := receive(w.fd, &w.req)
		alone := w.receiving.Add(-1) == 0
		switch {
		case err == unix.EINTR, err == unix.ENOENT && !hangup(w.fd):
			w.receiving.Add(1)
			continue
		case err == unix.ENOENT:
			w.end(nil)
			return false
		case err != 0:
			w.end(fmt.Errorf("name guard: receive a call: %w", err))
			return false
		}
		w.calls.Add(1)
		if !w.ticking.Load() && w.ticking.CompareAndSwap(false, true) {
			w.wake <- struct{}{}
		}
		if n := w.calls.Load(); alone && n%queueLook == 0 && queued(w.fd) {
			w.recruit()
		}
		w.answer()
		// Whoever comes back last goes on; a surplus worker rests.
		if w.receiving.Add(1) > 1 && !queued(w.fd) {
			w.receiving.Add(-1)
			if w.receiving.Load() > 0 {
				return true
			}
			w.receiving.Add(1)
		}
	}
}

// watch recruits a worker when all are stuck, and wakes those that wait for
// a pipe when their callers no longer do.
func (s *server) watch() {
	for {
		select {
		case <-s.wake:
		case <-s.done:
			s.interruptAll()
			return
		}
		last := s.calls.Load()
		for quiet := 0; quiet < idleTicks; {
			doze(tick)
			now := s.calls.Load()
			if s.receiving.Load() == 0 && now == last {
				s.recruit()
			}
			quiet++
			if now != last || s.receiving.Load() == 0 {
				quiet = 0
			}
			last = now
		}
		s.ticking.Store(false)
		// A call that came just before that has seen the ticking on.
		if s.calls.Load() != last && s.ticking.CompareAndSwap(false, true) {
			s.wake <- struct{}{}
		}
	}
}

// nap sleeps without one of the runtime's timers, for which it would wake
// other threads each time.
func nap(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&t, nil)
}

// doze is nap without telling the scheduler: its monitor would take this
// thread's processor away every 10 ms and then look every 20 µs for a while,
// on a CPU that a caller could have. To stop all threads the runtime sends a
// signal, which ends it; so it is for threads that take signals.
func doze(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

// answer carries out one call and ends it.
func (w *worker) answer() {
	w.asked, w.denied = asked{}, false
	r := w.call()
	if !w.denied && (r.err == unix.EROFS || r.err == unix.EACCES) {
		w.failed()
	}
	if r.file >= 0 {
		if r.err = respondFD(w.fd, w.req.id, r.file, r.flags); r.err == 0 {
			return
		}
	}
	respond(w.fd, w.req.id, r.err, r.proceed)
}

// result is a call's outcome: a descriptor for the caller, or an error number.
type result struct {
	file, flags int
	err         unix.Errno
	proceed     bool // the kernel carries it out: nothing of it is in memory
}

func failed(err unix.Errno) result { return result{file: -1, err: err} }
