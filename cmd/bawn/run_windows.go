package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
)

// runOpen runs a command with the user's own permissions and passes its exit
// code on. Ctrl+C reaches the command by the console; bawn waits for its end.
func runOpen(dir string, args, env []string) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signal.Ignore(os.Interrupt)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return notRun(args[0], exitNotFound, "command not found")
	}
	return notRun(args[0], exitNotExecutable, err.Error())
}

func notRun(name string, code int, why string) int {
	warn("%s", fmt.Sprintf("%q: %s", name, why))
	return code
}

// copyOf: programs here have handles, which have no numbers to name.
func copyOf(int) (*os.File, error) { return nil, errors.ErrUnsupported }
