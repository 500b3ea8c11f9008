package hook

import (
	"slices"
	"strings"
)

const (
	maxPattern      = 4096 // bytes
	maxAlternatives = 64   // that the braces of a pattern stand for
)

// patternStarts are the folders in which what a pattern can match begins: its
// names before the first that has a wildcard, for each alternative of its braces.
// ok is false where there are too many of these.
func patternStarts(pattern string) (starts []string, ok bool) {
	if len(pattern) > maxPattern {
		return nil, false
	}
	alternatives := []string{pattern}
	for i := 0; i < len(alternatives); {
		open, end := innerBraces(alternatives[i])
		if open < 0 {
			i++
			continue
		}
		p := alternatives[i]
		alternatives = append(alternatives[:i], alternatives[i+1:]...)
		for _, word := range strings.Split(p[open+1:end], ",") {
			alternatives = append(alternatives, p[:open]+word+p[end+1:])
		}
		if len(alternatives) > maxAlternatives {
			return nil, false
		}
	}
	for _, p := range alternatives {
		names := strings.Split(p, "/")
		for i, name := range names {
			if strings.ContainsAny(name, `*?[]{}()!+@\`) {
				// All that it matches lies below what stands before it, but for .. behind.
				if slices.Contains(names[i:], "..") {
					return nil, false
				}
				names = names[:i]
				break
			}
		}
		start := strings.Join(names, "/")
		if start == "" && strings.HasPrefix(p, "/") {
			start = "/"
		}
		starts = append(starts, start)
	}
	return starts, true
}

// innerBraces is the first pair of braces without another in it.
func innerBraces(p string) (open, end int) {
	open = -1
	for i := range len(p) {
		switch p[i] {
		case '{':
			open = i
		case '}':
			if open >= 0 {
				return open, i
			}
		}
	}
	return -1, -1
}
