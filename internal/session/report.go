//go:build unix

package session

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// maxLines is how many names or hosts the end of a command tells of.
const maxLines = 8

// WatchedLine says in one line which names a command wrote that run code outside
// later (SPEC F3); "" if it wrote none. Those in dir are without it.
func WatchedLine(written []sandbox.NameEvent, dir string) string {
	var names []string
	for _, e := range written {
		name := e.Path
		if dir != "" && policy.Inside(name, dir) {
			name, _ = filepath.Rel(dir, name)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	list, more := names, ""
	if n := len(names) - maxLines; n > 0 {
		list, more = names[:maxLines], fmt.Sprintf(" and %d more", n)
	}
	least := ""
	if len(written) >= sandbox.MaxWatched {
		least = "at least "
	}
	what := "names that run"
	if len(names) == 1 {
		what = "name that runs"
	}
	return fmt.Sprintf("wrote %s%d %s code outside later: %s%s", least, len(names), what, strings.Join(list, ", "), more)
}

// UnreachedLines say which allowed hosts could not be connected to: a client may
// hide the answer that says so.
func UnreachedLines(list []Unreached) (lines []string) {
	for i, u := range list {
		if i == maxLines {
			return append(lines, fmt.Sprintf("and %d more hosts that could not be reached", len(list)-i))
		}
		times := ""
		if u.Count > 1 {
			times = fmt.Sprintf(" (%d times)", u.Count)
		}
		lines = append(lines, fmt.Sprintf("could not reach %s%s: %s; it is allowed", u.name(), times, u.Cause))
	}
	return lines
}

// report tells at the end of a command what bawn run tells. What was typed here
// is told once in a session; a client's is its own.
func (t *task) report(code int) {
	t.mu.Lock()
	written := slices.Clone(t.names.watched)
	t.mu.Unlock()
	if t.client == nil {
		written = slices.DeleteFunc(written, func(e sandbox.NameEvent) bool { return !t.s.first("written " + e.Path) })
	}
	if line := WatchedLine(written, t.info.Dir); line != "" && (code != 0 || t.client == nil || t.client.person) {
		t.notice(line)
	}
	if code != 0 {
		t.reportUnreached()
	}
}

func (t *task) reportUnreached() {
	list := t.missed.list()
	if t.client == nil {
		list = slices.DeleteFunc(list, func(u Unreached) bool { return !t.s.first("unreached " + u.name()) })
	}
	for _, line := range UnreachedLines(list) {
		t.notice(line)
	}
}

// maxTold bounds what a session remembers to have told.
const maxTold = 4096

// first reports whether something is told for the first time in this session.
func (s *Session) first(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told[what] || len(s.told) >= maxTold {
		return false
	}
	if s.told == nil {
		s.told = map[string]bool{}
	}
	s.told[what] = true
	return true
}
