//go:build unix

package sandbox

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// LookPath finds a program on a path as execvp does, in a folder whose name is
// relative from dir ("" is the current one): outside the sandbox nothing is
// different from outside. The error is ENOENT, or EACCES if there is something
// by that name that may not be executed.
func LookPath(name, path, dir string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	err := error(syscall.ENOENT)
	for _, d := range strings.Split(path, ":") {
		switch {
		case d == "" && dir == "":
			d = "."
		case dir != "" && !strings.HasPrefix(d, "/"):
			d = dir + "/" + d
		}
		file := d + "/" + name
		st, e := os.Stat(file)
		switch {
		case e == nil && st.Mode().IsRegular() && unix.Access(file, unix.X_OK) == nil:
			return file, nil
		case e == nil, errors.Is(e, fs.ErrPermission):
			err = syscall.EACCES
		}
	}
	return "", err
}

// TextFile reports whether a shell could run the file: what has a NUL in its
// first line is a program of another machine.
func TextFile(path string) bool {
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
