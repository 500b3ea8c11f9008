//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"bawn/internal/policy"
)

// runOpen runs a command with the user's own permissions: bawn becomes it.
func runOpen(p policy.Policy, args, env []string) int {
	if err := os.Chdir(p.Workspace()); err != nil {
		return fail(err)
	}
	path, err := exec.LookPath(args[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		if errors.Is(err, fs.ErrPermission) {
			return notRun(args[0], exitNotExecutable, "permission denied")
		}
		return notRun(args[0], exitNotFound, "command not found")
	}
	err = syscall.Exec(path, args, env)
	if err == syscall.ENOEXEC {
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, args[1:]...), env)
	}
	return notRun(args[0], exitNotExecutable, err.Error())
}

func notRun(name string, code int, why string) int {
	warn("%s", fmt.Sprintf("%q: %s", name, why))
	return code
}
