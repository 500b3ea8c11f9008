//go:build !unix

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// RealPath makes path absolute and resolves its symbolic links, as far as it
// exists: a link to nothing leads where a file made through it would lie, so
// that a decision is about that place.
func RealPath(path string) (string, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return "", fmt.Errorf("path %q: empty, or holds a NUL byte", path)
	}
	abs, err := filepath.Abs(path)
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
			if dir, err = filepath.Abs(text); err != nil {
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

// RealLinks is RealPath; links on the way are not known here.
func RealLinks(path string) (real string, links []string, err error) {
	real, err = RealPath(path)
	return real, nil, err
}

func linkText(path string) (string, bool) {
	text, err := os.Readlink(path)
	return text, err == nil
}
