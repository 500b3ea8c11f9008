package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"bawn/internal/frontend/hook"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// hookFlags are those of `bawn hook`, which setup writes into an agent's
// settings.
type hookFlags struct{ shims string }

func (h *hookFlags) specs() []flagSpec {
	return []flagSpec{{name: "--shims", arg: "DIR", help: "the folder that setup made (default: in bawn's state)", set: func(v string) error {
		h.shims = v
		return nil
	}}}
}

// hookCommand answers one event of an agent. Whatever goes wrong refuses what
// the agent is about to do.
func hookCommand(args []string) int {
	var h hookFlags
	name := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	rest, err := parseFlags(args, h.specs())
	if err == errHelp {
		return helpCommand([]string{"hook"})
	}
	a := hook.Find(name)
	switch {
	case err != nil:
	case name == "":
		err = fmt.Errorf("hook needs an agent: %s", strings.Join(hook.Names(), ", "))
	case a == nil:
		err = unknown("agent", name, hook.Names())
	case len(rest) > 0:
		err = fmt.Errorf("hook takes one agent, got %q too", rest[0])
	}
	if err != nil {
		return reply(hook.Closed(err.Error()))
	}
	if h.shims == "" {
		h.shims = shimDir()
	}
	return reply(answer(a, h.shims, os.Stdin))
}

func reply(r hook.Reply) int {
	fmt.Fprint(os.Stderr, r.Stderr)
	if _, err := fmt.Fprint(os.Stdout, r.Stdout); err != nil {
		return 2
	}
	return r.Code
}

func answer(a *hook.Agent, shims string, in io.Reader) hook.Reply {
	data, err := io.ReadAll(io.LimitReader(in, hook.MaxEvent+1))
	if err != nil {
		return hook.Closed("the event cannot be read: " + err.Error())
	}
	project, set := os.Getenv(a.Project), os.Getenv(a.ShimVariable())
	if inSession() {
		return answerInside(a, data, project, filepath.Join(shims, shimName(a.Name)), set)
	}
	if err := useRecord(shims); err != nil {
		return hook.Closed(err.Error())
	}
	e, parsed := hook.Parse(a, data)
	f := new(runFlags)
	if f.workspace = project; project == "" {
		f.workspace = e.Dir
	}
	s, err := f.load()
	if err != nil {
		return hook.Closed(firstLine(err))
	}
	if !s.config.Enabled() {
		return hook.Reply{}
	}
	if parsed != nil {
		return hook.Closed(parsed.Error())
	}
	facts := hook.Facts{
		Program: self(), Workspace: s.workspace, Shim: filepath.Join(shims, shimName(a.Name)), Set: set,
		Real: sandbox.RealLinks, Home: os.Getenv("HOME"),
	}
	if e.NeedsPolicy() {
		facts.Real = once(sandbox.RealLinks)
		if facts.Policy, err = s.decisions(e.Real(facts), !e.Writes()); err != nil {
			return hook.Closed(firstLine(err))
		}
	}
	return hook.Answer(a, e, facts)
}

// once is real, asked once about each path: a decision is about the places that
// the policy was made for, whatever becomes of a link meanwhile.
func once(real func(string) (string, []string, error)) func(string) (string, []string, error) {
	type place struct {
		path  string
		links []string
		err   error
	}
	known := map[string]place{}
	return func(path string) (string, []string, error) {
		p, ok := known[path]
		if !ok {
			p.path, p.links, p.err = real(path)
			known[path] = p
		}
		return p.path, p.links, p.err
	}
}

// answerInside answers for an agent that runs in a sandbox itself (bawn wrap).
// That holds it, and bawn's own settings cannot be read there: what is left to
// refuse are its credentials, which its preset shows to its process and not to
// its model.
func answerInside(a *hook.Agent, data []byte, project, shim, set string) hook.Reply {
	e, err := hook.Parse(a, data)
	if err != nil {
		return hook.Closed(err.Error())
	}
	if project == "" {
		project = e.Dir
	}
	facts := hook.Facts{
		Program: self(), Shim: shim, Set: set, Real: sandbox.RealLinks, Home: os.Getenv("HOME"), Inside: true,
	}
	if facts.Workspace, err = sandbox.Workspace(project); err != nil {
		return hook.Closed(firstLine(err))
	}
	if e.NeedsPolicy() {
		for _, r := range policy.Credentials(sandbox.Homes(os.Getenv), os.Getenv) {
			if r.Agent() == a.Name {
				facts.Hidden = append(facts.Hidden, r)
			}
		}
	}
	return hook.Answer(a, e, facts)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return printable(line)
}

// self is this program by the path that it was called by, which outlives an
// upgrade where that is a link.
func self() string {
	if filepath.IsAbs(os.Args[0]) {
		return filepath.Clean(os.Args[0])
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}
