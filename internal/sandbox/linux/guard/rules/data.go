//go:build linux

package rules

import "strings"

// inData says whether path is among the references or logs of a git directory.
// The host's git writes any name there, and into a log what a command set as the
// person's name: a shell would run that, and it may be a path. So nothing may
// lead git there as to a git directory.
func (r *rules) inData(path string) bool {
	s := lookAt(-1, path)
	return s.dataIf(s.last(), func(j int) bool { return hasFile("/" + strings.Join(s.elems[:j+1], "/") + "/HEAD") })
}

// pointed says whether a pointer of git's may lead to path.
func (r *rules) pointed(path string) bool { return r.guarded(path) && !r.inData(path) }
