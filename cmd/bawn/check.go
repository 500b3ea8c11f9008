package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"bawn/internal/hostname"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Exit codes of check (DECISIONS "Exit codes").
const (
	checkAllow = 0
	checkDeny  = 1
	checkAsk   = 2
)

type checkResult struct {
	Action  string `json:"action"`
	Path    string `json:"path,omitempty"`
	Real    string `json:"real_path,omitempty"`
	Host    string `json:"host,omitempty"`
	Port    uint16 `json:"port,omitempty"`
	Verdict string `json:"verdict"`
	Rule    string `json:"rule"`
	Reason  string `json:"reason"`
	Origin  string `json:"origin"`
	Lift    string `json:"lift,omitempty"`
	Tier    string `json:"tier"`
	ranCheck
}

func checkCommand(args []string) int {
	f := new(runFlags)
	asJSON := false
	specs := append(f.policySpecs(), jsonFlag(&asJSON))
	// Flags may stand before the action, before the path and after it; those of
	// run only where the command begins.
	rest, err := parseFlags(args, specs)
	run := err == nil && len(rest) > 0 && rest[0] == "run"
	if run {
		args, err = parseFlags(rest[1:], append(specs, f.checkRunSpecs()...))
		rest = rest[:1]
	}
	for n := 1; err == nil && !run && n <= 2 && len(rest) > n; n++ {
		var more []string
		more, err = parseFlags(rest[n:], specs)
		rest = append(rest[:n:n], more...)
	}
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"check"})
	case err != nil:
		return usageError("check", err)
	}
	if f.profile == policy.InstallProfile && !run {
		return usageError("check", errCheckInstall)
	}
	if len(rest) > 0 && !run && rest[0] != "read" && rest[0] != "write" && rest[0] != "connect" {
		return usageError("check", unknown("action", rest[0], wordsOf("check")))
	}
	if len(rest) > 2 {
		return usageError("check", fmt.Errorf("check takes one path or host, got %q too", rest[2]))
	}
	if len(rest) != 2 && !run {
		return usageError("check", errors.New("check needs an action and its object: bawn check read|write PATH, connect HOST[:PORT], or run -- CMD"))
	}
	r := checkResult{Action: rest[0]}
	var d policy.Decision
	var p policy.Policy
	if run {
		d, p, err = checkRun(f, &r, args)
	} else {
		d, p, err = checkObject(f, &r, rest[1])
	}
	if err != nil {
		return fail(err)
	}
	tier := p.Tier().String()
	if p.Mode() != policy.NoMode {
		tier = p.Mode().String()
	}
	r.Verdict, r.Tier = d.Verdict.String(), tier
	r.Rule, r.Reason, r.Origin, r.Lift = d.Rule.ID, d.Rule.Text, d.Rule.Origin.String(), lift(d.Rule.Lift)
	if asJSON {
		if code := printJSON(r); code != 0 {
			return code
		}
	} else {
		printf("%-5s  %s %s\n", r.Verdict, r.Action, printable(r.what()))
		if run {
			r.print(tier)
		}
		printf("rule   %s (%s)\n", printable(r.Rule), printable(r.Origin))
		printf("why    %s\n", printable(r.Reason))
		if r.Lift != "" && d.Verdict != policy.Allow {
			printf("lift   %s\n", r.Lift)
		}
	}
	switch d.Verdict {
	case policy.Allow:
		return checkAllow
	case policy.Ask:
		return checkAsk
	}
	return checkDeny
}

// checkObject decides about a path or a host.
func checkObject(f *runFlags, r *checkResult, text string) (policy.Decision, policy.Policy, error) {
	s, err := f.load()
	if err != nil {
		return policy.Decision{}, policy.Policy{}, err
	}
	p, _, err := s.settle(guardWorks())
	if err != nil {
		return policy.Decision{}, p, err
	}
	a, err := r.object(p, text)
	if err != nil {
		return policy.Decision{}, p, err
	}
	return decideHeld(p, a), p, nil
}

// decideHeld is what a command meets: the policy's decision, and the name guard's
// about what it would make. Of a folder it is asked about a new name in it.
func decideHeld(p policy.Policy, a policy.Action) policy.Decision {
	d := p.Decide(a)
	w, ok := a.(policy.Write)
	if !ok || d.Verdict != policy.Allow || !p.Guard() {
		return d
	}
	if st, err := os.Lstat(w.Path); err == nil && st.IsDir() {
		w.Path += "/new"
	}
	if rule, named := p.Named(w.Path); named {
		return policy.Decision{Rule: rule}
	}
	return d
}

// object reads what the action is about: a path as commands would follow it. A
// host without a port is asked for HTTPS's.
func (r *checkResult) object(p policy.Policy, text string) (policy.Action, error) {
	if r.Action == "connect" {
		c, err := hostname.ParseConnect(text)
		if err != nil {
			return nil, err
		}
		r.Host, r.Port = c.Host.String(), c.Port
		return c, nil
	}
	real, err := sandbox.ShownPath(p, text)
	if err != nil {
		return nil, err
	}
	r.Path, r.Real = text, real
	if r.Action == "write" {
		return policy.Write{Path: real}, nil
	}
	return policy.Read{Path: real}, nil
}

// what is the object as a person reads it.
func (r *checkResult) what() string {
	if r.Action == "run" {
		return r.Command
	}
	if r.Action == "connect" {
		return net.JoinHostPort(r.Host, strconv.Itoa(int(r.Port)))
	}
	return r.Real
}
