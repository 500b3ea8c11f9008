package main

import (
	"errors"
	"os"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux"
	"bawn/internal/session"
	"bawn/internal/session/attach"
)

// socketFolders are where sessions of this user have their sockets.
func socketFolders() []string { return attach.Folders(os.Getenv, madeState()) }

// ownPolicy is the first flag by which the command has another policy than a
// session's, "" if there is none. Airlock is what any session may give.
func (f *runFlags) ownPolicy() string {
	switch {
	case f.bareMode || f.mode != policy.NoMode:
		return "--sandbox"
	case f.profile != policy.NoProfile:
		return "--profile"
	case len(f.publish) > 0:
		return "--publish"
	case f.allowWeaker:
		return "--allow-weaker"
	case f.stage:
		return "--stage"
	case f.noPrompt:
		return "--no-prompt"
	}
	for _, s := range f.settings {
		if s.Key != "sandbox.default_tier" {
			return s.Name
		}
	}
	return ""
}

// attach runs the command in a session of its folder, if there is one that may.
func (f *runFlags) attach() (code int, ran bool) {
	if nested() {
		return f.attachInside()
	}
	if f.session == "none" || f.hasShell && f.shell == "" {
		return 0, false
	}
	folders := socketFolders()
	if f.session == "" && !attach.Any(folders) {
		return 0, false
	}
	dir, err := sandbox.Workspace(f.workspace)
	if err != nil {
		return 0, false // which the run itself says
	}
	if flag := f.ownPolicy(); flag != "" {
		if f.session != "" {
			return fail(&policy.RefusedError{What: "--session " + f.session, Why: "a session's commands run under its own policy, which " + flag + " is not", Lift: "leave out one of them"}), true
		}
		if id := attach.Find(folders, "", dir); id != "" && !f.quiet {
			warn("%s is not the policy of session %s: this command runs beside it", flag, id)
		}
		return 0, false
	}
	if err := f.checkReport(); err != nil {
		return fail(err), true
	}
	if f.dir != "" {
		dir = f.dir
	}
	return f.follow(dir, func(r attach.Request, stdio sandbox.Stdio) (*attach.Process, error) {
		return attach.Dial(folders, f.session, r, stdio)
	})
}

// checkReport opens the report before the session runs anything. Which folders
// its commands write is not all known here: its flags are its own.
func (f *runFlags) checkReport() error {
	if f.report == nil {
		return nil
	}
	s, err := f.load()
	if err != nil {
		return err
	}
	p, _, err := s.settle(false)
	if err != nil {
		return err
	}
	f.report.anyLink = true
	return f.report.check(p)
}

// attachInside asks the session in whose sandbox this process is, if it is in
// one, for a sandbox beside it.
func (f *runFlags) attachInside() (code int, ran bool) {
	if f.ownPolicy() != "" || f.session != "" || f.hasShell && f.shell == "" {
		return 0, false
	}
	if _, err := os.Lstat(sandbox.InnerSocket); err != nil {
		return 0, false
	}
	dir, err := sandbox.Workspace(f.workspace)
	if err == nil {
		err = f.report.check(policy.Policy{}) // the sandbox around this process holds it
	}
	if err != nil {
		return fail(err), true
	}
	if f.dir != "" {
		dir = f.dir
	}
	return f.follow(dir, func(r attach.Request, stdio sandbox.Stdio) (*attach.Process, error) {
		return attach.Inside(r, stdio)
	})
}

// follow stands for a command that a session runs, unless there turns out to be
// none.
func (f *runFlags) follow(dir string, dial func(attach.Request, sandbox.Stdio) (*attach.Process, error)) (code int, ran bool) {
	if err := linux.CloseInherited(); err != nil {
		return fail(err), true
	}
	var err error
	stdio := standardStreams()
	tty := session.OneTerminal(stdio)
	if stdio, err = session.Streams(stdio, tty, true); err != nil {
		return fail(err), true
	}
	r := attach.Request{Command: f.command, Dir: dir, Env: commandEnv(f), TTY: tty, Tier: f.tier(), NoEgress: f.noEgress}
	var p *attach.Process
	res, err := session.Follow(stdio, f.notice, func() (sandbox.Process, error) {
		p, err = dial(r, stdio)
		return p, err
	})
	if errors.Is(err, attach.ErrNoSession) {
		return 0, false
	}
	if err != nil {
		return fail(err), true
	}
	return f.followed(res, p.Ended), true
}

// followed says what came of a command that a session ran.
func (f *runFlags) followed(res session.Result, ended session.Ended) int {
	res.Denials, res.MoreDenials = ended.Denials, ended.More
	for _, name := range ended.Written {
		res.Watched = append(res.Watched, sandbox.NameEvent{Path: name, Allowed: true})
	}
	f.tell(res, denialsOf(res), &res.Code)
	if !f.quiet && res.Code != 0 {
		printDenials(res)
	}
	if res.Reason != "" {
		warn("%s", res.Reason)
	}
	return res.Code
}
