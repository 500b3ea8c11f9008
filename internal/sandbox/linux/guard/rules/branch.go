//go:build linux

package rules

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/gitdir"
	"bawn/internal/sandbox/linux/guard"
)

// begun says whether elems[i] is data with a HEAD (refs/remotes/origin). Sockets
// called objects and refs would make it a git directory, and nobody is asked
// about these (bind).
func (s *spot) begun(i int) bool { return s.has(i, "HEAD") && s.data(i) }

// branch decides about a name in such a place that git would read as a control
// file: it may be a branch's. git gives that its content by a lock and a rename,
// and writes its log in place, which is then kept empty.
func (r *rules) branch(c *guard.Call, s *spot, id, text string) guard.Verdict {
	if r.lifted[id] || c.Op == guard.Mkdir || c.Op == guard.Rename && c.Flags&unix.RENAME_EXCHANGE == 0 {
		return allow
	}
	v := deny(id, text)
	switch c.Op {
	case guard.RenameTo:
		if c.Other != nil && mode(c.Other) == unix.S_IFREG && c.Flags&unix.RENAME_EXCHANGE == 0 {
			v.Decision, v.MaxSize, v.Vet = guard.Vet, 256, gitdir.VetRef
		}
	case guard.Create, guard.Open:
		if slices.Contains(s.elems, "logs") {
			v.Decision = guard.Fixed
		}
	}
	return v
}

// hookLike says whether a file in a folder of hooks may be one (githooks(5)):
// of what is not, any other name may be a branch's.
func hookLike(name string) bool {
	name = canon(name)
	if strings.HasSuffix(name, ".lock") {
		return false
	}
	for _, p := range [...]string{"pre", "post-", "p4-", "fsmonitor-"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	switch name {
	case "applypatch-msg", "commit-msg", "update", "proc-receive", "push-to-checkout", "reference-transaction", "sendemail-validate":
		return true
	}
	return false
}
