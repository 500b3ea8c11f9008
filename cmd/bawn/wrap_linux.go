package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bawn/internal/frontend/preset"
	"bawn/internal/frontend/setup"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
	"bawn/internal/shell/plain"
)

// wrapSpecs are the flags of a session whose one command is an agent.
func (f *runFlags) wrapSpecs(show *string) []flagSpec {
	known := func(v string) error {
		if !slices.Contains(preset.Names(), v) {
			return unknown("agent", v, preset.Names())
		}
		return nil
	}
	return append(f.sessionSpecs(),
		flagSpec{name: "--preset", arg: "AGENT|none", help: "whose preset it gets (default: the agent's that the\nprogram is)", set: func(v string) error {
			f.presetName = v
			if v == "none" {
				return nil
			}
			return known(v)
		}},
		flagSpec{name: "--print-preset", arg: "AGENT", help: "print what that agent's preset opens, and end", set: func(v string) error {
			*show = v
			return known(v)
		}},
	)
}

// wrapCommand runs a coding agent, or any other program, in a session of its
// own, which ends with it.
func wrapCommand(args []string) int {
	f, show := new(runFlags), ""
	rest, err := parseFlags(args, f.wrapSpecs(&show))
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"wrap"})
	case err != nil:
		return usageError("wrap", err)
	case show != "" && len(rest) > 0:
		return usageError("wrap", errors.New("--print-preset runs nothing"))
	case show != "":
		return printPreset(show)
	case len(rest) == 0 || rest[0] == "":
		return usageError("wrap", errors.New("no command given: bawn wrap [flags] -- AGENT [ARG…]"))
	}
	f.command = session.Command{Args: rest}
	if !sessionTerminal() || f.noPrompt { // nobody is there to see a session
		f.headless, f.unattended = true, true
		return f.standFor(rest)
	}
	return f.onScreen(rest)
}

func printPreset(name string) int {
	printf("%s", preset.Text(name))
	printLine("\n# Its own credentials, which it alone sees:")
	for _, r := range policy.Credentials([]string{"/~"}, func(string) string { return "" }) {
		if r.Agent() == name {
			printLine("#   " + strings.TrimPrefix(r.Path, "/"))
		}
	}
	return 0
}

// standFor runs the agent in a session that has no screen.
func (f *runFlags) standFor(args []string) int {
	if nested() {
		return fail(errNested)
	}
	s, end, err := f.openSession(f.notice)
	if err != nil {
		return fail(err)
	}
	stdio := standardStreams()
	tty := session.OneTerminal(stdio)
	var p *session.Standing
	if stdio, err = session.Streams(stdio, tty, true); err != nil {
		_ = end()
		return fail(err)
	}
	res, err := session.Follow(stdio, f.notice, func() (sandbox.Process, error) {
		p, err = s.Stand(session.Start{Args: args, Preset: true}, session.Client{Stdio: stdio, TTY: tty, Environ: hostEnv(f), Tier: policy.Open, Notice: f.notice})
		return p, err
	})
	if e := end(); err == nil && e != nil {
		err = e
	}
	if err != nil {
		return fail(err)
	}
	return f.followed(res, p.Ended)
}

// agentOf is the preset of the agent that the session is for; nil for none.
func (f *runFlags) agentOf(s *settings, guard bool) (*sandbox.Preset, error) {
	if len(f.command.Args) == 0 || f.presetName == "none" || !s.config.Presets() {
		return nil, nil
	}
	var p *preset.Preset
	home, err := sandbox.RealPath(os.Getenv("HOME"))
	if err != nil {
		return nil, nil // there is no place in which it could keep anything
	}
	if f.presetName != "" {
		p, err = preset.Read(f.presetName)
	} else {
		real := findProgram(f.command.Args[0])
		if p, err = preset.Of(real, home); p != nil {
			pol, _, e := s.settleTier(policy.Guarded, session.Command{}, guard)
			if e != nil {
				return nil, e
			}
			if why := untrusted(f.command.Args[0], real, pol); why != "" {
				f.notice("the preset of " + p.Name + " is not used: " + why + "; if that is what you mean: --preset " + p.Name)
				return nil, nil
			}
		}
	}
	if p == nil || err != nil {
		return nil, err
	}
	if p.Commands != preset.Children {
		if err := s.startable(guard); err != nil {
			return nil, err
		}
	}
	if p.Commands == preset.Children {
		f.notice("commands of " + p.Title + " run in the agent's own sandbox, where its credentials can be read")
	}
	if p.Commands == preset.Hooked && !(setup.Store{Dir: trustState()}).Has(p.Name, s.workspace) {
		f.notice("commands of " + p.Title + " run in the agent's own sandbox, where its credentials can be read, until its hook is there: bawn setup " + p.Name)
	}
	return p.Open(home, os.Getenv), nil
}

