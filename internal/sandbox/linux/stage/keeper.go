//go:build linux

package stage

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// keeper holds what the commands of one session share: a temp and networks.
// It is pid 1 of a pid namespace around those of the commands, so that the
// kernel ends them with it, in a user namespace around theirs, in which alone
// its capabilities count. No command sees it, and it reads nothing that one
// wrote.
type keeper struct {
	mark Mark // of the stages that it starts
	temp *temp
}

// runKeeper serves the supervisor until it is gone.
func runKeeper(mark Mark) int {
	if err := begin(mark); err != nil {
		return report(err)
	}
	if err := sealDescriptors(ControlFD); err != nil {
		return report(err)
	}
	if err := forgetChildren(); err != nil {
		return report(err)
	}
	if err := tryProc(); err != nil {
		return report(err)
	}
	temp, err := keepTemp()
	if err != nil {
		return report(unavailable(fmt.Errorf("make the session's temp: %w", err)))
	}
	k := keeper{Mark{Kept, mark.UID, mark.GID}, temp}
	if send(MsgReady) != nil {
		return 125
	}
	for {
		msg, fds, err := receive(ControlFD)
		if err != nil {
			return 0
		}
		if n, ok := networkOf(msg); ok && len(fds) == 1 {
			go k.serve(fds[0], n)
			continue
		}
		if len(msg) == 1 && msg[0] == MsgStage && len(fds) == 2 {
			go serveLayers(fds[0], fds[1])
			continue
		}
		closeAll(fds)
	}
}

// forgetChildren has the kernel reap them, whose end is the supervisor's to
// see. A stage starts with the default: the runtime's fork restores it.
func forgetChildren() error {
	act := [4]uintptr{sigIgn}
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
	if errno != 0 {
		return fmt.Errorf("leave children to the kernel: %w", errno)
	}
	return nil
}

// tryProc finds out whether a stage could mount its proc: a container that
// masks parts of it forbids that.
func tryProc() error {
	fs, err := newMount("proc", attrBase)
	if err != nil {
		return unavailable(fmt.Errorf("mount \"/proc\": %w", err))
	}
	closeFD(fs)
	return nil
}

// networkOf reads a MsgNetwork to the keeper.
func networkOf(msg []byte) (n sandbox.Network, ok bool) {
	if len(msg) < 2 || len(msg)%2 != 0 || msg[0] != MsgNetwork {
		return n, false
	}
	n.Proxy, n.Transparent = msg[1]&NetProxy != 0, msg[1]&NetTransparent != 0
	for p := msg[2:]; len(p) > 0; p = p[2:] {
		n.Local = append(n.Local, uint16(p[0])<<8|uint16(p[1]))
	}
	return n, true
}

// serve makes a network and answers for it, until nobody asks any more. The
// thread is the network's from here on, and what it starts begins in there.
func (k keeper) serve(control int, n sandbox.Network) {
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	defer unix.Close(control)
	if err := k.network(control, n); err != nil {
		reportTo(control, err)
		return
	}
	for {
		msg, fds, err := receive(control)
		closeAll(fds)
		switch {
		case err != nil:
			return
		case len(msg) == 4 && msg[0] == MsgFork:
			if err := k.fork(control, int(msg[1])<<8|int(msg[2]), msg[3] != 0); err != nil {
				reportTo(control, err)
			}
		case len(msg) == 3 && msg[0] == MsgConnect:
			connectInside(control, uint16(msg[1])<<8|uint16(msg[2]))
		default:
			reportTo(control, fmt.Errorf("malformed message %q to the keeper", msg))
		}
	}
}

func (k keeper) network(control int, n sandbox.Network) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return noNamespaces("cannot make a network namespace", err)
	}
	set, err := makeNetwork(openNetwork(n, true), n, true)
	if err != nil {
		return err
	}
	defer set.Close()
	return handOver(control, set)
}

