//go:build linux

package stage

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// The one use of init in the program: a re-exec'd stage must not pay for the
// initialisation of packages that only the supervisor needs. The variable
// alone starts no stage: an ordinary start of the program ignores it, whatever
// its value, unless a launcher's control socket is there too.
func init() {
	value, ok := syscall.Getenv(EnvMark)
	if !ok {
		return
	}
	mark, ok := parseMark(value)
	if !ok || !launched(mark.Launcher) {
		return
	}
	Prefault(384 << 10)
	runtime.LockOSThread()
	switch mark.Launcher {
	case Landlock:
		os.Exit(runWeaker())
	case Guarding:
		os.Exit(runGuard())
	case Keeper:
		os.Exit(runKeeper(mark))
	}
	os.Exit(run(mark))
}

// failure is a reason not to run the command, and bawn's exit code for it.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }

// begin gives this process its ids, takes it out of the command's sight and
// ties it to its parent.
func begin(mark Mark) error {
	if mark.Launcher != Bwrap {
		// First, while /proc/self still belongs to this user.
		if err := mapIDs(mark); err != nil {
			return err
		}
	}
	// The command must not read this process's memory, descriptors or
	// environment, nor trace it.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide pid 1: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tie to the supervisor: %w", err)
	}
	if err := ignoreSignals(); err != nil {
		return err
	}
	_, _ = unix.Setsid() // EPERM: the launcher has done it
	return nil
}

func run(mark Mark) int {
	if err := begin(mark); err != nil {
		return report(err)
	}
	last := uint(SpecFD)
	switch mark.Launcher {
	case Bwrap:
		last = StdioFD + 2
	case Kept:
		last = VarTempFD
	}
	if err := sealDescriptors(last); err != nil {
		return report(err)
	}
	if mark.Launcher == Bwrap {
		for i := range 3 {
			if err := unix.Dup3(StdioFD+i, i, 0); err != nil {
				return report(fmt.Errorf("restore standard streams: %w", err))
			}
			_ = unix.Close(StdioFD + i)
		}
	}
	spec, with, err := readSpec(mark.Launcher == Kept)
	if err != nil {
		return report(err)
	}
	var in inputs
	var notes []byte
	netReady := func() error { return nil }
	if mark.Launcher != Kept {
		netReady = network(spec.Net, mark.Launcher == Native)
	}
	if mark.Launcher == Bwrap {
		err = verify(spec.Mounts)
		if err == nil {
			err = in.reopen()
		}
	} else {
		notes, err = build(spec.Mounts, kept{keptTemp(mark), with.layers}, in.reopen)
		if err == nil {
			err = ownNull()
		}
	}
	if err != nil {
		return report(err)
	}
	if err := enter(spec.Dir); err != nil {
		return report(err)
	}
	if err := netReady(); err != nil {
		return report(err)
	}
	if send(MsgReady, notes[:min(len(notes), 4096)]...) != nil {
		return 125 // the supervisor is gone: nobody wants the command any more
	}
	if mark.Launcher == Native {
		if err := awaitMessage(MsgRun); err != nil {
			return 125
		}
	}
	var tty *terminal
	if spec.TTY {
		if tty, err = openTerminal(); err != nil {
			return report(err)
		}
	}
	// Before the guard stands, which would have to open it.
	null, err := spareNull()
	if err != nil {
		return report(err)
	}
	resetSignals()
	pid, names, err := start(spec, with.lock, tty)
	if err != nil {
		return report(err)
	}
	pending := tty.close()
	if err := releaseStreams(null); err != nil {
		return report(err)
	}
	_ = send(MsgStarted)
	for _, sig := range pending {
		deliver(pid, sig)
	}
	go control(pid, func() {}, names.family)
	return reap(pid, func() {
		names.family.atEnd()
		endRest()
		names.end()
		in.settle()
		tellLost(spec.Mounts)
	})
}

