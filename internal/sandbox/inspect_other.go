//go:build !unix

package sandbox

import (
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

// Homes is empty: nothing runs in a sandbox here.
func Homes(func(string) string) []string { return nil }

// diskPath is the path itself: no backend compares it with others.
func diskPath(path string) (string, error) { return path, nil }
