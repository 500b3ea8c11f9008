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
	specs := append(f.policySpecs(), jsonFlag(&asJSON))
	// Flags may stand before the action, before the path and after it.
	rest, err := parseFlags(args, specs)
	for n := 1; err == nil && n <= 2 && len(rest) > n; n++ {
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
	if len(rest) > 0 && rest[0] != "read" && rest[0] != "write" {
		return usageError("check", fmt.Errorf("unknown action %q: it is read or write", rest[0]))
	}
	if len(rest) > 2 {
		return usageError("check", fmt.Errorf("check takes one path, got %q too", rest[2]))
	}
	if len(rest) != 2 {
		return usageError("check", errors.New("check needs an action and a path: bawn check read|write PATH"))
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
