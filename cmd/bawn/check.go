package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Exit codes of check (DECISIONS "Exit codes").
const (
	checkAllow = 0
	checkDeny  = 1
)

type checkResult struct {
	Action  string `json:"action"`
	Path    string `json:"path"`
	Real    string `json:"real_path"`
	Verdict string `json:"verdict"`
	Rule    string `json:"rule"`
	Reason  string `json:"reason"`
	Origin  string `json:"origin"`
	Lift    string `json:"lift,omitempty"`
	Tier    string `json:"tier"`
}

func checkCommand(args []string) int {
	f := newRunFlags()
	asJSON := false
	specs := append(f.policySpecs(), flagSpec{name: "--json", help: "for programs", on: func() { asJSON = true }})
	rest, err := parseFlags(args, specs)
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"check"})
	case err != nil:
		return usageError(err)
	}
	if len(rest) > 0 {
		// Flags may stand on either side of the action.
		action := rest[0]
		more, err := parseFlags(rest[1:], specs)
		if err != nil {
			return usageError(err)
		}
		rest = append([]string{action}, more...)
	}
	if len(rest) == 3 {
		if extra, err := parseFlags(rest[2:], specs); err == nil {
			rest = append(rest[:2:2], extra...)
		}
	}
	if len(rest) != 2 || (rest[0] != "read" && rest[0] != "write") {
		return usageError(errors.New("check needs an action and a path: bawn check read|write PATH"))
	}
	p, _, err := f.policy()
	if err != nil {
		return fail(err)
	}
	real, err := sandbox.RealPath(rest[1])
	if err != nil {
		return fail(err)
	}
	var a policy.Action = policy.Read{Path: real}
	if rest[0] == "write" {
		a = policy.Write{Path: real}
	}
	d := p.Decide(a)
	tier := p.Tier().String()
	if p.Mode() != policy.NoMode {
		tier = p.Mode().String()
	}
	r := checkResult{
		Action: rest[0], Path: rest[1], Real: real, Verdict: d.Verdict.String(),
		Rule: d.Rule.ID, Reason: d.Rule.Text, Origin: d.Rule.Origin.String(), Lift: d.Rule.Lift, Tier: tier,
	}
	if asJSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			return fail(err)
		}
	} else {
		fmt.Printf("%-5s  %s %s\n", r.Verdict, r.Action, printable(r.Real))
		fmt.Printf("rule   %s (%s)\n", printable(r.Rule), printable(r.Origin))
		fmt.Printf("why    %s\n", printable(r.Reason))
		if r.Lift != "" && d.Verdict != policy.Allow {
			fmt.Printf("lift   %s\n", r.Lift)
		}
	}
	if d.Verdict == policy.Allow {
		return checkAllow
	}
	return checkDeny
}
