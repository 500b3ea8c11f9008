package cbpf

import "fmt"

// Label names a place in a program that jumps can lead to.
type Label int

// Next is the instruction after the jump itself.
const Next Label = 0

// Builder collects instructions with symbolic jumps. The zero value is an empty
// program. Mistakes (a label without a place, a jump backwards) are reported by
// Assemble.
type Builder struct {
	items []item
	// place[l-1] is the index in items that label l stands before, -1 if unset.
	place []int
	err   error
}

// item is one instruction before layout. yes and no are used by conditional
// jumps, yes alone by goto.
type item struct {
	op      uint16
	k       uint32
	yes, no Label
	// farYes, farNo: the target is over 255 instructions away, which the 8-bit
	// offsets of a conditional jump cannot reach: the jump goes through a goto
	// (32-bit offset) placed directly behind it.
	farYes, farNo bool
}

func (it *item) conditional() bool {
	return it.op != opLoad && it.op != opAnd && it.op != opGoto && it.op != opRet
}

func (it *item) size() int {
	n := 1
	if it.farYes {
		n++
	}
	if it.farNo {
		n++
	}
	return n
}

// NewLabel makes a label; Mark gives it its place.
func (b *Builder) NewLabel() Label {
	b.place = append(b.place, -1)
	return Label(len(b.place))
}

// Mark puts l before the next instruction added. A label has one place.
func (b *Builder) Mark(l Label) {
	switch {
	case l < 1 || int(l) > len(b.place):
		b.fail("mark of unknown label %d", l)
	case b.place[l-1] >= 0:
		b.fail("label %d marked twice", l)
	default:
		b.place[l-1] = len(b.items)
	}
}

// Load sets the accumulator to the 32-bit word at this byte offset of struct
// seccomp_data.
func (b *Builder) Load(offset uint32) { b.items = append(b.items, item{op: opLoad, k: offset}) }

// And keeps the accumulator's bits that are in mask.
func (b *Builder) And(mask uint32) { b.items = append(b.items, item{op: opAnd, k: mask}) }

// Ret ends the program with a verdict.
func (b *Builder) Ret(verdict uint32) { b.items = append(b.items, item{op: opRet, k: verdict}) }

// Goto continues at l.
func (b *Builder) Goto(l Label) { b.items = append(b.items, item{op: opGoto, yes: l}) }

// Jump compares the accumulator with k and continues at yes or no.
func (b *Builder) Jump(c Cond, k uint32, yes, no Label) {
	b.items = append(b.items, item{op: uint16(c), k: k, yes: yes, no: no})
}

func (b *Builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("assemble filter: "+format, args...)
	}
}

// Assemble resolves every jump and returns a program that passes Check.
func (b *Builder) Assemble() ([]Insn, error) {
	for i := range b.items {
		b.checkTargets(i)
	}
	if b.err != nil {
		return nil, b.err
	}
	pos := b.relax()
	var prog []Insn
	for i := range b.items {
		prog = b.emit(prog, i, pos)
	}
	if err := Check(prog); err != nil {
		return nil, fmt.Errorf("assemble filter: %w", err)
	}
	return prog, nil
}

// checkTargets refuses jumps that lead nowhere or backwards; classic BPF has no
// negative offsets, and one that wrapped round would be a wrong verdict.
func (b *Builder) checkTargets(i int) {
	it := &b.items[i]
	for _, l := range []Label{it.yes, it.no} {
		if l == Next {
			continue
		}
		if l < 0 || int(l) > len(b.place) || b.place[l-1] < 0 {
			b.fail("instruction %d jumps to label %d, which has no place", i, l)
		} else if b.place[l-1] <= i {
			b.fail("instruction %d jumps backwards to label %d", i, l)
		} else if b.place[l-1] >= len(b.items) {
			b.fail("instruction %d jumps past the end to label %d", i, l)
		}
	}
}

// relax finds the position of every item, making jumps far until all others
// reach. A far jump never becomes near again, so this ends.
func (b *Builder) relax() []int {
	pos := make([]int, len(b.items))
	for {
		at := 0
		for i := range b.items {
			pos[i] = at
			at += b.items[i].size()
		}
		grew := false
		for i := range b.items {
			it := &b.items[i]
			if !it.conditional() {
				continue
			}
			if !it.farYes && b.distance(i, it.yes, pos) > 255 {
				it.farYes, grew = true, true
			}
			if !it.farNo && b.distance(i, it.no, pos) > 255 {
				it.farNo, grew = true, true
			}
		}
		if !grew {
			return pos
		}
	}
}

// distance counts the instructions between item i's own and the target.
func (b *Builder) distance(i int, l Label, pos []int) int {
	if l == Next {
		return b.items[i].size() - 1
	}
	return pos[b.place[l-1]] - pos[i] - 1
}

func (b *Builder) emit(prog []Insn, i int, pos []int) []Insn {
	it := &b.items[i]
	if it.op == opGoto {
		return append(prog, Insn{Op: opGoto, K: uint32(b.distance(i, it.yes, pos))})
	}
	if !it.conditional() {
		return append(prog, Insn{Op: it.op, K: it.k})
	}
	in := Insn{Op: it.op, K: it.k}
	yes, no := b.distance(i, it.yes, pos), b.distance(i, it.no, pos)
	var stubs []Insn
	stub := func(distance int) uint8 {
		stubs = append(stubs, Insn{Op: opGoto, K: uint32(distance - len(stubs) - 1)})
		return uint8(len(stubs) - 1)
	}
	if it.farYes {
		in.Jt = stub(yes)
	} else {
		in.Jt = uint8(yes)
	}
	if it.farNo {
		in.Jf = stub(no)
	} else {
		in.Jf = uint8(no)
	}
	return append(append(prog, in), stubs...)
}
