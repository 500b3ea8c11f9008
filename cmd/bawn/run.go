package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bawn/internal/approval"
	"bawn/internal/config"
	"bawn/internal/hostname"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
)

// runFlags are what `bawn run` and the commands that explain it share.
type runFlags struct {
	workspace   string        // as typed
	dir         string        // real: where the command starts; "" is the workspace
	caller      []string      // the environment for the command, where bawn's own is another
	exchange    []string      // see sandbox.Command
	settings    []config.Flag // those that a key of the configuration has, in order
	mode        policy.Mode
	shell       string
	hasShell    bool
	allowWeaker bool
	quiet       bool
	bareMode    bool // --sandbox without a mode
	publish     []session.Publish
	profile     policy.Profile
	noPrompt    bool
	noTerminal  bool // an agent has the terminal: it could answer
	noEgress    bool
	stage       bool
	staged      string                       // the id under which the run's changes are kept apart
	begun       time.Time                    // when this process began to look at a staged run
	unattended  bool                         // of a session: there is nobody to ask
	present     func() bool                  // of a session: somebody can be asked now; nil is always
	plain       bool                         // of a session: lines of text
	enforced    string                       // of a session, once it is opened: how commands are held
	session     string                       // the id of one, "none", or "" for the newest of the folder
	command     session.Command              // as it was given
	keys        func(action string) []string // of a session, once it is opened
	presetName  string                       // of bawn wrap: as typed, "none", or "" for what the program is
	preset      *sandbox.Preset              // of its agent; nil for none
	headless    bool                         // a session that nobody sees
	terminal    *approval.TTY                // where questions are asked, once it is known
	report      *reportTo                    // nil: nowhere
	learn       *learning                    // nil: this is no bawn learn
	log         *recorder
}

// set makes a flag a layer of the configuration.
func (f *runFlags) set(name, key, value string) {
	f.settings = append(f.settings, config.Flag{Name: name, Key: key, Value: value})
}

// last is the value that the flags alone give a single key.
func (f *runFlags) last(key string) string {
	for i := len(f.settings) - 1; i >= 0; i-- {
		if f.settings[i].Key == key {
			return f.settings[i].Value
		}
	}
	return ""
}

func (f *runFlags) specs() []flagSpec {
	return append(f.policySpecs(),
		flagSpec{name: "-c", arg: "TEXT", help: "run shell text: bash, else sh, without start-up\nfiles; ARGs are $0, $1, …", set: func(v string) error {
			f.shell, f.hasShell = v, true
			return nil
		}},
		flagSpec{name: "--launcher", arg: "auto|native|bwrap", help: "who makes the sandbox (auto: native, else bwrap)", set: func(v string) error {
			f.set("--launcher", "sandbox.launcher", v)
			return checkLauncher(v)
		}},
		flagSpec{name: "--guard", arg: "on|off", help: "hold names that do not exist yet (default: on);\noff is faster where many files are made", set: func(v string) error {
			if v != "on" && v != "off" {
				return fmt.Errorf("%q is neither on nor off", v)
			}
			f.set("--guard", "sandbox.guard", v)
			return nil
		}},
		flagSpec{name: "--publish", arg: "[IP:]PORT", help: "show a port of the sandbox on the host (127.0.0.1\nunless IP says otherwise); repeatable", set: func(v string) error {
			p, err := session.ParsePublish(v)
			f.publish = append(f.publish, p)
			return err
		}},
		flagSpec{name: "--no-egress", help: "no way to the network, not even to allowed hosts", on: func() { f.noEgress = true }},
		flagSpec{name: "--stage", help: "keep what is written out of the workspace until\n'bawn keep' brings it there", on: func() { f.stage, f.begun = true, time.Now() }},
		flagSpec{name: "--session", arg: "ID|none", help: "the session to run it in (default: the newest\nwhose workspace holds the folder)", set: f.setSession},
		flagSpec{name: "--allow-weaker", help: "where no sandbox can be made, use Landlock alone", on: func() { f.allowWeaker = true }},
		flagSpec{name: "--no-terminal", help: "ask in a session alone, never on this terminal", on: func() { f.noTerminal = true }},
		flagSpec{name: "--no-prompt", help: "never ask: what would be a question is denied", on: func() { f.noPrompt = true }},
		flagSpec{name: "-y", help: "the same: it allows nothing", on: func() { f.noPrompt = true }},
		flagSpec{name: "-p", help: "the same", on: func() { f.noPrompt = true }},
		flagSpec{name: "--report", arg: "FILE|fd:N", help: "write what was denied, and why, as JSON", set: func(v string) (err error) {
			f.report, err = parseReport(v)
			return err
		}},
		flagSpec{name: "-q", help: "no notices, only errors", on: func() { f.quiet = true }},
	)
}

func (f *runFlags) setSession(v string) error {
	f.session = v
	if v == "" {
		return errors.New("the session's id is empty")
	}
	return nil
}

