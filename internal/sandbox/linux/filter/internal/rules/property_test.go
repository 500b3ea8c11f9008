package rules

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawCall picks calls where verdicts change: known numbers and their x32
// twins, the values that rules test for, alone, with a bit flipped or combined.
func drawCall(t *rapid.T, f Filter, a Arch) Call {
	audit := a.Audit
	if rapid.IntRange(0, 9).Draw(t, "foreign") == 0 {
		audit = rapid.SampledFrom([]uint32{0x40000003, 0x40000028, Arches[0].Audit, Arches[1].Audit, 0}).Draw(t, "audit")
	}
	var judged []uint32
	values := []uint64{0, 1, ^uint64(0)}
	for _, r := range f.Rules {
		for _, n := range strings.Fields(r.Calls) {
			if nr, ok := Number(n, a); ok && (len(r.Cases) > 0 || len(judged) == 0) {
				judged = append(judged, nr)
			}
		}
		for _, c := range r.Cases {
			for _, test := range c.If {
				values = append(values, uint64(test.Mask), uint64(^test.Mask))
				for _, v := range test.In {
					values = append(values, uint64(v))
				}
			}
		}
	}
	nr := rapid.OneOf(
		rapid.SampledFrom(judged),
		rapid.Uint32Range(0, 600),
		rapid.Map(rapid.Uint32Range(0, 600), func(n uint32) uint32 { return n | markedFrom }),
		rapid.Uint32Range(markedFrom-3, markedFrom+3),
		rapid.Uint32Range(0xfffffff0, 0xffffffff),
		rapid.Uint32(),
	).Draw(t, "nr")
	c := Call{Audit: audit, Nr: nr}
	for i := range c.Args {
		c.Args[i] = rapid.SampledFrom(values).Draw(t, "arg")
		if rapid.Bool().Draw(t, "mix") {
			c.Args[i] |= rapid.SampledFrom(values).Draw(t, "or")
		}
		if rapid.Bool().Draw(t, "flip") {
			c.Args[i] ^= 1 << rapid.IntRange(0, 63).Draw(t, "bit")
		}
	}
	return c
}

// The program and the plain meaning of the table agree on every call.
func TestProgramEqualsTable(t *testing.T) {
	for _, f := range Filters() {
		for _, a := range Arches {
			m := compiled(t, f, a)
			t.Run(f.Name+"/"+a.Name, rapid.MakeCheck(func(t *rapid.T) {
				for range 20 {
					c := drawCall(t, f, a)
					if got, want := m.verdict(t, c), Decide(f, a, c); got != want {
						t.Fatalf("%+v: program %v, table %v", c, got, want)
					}
				}
			}))
		}
	}
}

// Every number up to well past the last one, with plain arguments.
func TestProgramEqualsTableOnAllNumbers(t *testing.T) {
	for _, f := range Filters() {
		for _, a := range Arches {
			m := compiled(t, f, a)
			for nr := range uint32(700) {
				for _, c := range []Call{{a.Audit, nr, [6]uint64{}}, {a.Audit, nr | markedFrom, [6]uint64{}}} {
					if got, want := m.verdict(t, c), Decide(f, a, c); got != want {
						t.Errorf("%s %s: %+v: program %v, table %v", f.Name, a.Name, c, got, want)
					}
				}
			}
		}
	}
}

// drawFilter makes a table that no person would write, to test the compiler with
// trees and distances that bawn's own tables do not have.
func drawFilter(t *rapid.T) Filter {
	action := func(label string) Action {
		return rapid.OneOf(rapid.SampledFrom([]Action{Allow, KillProcess, Notify}),
			rapid.Map(rapid.Uint16Range(1, 4095), Errno)).Draw(t, label)
	}
	f := Filter{Name: "random", Unknown: action("unknown"), Foreign: action("foreign"), Marked: action("marked")}
	share := rapid.IntRange(1, 10).Draw(t, "share")
	room := 150 // cases: the kernel takes 4,096 instructions
	for _, s := range Syscalls() {
		if rapid.IntRange(1, 10).Draw(t, "pick") > share {
			continue
		}
		r := Rule{Calls: s.Name, Otherwise: action("otherwise"), Why: "random"}
		for range min(room, max(0, rapid.IntRange(-6, 3).Draw(t, "cases"))) {
			room--
			c := Case{Then: action("then")}
			for range rapid.IntRange(1, 3).Draw(t, "tests") {
				mask := rapid.SampledFrom([]uint32{^uint32(0), 0xf, 0xf0, 1}).Draw(t, "mask")
				test := Test{Arg: rapid.IntRange(0, 5).Draw(t, "arg"), High: rapid.Bool().Draw(t, "high"), Mask: mask}
				for range rapid.IntRange(1, 3).Draw(t, "values") {
					test.In = append(test.In, mask&rapid.Uint32Range(0, 20).Draw(t, "value"))
				}
				c.If = append(c.If, test)
			}
			r.Cases = append(r.Cases, c)
		}
		f.Rules = append(f.Rules, r)
	}
	return f
}

func TestCompilerOnRandomTables(t *testing.T) {
	longest := 0
	rapid.Check(t, func(t *rapid.T) {
		f := drawFilter(t)
		a := rapid.SampledFrom(Arches).Draw(t, "arch")
		prog, err := Compile(f, a)
		if err != nil {
			t.Fatalf("%v", err)
		}
		longest = max(longest, len(prog))
		m := load(t, prog)
		for range 30 {
			c := Call{Audit: a.Audit, Nr: rapid.Uint32Range(0, 500).Draw(t, "nr")}
			for i := range c.Args {
				c.Args[i] = rapid.Uint64Range(0, 20).Draw(t, "low") | rapid.Uint64Range(0, 20).Draw(t, "high")<<32
			}
			if got, want := m.verdict(t, c), Decide(f, a, c); got != want {
				t.Fatalf("%+v: program %v, table %v", c, got, want)
			}
		}
	})
	if longest < 600 {
		t.Errorf("the longest program had %d instructions: far jumps were not tested", longest)
	}
}

func FuzzVerdict(f *testing.F) {
	filters := Filters()
	machines := make([][2]machine, len(filters))
	for i, fl := range filters {
		for j, a := range Arches {
			prog, err := Compile(fl, a)
			if err != nil {
				f.Fatal(err)
			}
			machines[i][j] = load(f, prog)
		}
	}
	f.Add(Arches[0].Audit, uint32(41), uint64(2), uint64(1), uint64(0))
	f.Add(Arches[1].Audit, uint32(220), uint64(0x10000011), uint64(0), uint64(0))
	f.Add(uint32(0x40000003), uint32(11), uint64(0), uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, audit, nr uint32, a0, a1, a2 uint64) {
		c := Call{Audit: audit, Nr: nr, Args: [6]uint64{a0, a1, a2, a0, a1, a2}}
		for i, fl := range filters {
			for j, a := range Arches {
				if got, want := machines[i][j].verdict(t, c), Decide(fl, a, c); got != want {
					t.Fatalf("%s %s %+v: program %v, table %v", fl.Name, a.Name, c, got, want)
				}
			}
		}
	})
}
