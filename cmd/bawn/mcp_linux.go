package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"bawn/internal/approval"
	"bawn/internal/frontend/mcp"
	worker "bawn/internal/frontend/mcp/inside"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
	"bawn/internal/session/attach"
)

// mcpMemory is from where on the collector is no longer spared, in bytes.
const mcpMemory = 96 << 20

// mcpFlags are those of bawn mcp.
type mcpFlags struct {
	runFlags
	test string
	dirs []string // of --add-dir, as typed
}

// specs are the flags of a session, without what is about a screen, or about its
// end, which nobody sees.
func (f *mcpFlags) specs() []flagSpec {
	out := flagsBut(f.sessionSpecs(), "--plain", "--stage")
	for i := range out {
		switch set := out[i].set; out[i].name {
		case "--workspace":
			out[i].help, out[i].set = "the same as -C", f.setDir
		case "--add-dir":
			out[i].set = func(v string) error {
				f.dirs = append(f.dirs, v)
				return set(v)
			}
		}
	}
	return append(out, flagSpec{name: "--session", arg: "ID|none", help: "the session that is asked what the client cannot\nask (default: the newest of the workspace); ID:\nwhatever the client can", set: f.setSession}, flagSpec{name: "--test-command", arg: "TEXT", help: "what run_tests runs (default: what the\nworkspace's files say)", set: func(v string) error {
		f.test = v
		return nil
	}})
}

// mcpCommand serves one agent on standard input and output.
func mcpCommand(args []string) int {
	// A file is a message of some megabytes, what lives is little: at 100 % a third
	// of a call is the collector's.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(mcpMemory)             // but not of the longest ones
	if len(args) > 0 && args[0] == "--inside" { // the file tools' work, in a sandbox
		if err := worker.Serve(os.Stdin, os.Stdout); err != nil {
			return exitRefused
		}
		return 0
	}
	f := new(mcpFlags)
	rest, err := parseFlags(args, f.specs())
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"mcp"})
	case err != nil:
		return usageError("mcp", err)
	case len(rest) > 0:
		return usageError("mcp", fmt.Errorf("mcp takes no argument, got %q", rest[0]))
	}
	if session.IsTerminal(os.Stdin) {
		warn("mcp: this serves an agent, whose messages it reads here; 'bawn help mcp' says more, Ctrl-D ends it")
	}
	typed := f.workspace != ""
	for _, name := range []string{"CLAUDE_PROJECT_DIR", "CRUSH_PROJECT_DIR"} {
		if f.workspace == "" {
			f.workspace = os.Getenv(name)
		}
	}
	if err := f.serveMCP(typed); err != nil {
		return fail(err)
	}
	return 0
}

func (f *mcpFlags) serveMCP(typed bool) error {
	if nested() {
		return errNested
	}
	f.headless = true
	// Now, so that the agent learns of bad settings from a server that does not start.
	s, err := f.load()
	if err != nil {
		return err
	}
	tier := s.tier()
	if _, _, err := s.settleTier(tier, session.Command{}, guardWorks()); err != nil {
		return err
	}
	added, err := f.addedDirs()
	if err != nil {
		return err
	}
	elsewhere, err := f.elsewhere(s.workspace)
	if err != nil {
		return err
	}
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer program.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	// Caught, so that a client that is gone ends the server in order; ignored
	// would be ignored by the commands too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	mcp.Widen(os.Stdout)
	return mcp.Serve(ctx, os.Stdin, os.Stdout, mcp.Options{
		Workspace: s.workspace, Version: programVersion(), Program: program, Environ: hostEnv(&f.runFlags),
		Folder: stateIn("sessions"), TestCommand: f.test, Search: s.config.Search(), Lift: liftServed,
		Elsewhere: elsewhere,
		Open: func(present func() bool) (*session.Session, func() error, error) {
			f.present, f.unattended = present, present == nil || f.noPrompt
			one, err := f.newSession(f.notice)
			if err != nil {
				return nil, nil, err
			}
			return one, one.Close, nil
		},
		Limits: func(p policy.Policy) (read, write []string) {
			in := append([]string{s.workspace}, added...)
			switch {
			case !p.Sandboxed() && (typed || len(added) > 0): // SPEC F6
				return in, in
			case !p.Sandboxed():
				return nil, nil
			}
			write = append([]string{p.Workspace()}, p.AddDirs()...)
			if p.Mode() != policy.NoMode { // SPEC T7
				read = append(slices.Clone(write), added...)
			}
			return read, write
		},
		Describe: func(p policy.Policy) (string, any) {
			_, host, _ := s.settleTier(p.Tier(), session.Command{}, guardWorks())
			r := s.report(p, host)
			return r.short(os.Getenv("HOME"), s.outside()), r
		},
		Check: func(one *session.Session, action, object string) (string, any, error) {
			return f.explain(s, one, action, object)
		},
	})
}

