//go:build unix

package bawn

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownSession makes the command the leader of a session, as it is in a
// sandbox: the caller's terminal does not stop it, and its group can be ended
// as a whole.
func ownSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

func signalSession(p *os.Process, sig os.Signal) error {
	n, ok := sig.(syscall.Signal)
	if !ok || n <= 0 {
		return errors.New("bawn: unsupported signal")
	}
	// Asked first, since the number of a process that was waited for may
	// belong to another by now.
	if err := p.Signal(syscall.Signal(0)); err != nil {
		return err
	}
	return syscall.Kill(-p.Pid, n)
}

func exitCode(s *os.ProcessState) int {
	if s == nil {
		return -1
	}
	if st, ok := s.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		return 128 + int(st.Signal())
	}
	return s.ExitCode()
}

func brokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
