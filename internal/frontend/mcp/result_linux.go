package mcp

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"bawn/internal/frontend/mcp/protocol"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// maxShown bounds what one result shows of a stream, in bytes; of more it is
// the beginning and the end.
const maxShown = 30_000

// Denied is something that was refused, and what would lift that.
type Denied struct {
	Kind   string `json:"kind"` // read, write, connect, resolve or run
	Target string `json:"target"`
	Rule   string `json:"rule"`
	Hint   string `json:"hint"`
}

// RunResult is what came of a command.
type RunResult struct {
	RunID      string   `json:"run_id"`
	Running    bool     `json:"running"`
	ExitCode   *int     `json:"exit_code,omitempty"` // not while it runs
	Signal     string   `json:"signal,omitempty"`
	Stdout     string   `json:"stdout"`
	Stderr     string   `json:"stderr"`
	Truncated  bool     `json:"truncated"`
	TimedOut   bool     `json:"timed_out,omitempty"`
	DurationMS int64    `json:"duration_ms"`
	Denied     []Denied `json:"denied"`
	Reason     string   `json:"reason,omitempty"` // why it did not run
	// Start is where what is shown begins, if that is after the offset that was
	// asked for: what came before is no longer kept.
	Start int64 `json:"start,omitempty"`
	// Next are the offsets from which bash_output reads on.
	NextOut int64 `json:"next_stdout,omitempty"`
	NextErr int64 `json:"next_stderr,omitempty"`
}

// noWay is the hint where no setting is known that would lift it.
const noWay = "no setting of bawn's; the user can do it outside the sandbox"

// saidNo is the hint where a person was asked.
const saidNo = "only the user, who said no: in a new session, or by their settings"

func (s *server) lift(text string) string {
	if s.o.Lift != nil {
		return s.o.Lift(text)
	}
	return text
}

// denied is the session's list in the words of a result.
func (s *server) denied(list []session.Denial) []Denied {
	out := []Denied{}
	for _, d := range list {
		target := d.Path
		if target == "" {
			target = d.String()
		}
		one := s.deniedBy(d.Kind(), target, d.Rule)
		if d.FromText {
			one.Rule += " (by its error text)"
		}
		out = append(out, one)
	}
	return out
}

func (s *server) deniedBy(kind, target string, r policy.Rule) Denied {
	rule := r.ID
	if r.Text != "" {
		rule += ": " + r.Text
	}
	if r.Origin.File != "" {
		rule += " (" + r.Origin.String() + ")"
	}
	way := noWay
	if r.ID == "answer:no" {
		way = saidNo
	}
	return Denied{kind, policy.Escape(target), policy.Escape(rule), orElse(policy.Escape(s.lift(r.Lift)), way)}
}

// ended is the result of a run that has ended.
func (s *server) ended(r *run) RunResult {
	res := RunResult{RunID: r.id, ExitCode: &r.code, Reason: policy.Escape(s.lift(r.reason)), TimedOut: r.late.Load(), DurationMS: r.took.Milliseconds(), Denied: s.denied(r.denied)}
	// A shell's way to say it, which an exit code of the command's own may be too.
	if n := r.code - 128; n > 0 && n < 65 && r.reason == "" {
		res.Signal = unix.SignalName(unix.Signal(n))
	}
	if rule := r.refused; rule.ID != "" {
		if rule.Lift == "" && strings.HasPrefix(rule.ID, "permission:") && !strings.HasPrefix(rule.ID, "permission:deny:") { // the question was not answered
			rule.Lift = policy.LiftByAsking
		}
		one := s.deniedBy("run", r.name, rule)
		res.Denied = append(res.Denied, one)
		if rule.Lift != "" && !strings.Contains(res.Reason, one.Hint) {
			res.Reason += "; " + one.Hint
		}
	}
	var cutOut, cutErr bool
	res.Stdout, cutOut = shorten(r.out)
	res.Stderr, cutErr = shorten(r.err)
	res.Truncated = cutOut || cutErr
	return res
}

// shorten is a stream, without its middle where it is long.
func shorten(o *session.Output) (text string, cut bool) {
	if o == nil {
		return "", false
	}
	size := o.Size()
	if size <= maxShown {
		b, _, err := o.From(0, maxShown)
		if err != nil {
			return "", true
		}
		return valid(b), false
	}
	const head = maxShown / 3
	from := size - (maxShown - head)
	first, at, err := o.From(0, head)
	last, _, err2 := o.From(from, maxShown-head)
	if err != nil || err2 != nil {
		return "", true
	}
	lost := ""
	if at > 0 {
		lost = fmt.Sprintf("[the first %d bytes are no longer kept]\n", at)
	}
	return lost + fmt.Sprintf("%s\n[… %d bytes left out: bash_output with offset %d reads on …]\n%s", valid(first), from-at-head, at+head, valid(last)), true
}

func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// text is a result as a model reads it: the output, then what else there is to
// know, in brackets.
func (r RunResult) text() string {
	var b strings.Builder
	part := func(s string) {
		b.WriteString(s)
		if s != "" && !strings.HasSuffix(s, "\n") {
			b.WriteByte('\n')
		}
	}
	part(r.Stdout)
	if r.Stdout != "" && r.Stderr != "" {
		b.WriteString("[stderr]\n")
	}
	part(r.Stderr)
	switch {
	case r.Running:
		fmt.Fprintf(&b, "[run %s goes on: bash_output reads on, bash_kill ends it]\n", r.RunID)
	case r.Reason != "":
		part("[" + r.Reason + "]")
	case r.TimedOut:
		fmt.Fprintf(&b, "[ended after %d ms: its time was over; a longer timeout_ms, or background]\n", r.DurationMS)
	case r.Signal != "":
		fmt.Fprintf(&b, "[exit code %d: %s]\n", *r.ExitCode, r.Signal)
	case r.ExitCode != nil && *r.ExitCode != 0:
		fmt.Fprintf(&b, "[exit code %d]\n", *r.ExitCode)
	case b.Len() == 0:
		b.WriteString("[no output]\n")
	}
	if r.Start > 0 {
		fmt.Fprintf(&b, "[this begins at offset %d: what came before is no longer kept]\n", r.Start)
	}
	if r.Truncated {
		fmt.Fprintf(&b, "[the output was cut; all of it: bash_output with run_id %q and an offset]\n", r.RunID)
	}
	b.WriteString(deniedText(r.Denied))
	return b.String()
}

// maxTargets is how many targets of one rule the text names; all are in the
// structured result.
const maxTargets = 3

// deniedText has a line for each rule: a build that is refused the same thing
// fifty times needs one way out.
func deniedText(list []Denied) string {
	type by struct{ kind, rule, hint string }
	var order []by
	targets := map[by][]string{}
	for _, d := range list {
		if d.Kind == "run" {
			continue // the reason says it
		}
		k := by{d.Kind, d.Rule, d.Hint}
		if targets[k] == nil {
			order = append(order, k)
		}
		targets[k] = append(targets[k], d.Target)
	}
	var b strings.Builder
	for _, k := range order {
		what, more := targets[k], ""
		if n := len(what) - maxTargets; n > 0 {
			what, more = what[:maxTargets], fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(&b, "[denied: %s %s%s, by %s", k.kind, strings.Join(what, ", "), more, k.rule)
		if k.hint != "" {
			fmt.Fprintf(&b, "; to allow it: %s", k.hint)
		}
		b.WriteString("]\n")
	}
	return b.String()
}

func textResult(text string, isError bool) *protocol.Result {
	return &protocol.Result{Text: []string{text}, IsError: isError}
}
