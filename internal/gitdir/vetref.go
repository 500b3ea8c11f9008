package gitdir

import (
	"errors"
	"strings"
)

// VetRef says whether a command may write text where a branch is, but git would
// read it as a control file: only a commit's number runs nothing as any.
func VetRef(text []byte) error {
	hash := strings.TrimSuffix(string(text), "\n")
	if (len(hash) == 40 || len(hash) == 64) && strings.Trim(hash, "0123456789abcdef") == "" {
		return nil
	}
	return errors.New("it is no branch")
}

// VetBranch is VetRef for a name that git would read as a config, under which
// the log of a branch may be as well: each line begins with two commits' numbers,
// which no config does.
func VetBranch(text []byte) error {
	if VetRef(text) == nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		from, rest, _ := strings.Cut(line, " ")
		to, _, ok := strings.Cut(rest, " ")
		if !ok || VetRef([]byte(from)) != nil || VetRef([]byte(to)) != nil || strings.Contains(from+to, "\n") {
			return errors.New("it is no branch and no log of one")
		}
	}
	return nil
}

// climbs says whether a text holds a way upwards as a path. Lines of git's logs
// begin with two commits' numbers and a person's name, and end with what was
// fetched: a log that lies where git expects commondir is a path to it.
func climbs(s string) bool { return strings.Contains(s, "/../") }