// sealDescriptors closes what the launcher did not mean to hand over, and
// keeps the rest from the command.
func sealDescriptors(last uint) error {
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("guard descriptors: %w", err)
	}
	for fd := range uintptr(3) {
		if flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0); err == nil && flags&unix.O_NONBLOCK != 0 {
			return nil // package os has set up the runtime's poller for it, which would die without its own
		}
	}
	if err := unix.CloseRange(last+1, ^uint(0), 0); err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	return nil
}

// mapIDs gives the caller's ids to themselves: the sandbox sees the owner it
// knows, and no other id exists in it.
func mapIDs(m Mark) error {
	for _, w := range [...][2]string{
		{"setgroups", "deny"},
		{"uid_map", strconv.Itoa(m.UID) + " " + strconv.Itoa(m.UID) + " 1"},
		{"gid_map", strconv.Itoa(m.GID) + " " + strconv.Itoa(m.GID) + " 1"},
	} {
		fd, err := unix.Open("/proc/self/"+w[0], unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			_, err = unix.Write(fd, []byte(w[1]))
			unix.Close(fd)
		}
		if err != nil {
			return unavailable(fmt.Errorf("set up %s: %w", w[0], err))
		}
	}
	return nil
}

// awaitMessage waits for a message of one byte, and for no other.
func awaitMessage(kind byte) error {
	var msg [2]byte
	for {
		n, err := unix.Read(ControlFD, msg[:])
		if err == unix.EINTR {
			continue
		}
		if err == nil && (n != 1 || msg[0] != kind) {
			err = unix.EPIPE
		}
		return err
	}
}

// readSpec waits until the supervisor has planned the sandbox. kept: this stage
// was started before anything about its command was known.
func readSpec(kept bool) (spec sandbox.Spec, with specFDs, err error) {
	if with, err = receiveSpec(kept); err != nil {
		return spec, with, fmt.Errorf("wait for the description: the supervisor is gone (%w)", err)
	}
	spec, err = takeSpec(SpecFD)
	return spec, with, err
}

// takeSpec reads a Spec file, and closes it.
func takeSpec(fd int) (sandbox.Spec, error) {
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return sandbox.Spec{}, fmt.Errorf("read the description: %w", err)
	}
	buf := make([]byte, st.Size)
	for n := 0; n < len(buf); {
		m, err := unix.Pread(fd, buf[n:], int64(n))
		if err != nil || m == 0 {
			return sandbox.Spec{}, fmt.Errorf("read the description: %w", errors.Join(err, unix.EIO))
		}
		n += m
	}
	return sandbox.UnmarshalSpec(buf)
}

// enter makes dir the working folder; a link on the way is an error, since
// the path was resolved before.
func enter(dir string) error {
	fd, err := openPath(unix.AT_FDCWD, dir)
	if err != nil {
		return fmt.Errorf("enter folder %q: %w", dir, err)
	}
	defer unix.Close(fd)
	if err := unix.Fchdir(fd); err != nil {
		return fmt.Errorf("enter folder %q: %w", dir, err)
	}
	return nil
}

// ownNull puts the sandbox's /dev/null in the place of the host's among the
// command's streams: through a descriptor of that one root's fchmod would
// reach the host.
func ownNull() error {
	for fd := range 3 {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != unix.Mkdev(1, 3) {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return fmt.Errorf("standard stream %d: %w", fd, err)
		}
		null, err := openNull(flags & (unix.O_ACCMODE | unix.O_APPEND))
		if err != nil {
			return fmt.Errorf("standard stream %d: %w", fd, err)
		}
		err = dup3(null, fd)
		_ = unix.Close(null)
		if err != nil {
			return fmt.Errorf("standard stream %d: %w", fd, err)
		}
	}
	return nil
}

// spareNull is opened ahead of the command, for releaseStreams.
func spareNull() (int, error) {
	null, err := openNull(unix.O_RDWR)
	if err != nil {
		return -1, fmt.Errorf("release standard streams: %w", err)
	}
	return null, nil
}

