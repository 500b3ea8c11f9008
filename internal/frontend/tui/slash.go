package tui

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// slash is a command of the input line, typed as /name.
type slash struct {
	name, args, doc string
	page            Page
	words           []string // what the argument may be, if that is a list
}

// slashes is the table; help and completion follow it.
var slashes = [...]slash{
	{"sandbox", "", "the tiers, to pick one", SandboxPage, nil},
	{"tier", "TIER", "switch new commands to open, guarded or airlock", NoPage, []string{"open", "guarded", "airlock"}},
	{"config", "[general]", "settings of this session", ConfigPage, []string{"general"}},
	{"permissions", "MODE", "ask, auto or bypass: whether commands without a rule are asked about", NoPage, []string{"ask", "auto", "bypass"}},
	{"questions", "", "the questions that wait for an answer", QuestionsPage, nil},
	{"network", "", "connections as they happen", NetworkPage, nil},
	{"denied", "", "what was refused, and what would lift it", DeniedPage, nil},
	{"allow", "HOST[:PORT] [always]", "allow a host, for this session or always", NoPage, nil},
	{"deny", "HOST[:PORT] [always]", "deny a host, for this session or always", NoPage, nil},
	{"publish", "PORT|IP:PORT", "show a port of guarded commands on this machine", NoPage, nil},
	{"policy", "", "the rules that hold, with a box to try them", PolicyPage, nil},
	{"check", "ACTION OBJECT", "try the rules: read PATH, write PATH or connect HOST", NoPage, []string{"read", "write", "connect"}},
	{"tasks", "", "the commands of this session", TasksPage, nil},
	{"output", "TASK", "the end of what a background task wrote", NoPage, nil},
	{"stop", "TASK", "end a task; a second time kills it", NoPage, nil},
	{"stage", "[off]", "keep what commands write out of the workspace, from now on", NoPage, []string{"off"}},
	{"diff", "[PATH...]", "what is staged, as a diff", NoPage, nil},
	{"keep", "[PATH...]", "bring what is staged into the workspace; --force PATH, as bawn keep", NoPage, nil},
	{"discard", "", "throw away what is staged", NoPage, nil},
	{"help", "", "this help", HelpPage, nil},
	{"quit", "", "end the session and every command of it", NoPage, nil},
}

// parseSlash reads a line that begins with a slash.
func parseSlash(line string) (c slash, args []string, err error) {
	words := strings.Fields(strings.TrimPrefix(line, "/"))
	if len(words) == 0 {
		return slash{}, nil, errors.New("a slash command has a name: /help lists them")
	}
	i := slices.IndexFunc(slashes[:], func(s slash) bool { return s.name == words[0] })
	if i < 0 {
		return slash{}, nil, fmt.Errorf("unknown command /%s: /help lists them; a program is started with its path, as ./%s", words[0], words[0])
	}
	c, args = slashes[i], words[1:]
	least, most := strings.Count(" "+c.args, " ")-strings.Count(c.args, " [")-1, strings.Count(" "+c.args, " ")
	if c.args == "" {
		least, most = 0, 0
	}
	switch {
	case c.name == "check": // a path may have spaces
		least, most = 2, 1000
	case strings.HasSuffix(c.args, "...]"):
		most = 1000
	case c.args != "" && !strings.HasPrefix(c.args, "["):
		least++
	}
	if len(args) < least || len(args) > most {
		return slash{}, nil, fmt.Errorf("write it as %s", strings.TrimSpace("/"+c.name+" "+c.args))
	}
	return c, args, nil
}

// complete are the lines that a slash command's beginning may become, in the
// order of the table.
func complete(line string) (out []string) {
	name, arg, inArg := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	if !strings.HasPrefix(line, "/") {
		return nil
	}
	for _, s := range slashes {
		switch {
		case !inArg && strings.HasPrefix(s.name, name):
			out = append(out, "/"+s.name)
		case inArg && s.name == name:
			for _, w := range s.words {
				if strings.HasPrefix(w, arg) {
					out = append(out, "/"+name+" "+w)
				}
			}
		}
	}
	return out
}

