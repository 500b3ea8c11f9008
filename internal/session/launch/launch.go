// Package launch decides about a command before it is started: whether it
// runs at all, and whether in the sandbox or outside.
//
// What it reads of the text is advice, but for one thing: what leaves the
// sandbox is decided by package plain alone, for one plain command whose words
// are then run, never the text.
package launch

import (
	"bawn/internal/policy"
	"bawn/internal/session"
	"bawn/internal/shell"
	"bawn/internal/shell/plain"
)

// Facts are what is known of the run. The zero value is a run in airlock with
// nobody to ask.
type Facts struct {
	Policy policy.Policy
	// CanAsk: a person answers before the command starts.
	CanAsk bool
	// CanAskHosts: one answers while it runs, about hosts.
	CanAskHosts bool
	// Learning: what the text names is not looked at. The command is to be denied
	// it, which then is told.
	Learning bool
	// Strict also refuses absolute paths that the run could not write.
	Strict bool
	// Dir is the working folder, links resolved; Home what ~ stands for.
	Dir, Home string
	// Exceptions come from the user's and the managed config alone.
	Exceptions  plain.Exceptions
	Permissions shell.Permissions
	// Agent: nobody typed the command, so that the mode and the rules that
	// allow count as well (SPEC C1).
	Agent bool
	// View is what is known of the host's programs.
	View plain.View
	// Real resolves the links of an absolute path as far as it exists.
	Real func(path string) string
}

// Decide is a pure function of the facts. The command is parsed once, if
// anything asks for that.
func Decide(c session.Command, f Facts) session.Outcome {
	list := shell.OfArgs(c.Args)
	if c.IsText {
		list = shell.OfText(c.Text)
	}
	ruled := f.ruled(list)
	if ruled.Verdict == policy.Deny {
		return refused(ruled)
	}
	if ruled.Verdict == policy.Ask && !f.CanAsk {
		ruled.Verdict = policy.Deny
		ruled.Rule.Text += ", and there is nobody to ask"
		ruled.Rule.Lift = policy.LiftByAsking
		return refused(ruled)
	}
	program, leaves := f.leaves(c)
	if leaves.Verdict != policy.Deny {
		// One yes is enough: the question about leaving shows the command too.
		if leaves.Verdict == policy.Allow && ruled.Verdict == policy.Ask {
			leaves = ruled
		}
		return session.Outcome{Place: session.Outside, Program: program, Decision: leaves}
	}
	out := session.Outcome{Place: session.Inside, Decision: f.precheck(list)}
	if out.Decision.Verdict == policy.Deny {
		return refused(out.Decision)
	}
	if ruled.Verdict == policy.Ask {
		out.Decision = ruled
	}
	if leaves.Rule.ID != noException && (leaves.Rule.ID != compound || f.mentions(list)) {
		out.Stays = leaves.Rule
	}
	return out
}

func refused(d policy.Decision) session.Outcome { return session.Outcome{Decision: d} }

// ruled asks the rules that restrict commands (SPEC C1). Whoever starts bawn
// run has approved the command by that, so modes do not count, nor do rules
// that allow.
func (f Facts) ruled(c shell.Commands) policy.Decision {
	p := f.Permissions
	p.Sandboxed = f.Policy.Sandboxed()
	if f.Agent {
		return p.Decide(c)
	}
	return p.Ruled(c)
}

// Rules of package plain: nothing names the command, or it is more than one
// plain command.
const (
	noException = "exclude:none"
	compound    = "exclude:compound"
)

// leaves asks the exclusions and escape hatches (SPEC C3, C4).
func (f Facts) leaves(c session.Command) (plain.Outside, policy.Decision) {
	if len(f.Exceptions.Exclude)+len(f.Exceptions.Hatches) == 0 || !f.Policy.Sandboxed() {
		return plain.Outside{}, policy.Decision{Rule: policy.Rule{ID: noException}}
	}
	facts := plain.Facts{Tier: f.Policy.Tier(), Mode: f.Policy.Mode(), CanAsk: f.CanAsk}
	switch {
	case !c.IsText:
		return f.Exceptions.Decide(c.Args, facts, f.View)
	case len(c.Args) > 0:
		return plain.Outside{}, policy.Decision{Rule: policy.Rule{
			ID: compound, Text: "only a single plain command can leave the sandbox, not shell text with arguments",
		}}
	}
	return f.Exceptions.DecideText(c.Text, facts, f.View)
}

// mentions reports whether a part of shell text is a command that could leave
// the sandbox by itself, so that a person may wonder why it does not.
func (f Facts) mentions(c shell.Commands) bool {
	list, err := c()
	if err != nil {
		return false
	}
	for _, one := range list {
		var words []string
		for _, w := range one.Words {
			if !w.Known {
				break
			}
			words = append(words, w.Text)
		}
		if _, d := f.Exceptions.Decide(words, plain.Facts{}, plain.View{}); len(words) > 0 && d.Rule.ID != noException {
			return true
		}
	}
	return false
}

// precheck refuses early what the boundary is sure to stop (SPEC C2).
func (f Facts) precheck(c shell.Commands) policy.Decision {
	if f.Learning {
		return policy.Decision{Verdict: policy.Allow, Rule: policy.Rule{ID: "precheck:learning", Text: "it is run to find out what it needs"}}
	}
	p := f.Policy
	return shell.Precheck(c, shell.Facts{
		Policy: p, CanAsk: f.CanAskHosts, Strict: f.Strict, Dir: f.Dir, Home: f.Home, Real: f.Real,
		Connect: func(to policy.Connect) policy.Decision {
			if !p.HasNetwork() {
				return policy.Decision{Rule: p.NoNetwork()}
			}
			return p.Network().Decide(to)
		},
	})
}
