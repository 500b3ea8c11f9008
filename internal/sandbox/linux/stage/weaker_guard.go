//go:build linux

package stage

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/guard/rules"
)

// The name guard of the weaker mode is a process of its own, between the stage
// and the command. It must be in the command's Landlock domain, or it would
// open for it whatever the user may; so the confined thread starts this program
// again. The command runs one domain below (nest): it can neither look into the
// guard nor, where Landlock keeps signals inside, end or stop it. If the guard
// does end, the calls that it answers fail, and the stage ends the run.

// runGuarded is the rest of runWeaker with the name guard.
func (w *weaker) runGuarded(spec sandbox.Spec, lock int, tty *terminal, null, abi int) int {
	link, err := startGuard(spec, lock, tty, abi)
	if err != nil {
		return report(err)
	}
	for _, sig := range tty.close() {
		_ = sendTo(link, MsgSignal, byte(sig))
	}
	if err := releaseStreams(null); err != nil {
		return report(err)
	}
	ignoreStops()
	go w.passSignals(link)
	code, failure := passEvents(link)
	w.finish()
	switch {
	case failure != nil:
		_ = send(failure[0], failure[1:]...)
	case code < 0:
		return report(errors.New("the name guard ended, and with it the run"))
	default:
		_ = send(MsgExited, byte(code))
	}
	return max(code, 0)
}

// passSignals hands the supervisor's signals on. When the supervisor is gone it
// ends all, and runGuarded does the rest.
func (w *weaker) passSignals(link int) {
	buf := make([]byte, 16)
	for {
		n, err := unix.Read(ControlFD, buf)
		switch {
		case err == unix.EINTR:
		case err != nil || n == 0:
			_ = unix.Shutdown(link, unix.SHUT_WR) // the guard ends the command
			w.killAll()
			return
		case n == 2 && buf[0] == MsgSignal:
			_ = sendTo(link, MsgSignal, buf[1])
		}
	}
}

// passEvents hands on what the guard tells, until it is gone. It gives the
// command's exit code, or a negative one, and what the guard failed with.
func passEvents(link int) (code int, failure []byte) {
	code = -1
	buf := make([]byte, 8<<10)
	for {
		n, err := unix.Read(link, buf)
		switch {
		case err == unix.EINTR, err == unix.ECONNRESET: // what it said last can still be read
		case err != nil || n == 0:
			return code, failure
		case buf[0] == MsgExited && n == 2:
			code = int(buf[1])
		case buf[0] == MsgFailed && n >= 2:
			failure = append([]byte(nil), buf[:n]...)
		default:
			_ = send(buf[0], buf[1:n]...)
		}
	}
}

// startGuard starts the guard from a thread in the command's domain, which
// ends, and describes the run to it.
func startGuard(spec sandbox.Spec, lock int, tty *terminal, abi int) (link int, err error) {
	defer func() {
		if lock >= 0 {
			_ = unix.Close(lock) // as long as it is open here, a turn of the guard's outlives it
		}
	}()
	data, err := sandbox.MarshalSpec(spec)
	if err != nil {
		return -1, err
	}
	file, err := SpecFile(data)
	if err != nil {
		return -1, fmt.Errorf("describe the run to the name guard: %w", err)
	}
	defer unix.Close(file)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("name guard: %w", err)
	}
	defer unix.Close(pair[1])
	attr := &syscall.ProcAttr{
		Env:   Mark{Guarding, os.Getuid(), os.Getgid()}.Environ(),
		Files: []uintptr{0, 1, 2, uintptr(pair[1]), uintptr(file)},
	}
	if tty != nil {
		attr.Files = append(attr.Files, uintptr(tty.slave))
	}
	err = onThread(func() error {
		if err := confineWeaker(spec, tty, abi); err != nil {
			return err
		}
		_, err := syscall.ForkExec("/proc/self/exe", []string{"bawn: name guard"}, attr)
		if err != nil {
			return fmt.Errorf("start the name guard: %w; --guard off runs without it", err)
		}
		return nil
	})
	if err == nil {
		err = describe(pair[0], lock)
	}
	if err != nil {
		_ = unix.Close(pair[0])
		return -1, err
	}
	return pair[0], nil
}

