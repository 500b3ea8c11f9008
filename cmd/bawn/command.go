package main

import (
	"os"

	"bawn/internal/approval"
	"bawn/internal/config"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
	"bawn/internal/session/launch"
	"bawn/internal/shell"
	"bawn/internal/shell/plain"
)

// commandFacts are what a decision about a command needs: its text, what the
// settings say about commands, and who can be asked.
func (f *runFlags) commandFacts(cfg config.Config, p policy.Policy, canAsk, canAskHosts bool) launch.Facts {
	facts := launch.Facts{
		Policy: p, CanAsk: canAsk, CanAskHosts: canAskHosts, Strict: cfg.StrictPrecheck(),
		Dir: f.folder(p), Home: os.Getenv("HOME"),
		Exceptions: cfg.Exceptions(), Permissions: permissions(cfg.Permissions()),
		View: programView(p), Real: realPath, Learning: f.learn != nil,
	}
	if f.profile != policy.NoProfile || f.learn != nil { // a profile that was typed is wanted in the sandbox
		facts.Exceptions = plain.Exceptions{}
	}
	return facts
}

// permissions are the rules about commands in the form that package shell
// judges by. A mode that cannot be read asks.
func permissions(c config.Permissions) shell.Permissions {
	mode, _ := policy.ParsePermissionMode(c.Mode)
	p := shell.Permissions{Mode: mode}
	add := func(list []plain.Pattern, v policy.Verdict) {
		for _, x := range list {
			p.Rules = append(p.Rules, shell.Permission{Pattern: x, Verdict: v})
		}
	}
	add(c.Deny, policy.Deny)
	add(c.Ask, policy.Ask)
	add(c.Allow, policy.Allow)
	return p
}

// programView is the host's programs as bawn itself finds them. A program that
// a sandboxed command of this run could change is not trusted.
func programView(p policy.Policy) plain.View {
	return plain.View{
		Path: os.Getenv("PATH"), Real: sandbox.Follow, Executable: executable,
		Writable: func(real string) bool { return p.Decide(policy.Write{Path: real}).Verdict != policy.Deny },
	}
}

func realPath(path string) string {
	if real, err := sandbox.RealPath(path); err == nil {
		return real
	}
	return path
}

// mayAsk reports whether anything may be asked in this run: with a fixed mode,
// and with --no-prompt, nothing is (SPEC T7, T8).
func (f *runFlags) mayAsk() bool { return !f.noPrompt && f.mode == policy.NoMode }

// asker is who answers questions; ok is false if nobody does.
func (f *runFlags) asker() (a approval.Asker, ok bool) {
	if f.terminal != nil {
		return f.terminal, true
	}
	if !f.mayAsk() {
		return approval.Nobody{}, false
	}
	if f.noTerminal {
		return approval.Nobody{Reason: "an agent has this terminal"}, false
	}
	tty, err := approval.OpenTTY()
	if err != nil {
		return approval.Nobody{Reason: err.Error()}, false
	}
	f.terminal = tty // open until the end of the program
	return tty, true
}

// permitted asks the rules about commands for a run without a sandbox.
func (f *runFlags) permitted(s *settings, p policy.Policy) (code int, ok bool) {
	a, canAsk := f.asker()
	out, _ := f.decide(f.commandFacts(s.config, p, canAsk, false))
	if out.Place == session.Nowhere {
		return f.refused(out.Decision), false
	}
	return f.consented(a, out, p)
}

// consented asks, if the decision is to ask, and records what came of it.
func (f *runFlags) consented(a approval.Asker, out session.Outcome, p policy.Policy) (code int, ok bool) {
	answer, yes := consent(a, f.command, out, f.folder(p))
	if !yes {
		return f.refused(policy.Decision{Rule: policy.Rule{ID: answerRule(answer), Text: answer.Reason}}), false
	}
	if answer.Given {
		rule := policy.Rule{ID: answerRule(answer), Origin: out.Decision.Rule.Origin}
		if err := f.log.decided(commandLine(f.command), policy.Decision{Verdict: policy.Allow, Rule: rule}); err != nil {
			return fail(err), false
		}
	}
	return 0, true
}

// answerRule is the rule of what a person decided.
func answerRule(a approval.Answer) string { return "answer:" + a.Scope.String() }

// refuse says why a command is not run, and what would change that.
func refuse(d policy.Decision) int {
	r := d.Rule
	line := r.Text
	if r.Origin.File != "" {
		line += " (" + r.Origin.String() + ")"
	}
	if r.Lift != "" {
		line += "; " + lift(r.Lift)
	}
	warn("not run: %s", line)
	return exitRefused
}

// consent asks before a command starts, if the decision is to ask.
func consent(a approval.Asker, c session.Command, out session.Outcome, dir string) (approval.Answer, bool) {
	if out.Decision.Verdict != policy.Ask {
		return approval.Answer{}, true
	}
	answer := ask(a, session.Consent(c, out, dir))
	return answer, answer.Scope == approval.Once
}
