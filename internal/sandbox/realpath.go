package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bawn/internal/policy"
)

// maxLinks is how many symbolic links a path may go through, as in the kernel.
const maxLinks = 40

// Follow resolves an absolute path as far as it exists, and lists the links on
// the way, each by its real place: whoever can change one of them decides
// where the path leads.
func Follow(path string) (real string, links []string, err error) {
	return resolve(path, func(string) sight { return shown })
}

// sight is what commands see of a place of the host.
type sight uint8

const (
	shown sight = iota
	other       // what they see there is their own
	hidden
)

// ShownPath is the real place of a path for commands under a policy: no link is
// read that they do not see, so that the answer tells nothing of it. It ends at
// the first hidden place; what is theirs alone, their processes or a private
// temp, is taken by its name.
func ShownPath(p policy.Policy, path string) (string, error) {
	if !p.Sandboxed() {
		return RealPath(path)
	}
	abs, err := absolute(path)
	if err != nil {
		return "", err
	}
	real, _, err := resolve(abs, func(place string) sight { return seen(p, place) })
	if err != nil {
		return "", fmt.Errorf("path %q: %w", path, err)
	}
	return real, nil
}

// absolute makes a path absolute. It is not cleaned: .. behind a link leads
// elsewhere.
func absolute(path string) (string, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return "", fmt.Errorf("path %q: empty, or holds a NUL byte", path)
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("path %q: %w", path, err)
	}
	return dir + "/" + path, nil
}

// Theirs reports whether a real place is one where commands see their own, so
// that the host's tells nothing about it.
func Theirs(p policy.Policy, place string) bool { return seen(p, place) == other }

func seen(p policy.Policy, place string) sight {
	if !p.Sandboxed() {
		return shown
	}
	switch r := p.Files().Lookup(place); {
	case r.Access == policy.Hidden:
		return hidden
	case r.Access == policy.Private || ofProcess(place):
		return other
	}
	return shown
}

// ofProcess reports whether a path is about one process: its links tell what that
// has open.
func ofProcess(path string) bool {
	rest, ok := strings.CutPrefix(path, "/proc/")
	name, _, _ := strings.Cut(rest, "/")
	return ok && (name == "self" || name == "thread-self" || strings.Trim(name, "0123456789") == "")
}

func resolve(path string, see func(place string) sight) (real string, links []string, err error) {
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
		switch see(next) {
		case hidden:
			if place := filepath.Join(next, filepath.Join(below(rest)...)); see(place) == hidden {
				return place, links, nil
			}
			real = next // some of it is shown
			continue
		case other:
			real = next
			continue
		}
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

// below are the names up to the first that leads up.
func below(names []string) []string {
	if i := slices.Index(names, ".."); i >= 0 {
		return names[:i]
	}
	return names
}

var errLoop = errors.New("too many symbolic links")
