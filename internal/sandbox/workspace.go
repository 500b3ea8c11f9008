package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"bawn/internal/policy"
)

// Workspace returns the real path of a workspace: "" is the current folder.
func Workspace(dir string) (string, error) { return realFolder("workspace", dir) }

// realFolder resolves a folder that the caller named. Every error names it.
func realFolder(kind, dir string) (string, error) {
	refuse := func(why string) error {
		return &policy.RefusedError{What: fmt.Sprintf("%s %q", kind, dir), Why: why}
	}
	if strings.IndexByte(dir, 0) >= 0 {
		return "", refuse("the name holds a NUL byte")
	}
	if dir == "" {
		var err error
		if dir, err = syscall.Getwd(); err != nil {
			return "", refuse("the current folder cannot be read: " + err.Error())
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", refuse(err.Error())
	}
	real, err := filepath.EvalSymlinks(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", refuse("no such folder")
	case err != nil:
		return "", refuse(err.Error())
	}
	st, err := os.Stat(real)
	switch {
	case err != nil:
		return "", refuse(err.Error())
	case !st.IsDir():
		return "", refuse("not a folder")
	}
	if real, err = diskPath(real); err != nil {
		return "", refuse(err.Error())
	}
	return real, nil
}