// sessionSpecs are the flags of a session.
func (f *runFlags) sessionSpecs() []flagSpec {
	out := flagsBut(f.specs(), "-c", "--no-egress", "--session", "--no-terminal", "--report", "--profile", "--allow-weaker") // of one command
	return append(out, flagSpec{name: "--plain", help: "questions and pages as lines of text, for screen\nreaders", on: func() { f.plain = true }})
}

// policySpecs are the flags that decide what is allowed.
func (f *runFlags) policySpecs() []flagSpec {
	return []flagSpec{
		{name: "--tier", arg: "open|guarded|airlock", help: "how much the command may do (default: guarded)", set: func(v string) error {
			f.set("--tier", "sandbox.default_tier", v)
			_, err := policy.ParseTier(v)
			return err
		}},
		{name: "--sandbox", arg: "[MODE]", help: "fix the mode, whatever --tier says: read-only,\nworkspace-write or danger-full-access", on: func() {
			f.bareMode = true
			f.set("--sandbox", "sandbox.enabled", "true")
		},
			optional: func(v string) bool { _, err := policy.ParseMode(v); return err == nil },
			set: func(v string) (err error) {
				f.mode, err = policy.ParseMode(v)
				return err
			}},
		{name: "--profile", arg: "install|scratch", help: "narrow this run: install is for package installs\n(npm ci, pip install, go get…); scratch writes an\nempty folder of its own, without a network", set: func(v string) (err error) {
			f.profile, err = policy.ParseProfile(v)
			return err
		}},
		f.folderSpecs()[0], f.folderSpecs()[1], f.folderSpecs()[2],
		{name: "--add-dir", arg: "DIR", help: "one more folder to write in guarded; repeatable", set: func(v string) error {
			if v == "" {
				return errors.New("the folder's name is empty")
			}
			abs, err := filepath.Abs(v)
			f.set("--add-dir", "sandbox.allowed_paths", config.PlainPath(abs))
			return err
		}},
		{name: "--allow-domain", arg: "HOST[:PORT]", help: "one more host to reach, with its subdomains;\n*.HOST is the subdomains alone; repeatable", set: f.hostRule("--allow-domain", "sandbox.allowed_domains")},
		{name: "--deny-domain", arg: "HOST[:PORT]", help: "a host never to reach; wins over every other\nrule; repeatable", set: f.hostRule("--deny-domain", "sandbox.denied_domains")},
		{name: "--allow-private", arg: "HOST", help: "let an allowed host have a private address;\nrepeatable", set: f.hostRule("--allow-private", "sandbox.allow_private")},
		{name: "--allow-local-port", arg: "PORT", help: "let in a service of the host's loopback;\nrepeatable", set: func(v string) error {
			f.set("--allow-local-port", "sandbox.allowed_local_ports", v)
			_, err := session.ParsePort(v)
			return err
		}},
	}
}

// folderSpecs are the flags that name the workspace.
func (f *runFlags) folderSpecs() []flagSpec {
	return []flagSpec{
		{name: "-C", arg: "DIR", help: "the workspace and working folder (default: here)", set: f.setDir},
		{name: "--cd", arg: "DIR", help: "the same as -C", set: f.setDir},
		{name: "--workspace", arg: "DIR", help: "the workspace, where the command starts in another\nfolder: the current one", set: func(v string) (err error) {
			if err = f.setDir(v); err == nil {
				f.dir, err = sandbox.Workspace("")
			}
			return err
		}},
	}
}

// hostRule reads one rule about hosts.
func (f *runFlags) hostRule(name, key string) func(string) error {
	return func(v string) error {
		f.set(name, key, v)
		parse := hostname.ParseAllowed
		if key == "sandbox.denied_domains" {
			parse = hostname.ParseRule
		}
		_, err := parse(v, policy.Origin{File: name})
		return flagError(err)
	}
}

func (f *runFlags) setDir(v string) error {
	if v == "" {
		return errors.New("the folder's name is empty")
	}
	f.workspace, f.dir = v, ""
	return nil
}

func runCommand(args []string) int {
	f := new(runFlags)
	rest, err := parseFlags(args, f.specs())
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"run"})
	case err != nil:
		return usageError("run", err)
	}
	return runGiven("run", f, rest)
}

// runGiven runs the command that is left of the arguments of run or learn.
func runGiven(name string, f *runFlags, rest []string) int {
	f.command = session.Command{Args: rest, Text: f.shell, IsText: f.hasShell}
	if f.hasShell {
		rest = append(shellArgs(f.shell), rest...)
	}
	if len(rest) == 0 {
		return usageError(name, fmt.Errorf("no command given: bawn %s [flags] -- CMD [ARG…]", name))
	}
	if rest[0] == "" {
		return usageError(name, errors.New("the command's name is empty"))
	}
	return runArgs(f, rest)
}

