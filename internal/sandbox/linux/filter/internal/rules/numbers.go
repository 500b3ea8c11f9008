package rules

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed syscalls.tbl
var syscallsTbl string

// Syscall is one line of syscalls.tbl.
type Syscall struct {
	Name string
	// numbers by Arch.column, -1 where the architecture has no such call
	numbers [2]int64
}

// Number gives the call's number on an architecture, and whether it has one.
func (s Syscall) Number(a Arch) (uint32, bool) {
	n := s.numbers[a.column]
	return uint32(n), n >= 0
}

var table = sync.OnceValue(func() []Syscall {
	t, err := parseTable(syscallsTbl)
	if err != nil {
		panic(err) // an embedded file: a mistake of ours, seen by the first test
	}
	return t
})

// Syscalls gives the known calls of all architectures.
func Syscalls() []Syscall { return table() }

func lookup(name string) (Syscall, bool) {
	for _, s := range table() {
		if s.Name == name {
			return s, true
		}
	}
	return Syscall{}, false
}

// Number gives the number of a call by name, and whether the architecture has it.
func Number(name string, a Arch) (uint32, bool) {
	s, ok := lookup(name)
	if !ok {
		return 0, false
	}
	return s.Number(a)
}

func parseTable(text string) ([]Syscall, error) {
	var out []Syscall
	names := map[string]bool{}
	numbers := [2]map[int64]string{{}, {}}
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 3 {
			return nil, fmt.Errorf("syscalls.tbl:%d: %d fields, not 3", i+1, len(f))
		}
		s := Syscall{Name: f[0]}
		if names[s.Name] {
			return nil, fmt.Errorf("syscalls.tbl:%d: %q a second time", i+1, s.Name)
		}
		names[s.Name] = true
		for col, word := range f[1:] {
			if word == "-" {
				s.numbers[col] = -1
				continue
			}
			n, err := strconv.ParseUint(word, 10, 16)
			if err != nil {
				return nil, fmt.Errorf("syscalls.tbl:%d: number %q: %w", i+1, word, err)
			}
			if other, dup := numbers[col][int64(n)]; dup {
				return nil, fmt.Errorf("syscalls.tbl:%d: %q and %q are both %d", i+1, s.Name, other, n)
			}
			numbers[col][int64(n)] = s.Name
			s.numbers[col] = int64(n)
		}
		out = append(out, s)
	}
	return out, nil
}
