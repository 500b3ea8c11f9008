package shell

import (
	"fmt"
	"strings"

	"bawn/internal/policy"
	"bawn/internal/shell/plain"
)

// Permission is one rule about commands. The zero value matches none.
type Permission struct {
	Pattern plain.Pattern
	Verdict policy.Verdict
}

// Permissions decide whether a command runs at all; what it can then do is the
// sandbox's business. The zero value asks about everything.
type Permissions struct {
	Mode policy.PermissionMode
	// Sandboxed: the commands run in a sandbox, guarded or stricter.
	Sandboxed bool
	Rules     []Permission
}

// Decide judges every command, and the strictest verdict holds. Where it
// cannot tell what runs, that is Ask.
func (p Permissions) Decide(c Commands) policy.Decision {
	if p.Mode == policy.BypassMode && !p.denies() {
		return allowed("mode:bypass", "in bypass mode every command runs")
	}
	list, err := c()
	if err != nil {
		return unsure(err.Error())
	}
	return p.decide(list)
}

// Ruled judges by the rules that restrict alone, for a command that the person who typed it has approved by that: Deny and Ask only where a rule
// names one of its commands, or may do so; of a text that is not understood
// every rule may speak. Everything else is allowed.
func (p Permissions) Ruled(c Commands) policy.Decision {
	if !p.restricts() {
		return noRule
	}
	list, err := c()
	if err != nil {
		return maybe("a rule may be about it, and " + err.Error())
	}
	return p.ruled(list)
}

var noRule = allowed("permission:unruled", "no rule restricts it")

func maybe(why string) policy.Decision {
	return policy.Decision{Verdict: policy.Ask, Rule: policy.Rule{ID: "permission:maybe", Text: "it is not known what would run: " + why}}
}

func (p Permissions) ruled(list []Command) policy.Decision {
	worst := noRule
	for _, c := range list {
		if c.Opaque && !p.Sandboxed && worst.Verdict > policy.Ask {
			worst = maybe("it runs text or a program that cannot be seen here, and no sandbox holds it")
		}
		for i := range p.Rules {
			r := &p.Rules[i]
			if r.Verdict == policy.Allow || p.Mode == policy.BypassMode && r.Verdict != policy.Deny {
				continue
			}
			d := r.decision()
			switch r.matches(c) {
			case noMatch:
				continue
			case mayMatch:
				d = maybe(fmt.Sprintf("the rule for %q may be about it", r.Pattern.String()))
				d.Rule.Origin = r.Pattern.Origin()
			}
			if d.Verdict < worst.Verdict {
				worst = d
			}
		}
	}
	return worst
}

// restricts reports whether any rule could deny or ask.
func (p Permissions) restricts() bool {
	for _, r := range p.Rules {
		if r.Verdict == policy.Deny || r.Verdict == policy.Ask && p.Mode != policy.BypassMode {
			return true
		}
	}
	return false
}

func (p Permissions) denies() bool {
	for _, r := range p.Rules {
		if r.Verdict == policy.Deny {
			return true
		}
	}
	return false
}

func (p Permissions) decide(list []Command) policy.Decision {
	if len(list) == 0 {
		return unsure("there is no command in it")
	}
	worst := policy.Decision{Verdict: policy.Allow}
	for i, c := range list {
		d := p.command(c)
		if i == 0 || d.Verdict < worst.Verdict {
			worst = d
		}
	}
	return worst
}

func allowed(id, text string) policy.Decision {
	return policy.Decision{Verdict: policy.Allow, Rule: policy.Rule{ID: id, Text: text}}
}

func unsure(why string) policy.Decision {
	return policy.Decision{Verdict: policy.Ask, Rule: policy.Rule{ID: "permission:unsure", Text: "it is not known what would run: " + why}}
}

