package policy

import "fmt"

// Verdict is the outcome of a decision. The zero value is Deny.
type Verdict uint8

const (
	Deny Verdict = iota
	Ask
	Allow
)

func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	}
	return "deny"
}

// Origin is where a rule was written: a file and line, or the program itself
// (File empty).
type Origin struct {
	File string
	Line int
}

func (o Origin) String() string {
	switch {
	case o.File == "":
		return "built in"
	case o.Line == 0:
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// Rule names what decided. ID is stable and meant for programs; Text is the
// sentence a person reads; Lift says what would change the decision.
type Rule struct {
	ID     string
	Text   string
	Lift   string
	Origin Origin
}

// Decision is a verdict and its reason. The zero value denies.
type Decision struct {
	Verdict Verdict
	Rule    Rule
}

// Action is something a command wants to do: one of Read, Write, Connect.
type Action interface{ action() }

// Read asks to open a path for reading. Path is absolute, clean and real
// (symbolic links resolved by whoever holds the object).
type Read struct{ Path string }

// Write asks to create, change, rename or remove a path; the same form.
type Write struct{ Path string }

func (Read) action()  {}
func (Write) action() {}
