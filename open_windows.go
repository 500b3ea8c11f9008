package bawn

import (
	"errors"
	"os"
	"os/exec"

	"golang.org/x/sys/windows"
)

func ownSession(*exec.Cmd) {}

func signalSession(p *os.Process, sig os.Signal) error { return p.Signal(sig) }

func exitCode(s *os.ProcessState) int {
	if s == nil {
		return -1
	}
	return s.ExitCode()
}

func brokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
