//go:build linux

package stage

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/filter"
)

// Landlock in a Mark: there are no namespaces, the stage is an ordinary
// process beside the command.
const Landlock = "landlock"

// launched reports whether this process really is the stage that a launcher
// of bawn started, whatever the environment says. The control descriptor must
// be a packet socket of the process that made the stage: outside of the new
// pid namespace (so without a number in it), or this process's parent.
func launched(launcher string) bool {
	if t, err := unix.GetsockoptInt(ControlFD, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || t != unix.SOCK_SEQPACKET {
		return false
	}
	if d, err := unix.GetsockoptInt(ControlFD, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || d != unix.AF_UNIX {
		return false
	}
	peer, err := unix.GetsockoptUcred(ControlFD, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return false
	}
	pid := int32(syscall.Getpid())
	switch launcher {
	case Native, Bwrap, Keeper, Kept:
		return pid == 1 && peer.Pid == 0
	case Landlock, Guarding:
		return pid != 1 && peer.Pid > 0 && peer.Pid == int32(syscall.Getppid()) && int(peer.Uid) == syscall.Getuid()
	}
	return false
}

// overCommand takes this process out of the command's sight, as far as an owner
// can, and makes it the parent of what the command leaves.
func overCommand() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide from the command: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt what the command leaves: %w", err)
	}
	return nil
}

// runWeaker is the stage without namespaces. It stays outside of the
// command's Landlock domain, out of reach of its signals, and ends all that
// the command left when it is over or the supervisor is gone.
func runWeaker() int {
	// No parent-death signal: this process must outlive the supervisor for as
	// long as it takes to end the rest. The control socket tells it when.
	if err := overCommand(); err != nil {
		return report(err)
	}
	if err := ignoreEnds(); err != nil {
		return report(err)
	}
	_, _ = unix.Setsid() // EPERM: the launcher has done it
	if err := sealDescriptors(SpecFD); err != nil {
		return report(err)
	}
	spec, with, err := readSpec(false)
	if err != nil {
		return report(err)
	}
	w := weaker{temp: privateTemp(spec.Mounts)}
	defer w.finish()
	abi, err := LandlockABI()
	if err != nil || abi < MinLandlock {
		return report(&failure{CodeUnavailable, fmt.Errorf("version %d of Landlock is needed, this kernel has %d (%w)", MinLandlock, abi, err)})
	}
	// Refused with EPERM only if ScopeSignals holds; the supervisor is there.
	w.scoped = abi >= LandlockSignal && unix.Kill(syscall.Getppid(), 0) == unix.EPERM
	if err := enter(spec.Dir); err != nil {
		return report(err)
	}
	_ = send(MsgReady)
	var tty *terminal
	if spec.TTY {
		if tty, err = openTerminal(); err != nil {
			return report(err)
		}
	}
	null, err := spareNull()
	if err != nil {
		return report(err)
	}
	if spec.Guard.On {
		return w.runGuarded(spec, with.lock, tty, null, abi)
	}
	pid, err := startWeaker(spec, tty, abi)
	if err != nil {
		return report(err)
	}
	ignoreStops()
	pending := tty.close()
	if err := releaseStreams(null); err != nil {
		return report(err)
	}
	_ = send(MsgStarted)
	for _, sig := range pending {
		deliver(pid, sig)
	}
	go w.control(pid)
	code := w.wait(pid)
	w.finish()
	_ = send(MsgExited, byte(code))
	return code
}

// ignoreEnds keeps this process alive through a hang-up of the command's
// terminal and the like. The command starts with the defaults: the runtime's
// fork restores them for every signal that the runtime handles itself.
func ignoreEnds() error {
	ignore := [8]uintptr{1} // struct sigaction: SIG_IGN, no flags, no mask
	for _, s := range []unix.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGPIPE,
	} {
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&ignore)), 0, 8, 0, 0)
		if errno != 0 {
			return fmt.Errorf("ignore signal %d: %w", int(s), errno)
		}
	}
	return nil
}

// ignoreStops keeps this process running when the command makes its group the
// terminal's foreground one and a stop is typed. It comes after the command
// was started, which would inherit it.
func ignoreStops() {
	ignore := [8]uintptr{1}
	for _, s := range []unix.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU} {
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&ignore)), 0, 8, 0, 0)
	}
}

func privateTemp(mounts []sandbox.Mount) string {
	for _, m := range mounts {
		if m.Op == sandbox.OpTmpfs && m.Source != "" {
			return m.Source
		}
	}
	return ""
}

