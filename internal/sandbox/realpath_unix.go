//go:build unix

package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// RealPath makes path absolute and resolves its symbolic links, as far as it
// exists: a link to nothing leads where a file made through it would lie, so
// that a decision is about that place. As for the kernel, .. leads up from
// where a link before it leads.
func RealPath(path string) (string, error) {
	real, _, err := RealLinks(path)
	return real, err
}

// RealLinks is RealPath with the links on the way; see Follow.
func RealLinks(path string) (real string, links []string, err error) {
	abs, err := absolute(path)
	if err != nil {
		return "", nil, err
	}
	if real, links, err = Follow(abs); err != nil {
		return "", nil, fmt.Errorf("path %q: %w", path, err)
	}
	return real, links, nil
}

// linkText is what a symbolic link holds; ok is false where path is none, or
// cannot be looked at.
func linkText(path string) (text string, ok bool) {
	var buf [256]byte
	for {
		n, err := unix.Readlink(path, buf[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || n <= 0:
			return "", false
		case n == len(buf): // there may be more
			text, err := os.Readlink(path)
			return text, err == nil
		}
		return string(buf[:n]), true
	}
}
