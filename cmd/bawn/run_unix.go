//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// runOpen runs a command with the user's own permissions: bawn becomes it.
func runOpen(dir string, args, env []string) int {
	if err := os.Chdir(dir); err != nil {
		return fail(err)
	}
	path, err := sandbox.LookPath(args[0], os.Getenv("PATH"), "")
	if err != nil {
		return notRun(args[0], err)
	}
	err = syscall.Exec(path, args, env)
	if err == syscall.ENOEXEC && sandbox.TextFile(path) {
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, args[1:]...), env)
	}
	return notRun(args[0], err)
}

// copyOf is another descriptor for what n is, if that can be written to.
func copyOf(n int) (*os.File, error) {
	flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY {
		err = unix.EBADF
	}
	if err != nil {
		return nil, err
	}
	fd, err := unix.FcntlInt(uintptr(n), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "report"), nil
}

// notRun says why a command could not be executed, with a shell's exit code.
func notRun(name string, err error) int {
	code, why := exitNotExecutable, err.Error()
	if errors.Is(err, fs.ErrNotExist) {
		code, why = exitNotFound, "command not found"
		if _, err := os.Stat(name); err == nil && strings.Contains(name, "/") {
			why = "the interpreter that it names is not there"
		}
	}
	warn("%s", fmt.Sprintf("%q: %s", name, why))
	return code
}
