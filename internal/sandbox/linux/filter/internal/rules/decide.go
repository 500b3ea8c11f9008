package rules

import "strings"

// Call is what a filter sees: struct seccomp_data without the instruction
// pointer.
type Call struct {
	Audit uint32
	Nr    uint32
	Args  [6]uint64
}

// Decide is the meaning of a filter in plain Go. It is written for the reader
// and shares no step with Compile, so that each can convict the other.
func Decide(f Filter, a Arch, c Call) Action {
	if c.Audit != a.Audit {
		return f.Foreign
	}
	if c.Nr == skipped {
		return Allow
	}
	if c.Nr >= markedFrom {
		return f.Marked
	}
	name := ""
	for _, s := range Syscalls() {
		if n, ok := s.Number(a); ok && n == c.Nr {
			name = s.Name
		}
	}
	if name == "" {
		return f.Unknown
	}
	for _, r := range f.Rules {
		for _, n := range strings.Fields(r.Calls) {
			if n == name {
				return r.decide(c.Args)
			}
		}
	}
	return Allow
}

func (r Rule) decide(args [6]uint64) Action {
next:
	for _, c := range r.Cases {
		for _, t := range c.If {
			if !t.holds(args) {
				continue next
			}
		}
		return c.Then
	}
	return r.Otherwise
}

func (t Test) holds(args [6]uint64) bool {
	half := uint32(args[t.Arg])
	if t.High {
		half = uint32(args[t.Arg] >> 32)
	}
	for _, v := range t.In {
		if half&t.Mask == v {
			return true
		}
	}
	return false
}