// openNull and dup3 go on where a signal interrupts them: the command may send
// its pid 1 any number of them.
func openNull(flags int) (int, error) {
	for {
		fd, err := unix.Open("/dev/null", flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func dup3(old, fd int) error {
	for {
		if err := unix.Dup3(old, fd, 0); err != unix.EINTR {
			return err
		}
	}
}

// releaseStreams lets go of the command's streams, so that whoever reads
// them sees the end when the command closes its own. null takes their place,
// and is closed.
func releaseStreams(null int) error {
	defer unix.Close(null)
	for i := range 3 {
		if err := dup3(null, i); err != nil {
			return fmt.Errorf("release standard streams: %w", err)
		}
	}
	return nil
}

// reap waits for the command and for every orphan that pid 1 inherits. When
// the command ends so does pid 1, and the kernel ends the rest; ended comes
// before the supervisor hears of it.
func reap(pid int, ended func()) int {
	for {
		var st unix.WaitStatus
		p, err := unix.Wait4(-1, &st, unix.WUNTRACED, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return report(fmt.Errorf("wait for the command: %w", err))
		case p != pid:
		case st.Stopped():
			_ = send(MsgStopped, byte(st.StopSignal()))
		case st.Exited():
			ended()
			_ = send(MsgExited, byte(st.ExitStatus()))
			return st.ExitStatus()
		case st.Signaled():
			ended()
			_ = send(MsgExited, byte(128+st.Signal()))
			return 128 + int(st.Signal())
		}
	}
}

// endRest ends what the command left behind, so that nothing writes any more
// when the supervisor hears of its end. The end of pid 1 would do it too, but
// that takes the kernel longer than the supervisor need wait.
func endRest() {
	if unix.Getpid() != 1 {
		return // in no pid namespace of its own, where the signal would reach all that the user runs
	}
	_ = unix.Kill(-1, unix.SIGKILL) // all but this process; none can fork past it
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && err != unix.EINTR {
			return
		}
	}
}

// control delivers the supervisor's signals; when it is gone, all ends, after
// what gone does about it. seen, if not nil, is the family, at which it looks
// while it waits.
func control(pid int, gone func(), seen *family) {
	buf := make([]byte, 16)
	for {
		if seen != nil {
			p := []unix.PollFd{{Fd: ControlFD, Events: unix.POLLIN}}
			if n, _ := unix.Poll(p, seen.wait()); n <= 0 {
				continue
			}
		}
		n, err := unix.Read(ControlFD, buf)
		switch {
		case err == unix.EINTR:
		case err != nil || n == 0:
			gone()
			os.Exit(125)
		case n == 2 && buf[0] == MsgSignal:
			deliver(pid, syscall.Signal(buf[1]))
		case n == 3 && buf[0] == MsgConnect:
			connectInside(ControlFD, uint16(buf[1])<<8|uint16(buf[2]))
		}
	}
}

// deliver sends sig to the command's process group. 0 asks whether the
// command is stopped now that every signal before it has been delivered; the
// answer is a stop by signal 0.
func deliver(pid int, sig syscall.Signal) {
	if sig == 0 {
		if stopped(pid) {
			_ = send(MsgStopped, 0)
		}
		return
	}
	if unix.Kill(-pid, sig) != nil {
		_ = unix.Kill(pid, sig)
	}
}

func stopped(pid int) bool {
	_, state, _, ok := processStat(pid)
	return ok && state == 'T'
}

func send(kind byte, data ...byte) error { return sendTo(ControlFD, kind, data...) }

func sendTo(fd int, kind byte, data ...byte) error {
	msg := append([]byte{kind}, data...)
	for {
		if _, err := unix.Write(fd, msg); err != unix.EINTR {
			return err
		}
	}
}

// report tells the supervisor why the command does not run.
func report(err error) int { return reportTo(ControlFD, err) }

func reportTo(fd int, err error) int {
	code := 125
	var f *failure
	if errors.As(err, &f) {
		code = f.code
	}
	msg := err.Error()
	if len(msg) > 4096 {
		msg = msg[:4096]
	}
	_ = sendTo(fd, MsgFailed, append([]byte{byte(code)}, msg...)...)
	return code
}
