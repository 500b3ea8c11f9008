// Package rules says what bawn's seccomp filters decide, as data (base.go,
// noinet.go, guard.go), and gives that data two independent meanings: Decide in plain Go
// and Compile as classic BPF. Tests hold the two equal.
//
// Only the generator and tests import it; nothing of it is in the program.
package rules

import (
	"errors"
	"fmt"
	"strings"
)

// Action is a seccomp filter's return value (linux/seccomp.h). The zero value
// kills the thread, and no rule may have it.
type Action uint32

const (
	// Allow runs the call.
	Allow Action = 0x7fff0000
	// KillProcess ends the process with SIGSYS.
	KillProcess Action = 0x80000000
	// Notify asks whoever holds the filter's listener, and waits for its answer.
	Notify Action = 0x7fc00000

	actionErrno Action = 0x00050000
)

// Errno makes the call fail with this error number and does not run it.
func Errno(n uint16) Action { return actionErrno | Action(n) }

func (a Action) String() string {
	switch {
	case a == Allow:
		return "ALLOW"
	case a == KillProcess:
		return "KILL_PROCESS"
	case a == Notify:
		return "USER_NOTIF"
	case a&0xffff0000 == actionErrno:
		return fmt.Sprintf("ERRNO(%d)", uint16(a))
	}
	return fmt.Sprintf("Action(%#x)", uint32(a))
}

// Arch is a machine a filter is made for.
type Arch struct {
	Name string // as GOARCH
	// Audit is AUDIT_ARCH_* (linux/audit.h), which seccomp reports per call.
	Audit uint32
	// column of syscalls.tbl
	column int
}

// Arches are the machines bawn has filters for.
var Arches = []Arch{
	{Name: "amd64", Audit: 0xc000003e, column: 0},
	{Name: "arm64", Audit: 0xc00000b7, column: 1},
}

// Filter is one seccomp filter for every architecture. A call that has a name in
// syscalls.tbl and no rule is allowed.
type Filter struct {
	Name  string
	Rules []Rule
	// Unknown answers numbers that have no name in syscalls.tbl.
	Unknown Action
	// Foreign answers calls made by another architecture's convention (i386 on
	// amd64, 32-bit ARM on arm64), whose numbers mean other calls.
	Foreign Action
	// Marked answers numbers from 0x40000000 on. That bit marks x32 on amd64: the
	// same calls, by other numbers (A92). It means nothing on arm64.
	Marked Action
}

// Marks of numbers that are no ordinary call.
const (
	markedFrom uint32 = 0x40000000
	// A tracer sets number -1 to skip a call (strace --inject, gdb); the kernel
	// runs nothing for it and answers ENOSYS unless the tracer answered. A filter
	// that answered would overwrite the tracer's answer, so it is always allowed.
	skipped uint32 = 0xffffffff
)

// Rule is the verdict on some calls: the first case that holds, or Otherwise.
type Rule struct {
	Calls     string // names in syscalls.tbl, separated by spaces
	Cases     []Case
	Otherwise Action
	Why       string // the attack, or the contract
}

// Case holds when all its tests hold.
type Case struct {
	If   []Test
	Then Action
}

// Test holds when a 32-bit half of an argument, masked, is one of the values.
// Filters cannot follow pointers, so nothing else about a call can be tested.
type Test struct {
	Arg  int  // 0 to 5
	High bool // the upper half; the kernel reads an int argument's lower half only
	Mask uint32
	In   []uint32
}

// is tests all bits of the lower half.
func is(arg int, values ...uint32) Test { return Test{Arg: arg, Mask: ^uint32(0), In: values} }

// bits tests some bits of the lower half.
func bits(arg int, mask uint32, values ...uint32) Test {
	return Test{Arg: arg, Mask: mask, In: values}
}

// noneOf tests that all these bits of the lower half are clear.
func noneOf(arg int, mask uint32) Test { return bits(arg, mask, 0) }

// highZero tests that the upper half is clear.
func highZero(arg int) Test { return Test{Arg: arg, High: true, Mask: ^uint32(0), In: []uint32{0}} }

func when(then Action, tests ...Test) Case { return Case{If: tests, Then: then} }

// Filters are all that bawn has.
func Filters() []Filter { return []Filter{Base(), NoInet(), Guard(), GuardRemovals()} }

// Validate finds mistakes in the data that would otherwise weaken a filter
// silently: a misspelt name, a second rule for a call, an action left out.
func (f Filter) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("filter "+f.Name+": "+format, args...))
	}
	checkAction := func(what string, a Action) {
		if a != Allow && a != KillProcess && a != Notify && (a&0xffff0000 != actionErrno || uint16(a) == 0 || uint16(a) > 4095) {
			bad("%s: %v is no action", what, a)
		}
	}
	checkAction("unknown", f.Unknown)
	checkAction("foreign", f.Foreign)
	checkAction("marked", f.Marked)
	seen := map[string]bool{}
	for _, r := range f.Rules {
		if r.Why == "" {
			bad("rule %q says no why", r.Calls)
		}
		names := strings.Fields(r.Calls)
		if len(names) == 0 {
			bad("a rule without calls")
		}
		for _, name := range names {
			if _, ok := lookup(name); !ok {
				bad("call %q is not in syscalls.tbl", name)
			}
			if seen[name] {
				bad("two rules for %q", name)
			}
			seen[name] = true
		}
		checkAction(r.Calls, r.Otherwise)
		for _, c := range r.Cases {
			checkAction(r.Calls, c.Then)
			if len(c.If) == 0 {
				bad("%s: a case without tests", r.Calls)
			}
			for _, t := range c.If {
				if t.Arg < 0 || t.Arg > 5 || len(t.In) == 0 {
					bad("%s: test %+v", r.Calls, t)
				}
				for _, v := range t.In {
					if v&^t.Mask != 0 {
						bad("%s: value %#x has bits outside mask %#x: it can never be", r.Calls, v, t.Mask)
					}
				}
			}
		}
	}
	return errors.Join(errs...)
}
