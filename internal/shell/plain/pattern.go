package plain

import (
	"errors"
	"fmt"
	"strings"

	"bawn/internal/policy"
)

// Pattern names commands by their first words: "make deploy" is exactly that,
// "docker *" is docker with any arguments or none. The zero Pattern matches
// nothing.
type Pattern struct {
	words  []string
	any    bool
	origin policy.Origin
}

// ParsePattern reads a pattern: plain words, quoted where they need it, and *
// as the last one for any arguments. A pattern of * alone is an error, as is
// one anywhere else.
func ParsePattern(text string, o policy.Origin) (Pattern, error) {
	p := Pattern{origin: o}
	head := strings.TrimRight(text, " ")
	if rest, ok := strings.CutSuffix(head, " *"); ok {
		head, p.any = rest, true
	}
	switch {
	case strings.TrimSpace(text) == "":
		return Pattern{}, errors.New("the pattern is empty")
	case strings.Trim(text, "* ") == "":
		return Pattern{}, fmt.Errorf("pattern %q would match every command; name a program", text)
	case strings.HasSuffix(head, ":*"):
		return Pattern{}, fmt.Errorf("pattern %q: %q is not a wildcard here; write %q", text, ":*", strings.TrimSuffix(head, ":*")+" *")
	case strings.ContainsAny(head, "*?["):
		return Pattern{}, fmt.Errorf("pattern %q: * stands only as the last word, by itself", text)
	}
	words, ok := Words(head)
	if !ok {
		return Pattern{}, fmt.Errorf("pattern %q is not a plain command; write a program and its first words, as in \"docker compose *\"", text)
	}
	p.words = words
	return p, nil
}

// Len is the number of words that come first, and Word one of them.
func (p Pattern) Len() int          { return len(p.words) }
func (p Pattern) Word(i int) string { return p.words[i] }

// Any reports whether more words may follow.
func (p Pattern) Any() bool { return p.any }

// Origin is where the pattern was written.
func (p Pattern) Origin() policy.Origin { return p.origin }

func (p Pattern) String() string {
	s := Quote(p.words)
	if p.any {
		s += " *"
	}
	return s
}

// Match reports whether args, a command and its arguments, are what the
// pattern names.
func (p Pattern) Match(args []string) bool {
	if len(p.words) == 0 || len(args) < len(p.words) || !p.any && len(args) != len(p.words) {
		return false
	}
	for i, w := range p.words {
		if args[i] != w {
			return false
		}
	}
	return true
}