// slashHint is what to show under a line while it is typed.
func slashHint(line string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	for _, s := range slashes {
		if s.name == name {
			return strings.TrimSpace("/"+s.name+" "+s.args) + ": " + s.doc
		}
	}
	return strings.Join(complete(line), "  ")
}

// slashResult is what a slash command leads to.
type slashResult struct {
	page Page     // to show
	note string   // to tell, one line
	text []string // to print, safe to show
	quit bool
	// start is a command for the screen.
	start *session.Start
}

// runSlash does what a line that begins with a slash says. A page is for the
// caller to show.
func runSlash(line string, s Session, o Options) (slashResult, error) {
	c, args, err := parseSlash(line)
	if err != nil {
		return slashResult{}, err
	}
	switch c.name {
	case "tier":
		t, err := policy.ParseTier(args[0])
		if err != nil {
			return slashResult{}, err
		}
		note, ask := switchTo(s, t)
		return slashResult{note: note, page: ask}, nil
	case "config":
		if len(args) > 0 && args[0] != "general" {
			return slashResult{}, fmt.Errorf("unknown page /config %s: it is /config general", args[0])
		}
	case "permissions":
		m, err := policy.ParsePermissionMode(args[0])
		if err != nil {
			return slashResult{}, err
		}
		return slashResult{note: "Permissions: " + m.String()}, s.SetPermission(m)
	case "allow", "deny":
		return ruleBySlash(c.name == "allow", args, s)
	case "publish":
		at, err := session.ParsePublish(args[0])
		if err != nil {
			return slashResult{}, err
		}
		return slashResult{note: fmt.Sprintf("%s leads to port %d of guarded commands", at, at.Port)}, s.Publish(at)
	case "check":
		_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		return slashResult{text: o.tryLines(s.Policy(), rest)}, nil
	case "output", "stop":
		id, err := strconv.Atoi(args[0])
		if err != nil {
			return slashResult{}, fmt.Errorf("%q is no task's number: /tasks lists them", args[0])
		}
		if c.name == "output" {
			b, err := s.Output(id, maxOutput)
			return slashResult{text: o.Look.plainLines(string(b))}, err
		}
		return slashResult{note: fmt.Sprintf("task %d was asked to end", id)}, s.Stop(id)
	case "stage":
		if len(args) > 0 && args[0] != "off" {
			return slashResult{}, fmt.Errorf("%q: it is /stage, or /stage off", args[0])
		}
		if err := s.Stage(len(args) == 0); err != nil {
			return slashResult{}, err
		}
		if len(args) > 0 {
			return slashResult{note: "commands write the workspace again"}, nil
		}
		return slashResult{note: "writes are staged: /diff, /keep, /discard"}, nil
	case "diff":
		return slashResult{start: &session.Start{Keep: append([]string{"keep", "--diff"}, args...)}}, nil
	case "keep", "discard":
		return slashResult{start: &session.Start{Keep: append([]string{c.name}, args...)}}, nil
	case "quit":
		return slashResult{quit: true}, nil
	}
	return slashResult{page: c.page}, nil
}

func ruleBySlash(allow bool, args []string, s Session) (slashResult, error) {
	scope := approval.Session
	if len(args) == 2 {
		if args[1] != "always" {
			return slashResult{}, fmt.Errorf("%q: the word after the host is always, or nothing", args[1])
		}
		scope = approval.Always
	}
	do, word := s.DenyHost, " is denied"
	if allow {
		do, word = s.AllowHost, " is allowed"
	}
	if err := do(args[0], scope); err != nil {
		return slashResult{}, err
	}
	until := map[approval.Scope]string{approval.Session: " for this session", approval.Always: " from now on"}[scope]
	return slashResult{note: args[0] + word + until}, nil
}