// fork starts a stage in the calling thread's network namespace and hands it
// to the supervisor, who describes it. It waits with nothing but the two
// mounts of the temp. Its user namespace is its own: what one command may do
// to its processes it may not do to another's.
func (k keeper) fork(control, folders int, layers bool) error {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(null)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	defer closeAll(pair[:])
	mounts, err := k.temp.mounts()
	if err != nil {
		return fmt.Errorf("the session's temp: %w", err)
	}
	defer closeAll(mounts[:])
	files := []uintptr{0: uintptr(null), 1: uintptr(null), 2: uintptr(null), SpecFD: uintptr(null),
		ControlFD: uintptr(pair[1]), TempFD: uintptr(mounts[0]), VarTempFD: uintptr(mounts[1])}
	pidfd := -1
	sys := Cloned(Apart, LayerCaps(layers)...)
	sys.PidFD = &pidfd
	_, err = syscall.ForkExec("/proc/self/exe", []string{"bawn: sandbox"}, &syscall.ProcAttr{
		Env:   k.mark.Environ(),
		Files: Widen(files, Room(folders), uintptr(null)),
		Sys:   sys,
	})
	if err != nil {
		return noNamespaces("cannot make namespaces", err)
	}
	defer unix.Close(pidfd)
	// Where a command has exhausted what its user may have on the way
	// (ETOOMANYREFS), the stage ends without a supervisor.
	if err := unix.Sendmsg(control, []byte{MsgFork}, unix.UnixRights(pair[0], pidfd), nil, 0); err != nil {
		return fmt.Errorf("hand over a stage: %w", err)
	}
	return nil
}

func noNamespaces(what string, err error) error {
	code := 125
	if NoNamespaces(err) {
		code = CodeUnavailable
	}
	return &failure{code, fmt.Errorf("%s: %w", what, err)}
}

// receive reads one message and takes over the descriptors that came with it.
func receive(control int) (msg []byte, fds []int, err error) {
	buf := make([]byte, 2+2*MaxLocal)
	oob := make([]byte, unix.CmsgSpace(4*(5+MaxStaged))) // MsgSpec has the most
	for {
		n, oobn, flags, _, err := unix.Recvmsg(control, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 {
			err = unix.EPIPE
		}
		if err != nil {
			return nil, nil, err
		}
		if cms, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil {
			for i := range cms {
				if f, err := unix.ParseUnixRights(&cms[i]); err == nil {
					fds = append(fds, f...)
				}
			}
		}
		if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
			closeAll(fds)
			return nil, nil, unix.EMSGSIZE
		}
		return buf[:n], fds, nil
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		closeFD(fd)
	}
}

// specFDs are what comes with a Spec besides the stage's own descriptors.
type specFDs struct {
	layers []int // mounts of the session's
	lock   int   // by which the guard takes turns, or -1
}

// receiveSpec puts the descriptors of the stage itself, which a kept one gets
// with the Spec, in their places.
func receiveSpec(kept bool) (with specFDs, err error) {
	with.lock = -1
	msg, fds, err := receive(ControlFD)
	if err != nil {
		return with, err
	}
	known := len(msg) == 3 && msg[0] == MsgSpec && msg[2] <= 1 && len(fds) >= int(msg[1]+msg[2])
	if known && kept {
		known = msg[1] == 1 || msg[1] == 4
	} else if known {
		known = msg[1] == 0 && len(fds) == int(msg[2])
	}
	if !known {
		closeAll(fds)
		return with, unix.EPROTO
	}
	own, rest := fds[:msg[1]], fds[msg[1]:]
	defer closeAll(own)
	for i, to := range []int{SpecFD, 0, 1, 2}[:len(own)] { // all four are taken
		if err := dup3(own[i], to); err != nil {
			closeAll(rest)
			return with, err
		}
	}
	if msg[2] == 1 {
		rest, with.lock = rest[:len(rest)-1], rest[len(rest)-1]
	}
	with.layers = rest
	return with, nil
}
