package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bawn/internal/policy"
)

// maxLinks is how many symbolic links a path may go through, as in the kernel.
const maxLinks = 40

// RealPath makes path absolute and resolves its symbolic links, as far as it
// exists: a link to nothing leads where a file made through it would lie, so
// that a decision is about that place. As for the kernel, .. leads up from
// where a link before it leads.
func RealPath(path string) (string, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return "", fmt.Errorf("path %q: empty, or holds a NUL byte", path)
	}
	abs, err := absolute(path)
	if err != nil {
		return "", fmt.Errorf("path %q: %w", path, err)
	}
	rest := ""
	for dir, links := abs, 0; ; {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if text, err := os.Readlink(dir); err == nil {
			if links++; links > maxLinks {
				return "", fmt.Errorf("path %q: %w", path, errLoop)
			}
			if !filepath.IsAbs(text) {
				// Relative to the real place of the link, or .. would be
				// taken from the wrong folder.
				up, err := filepath.EvalSymlinks(filepath.Dir(dir))
				if err != nil {
					return "", fmt.Errorf("path %q: %w", path, err)
				}
				text = up + string(filepath.Separator) + text
			}
			if dir, err = absolute(text); err != nil {
				return "", fmt.Errorf("path %q: %w", path, err)
			}
			continue
		}
		if dir == filepath.Dir(dir) {
			return filepath.Join(dir, rest), nil
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = filepath.Dir(dir)
	}
}

// absolute makes a path absolute and clean, without a .. that its text alone
// would take away.
func absolute(path string) (string, error) {
	if filepath.Separator != '/' || !strings.Contains("/"+path+"/", "/../") {
		return filepath.Abs(path)
	}
	if !filepath.IsAbs(path) {
		dir, err := os.Getwd()
		if err != nil {
			return "", err
		}
		path = dir + "/" + path
	}
	real, _, err := Follow(path)
	return real, err
}

// Follow resolves an absolute path as far as it exists, and lists the links on
// the way, each by its real place: whoever can change one of them decides
// where the path leads.
func Follow(path string) (real string, links []string, err error) {
	real = "/"
	for rest := strings.Split(path, "/"); len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = policy.Parent(real)
			continue
		}
		next := filepath.Join(real, name)
		text, err := os.Readlink(next)
		if err != nil { // no link, or nothing there
			real = next
			continue
		}
		if links = append(links, next); len(links) > maxLinks {
			return "", nil, errLoop
		}
		if filepath.IsAbs(text) {
			real = "/"
		}
		rest = append(strings.Split(text, "/"), rest...)
	}
	return real, links, nil
}

var errLoop = errors.New("too many symbolic links")
