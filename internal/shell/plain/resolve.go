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
	// Real returns path with every link resolved, or an error if there is no
	// such file.
	Real func(path string) (string, error)
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
		if real, ok := v.program(path); ok {
			return v.trust(path, real)
		}
	}
	return "", fmt.Errorf("no program %q in the PATH of bawn", name)
}

// At checks the program at an absolute path.
func (v View) At(path string) (string, error) {
	real, ok := v.program(path)
	if !ok {
		return "", fmt.Errorf("no program at %q", path)
	}
	return v.trust(path, real)
}

func (v View) program(path string) (string, bool) {
	if v.Real == nil || v.Executable == nil {
		return "", false
	}
	real, err := v.Real(path)
	if err != nil || !policy.IsClean(real) || !v.Executable(real) {
		return "", false
	}
	return real, true
}

// trust returns real, unless the sandbox can reach the file, the name that led
// to it, or a folder above either.
func (v View) trust(path, real string) (string, error) {
	for _, p := range []string{path, real} {
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