// command judges one command by itself.
func (p Permissions) command(c Command) policy.Decision {
	var rule *Permission // the strictest that matches
	maybe := false
	for i := range p.Rules {
		r := &p.Rules[i]
		if p.Mode == policy.BypassMode && r.Verdict != policy.Deny {
			continue
		}
		m := r.matches(c)
		if r.Verdict != policy.Allow && m == mayMatch {
			maybe = true
		}
		if m == isMatch && (rule == nil || r.Verdict < rule.Verdict) {
			rule = r
		}
	}
	name, sure := c.Program()
	switch {
	case rule != nil && rule.Verdict == policy.Deny:
		return rule.decision()
	case maybe:
		return unsure("a rule may be about this command")
	case c.Opaque:
		return unsure("it runs text or a program that cannot be seen here")
	case len(c.Words) > 0 && !sure:
		return unsure("the program's name is computed")
	case rule != nil && rule.Verdict == policy.Ask:
		return rule.decision()
	case p.Mode == policy.BypassMode:
		return allowed("mode:bypass", "in bypass mode every command runs that no rule denies")
	case rule != nil:
		return p.ruleAllows(c, rule)
	case p.Mode == policy.AutoMode && p.Sandboxed:
		return allowed("mode:auto", "in auto mode a command runs in the sandbox without a question")
	case p.Mode == policy.AutoMode && readsOnly(c):
		return allowed("mode:auto-reads", "it only reads")
	case len(c.Words) == 0:
		return policy.Decision{Verdict: policy.Ask, Rule: policy.Rule{ID: "permission:shell", Text: "it sets variables or writes files for the commands after it"}}
	}
	return policy.Decision{Verdict: policy.Ask, Rule: policy.Rule{
		ID: "permission:none", Text: "no rule is about " + plain.Quote([]string{name}), Lift: "a permission rule allows it",
	}}
}

// ruleAllows is what a rule that allows the words means for all of a command:
// it spoke of no variable, no file written beside it, and no option that makes
// a program that reads do something else.
func (p Permissions) ruleAllows(c Command, r *Permission) policy.Decision {
	ask := func(id, text string) policy.Decision {
		return policy.Decision{Verdict: policy.Ask, Rule: policy.Rule{ID: id, Text: text, Origin: r.Pattern.Origin()}}
	}
	switch {
	case len(c.Assigns) > 0:
		return ask("permission:assigns", "it sets variables, which the rule for it does not speak of")
	case writes(c):
		return ask("permission:redirects", "its output goes to a file, which the rule for it does not speak of")
	case !p.Sandboxed && r.Pattern.Any() && reader(c) && !readsOnly(c):
		return ask("permission:writes", "with these arguments it may write or run something, and no sandbox holds it")
	}
	return r.decision()
}

func (r *Permission) decision() policy.Decision {
	return policy.Decision{Verdict: r.Verdict, Rule: policy.Rule{
		ID:     "permission:" + r.Verdict.String() + ":" + r.Pattern.String(),
		Text:   fmt.Sprintf("the permission rule for %q says %s", r.Pattern.String(), r.Verdict),
		Origin: r.Pattern.Origin(),
	}}
}

type match uint8

const (
	noMatch match = iota
	mayMatch
	isMatch
)

// matches compares a rule with a command. A rule that restricts also knows the
// program by its path; a rule that allows means the bare name alone, as what
// lies at a path is another program.
func (r *Permission) matches(c Command) match {
	n := r.Pattern.Len()
	if n == 0 || len(c.Words) == 0 {
		return noMatch
	}
	for i := range n {
		want := r.Pattern.Word(i)
		if i >= len(c.Words) {
			return noMatch
		}
		w := c.Words[i]
		if !w.Known {
			if strings.HasPrefix(want, w.Text) || w.Home {
				return mayMatch
			}
			if i == 0 && r.Verdict != policy.Allow && strings.Contains(w.Text, "/") {
				return mayMatch
			}
			return noMatch
		}
		got := w.Text
		if i == 0 && r.Verdict != policy.Allow && !strings.Contains(want, "/") {
			got = base(got)
		}
		if got != want {
			if i > 0 && r.Verdict != policy.Allow && (strings.HasPrefix(got, "-") || strings.HasPrefix(want, "-")) && r.later(i, c.Words[i:]) {
				return mayMatch
			}
			return noMatch
		}
	}
	if r.Pattern.Any() || len(c.Words) == n {
		return isMatch
	}
	for _, w := range c.Words[n:] {
		if w.Known || w.Text != "" || w.Home {
			return noMatch
		}
	}
	return mayMatch // words that may all be nothing
}

// later reports whether the rule's words from i on stand among words, in their
// order. Options may stand before them and between, and an option anywhere
// (git -C lib push, git push origin --force); which of them have a value of
// their own only the program knows.
func (r *Permission) later(i int, words []Word) bool {
	for _, w := range words {
		switch want := r.Pattern.Word(i); {
		case !w.Known && strings.HasPrefix(want, w.Text):
			return true // it may be several words
		case w.Text == want:
			i++
		}
		if i == r.Pattern.Len() {
			return true
		}
	}
	return false
}

// writes reports whether a redirection puts something into a file.
func writes(c Command) bool {
	for _, r := range c.Redirects {
		switch {
		case r.Op == "<", r.Op == "<&":
			continue
		case r.Target.Known && r.Target.Text == "/dev/null":
			continue
		case r.Op == ">&" && r.Target.Known && strings.Trim(r.Target.Text, "0123456789-") == "":
			continue // a copy of a descriptor
		}
		return true
	}
	return false
}