// startable refuses a bawn that the agent could not start for its commands, or
// that a command could exchange for a program that sees what the agent sees.
func (s *settings) startable(guard bool) error {
	path, err := bawnPath()
	if err != nil {
		return err
	}
	real, err := sandbox.RealPath(path)
	if err != nil {
		return err
	}
	p, _, err := s.settleTier(policy.Guarded, session.Command{}, guard)
	if err != nil {
		return err
	}
	why := ""
	switch {
	case p.Files().Lookup(real).Access == policy.ReadWrite:
		why = "sandboxed commands may write it, and the agent runs it"
	case p.Decide(policy.Read{Path: real}).Rule.ID == "temp":
		why = "the agent's sandbox has a temp folder of its own, where it is not"
	default:
		return nil
	}
	return &policy.RefusedError{What: fmt.Sprintf("bawn at %q", path), Why: why, Lift: "install it elsewhere, or --preset none"}
}

// findProgram is the real path of what a word starts, as the sandbox will find
// it.
func findProgram(word string) string {
	path, err := sandbox.LookPath(word, os.Getenv("PATH"), "")
	if err != nil {
		return ""
	}
	if path, err = filepath.Abs(path); err != nil {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return real
}

// untrusted says why a program is not taken for the agent that it seems to be:
// a sandboxed command could have made it, or what runs it, or could make
// another of its name before it is started.
func untrusted(word, real string, p policy.Policy) string {
	view := programView(p)
	if why := changeable(view, word); why != "" {
		return why
	}
	f, err := os.Open(real)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return ""
	}
	if why := changeable(view, words[0]); why != "" || filepath.Base(words[0]) != "env" {
		return why
	}
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") { // env's own
			return changeable(view, w)
		}
	}
	return ""
}

// changeable says why a sandboxed command could decide what a word starts: by
// the file, a link that leads to it, or a folder of PATH before it. "" is no.
func changeable(view plain.View, word string) string {
	found, err := sandbox.LookPath(word, view.Path, "")
	if err != nil {
		return fmt.Sprintf("PATH has no %s", word)
	}
	if !strings.Contains(word, "/") {
		for _, dir := range strings.Split(view.Path, ":") {
			at, err := sandbox.RealPath(dir)
			if err != nil || !filepath.IsAbs(dir) || view.Writable(at) {
				return fmt.Sprintf("sandboxed commands can write %q, where PATH looks for %s", dir, word)
			}
			if found == dir+"/"+word {
				break
			}
		}
	}
	if found, err = filepath.Abs(found); err != nil {
		return err.Error()
	}
	path, links, err := view.Real(found)
	if err != nil {
		return err.Error()
	}
	for _, p := range append([]string{found, path}, links...) {
		if view.Writable(p) {
			return "sandboxed commands can write " + p
		}
	}
	return ""
}

// dress completes the agent's own command: it is shown the shims by which its
// commands run beside it.
func (f *runFlags) dress(p policy.Policy, c *sandbox.Command) {
	if f.preset == nil || !p.Sandboxed() {
		return
	}
	program, err := bawnPath()
	dir := shimDir()
	if err != nil || !policy.IsClean(dir) {
		return
	}
	c.Shims = sandbox.Shims{Dir: dir, Program: program, Names: setup.Shims()}
	if f.preset.Shell != "" {
		c.Set = append(c.Set, f.preset.Shell+"="+filepath.Join(dir, f.preset.Shim))
	}
}
