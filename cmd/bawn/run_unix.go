//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// runOpen runs a command with the user's own permissions: bawn becomes it.
func runOpen(dir string, args, env []string) int {
	if err := os.Chdir(dir); err != nil {
		return fail(err)
	}
	path, err := lookPath(args[0], os.Getenv("PATH"))
	if err != nil {
		return notRun(args[0], err)
	}
	err = syscall.Exec(path, args, env)
	if err == syscall.ENOEXEC && textFile(path) {
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, args[1:]...), env)
	}
	return notRun(args[0], err)
}

// lookPath finds a program as execvp does, also in the current folder if the
// path names it: outside the sandbox nothing is different from outside.
func lookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	err := error(syscall.ENOENT)
	for _, dir := range strings.Split(path, ":") {
		if dir == "" {
			dir = "."
		}
		file := dir + "/" + name
		st, e := os.Stat(file)
		switch {
		case e == nil && !st.Mode().IsRegular(), errors.Is(e, fs.ErrPermission):
			err = syscall.EACCES
		case e != nil:
		case unix.Access(file, unix.X_OK) == nil:
			return file, nil
		default:
			err = syscall.EACCES
		}
	}
	return "", err
}

// textFile reports whether a shell could run the file: what has a NUL in its
// first line is a program of another machine.
func textFile(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return true // the shell says why not
	}
	defer f.Close()
	var buf [256]byte
	n, _ := f.Read(buf[:])
	line, _, _ := bytes.Cut(buf[:n], []byte("\n"))
	return bytes.IndexByte(line, 0) < 0
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
