package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// policyReport is the effective policy.
type policyReport struct {
	Tier      string       `json:"tier"`
	Mode      string       `json:"mode,omitempty"`
	Workspace string       `json:"workspace"`
	Temp      string       `json:"temp"`
	Launcher  string       `json:"launcher"`
	Guard     bool         `json:"guard"`
	Files     []fileReport `json:"files"`
	Network   netReport    `json:"network"`
	EnvKeep   []string     `json:"env_keep"`
	EnvDrop   []string     `json:"env_drop"`
	Lifted    []string     `json:"unprotected"`
	Warnings  []string     `json:"warnings"`
}

type fileReport struct {
	Path   string `json:"path"`
	Access string `json:"access"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Origin string `json:"origin"`
}

type netReport struct {
	Enabled bool         `json:"enabled"`
	Reason  string       `json:"reason,omitempty"`
	Rules   []hostReport `json:"rules"`
	Ports   []hostReport `json:"local_ports"`
}

type hostReport struct {
	Effect string `json:"effect"`
	Rule   string `json:"rule"`
	Origin string `json:"origin"`
}

// policyCommand prints what a run with the same flags may do.
func policyCommand(args []string) int {
	f, all, asJSON, bwrap := new(runFlags), false, false, false
	rest, err := parseFlags(args, append(f.policySpecs(), policyFlags(&all, &asJSON, &bwrap)...))
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"policy"})
	case err != nil:
		return usageError("policy", err)
	case len(rest) > 0 && !bwrap:
		return usageError("policy", fmt.Errorf("policy takes no argument, got %q", rest[0]))
	case f.profile == policy.InstallProfile:
		return usageError("policy", errCheckInstall)
	}
	s, err := f.load()
	if err != nil {
		return fail(err)
	}
	p, host, err := s.settle(guardWorks())
	if err != nil {
		return fail(err)
	}
	if bwrap {
		lines, err := bwrapArgs(p, host, commandEnv(f))
		if err != nil {
			return fail(err)
		}
		if asJSON {
			return printJSON(lines)
		}
		for _, l := range lines {
			if policy.Escape(l) != l {
				l = policy.Quote(l)
			}
			printLine(l)
		}
		return 0
	}
	r := s.report(p, host)
	switch {
	case asJSON:
		return printJSON(r)
	case all:
		printText(r.all())
	default:
		printText(r.short(os.Getenv("HOME"), s.outside()))
	}
	return 0
}

// outside are the commands that leave the sandbox.
func (s *settings) outside() (out []row) {
	for _, key := range []string{"sandbox.exclude", "sandbox.escape_hatch_binaries"} {
		for _, it := range s.config.Items(key) {
			out = append(out, row{it.Text, it.Origin.String()})
		}
	}
	return out
}

func policyFlags(all, asJSON, bwrap *bool) []flagSpec {
	return []flagSpec{
		{name: "--all", help: "every path and host, each with its rule", on: func() { *all = true }},
		{name: "--bwrap-args", help: "the arguments that bubblewrap would get, one a line", on: func() { *bwrap = true }},
		jsonFlag(asJSON),
	}
}

func (s *settings) report(p policy.Policy, host sandbox.Host) policyReport {
	ids, places := p.Lifted()
	r := policyReport{
		Tier: p.Tier().String(), Mode: p.Mode().String(), Workspace: p.Workspace(), Temp: "private",
		Launcher: s.config.Launcher(), Guard: p.Guard(), Files: []fileReport{},
		EnvKeep: append([]string{}, p.Env().Keep...), EnvDrop: append([]string{}, p.Env().Drop...),
		Lifted:   append(append([]string{}, ids...), places...),
		Warnings: append(append(append([]string{}, s.config.Warnings()...), p.Warnings()...), host.Warnings...),
	}
	if p.Temp() == policy.HostTemp {
		r.Temp = "host"
	}
	for _, pr := range p.Files().Rules() {
		rule := pr.Rule()
		r.Files = append(r.Files, fileReport{pr.Path, pr.Access.String(), rule.ID, rule.Text, rule.Origin.String()})
	}
	r.Network = s.network(p)
	return r
}

func (s *settings) network(p policy.Policy) netReport {
	out := netReport{Enabled: p.HasNetwork(), Rules: []hostReport{}, Ports: []hostReport{}}
	if p.Tier() == policy.Open {
		return out
	}
	if !out.Enabled {
		out.Reason = p.NoNetwork().Text
		return out
	}
	n := s.config.Network()
	if !n.NoDefaults {
		n.Allow = append(policy.DefaultHosts(), n.Allow...)
	}
	for _, l := range []struct {
		effect string
		rules  []policy.HostRule
	}{{"deny", n.Deny}, {"allow", n.Allow}, {"allow-private", n.AllowPrivate}} {
		for _, h := range l.rules {
			out.Rules = append(out.Rules, hostReport{l.effect, h.String(), h.Origin().String()})
		}
	}
	for _, port := range n.LocalPorts {
		out.Ports = append(out.Ports, hostReport{"allow", fmt.Sprint(port), n.PortOrigins[port].String()})
	}
	return out
}

// head says what kind of run it is.
func (r policyReport) head(b *strings.Builder) {
	tier := r.Tier
	if r.Mode != "" {
		tier = r.Mode + " (fixed; as " + r.Tier + ")"
	}
	fmt.Fprintf(b, "tier       %s\n", tier)
	fmt.Fprintf(b, "workspace  %s\n", printable(r.Workspace))
	if r.Tier == policy.Open.String() {
		b.WriteString("no sandbox: your own permissions decide\n")
		return
	}
	fmt.Fprintf(b, "temp       %s\n", r.Temp)
	fmt.Fprintf(b, "launcher   %s\n", r.Launcher)
	guard := "off"
	if r.Guard {
		guard = "on"
	}
	fmt.Fprintf(b, "guard      %s\n", guard)
}

// tail is what belongs to neither files nor network.
func (r policyReport) tail(b *strings.Builder) {
	for _, l := range []struct {
		name string
		list []string
	}{{"env_keep", r.EnvKeep}, {"env_drop", r.EnvDrop}, {"unprotect", r.Lifted}} {
		if len(l.list) > 0 {
			fmt.Fprintf(b, "\n%s  %s\n", l.name, printable(strings.Join(l.list, " ")))
		}
	}
	for i, w := range r.Warnings {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "warning: %s\n", printable(w))
	}
}

// all is every path and host with its rule.
func (r policyReport) all() string {
	var b strings.Builder
	r.head(&b)
	if r.Tier == policy.Open.String() {
		return b.String()
	}
	line := func(format string, a ...any) { b.WriteString(printable(fmt.Sprintf(format, a...)) + "\n") }
	b.WriteString("\nfiles (the deepest rule decides)\n")
	for _, f := range r.Files {
		line("  %-12s  %s  (%s, %s)", f.Access, f.Path, f.Rule, f.Origin)
	}
	b.WriteString("\nnetwork\n")
	if !r.Network.Enabled {
		line("  none: %s", r.Network.Reason)
	}
	for _, h := range r.Network.Rules {
		line("  %-13s  %s  (%s)", h.Effect, h.Rule, h.Origin)
	}
	for _, h := range r.Network.Ports {
		line("  local port     %s  (%s)", h.Rule, h.Origin)
	}
	r.tail(&b)
	return b.String()
}
