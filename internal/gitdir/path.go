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

// stat is what counts of a file here. The zero value is absent.
type stat struct {
	typ fileType
	uid int64
}

type fileType uint8

const (
	typeNone fileType = iota
	typeOther
	typeDir
	typeFile
	typeLink
)

// place is where a path leads.
type place struct {
	path string // real, if the file exists; else the real path it would have, or "" if that is unknown
	stat
}

func (s stat) exists() bool { return s.typ != typeNone }
func (s stat) isDir() bool  { return s.typ == typeDir }
func (s stat) isFile() bool { return s.typ == typeFile }

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
	var info stat
	for links := 0; path != ""; {
		var elem string
		elem, path, _ = strings.Cut(path, "/")
		switch elem {
		case "", ".":
			continue
		case "..":
			at, info = filepath.Dir(at), stat{}
			continue
		}
		next := join(at, elem)
		fi, err := lstat(next)
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
		if fi.typ == typeLink {
			f.name(next)
			target, err := os.Readlink(next)
			if links++; links > 40 || err != nil {
				return place{}, nil
			}
			if strings.HasPrefix(target, "/") {
				at = "/"
			}
			path, info = target+"/"+path, stat{}
			continue
		}
		if !fi.isDir() && path != "" {
			return place{}, nil
		}
		at, info = next, fi
	}
	if !info.exists() {
		info, _ = lstat(at)
	}
	return place{at, info}, nil
}

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
	_, err := lstat(path)
	return err == nil
}

func isRegular(path string) bool {
	s, _ := lstat(path)
	return s.isFile()
}

func isDir(path string) bool {
	s, _ := lstat(path)
	return s.isDir()
}

func statDir(path string) bool {
	s, _ := lstat(path)
	if s.typ != typeLink {
		return s.isDir()
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readDir lists a directory of at most max entries.
func readDir(dir string, max int) ([]fs.DirEntry, error) {
	d, err := openDir(dir)
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
