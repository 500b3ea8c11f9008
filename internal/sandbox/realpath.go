package sandbox

import (
	"errors"
	"path/filepath"
	"strings"

	"bawn/internal/policy"
)

// maxLinks is how many symbolic links a path may go through, as in the kernel.
const maxLinks = 40

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
		text, ok := linkText(next)
		if !ok { // no link, or nothing there
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
