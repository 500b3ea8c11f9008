package gitdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

var errNotRegular = errors.New("not a regular file")

// place is where a path leads.
type place struct {
	path string      // real, if info is set; else the real path it would have, or "" if that is unknown
	info fs.FileInfo // nil: absent
}

// walk follows path from base, a real folder, as the kernel would: ".." goes
// up from where a link led. Each link on the way is recorded as a name to
// hold, because replacing it redirects git. It opens nothing.
func (f *finder) walk(base, path string) (place, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return place{}, nil
	}
	at := base
	if strings.HasPrefix(path, "/") {
		at = "/"
		if inside(path, f.folder) { // known to be real so far
			at, path = f.folder, path[len(f.folder):]
		}
	}
	var info fs.FileInfo
	for links := 0; path != ""; {
		var elem string
		elem, path, _ = strings.Cut(path, "/")
		switch elem {
		case "", ".":
			continue
		case "..":
			at, info = filepath.Dir(at), nil
			continue
		}
		next := join(at, elem)
		fi, err := os.Lstat(next)
		switch {
		case err == nil:
		case absent(err):
			if dotdot(path) {
				return place{}, nil
			}
			return place{path: filepath.Join(next, path)}, nil
		case isBadName(err): // git cannot follow it either
			return place{}, nil
		default:
			// What cannot be looked at outside the area is out of the
			// command's reach too; inside, it may have taken the permission
			// away for as long as this takes.
			if _, ours := f.root(next); ours {
				return place{}, fmt.Errorf("look at %q: %w", next, err)
			}
			return place{}, nil
		}
		if fi.Mode()&fs.ModeSymlink != 0 {
			f.name(next)
			target, err := os.Readlink(next)
			if links++; links > 40 || err != nil {
				return place{}, nil
			}
			if strings.HasPrefix(target, "/") {
				at = "/"
			}
			path, info = target+"/"+path, nil
			continue
		}
		if !fi.IsDir() && path != "" {
			return place{}, nil
		}
		at, info = next, fi
	}
	if info == nil {
		fi, err := os.Lstat(at)
		if err != nil {
			return place{path: at}, nil
		}
		info = fi
	}
	return place{at, info}, nil
}

func (p place) isDir() bool  { return p.info != nil && p.info.IsDir() }
func (p place) isFile() bool { return p.info != nil && p.info.Mode().IsRegular() }

func join(dir, elem string) string {
	if dir == "/" {
		return "/" + elem
	}
	return dir + "/" + elem
}

func dotdot(path string) bool {
	return path == ".." || strings.HasPrefix(path, "../") || strings.HasSuffix(path, "/..") || strings.Contains(path, "/../")
}

// looksLikeGitDir is git's own test without the syntax of HEAD. A config file
// does for a missing HEAD: the command can write HEAD back later.
func looksLikeGitDir(dir string) bool {
	return (exists(dir+"/HEAD") || isRegular(dir+"/config")) && statDir(dir+"/objects") && statDir(dir+"/refs")
}

// isGitDir says whether git could take dir for a git directory. With a
// commondir, HEAD alone makes one.
func isGitDir(dir string) bool {
	return looksLikeGitDir(dir) || exists(dir+"/HEAD") && exists(dir+"/commondir")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func isRegular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

func statDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readDir lists a directory of at most max entries.
func readDir(dir string, max int) ([]fs.DirEntry, error) {
	d, err := os.Open(dir)
	if err != nil {
		if absent(err) {
			return nil, nil
		}
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(max + 1)
	if len(entries) > max {
		return nil, fmt.Errorf("%q has more than %d entries: %w", dir, max, ErrLimit)
	}
	if err == io.EOF {
		err = nil
	}
	return entries, err
}