// notFoundHint is what a command that is no program was probably meant to be;
// "" for any other outcome.
func notFoundHint(f *runFlags, name string, code int) string {
	if code != exitNotFound {
		return ""
	}
	if f.bareMode {
		var modes []string
		for m := policy.ReadOnlyMode; m <= policy.DangerFullAccess; m++ {
			modes = append(modes, m.String())
		}
		if m := config.Nearest(strings.ToLower(name), modes); m != "" {
			return "; did you mean --sandbox " + m + "?"
		}
	}
	if strings.ContainsAny(name, " \t\n;|&<>$") && !strings.HasPrefix(name, "/") {
		return "; shell text is run with -c TEXT"
	}
	return ""
}

// shellArgs runs text in a shell that reads no start-up file. Without the --
// a text that begins with - would be options, and a word after it the text.
func shellArgs(text string) []string {
	for _, sh := range []string{"/bin/bash", "/usr/bin/bash"} {
		if _, err := os.Stat(sh); err == nil {
			return []string{sh, "--noprofile", "--norc", "-c", "--", text}
		}
	}
	return []string{"/bin/sh", "-c", "--", text}
}

// commandEnv is the caller's environment for the command: shell text reads no
// file that a variable names.
func commandEnv(f *runFlags) []string {
	env := hostEnv(f)
	if f.hasShell {
		env = without(without(env, "BASH_ENV"), "ENV")
	}
	return env
}

// folder is the working folder, a real path.
func (f *runFlags) folder(p policy.Policy) string {
	if f.dir != "" {
		return f.dir
	}
	return p.Workspace()
}

// hostEnv is the caller's environment; PWD follows -C.
func hostEnv(f *runFlags) []string {
	env := slices.Clone(f.caller)
	if env == nil {
		env = os.Environ()
	}
	if f.workspace != "" && f.dir == "" {
		if abs, err := filepath.Abs(f.workspace); err == nil {
			env = append(without(env, "PWD"), "PWD="+abs)
		}
	}
	return env
}

func without(env []string, name string) []string {
	return slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}

// prepare loads the configuration for a command.
func (f *runFlags) prepare(args []string) (*settings, error) {
	if f.tier() != policy.Open && nested() {
		return nil, errNested
	}
	s, err := f.load()
	if err != nil {
		if nested() { // bawn's own files are hidden here
			return nil, errNested
		}
		return nil, err
	}
	if err := f.narrow(s, args); err != nil {
		return nil, err
	}
	if err := f.checkStage(s); err != nil {
		return nil, err
	}
	if s.tier() != policy.Open && nested() {
		return nil, errNested
	}
	return s, nil
}

// runArgs loads the configuration, builds the policy and runs.
func runArgs(f *runFlags, args []string) int {
	if f.tier() != policy.Open {
		if code, ran := f.attach(); ran {
			return code
		}
	}
	s, err := f.prepare(args)
	if err != nil {
		return fail(err)
	}
	if f.log, err = newRecorder(); err != nil {
		return fail(err)
	}
	if s.tier() != policy.Open {
		return runSandboxed(f, s, args)
	}
	if err := f.checkOpen(); err != nil {
		return fail(err)
	}
	p, host, err := s.settle(false)
	if err != nil {
		return fail(err)
	}
	if !f.quiet {
		s.notices(f.notice, append(p.Warnings(), host.Warnings...))
	}
	if err := f.report.check(p); err != nil {
		return fail(err)
	}
	if code, ok := f.permitted(s, p); !ok {
		return code
	}
	if err := f.log.start(f.command, p, "open"); err != nil {
		return fail(err)
	}
	f.tell(session.Result{}, nil, nil)
	return runOpen(f.folder(p), args, commandEnv(f))
}

// checkOpen refuses what was typed and nothing would hold without a sandbox.
func (f *runFlags) checkOpen() error {
	switch {
	case f.noEgress:
		return &policy.RefusedError{What: "--no-egress", Why: "the open tier has no sandbox that could take the network away", Lift: "leave it out, or run it in guarded or airlock"}
	case len(f.publish) > 0:
		return &policy.RefusedError{What: "--publish", Why: "in the open tier the command's loopback is the host's own: what listens there can be reached already", Lift: "leave it out"}
	}
	return nil
}

var errNested = &policy.RefusedError{
	What: "a sandbox inside a sandbox", Why: "this command runs in a bawn sandbox already (BAWN_SANDBOXED is set)",
	Lift: "run it without bawn: the boundary around it holds",
}

// inSession reports whether this process is in the sandbox of a session, by
// which it can have commands run beside it. BAWN_SANDBOXED alone is no proof:
// whatever starts bawn can set it. The socket lies where only root, or a
// sandbox, puts something.
func inSession() bool {
	if !nested() {
		return false
	}
	st, err := os.Lstat(sandbox.InnerSocket)
	return err == nil && st.Mode()&os.ModeSocket != 0
}

func nested() bool { return os.Getenv("BAWN_SANDBOXED") != "" }

// tier is the one that was asked for on the command line; guarded if none was.
// A fixed mode decides over --tier.
func (f *runFlags) tier() policy.Tier {
	if f.mode != policy.NoMode {
		return f.mode.Tier()
	}
	if t, err := policy.ParseTier(f.last("sandbox.default_tier")); err == nil {
		return t
	}
	return policy.Guarded
}
