package main

import (
	"errors"
	"strings"

	"bawn/internal/policy"
	"bawn/internal/session"
)

// checkRunSpecs are the flags of `bawn check run`, which stand after run.
func (f *runFlags) checkRunSpecs() []flagSpec {
	return []flagSpec{
		{name: "-c", arg: "TEXT", help: "run: the command as shell text", set: func(v string) error {
			f.shell, f.hasShell = v, true
			return nil
		}},
		{name: "--no-prompt", help: "run: as if there were nobody to ask", on: func() { f.noPrompt = true }},
	}
}

// ranCheck is what `bawn check run` says besides the decision.
type ranCheck struct {
	Command string      `json:"command,omitempty"`
	Place   string      `json:"place,omitempty"` // refused, inside or outside
	Program string      `json:"program,omitempty"`
	Stays   *stayReason `json:"stays_inside,omitempty"`
	Profile string      `json:"profile,omitempty"`
	Tools   []string    `json:"tools,omitempty"` // of a package install
}

type stayReason struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Origin string `json:"origin"`
	Lift   string `json:"lift,omitempty"`
}

// checkRun decides about a command as `bawn run` would on a terminal.
func checkRun(f *runFlags, r *checkResult, args []string) (policy.Decision, policy.Policy, error) {
	f.command = session.Command{Args: args, Text: f.shell, IsText: f.hasShell}
	if !f.hasShell && (len(args) == 0 || args[0] == "") {
		return policy.Decision{}, policy.Policy{}, errors.New("no command given: bawn check run [-c TEXT | -- CMD [ARG…]]")
	}
	s, err := f.prepare(args)
	if err != nil {
		return policy.Decision{}, policy.Policy{}, err
	}
	p, _, err := s.settle(guardWorks())
	if err != nil {
		return policy.Decision{}, p, err
	}
	out, prog := f.decide(f.commandFacts(s.config, p, f.mayAsk(), f.mayAsk()))
	if prog != nil {
		defer prog.close()
	}
	r.Command, r.Place = f.command.String(), [...]string{session.Nowhere: "refused", session.Inside: "inside", session.Outside: "outside"}[out.Place]
	if out.Place == session.Outside {
		r.Program = out.Program.Program
	}
	if out.Stays.ID != "" {
		r.Stays = &stayReason{out.Stays.ID, out.Stays.Text, out.Stays.Origin.String(), out.Stays.Lift}
	}
	if out.Place == session.Inside && s.profile == policy.InstallProfile {
		r.Profile = s.profile.String()
		for _, in := range f.installs(args) {
			r.Tools = append(r.Tools, in.Tool)
		}
	}
	return out.Decision, p, nil
}

// print says it for people; r holds the decision too.
func (r *ranCheck) print(tier string) {
	where := map[string]string{
		"refused": "it does not run", "inside": "in the sandbox, tier " + tier, "outside": "outside the sandbox: " + r.Program,
	}[r.Place]
	if r.Place == "inside" && tier == policy.Open.String() {
		where = "with your own permissions: the open tier has no sandbox"
	}
	printf("place  %s\n", printable(where))
	if r.Profile != "" {
		printf("narrow a package install (%s) has a narrower profile\n", strings.Join(r.Tools, ", "))
	}
	if s := r.Stays; s != nil {
		printf("stays  in the sandbox: %s [%s, %s]\n", printable(s.Reason), printable(s.Rule), printable(s.Origin))
		if s.Lift != "" {
			printf("       %s\n", printable(s.Lift))
		}
	}
}
