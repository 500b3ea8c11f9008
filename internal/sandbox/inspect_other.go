//go:build !unix

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"bawn/internal/policy"
)

// Inspect resolves the workspace of the open tier. Every other tier is
// refused: there is no backend here.
func Inspect(r Request) (policy.Config, Host, error) {
	c := policy.Config{Tier: r.Tier, Mode: r.Mode, Temp: r.Temp, Env: r.Env}
	if c.Mode != policy.NoMode {
		c.Tier = c.Mode.Tier()
	}
	var err error
	if c.Workspace, err = realFolder("workspace", r.Workspace); err != nil {
		return c, Host{}, err
	}
	dirs := r.AddDirs
	for _, f := range r.Folders {
		if f.Must {
			dirs = append(dirs[:len(dirs):len(dirs)], f.Path)
		}
	}
	for _, d := range dirs {
		real, err := realFolder("added folder", d)
		if err != nil {
			return c, Host{}, err
		}
		c.AddDirs = append(c.AddDirs, real)
	}
	if c.Tier != policy.Open {
		return c, Host{}, NoBackend(runtime.GOOS)
	}
	return c, Host{}, nil
}

// realFolder resolves a folder that the caller named. Every error names it.
func realFolder(kind, dir string) (string, error) {
	refuse := func(why string) error {
		return &policy.RefusedError{What: fmt.Sprintf("%s %q", kind, dir), Why: why}
	}
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
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
	if st, err := os.Stat(real); err != nil {
		return "", refuse(err.Error())
	} else if !st.IsDir() {
		return "", refuse("not a folder")
	}
	return real, nil
}

// Homes is empty: nothing runs in a sandbox here.
func Homes(func(string) string) []string { return nil }
