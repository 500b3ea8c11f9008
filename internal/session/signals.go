//go:build unix

package session

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwarded are the signals meant for the command: all that a program can
// handle and that no part of this one sends to itself.
var forwarded = [...]unix.Signal{
	unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGTSTP, unix.SIGCONT, unix.SIGWINCH,
	unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
}

// watchSignals catches what is meant for the command. A signal ignored from
// the start (nohup) stays ignored, here and in the command.
func watchSignals(c chan os.Signal) {
	for _, s := range forwarded {
		if !signal.Ignored(s) && !ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// forward passes on a signal that was sent to this process.
func (r *runner) forward(s os.Signal) {
	sig, ok := s.(syscall.Signal)
	if !ok {
		return
	}
	switch {
	case sig == unix.SIGWINCH && r.tty != nil:
		r.tty.resize() // which makes the kernel signal the command
		return
	case sig == unix.SIGCONT:
		r.tty.raw()
	case sig == unix.SIGTSTP:
		r.sentStop = true
	}
	// The command may be gone already; its end is on the way.
	_ = r.p.Signal(int(sig))
}

// stopped stops this process as the command was stopped, so that the shell
// it was started from sees it; SIGCONT goes the other way. The sandbox
// reports a stop with its signal, and with 0 when asked whether the command
// is still stopped: a SIGCONT may have been on its way.
func (r *runner) stopped(sig int) {
	if !r.o.Foreground {
		return
	}
	if sig != 0 {
		r.stopSignal = unix.Signal(sig)
		_ = r.p.Signal(0)
		return
	}
	sent := r.sentStop
	r.sentStop = false
	for again := true; again; {
		select {
		case s := <-r.signals:
			r.forward(s)
			if s == unix.SIGCONT {
				return
			}
		default:
			again = false
		}
	}
	if r.stopSignal != unix.SIGSTOP && orphaned() {
		// No shell would ever continue it: the kernel lets nobody stop here.
		_ = r.p.Signal(int(unix.SIGCONT))
		return
	}
	if r.tty.restore() && !sent && r.stopSignal == unix.SIGTSTP && !ignored(unix.SIGTSTP) {
		// ^Z was typed at the sandbox's terminal. At the caller's it would
		// have stopped all of this process's group: the script around it too.
		signal.Ignore(unix.SIGTSTP)
		_ = unix.Kill(0, unix.SIGTSTP)
		defer signal.Notify(r.signals, unix.SIGTSTP)
	}
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
}

// orphaned reports whether nobody could continue this process's group: no
// member's parent is in another group of the same session.
func orphaned() bool {
	group := unix.Getpgrp()
	session, err := unix.Getsid(0)
	if err != nil {
		return false
	}
	for pid := os.Getppid(); pid > 1; pid = parentOf(pid) {
		if s, err := unix.Getsid(pid); err != nil || s != session {
			return true
		}
		if g, err := unix.Getpgid(pid); err != nil || g != group {
			return err != nil
		}
	}
	return true
}
