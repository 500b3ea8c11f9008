package plain

import (
	"fmt"
	"strings"

	"bawn/internal/policy"
)

// View is what is known of the host. A nil function knows nothing, and so
// allows nothing.
type View struct {
	// Path is the supervisor's own PATH, not one from inside.
	Path string
	// Real returns path with every link resolved, and the links on the way, each
	// by its real place.
	Real func(path string) (real string, links []string, err error)
	// Executable reports whether a real path is a regular file that the caller
	// may execute.
	Executable func(real string) bool
	// Writable reports whether a sandboxed command may change a real path.
	Writable func(real string) bool
}

// Look finds the program that a bare name means on the host. A program that a
// sandboxed command could have put there, or could replace, is an error: that
// it comes first in PATH is then no reason to trust it, nor is the next one
// what the caller meant.
func (v View) Look(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "/\x00") {
		return "", fmt.Errorf("%q is not the bare name of a program", name)
	}
	for dir := range strings.SplitSeq(v.Path, ":") {
		if !strings.HasPrefix(dir, "/") {
			continue // empty or relative: depends on the working folder, which the sandbox may write
		}
		path := strings.TrimRight(dir, "/") + "/" + name
		if real, links, ok := v.program(path); ok {
			return v.trust(path, real, links)
		}
	}
	return "", fmt.Errorf("no program %q in the PATH of bawn", name)
}

// At checks the program at an absolute path.
func (v View) At(path string) (string, error) {
	real, links, ok := v.program(path)
	if !ok {
		return "", fmt.Errorf("no program at %q", path)
	}
	return v.trust(path, real, links)
}

func (v View) program(path string) (real string, links []string, ok bool) {
	if v.Real == nil || v.Executable == nil {
		return "", nil, false
	}
	real, links, err := v.Real(path)
	if err != nil || !policy.IsClean(real) || !v.Executable(real) {
		return "", nil, false
	}
	return real, links, true
}

// trust returns real, unless the sandbox can reach the file, the name or a
// link that led to it, or a folder above any of them: one link in between is
// enough to make the name any program of the host, a shell among them.
func (v View) trust(path, real string, links []string) (string, error) {
	for _, p := range append([]string{path, real}, links...) {
		for ; ; p = policy.Parent(p) {
			if v.Writable == nil || v.Writable(p) {
				return "", fmt.Errorf("%q can be changed by sandboxed commands (%s is writable for them)", path, p)
			}
			if p == "/" || !strings.HasPrefix(p, "/") {
				break
			}
		}
	}
	return real, nil
}
