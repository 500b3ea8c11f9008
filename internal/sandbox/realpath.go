package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links a path may go through, as in the kernel.
const maxLinks = 40

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
				text = filepath.Join(up, text)
			}
			dir = filepath.Clean(text)
			continue
		}
		if dir == filepath.Dir(dir) {
			return filepath.Join(dir, rest), nil
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = filepath.Dir(dir)
	}
}

var errLoop = errors.New("too many symbolic links")