// startWeaker confines a thread, forks the command from it and lets the
// thread end: one that stayed would be in the command's domain, and a signal
// sent to it would end this process.
func startWeaker(spec sandbox.Spec, tty *terminal, abi int) (pid int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = confineWeaker(spec, tty, abi); err == nil {
			err = filterWeaker()
		}
		if err == nil {
			pid, err = spawn(spec, tty)
		}
	}()
	<-done
	return pid, err
}

// confineWeaker gives the calling thread the command's domain, and takes its
// privileges.
func confineWeaker(spec sandbox.Spec, tty *terminal, abi int) error {
	if _, _, errno := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0); errno != 0 {
		// Where a container's filter refuses the call, the command has no use
		// of a keyring either.
		if errno != unix.ENOSYS && errno != unix.EPERM {
			return fmt.Errorf("fresh session keyring: %w", errno)
		}
	}
	attr := handled(abi)
	ruleset, err := createRuleset(attr)
	if err != nil {
		return err
	}
	defer unix.Close(ruleset)
	if err := addRules(ruleset, spec.Mounts, attr.Handled_access_fs); err != nil {
		return err
	}
	if err := allowStreams(ruleset, attr.Handled_access_fs); err != nil {
		return err
	}
	if spec.Guard.On {
		if err := allowSelf(ruleset, attr.Handled_access_fs); err != nil {
			return err
		}
	}
	if tty != nil {
		name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(tty.slave))
		if err == nil {
			err = allowDevice(ruleset, name, attr.Handled_access_fs)
		}
		if err != nil {
			return fmt.Errorf("allow the terminal: %w", err)
		}
	}
	if err := dropPrivileges(); err != nil {
		return err
	}
	return restrictSelf(ruleset)
}

// filterWeaker loads the command's system call filters.
func filterWeaker() error {
	for _, f := range []string{filter.Base(), filter.NoInet(), noIPC()} {
		if err := loadFilter(f); err != nil {
			return err
		}
	}
	return nil
}

// dropPrivileges takes every capability from the calling thread. An ordinary
// user may not shrink the bounding set, and need not: without new privileges
// no program gives any back.
func dropPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	for c := uintptr(0); ; c++ {
		set, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			break // past the kernel's last capability
		}
		if set == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err == unix.EPERM {
			break
		} else if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&hdr, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// weaker is a run without namespaces.
type weaker struct {
	temp   string // removed at the end
	scoped bool   // kill(-1) means this run's processes and no others
}

// control delivers the supervisor's signals. When the supervisor is gone it
// ends the command, and wait does the rest.
func (w *weaker) control(pid int) {
	buf := make([]byte, 16)
	for {
		n, err := unix.Read(ControlFD, buf)
		switch {
		case err == unix.EINTR:
		case err != nil || n == 0:
			if !w.scoped {
				deliver(pid, unix.SIGKILL)
			}
			w.killAll()
			return
		case n == 2 && buf[0] == MsgSignal:
			deliver(pid, syscall.Signal(buf[1]))
		}
	}
}

// wait returns the command's exit code.
func (w *weaker) wait(pid int) int {
	code := 125
	for running := true; running; {
		var st unix.WaitStatus
		p, err := unix.Wait4(-1, &st, unix.WUNTRACED, nil)
		switch {
		case err == unix.EINTR || err == nil && p != pid:
		case err != nil:
			running = false
		case st.Stopped():
			_ = send(MsgStopped, byte(st.StopSignal()))
		case st.Exited():
			code, running = st.ExitStatus(), false
		case st.Signaled():
			code, running = 128+int(st.Signal()), false
		}
	}
	return code
}

// endAll kills and reaps all descendants. Without the signal scope one that
// forks faster than it is found could escape for ever, so there it is a try
// with an end (and the notice says so).
func (w *weaker) endAll() {
	deadline := time.Now().Add(5 * time.Second)
	for w.scoped || time.Now().Before(deadline) {
		w.killAll()
		for {
			p, err := unix.Wait4(-1, nil, unix.WNOHANG|unix.WALL, nil)
			if err == unix.ECHILD {
				return
			}
			if p <= 0 && err != unix.EINTR {
				break
			}
		}
		time.Sleep(time.Millisecond) // until the kernel has ended them
	}
}

func (w *weaker) killAll() {
	if w.scoped {
		_ = unix.Kill(-1, unix.SIGKILL)
		return
	}
	procs, _ := os.ReadDir("/proc")
	for _, d := range procs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		if _, _, parent, ok := processStat(pid); ok && parent == os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// finish leaves nothing of the run behind.
func (w *weaker) finish() {
	w.endAll()
	if w.temp != "" {
		_ = RemoveTemp(w.temp)
	}
}
