//go:build unix

package session

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session/hint"
)

// Hinted are the denials that only the error text of a command tells of, each
// checked against the policy that it ran under; see package hint. text is the
// end of what it wrote. known are those that bawn saw itself, which are not
// told again. asks: a person may have allowed hosts meanwhile.
func Hinted(text []byte, p policy.Policy, asks bool, known []Denial) []Denial {
	var out []Denial
	c := hint.Context{
		Policy: p, Asks: asks, Real: func(path string) (string, error) { return theirPlace(p, path) },
		Outside: possibleOutside, Listens: listensOnLoopback,
	}
	for _, h := range hint.Find(text, c) {
		if slices.ContainsFunc(known, func(d Denial) bool {
			return d.Path == h.Path && d.Host == h.Host && (h.Port == 0 || d.Port == h.Port)
		}) {
			continue
		}
		out = append(out, Denial{Path: h.Path, Read: h.Path != "" && !h.Write, Host: h.Host, Port: h.Port, Rule: h.Rule, Count: 1, FromText: true})
	}
	return out
}

// theirPlace is where a path leads for commands; an error where the host's has
// nothing to do with it.
func theirPlace(p policy.Policy, path string) (string, error) {
	real, err := sandbox.ShownPath(p, path)
	if err == nil && sandbox.Theirs(p, real) {
		err = errTheirs
	}
	return real, err
}

var errTheirs = errors.New("commands have their own there")

func possibleOutside(path string, write bool) bool {
	if write {
		return writableOutside(path)
	}
	return unix.Access(path, unix.R_OK) == nil
}
