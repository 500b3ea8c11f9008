package bawn

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
)

// unconfined is a command of the open tier.
type unconfined struct {
	cmd *exec.Cmd
	ctx context.Context
}

func startOpen(j job) (running, error) {
	name := j.command.Args[0]
	cmd := exec.CommandContext(j.ctx, name, j.command.Args[1:]...)
	cmd.Env, cmd.Dir = j.command.Environ, j.command.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = j.stdio.In, j.stdio.Out, j.stdio.Err
	ownSession(cmd)
	err := cmd.Start()
	j.release()
	switch {
	case err == nil:
		return unconfined{cmd, j.ctx}, nil
	case j.ctx.Err() != nil:
		return nil, public(j.ctx.Err())
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return nil, &ExecError{Code: codeNotFound, Reason: strconv.Quote(name) + ": command not found"}
	}
	return nil, &ExecError{Code: codeNotExecutable, Reason: strconv.Quote(name) + ": " + err.Error()}
}

func (u unconfined) wait() (int, error) {
	err := u.cmd.Wait()
	code := exitCode(u.cmd.ProcessState)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return code, nil
	case u.ctx.Err() != nil && code != 0:
		return code, u.ctx.Err()
	case errors.As(err, &exit):
		return code, nil
	}
	return code, err
}

func (u unconfined) signal(sig os.Signal) error { return signalSession(u.cmd.Process, sig) }
