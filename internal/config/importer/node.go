package importer

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

func (k kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "text", "a list", "a table"}[k]
}

// node is a value of a settings file, whatever its syntax, with its place.
type node struct {
	kind    kind
	line    int    // from 1
	text    string // of text, number and boolean
	list    []*node
	members []member
	index   map[string]int // of members by name
}

type member struct {
	name string
	*node
}

func (n *node) get(name string) *node {
	if n == nil || n.kind != object {
		return nil
	}
	i, ok := n.index[name]
	if !ok {
		return nil
	}
	return n.members[i].node
}

// put adds a member. A name that stands twice is an error: of two readers one
// might take the first and one the last.
func (n *node) put(name string, v *node) error {
	if old := n.get(name); old != nil {
		return &placed{v.line, fmt.Errorf("%q stands here a second time; the first is in line %d", clip(name), old.line)}
	}
	if n.index == nil {
		n.index = map[string]int{}
	}
	n.index[name] = len(n.members)
	n.members = append(n.members, member{name, v})
	return nil
}

// placed is an error with its line.
type placed struct {
	line int
	err  error
}

func (e *placed) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }

// checkText refuses what no settings file holds.
func checkText(data []byte) error {
	line := 1
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n < 2:
			return &placed{line, errors.New("not UTF-8")}
		case r == '\n':
			line++
		case r < 0x20 && r != '\t' && r != '\r', r == 0x7f:
			return &placed{line, fmt.Errorf("a control character (%#x)", r)}
		}
		i += n
	}
	return nil
}
