//go:build linux

package rules

import "strings"

// inData says whether path is among the references or logs of a git directory.
// The host's git writes any name there, and into a log what a command set as the
// person's name: a shell would run that, and it may be a path. So nothing may
// lead git there as to a git directory.
func (r *rules) inData(path string) bool {
	s := lookAt(-1, path)
	for j := 1; j <= s.last(); j++ {
		if !s.is(j, "refs") && !s.is(j, "logs") {
			continue
		}
		up := "/" + strings.Join(s.elems[:j], "/")
		if j-1 == s.dot || hasFile(up+"/HEAD") || s.hasLinked(j-1) {
			return true
		}
	}
	return false
}

// pointed says whether a pointer of git's may lead to path.
func (r *rules) pointed(path string) bool { return r.guarded(path) && !r.inData(path) }
