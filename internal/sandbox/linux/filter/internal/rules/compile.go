package rules

import (
	"fmt"
	"slices"
	"strings"

	"bawn/internal/sandbox/linux/filter/internal/cbpf"
)

// Offsets in struct seccomp_data (linux/seccomp.h): nr, arch, an instruction
// pointer, six 64-bit arguments; little-endian, so the lower half comes first.
const (
	offsetNr   = 0
	offsetArch = 4
	offsetArgs = 16
)

// Compile makes the program of a filter for one architecture.
//
// The number is found by a balanced binary search over the ranges of numbers
// with one verdict, so every call costs about seven comparisons; and verdicts
// without arguments load only number and architecture, which lets the kernel
// (5.11 and later) cache "allow" per number and not run the filter at all.
func Compile(f Filter, a Arch) ([]cbpf.Insn, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	c := compiler{returns: map[Action]cbpf.Label{}, bodies: map[int]cbpf.Label{}, filter: f}
	c.b.Load(offsetArch)
	c.b.Jump(cbpf.Equal, a.Audit, cbpf.Next, c.ret(f.Foreign))
	c.b.Load(offsetNr)
	ranges := rangesOf(f, a)
	if len(ranges) == 1 {
		c.b.Goto(c.target(ranges[0].verdict))
	} else {
		c.search(ranges)
	}
	c.emitBodies()
	c.emitReturns()
	prog, err := c.b.Assemble()
	if err != nil {
		return nil, fmt.Errorf("filter %s for %s: %w", f.Name, a.Name, err)
	}
	return prog, nil
}

// verdict is either an action or, when rule is not -1, a rule that looks at
// arguments.
type verdict struct {
	action Action
	rule   int
}

// numberRange is all numbers from first up to the next range's first.
type numberRange struct {
	first   uint32
	verdict verdict
}

// rangesOf covers all 32-bit numbers, neighbours with one verdict merged.
func rangesOf(f Filter, a Arch) []numberRange {
	byNr := map[uint32]verdict{}
	last := uint32(0)
	for _, s := range Syscalls() {
		if n, ok := s.Number(a); ok {
			byNr[n] = verdict{Allow, -1}
			last = max(last, n)
		}
	}
	for i, r := range f.Rules {
		v := verdict{r.Otherwise, -1}
		if len(r.Cases) > 0 {
			v = verdict{0, i}
		}
		for _, name := range strings.Fields(r.Calls) {
			if n, ok := Number(name, a); ok {
				byNr[n] = v
			}
		}
	}
	var out []numberRange
	add := func(first uint32, v verdict) {
		if len(out) == 0 || out[len(out)-1].verdict != v {
			out = append(out, numberRange{first, v})
		}
	}
	for n := uint32(0); n <= last; n++ {
		v, known := byNr[n]
		if !known {
			v = verdict{f.Unknown, -1}
		}
		add(n, v)
	}
	add(last+1, verdict{f.Unknown, -1})
	add(markedFrom, verdict{f.Marked, -1})
	add(skipped, verdict{Allow, -1})
	return out
}

type compiler struct {
	b       cbpf.Builder
	filter  Filter
	returns map[Action]cbpf.Label
	bodies  map[int]cbpf.Label // by rule
}

func (c *compiler) ret(a Action) cbpf.Label { return labelFor(c, c.returns, a) }

func (c *compiler) target(v verdict) cbpf.Label {
	if v.rule < 0 {
		return c.ret(v.action)
	}
	return labelFor(c, c.bodies, v.rule)
}

func labelFor[K comparable](c *compiler, m map[K]cbpf.Label, k K) cbpf.Label {
	if _, ok := m[k]; !ok {
		m[k] = c.b.NewLabel()
	}
	return m[k]
}

// search emits the tree over two or more ranges, the number in the accumulator.
func (c *compiler) search(ranges []numberRange) {
	mid := len(ranges) / 2
	lower, upper := ranges[:mid], ranges[mid:]
	below, above := cbpf.Next, c.b.NewLabel()
	if len(lower) == 1 {
		below = c.target(lower[0].verdict)
	}
	if len(upper) == 1 {
		c.b.Jump(cbpf.AtLeast, upper[0].first, c.target(upper[0].verdict), below)
	} else {
		c.b.Jump(cbpf.AtLeast, upper[0].first, above, below)
	}
	if len(lower) > 1 {
		c.search(lower)
	}
	if len(upper) > 1 {
		c.b.Mark(above)
		c.search(upper)
	}
}

// emitBodies emits the argument tests, in the order of the rules.
func (c *compiler) emitBodies() {
	for i, r := range c.filter.Rules {
		l, used := c.bodies[i]
		if !used { // a call this architecture does not have
			continue
		}
		c.b.Mark(l)
		for _, k := range r.Cases {
			c.emitCase(k)
		}
		c.b.Goto(c.ret(r.Otherwise))
	}
}

// emitCase leaves by the case's action, or falls through when a test fails.
func (c *compiler) emitCase(k Case) {
	failed := c.b.NewLabel()
	for i, t := range k.If {
		pass := cbpf.Next
		if i == len(k.If)-1 {
			pass = c.ret(k.Then)
		}
		offset := uint32(offsetArgs + 8*t.Arg)
		if t.High {
			offset += 4
		}
		c.b.Load(offset)
		if t.Mask != ^uint32(0) && !slices.Equal(t.In, []uint32{0}) {
			c.b.And(t.Mask)
		}
		if t.Mask != ^uint32(0) && slices.Equal(t.In, []uint32{0}) {
			c.b.Jump(cbpf.AnyBitSet, t.Mask, failed, pass)
			continue
		}
		c.emitOneOf(t.In, pass, failed)
	}
	c.b.Mark(failed)
}

func (c *compiler) emitOneOf(values []uint32, pass, failed cbpf.Label) {
	found := pass
	if pass == cbpf.Next {
		found = c.b.NewLabel()
	}
	for i, v := range values {
		if i < len(values)-1 {
			c.b.Jump(cbpf.Equal, v, found, cbpf.Next)
		} else {
			c.b.Jump(cbpf.Equal, v, pass, failed)
		}
	}
	if pass == cbpf.Next && len(values) > 1 {
		c.b.Mark(found)
	}
}

// emitReturns ends the program with one return per action, sorted so that equal
// tables give equal bytes.
func (c *compiler) emitReturns() {
	var actions []Action
	for a := range c.returns {
		actions = append(actions, a)
	}
	slices.Sort(actions)
	for _, a := range actions {
		c.b.Mark(c.returns[a])
		c.b.Ret(uint32(a))
	}
}
