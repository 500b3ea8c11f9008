//go:build linux

package rules

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/gitdir"
)

const (
	maxValues  = 256 // of one config that lead to places to be looked at
	maxSettled = 512 // paths that are followed for them
)

// once asks about each value once, and about maxValues at most; what is beyond
// may not be. All guards of the user wait meanwhile.
func once(ask func(string) bool) func(string) bool {
	known := map[string]bool{}
	return func(value string) bool {
		ok, asked := known[value]
		if !asked && len(known) < maxValues {
			ok = ask(value)
			known[value] = ok
		}
		return ok
	}
}

// remotes are those of one config, of the git directory dir.
type remotes struct {
	r     *rules
	dir   string
	looks int // paths followed

	trees  []string // see linked
	treeOK bool
	looked bool
}

// linked is linkedTo, once.
func (m *remotes) linked() ([]string, bool) {
	if !m.looked {
		m.trees, m.treeOK = linkedTo(m.dir)
		m.looked = true
	}
	return m.trees, m.treeOK
}

// local: a push to a repository on this machine runs the hooks in it, so
// it must not be one that the command fills unguarded, nor the host's logs.
func (m *remotes) local(path string) bool {
	r, dir := m.r, m.dir
	if !filepath.IsAbs(path) {
		given := path
		up := path == ".." || strings.HasPrefix(path, "../") || strings.Contains(path, "/../") || strings.HasSuffix(path, "/..")
		switch {
		case base(dir) == ".git":
			trees, ok := m.linked() // git starts from the working folder
			if !ok {
				return false
			}
			for _, tree := range trees {
				if real, ok := m.settled(tree + "/" + given); !ok || r.exempt(real) || r.inData(real) {
					return false
				}
			}
			dir = filepath.Dir(dir)
		case up, strings.Contains(path, "/") && (strings.Contains(dir, "/modules/") || strings.Contains(dir, "/worktrees/")):
			return false // it is elsewhere
		}
		path = dir + "/" + path
	}
	real, ok := m.settled(path)
	path = filepath.Clean(path)
	return ok && !r.exempt(path) && !r.exempt(real) && !r.inData(path) && !r.inData(real)
}

// linkedTo are the working folders of the worktrees linked to a git directory;
// false if one could not be looked at.
func linkedTo(dir string) (trees []string, ok bool) {
	d, err := openFolder(dir + "/worktrees")
	if err != nil {
		return nil, errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
	}
	defer d.Close()
	names, err := d.Readdirnames(maxLayout)
	if err != nil && err != io.EOF || len(names) == maxLayout {
		return nil, false
	}
	for _, n := range names {
		switch back, err := gitdir.ReadFile(dir+"/worktrees/"+n+"/gitdir", maxLayout); {
		case err == nil:
			back := strings.TrimRight(string(back), " \t\r\n")
			if !filepath.IsAbs(back) {
				back = dir + "/worktrees/" + n + "/" + back
			}
			trees = append(trees, filepath.Dir(back))
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR):
			return nil, false
		}
	}
	return trees, true
}

// settled is where path leads as far as it exists; false if that is a link to
// what does not, or cannot be looked at: the command can close a folder.
func (m *remotes) settled(path string) (string, bool) {
	for rest := ""; ; {
		if m.looks++; m.looks > maxSettled {
			return "", false
		}
		real, err := realPath(path)
		if err == nil {
			return filepath.Join(real, rest), true
		}
		if _, e := os.Readlink(path); e == nil || !errors.Is(err, fs.ErrNotExist) {
			return "", false
		}
		path = strings.TrimRight(path, "/")
		cut := strings.LastIndexByte(path, '/')
		if cut < 0 || path[cut+1:] == ".." {
			return "", false
		}
		path, rest = path[:cut+1], path[cut+1:]+"/"+rest
	}
}

// realPath is where the kernel is led by path: it follows few links, and is
// quick about it.
func realPath(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err == nil && !filepath.IsAbs(real) {
		err = unix.EINVAL
	}
	return real, err
}
