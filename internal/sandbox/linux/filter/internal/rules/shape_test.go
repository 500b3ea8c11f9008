package rules

import (
	"strings"
	"testing"

	"bawn/internal/sandbox/linux/filter/internal/cbpf"
)

// constAllow is the kernel's seccomp_is_const_allow: with number and
// architecture alone it walks the program; true means that the kernel caches
// "allow" and never runs the filter for this number. It also counts steps.
func constAllow(prog []cbpf.Insn, audit, nr uint32) (allow bool, steps int) {
	var acc uint32
	for pc := 0; pc < len(prog); pc++ {
		steps++
		in := prog[pc]
		jump := func(yes bool) {
			if yes {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		}
		switch in.Op {
		case 0x20:
			switch in.K {
			case offsetNr:
				acc = nr
			case offsetArch:
				acc = audit
			default:
				return false, steps
			}
		case 0x06:
			return Action(in.K) == Allow, steps
		case 0x05:
			pc += int(in.K)
		case 0x15:
			jump(acc == in.K)
		case 0x35:
			jump(acc >= in.K)
		case 0x45:
			jump(acc&in.K != 0)
		case 0x54:
			acc &= in.K
		default:
			return false, steps
		}
	}
	return false, steps
}

// The filter's price: none for calls that are always allowed, on kernels with
// the cache; a handful of instructions elsewhere.
func TestCostOfACall(t *testing.T) {
	// load, compare, load, at most seven comparisons, return
	const most = 3 + 7 + 1
	for _, f := range Filters() {
		rule := map[string]Rule{}
		for _, r := range f.Rules {
			for _, n := range strings.Fields(r.Calls) {
				rule[n] = r
			}
		}
		for _, a := range Arches {
			prog, err := Compile(f, a)
			if err != nil {
				t.Fatal(err)
			}
			worst, sum, n := 0, 0, 0
			for _, s := range Syscalls() {
				nr, has := s.Number(a)
				if !has {
					continue
				}
				_, judged := rule[s.Name]
				allow, steps := constAllow(prog, a.Audit, nr)
				if allow == judged {
					t.Errorf("%s %s %s: has a rule: %v; cached by the kernel: %v", f.Name, a.Name, s.Name, judged, allow)
				}
				if len(rule[s.Name].Cases) == 0 {
					worst, sum, n = max(worst, steps), sum+steps, n+1
				}
			}
			if worst > most {
				t.Errorf("%s %s: a verdict takes %d instructions, more than %d", f.Name, a.Name, worst, most)
			}
			t.Logf("%s %s: %d instructions, a verdict takes %d at worst, %.1f on average", f.Name, a.Name, len(prog), worst, float64(sum)/float64(n))
		}
	}
}

func TestValidateFindsMistakes(t *testing.T) {
	ok := Filter{Name: "x", Unknown: Allow, Foreign: KillProcess, Marked: Errno(1), Rules: []Rule{
		{Calls: "read", Otherwise: Allow, Why: "y", Cases: []Case{when(Errno(1), is(0, 1))}}}}
	if err := ok.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, breakIt := range map[string]func(*Filter){
		"zero unknown":     func(f *Filter) { f.Unknown = 0 },
		"zero foreign":     func(f *Filter) { f.Foreign = 0 },
		"zero marked":      func(f *Filter) { f.Marked = 0 },
		"zero otherwise":   func(f *Filter) { f.Rules[0].Otherwise = 0 },
		"errno zero":       func(f *Filter) { f.Rules[0].Otherwise = Errno(0) },
		"errno too large":  func(f *Filter) { f.Rules[0].Otherwise = Errno(4096) },
		"no why":           func(f *Filter) { f.Rules[0].Why = "" },
		"no calls":         func(f *Filter) { f.Rules[0].Calls = " " },
		"misspelt":         func(f *Filter) { f.Rules[0].Calls = "raed" },
		"twice":            func(f *Filter) { f.Rules[0].Calls = "read read" },
		"zero then":        func(f *Filter) { f.Rules[0].Cases = []Case{when(0, is(0, 1))} },
		"no tests":         func(f *Filter) { f.Rules[0].Cases = []Case{{Then: Allow}} },
		"no values":        func(f *Filter) { f.Rules[0].Cases = []Case{when(Allow, is(0))} },
		"seventh argument": func(f *Filter) { f.Rules[0].Cases = []Case{when(Allow, is(6, 1))} },
		"impossible value": func(f *Filter) { f.Rules[0].Cases = []Case{when(Allow, bits(0, 2, 1))} },
	} {
		f := ok
		f.Rules = []Rule{ok.Rules[0]}
		breakIt(&f)
		if f.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := Compile(f, Arches[0]); err == nil {
			t.Errorf("%s: compiled", name)
		}
	}
}