// elsewhere is the session of the user's in which questions are asked that the
// client cannot show: the newest of the workspace, or the one of --session. What
// runs, runs here.
func (f *mcpFlags) elsewhere(workspace string) (*mcp.Elsewhere, error) {
	if f.session == "none" || !f.mayAsk() {
		return nil, nil
	}
	folders := socketFolders()
	if f.session != "" && attach.Find(folders, f.session, workspace) == "" {
		return nil, &policy.RefusedError{What: "--session " + f.session, Why: fmt.Sprintf("there is none with this id whose workspace holds %q", workspace), Lift: "leave it out: the newest of the workspace is asked"}
	}
	return &mcp.Elsewhere{
		Always: f.session != "",
		Open:   func() bool { return attach.Find(folders, f.session, workspace) != "" },
		Ask: func(ctx context.Context, q session.Question) (approval.Answer, error) {
			return attach.Ask(ctx, folders, f.session, attach.Question{Dir: workspace, Foreign: session.Foreign{Prompt: q.Prompt, Command: q.Command, Dir: q.Dir}})
		},
	}, nil
}

// liftServed is lift for an agent's user, who has no terminal here.
func liftServed(text string) string {
	return lift(strings.ReplaceAll(text, policy.LiftByAsking,
		"an allow rule in [permissions] of "+policy.UserFile+", or somebody to ask, without --no-prompt: a session of this folder (run bawn there), or a client that can ask a person (elicitation)"))
}

// addedDirs are the folders of --add-dir, by their real paths.
func (f *mcpFlags) addedDirs() (out []string, err error) {
	for _, one := range f.dirs {
		dir, err := sandbox.Workspace(one)
		if err != nil {
			return nil, err
		}
		out = append(out, dir)
	}
	return out, nil
}

// explain is `bawn check` for a model.
func (f *mcpFlags) explain(s *settings, in *session.Session, action, object string) (string, any, error) {
	p := in.Policy()
	r := checkResult{Action: action, Tier: p.Tier().String()}
	if p.Mode() != policy.NoMode {
		r.Tier = p.Mode().String()
	}
	var d policy.Decision
	asks := !f.unattended && f.mayAsk() && (f.present == nil || f.present())
	switch action {
	case "read", "write", "connect":
		if action != "connect" && !filepath.IsAbs(object) {
			object = s.workspace + "/" + object // RealPath cleans it, .. as the kernel does
		}
		a, err := r.object(p, object)
		if err != nil {
			return "", nil, err
		}
		d = decideHeld(p, a)
		if c, ok := a.(policy.Connect); ok {
			if d = in.Connects(p, c); d.Verdict == policy.Ask && !asks {
				d.Verdict = policy.Deny
			}
		}
	case "run":
		if object == "" {
			return "", nil, errors.New("no command given")
		}
		one := f.runFlags
		one.command = session.Command{Text: object, IsText: true}
		out, prog := one.decide(one.commandFacts(s.config, p, asks, asks))
		if prog != nil {
			prog.close()
		}
		d, r.Command = out.Decision, one.command.String()
		r.Place = [...]string{session.Nowhere: "refused", session.Inside: "inside", session.Outside: "outside"}[out.Place]
	default:
		return "", nil, unknown("action", action, wordsOf("check"))
	}
	r.Verdict, r.Rule, r.Reason, r.Origin, r.Lift = d.Verdict.String(), d.Rule.ID, d.Rule.Text, d.Rule.Origin.String(), liftServed(d.Rule.Lift)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s %s\nrule: %s (%s)\nwhy: %s\n", r.Verdict, action, printable(r.what()), printable(r.Rule), printable(r.Origin), printable(r.Reason))
	if r.Lift != "" && d.Verdict != policy.Allow {
		fmt.Fprintf(&b, "to allow it: %s\n", printable(r.Lift))
	}
	return b.String(), r, nil
}