// describe says that the Spec file is complete.
func describe(link, lock int) error {
	msg, rights := []byte{MsgSpec, 0, 0}, []byte(nil)
	if lock >= 0 {
		msg[2], rights = 1, unix.UnixRights(lock)
	}
	if err := unix.Sendmsg(link, msg, rights, nil, 0); err != nil && err != unix.EPIPE { // one that is gone has said why
		return fmt.Errorf("describe the run to the name guard: %w", err)
	}
	return nil
}

// runGuard is the guard's process: it starts the command, answers for it, and
// tells the stage what becomes of both.
func runGuard() int {
	// All that the command starts stays below this process: where Yama
	// restricts it, only such processes' memory can be read.
	if err := overCommand(); err != nil {
		return report(err)
	}
	if err := ignoreSignals(); err != nil {
		return report(err)
	}
	if err := sealDescriptors(SlaveFD); err != nil {
		return report(err)
	}
	parent := syscall.Getppid()
	spec, with, err := readSpec(false)
	if err != nil {
		return report(err)
	}
	var tty *terminal
	if spec.TTY {
		tty = &terminal{slave: SlaveFD}
	}
	null, err := spareNull()
	if err != nil {
		return report(err)
	}
	abi, err := LandlockABI()
	if err != nil {
		return report(fmt.Errorf("version of Landlock: %w", err))
	}
	// The stage is of the same user: refused only if signals stay inside, so
	// that kill(-1) means the command and what it started.
	w := weaker{scoped: abi >= LandlockSignal && unix.Kill(parent, 0) == unix.EPERM && syscall.Getppid() == parent}
	pid, names, err := startBelow(spec, with.lock, tty, abi)
	if err != nil {
		return report(err)
	}
	tty.close()
	if err := releaseStreams(null); err != nil {
		return report(err)
	}
	ignoreStops()
	_ = send(MsgStarted)
	go control(pid, func() {
		deliver(pid, unix.SIGKILL)
		if w.scoped {
			w.killAll()
		}
	}, nil)
	return reap(pid, func() {
		if w.scoped {
			w.endAll() // nothing makes names any more when the last are told
		}
		names.end()
	})
}

// startBelow starts the command one domain below this process, from a thread
// that ends.
func startBelow(spec sandbox.Spec, lock int, tty *terminal, abi int) (pid int, names *teller, err error) {
	err = onThread(func() error {
		if err := nest(abi); err != nil {
			return err
		}
		if err := filterWeaker(); err != nil {
			return err
		}
		listener, err := installGuard(true)
		if err != nil {
			return err
		}
		names = newTellerFor(nil)
		serveGuard(names, listener, lock, spec.Guard, mountPoints(spec.Mounts))
		pid, err = spawn(spec, tty)
		return err
	})
	return pid, names, err
}

// mountPoints are the places that the steps would mount at, as they are now.
func mountPoints(mounts []sandbox.Mount) []rules.Mount {
	at := map[string]int{}
	var out []rules.Mount
	for _, m := range mounts {
		p := rules.Mount{Path: m.Target}
		switch m.Op {
		case sandbox.OpBind, sandbox.OpPin:
			p.ReadOnly = !m.Write
		case sandbox.OpMask, sandbox.OpReplace, sandbox.OpLayer:
			p.ReadOnly = true
		case sandbox.OpTmpfs, sandbox.OpSkeleton, sandbox.OpProc, sandbox.OpDev:
		default:
			continue // a part of one of these
		}
		var st unix.Stat_t
		if unix.Lstat(m.Target, &st) == unix.ENOENT {
			continue
		}
		if i, again := at[p.Path]; again {
			out[i] = p
			continue
		}
		at[p.Path] = len(out)
		out = append(out, p)
	}
	return out
}
