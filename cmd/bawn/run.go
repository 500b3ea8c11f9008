package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bawn/internal/hostname"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
)

// runFlags are what `bawn run` and the commands that explain it share.
type runFlags struct {
	req         sandbox.Request
	launcher    string
	shell       string
	hasShell    bool
	allowWeaker bool
	quiet       bool
	bareMode    bool // --sandbox without a mode
	publish     []session.Publish
	noGuard     bool
}

func (f *runFlags) specs() []flagSpec {
	return append(f.policySpecs(),
		flagSpec{name: "-c", arg: "TEXT", help: "run shell text: bash, else sh, without start-up\nfiles; ARGs are $0, $1, …", set: func(v string) error {
			f.shell, f.hasShell = v, true
			return nil
		}},
		flagSpec{name: "--launcher", arg: "auto|native|bwrap", help: "who makes the sandbox (auto: native, else bwrap)", set: func(v string) error {
			f.launcher = v
			return checkLauncher(v)
		}},
		flagSpec{name: "--guard", arg: "on|off", help: "hold names that do not exist yet (default: on);\noff is faster where many files are made", set: func(v string) error {
			if v != "on" && v != "off" {
				return fmt.Errorf("%q is neither on nor off", v)
			}
			f.noGuard = v == "off"
			return nil
		}},
		flagSpec{name: "--publish", arg: "[IP:]PORT", help: "show a port of the sandbox on the host (127.0.0.1\nunless IP says otherwise); repeatable", set: func(v string) error {
			p, err := parsePublish(v)
			f.publish = append(f.publish, p)
			return err
		}},
		flagSpec{name: "--allow-weaker", help: "where no sandbox can be made, use Landlock alone", on: func() { f.allowWeaker = true }},
		flagSpec{name: "--no-prompt", help: "never ask (nothing asks in this version)", on: func() {}},
		flagSpec{name: "-q", help: "no notices, only errors", on: func() { f.quiet = true }},
	)
}

// policySpecs are the flags that decide what is allowed.
func (f *runFlags) policySpecs() []flagSpec {
	return []flagSpec{
		{name: "--tier", arg: "open|guarded|airlock", help: "how much the command may do (default: guarded)", set: func(v string) (err error) {
			f.req.Tier, err = policy.ParseTier(v)
			return err
		}},
		{name: "--sandbox", arg: "[MODE]", help: "fix the mode, whatever --tier says: read-only,\nworkspace-write or danger-full-access", on: func() { f.bareMode = true },
			optional: func(v string) bool { _, err := policy.ParseMode(v); return err == nil },
			set: func(v string) (err error) {
				f.req.Mode, err = policy.ParseMode(v)
				return err
			}},
		{name: "-C", arg: "DIR", help: "the workspace and working folder (default: here)", set: f.setDir},
		{name: "--cd", arg: "DIR", help: "the same as -C", set: f.setDir},
		{name: "--add-dir", arg: "DIR", help: "one more folder to write in guarded; repeatable", set: func(v string) error {
			if v == "" {
				return errors.New("the folder's name is empty")
			}
			f.req.AddDirs = append(f.req.AddDirs, v)
			return nil
		}},
		{name: "--allow-domain", arg: "HOST[:PORT]", help: "one more host to reach, with its subdomains;\n*.HOST is the subdomains alone; repeatable", set: f.hostRule(&f.req.Network.Allow)},
		{name: "--deny-domain", arg: "HOST[:PORT]", help: "a host never to reach; wins over every other\nrule; repeatable", set: f.hostRule(&f.req.Network.Deny)},
		{name: "--allow-private", arg: "HOST", help: "let an allowed host have a private address;\nrepeatable", set: f.hostRule(&f.req.Network.AllowPrivate)},
		{name: "--allow-local-port", arg: "PORT", help: "let in a service of the host's loopback;\nrepeatable", set: func(v string) error {
			n, err := parsePort(v)
			f.req.Network.LocalPorts = append(f.req.Network.LocalPorts, n)
			return err
		}},
	}
}

// hostRule reads one rule about hosts into list.
func (f *runFlags) hostRule(list *[]policy.HostRule) func(string) error {
	return func(v string) error {
		r, err := hostname.ParseRule(v, policy.Origin{File: "the command line"})
		if err == nil && list != &f.req.Network.Deny {
			err = hostname.CheckRule(r)
		}
		if err == nil {
			*list = append(*list, r)
		}
		return err
	}
}

func parsePort(v string) (uint16, error) {
	n, err := strconv.ParseUint(v, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != v {
		return 0, fmt.Errorf("%q is not a port: it is a number from 1 to 65535", v)
	}
	return uint16(n), nil
}

// parsePublish reads [IP:]PORT; without an address it is the host's loopback.
func parsePublish(v string) (session.Publish, error) {
	host, port := "127.0.0.1", v
	if i := strings.LastIndexByte(v, ':'); i >= 0 {
		host, port = strings.TrimSuffix(strings.TrimPrefix(v[:i], "["), "]"), v[i+1:]
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return session.Publish{}, fmt.Errorf("%q is not an address of this machine: it is [IP:]PORT", v)
	}
	n, err := parsePort(port)
	return session.Publish{Addr: addr, Port: n}, err
}

func (f *runFlags) setDir(v string) error {
	if v == "" {
		return errors.New("the folder's name is empty")
	}
	f.req.Workspace = v
	return nil
}

// newRunFlags starts from what `bawn run` means: guarded.
func newRunFlags() *runFlags {
	return &runFlags{req: sandbox.Request{Tier: policy.Guarded, Environ: os.Environ()}, launcher: "auto"}
}

func runCommand(args []string) int {
	f := newRunFlags()
	rest, err := parseFlags(args, f.specs())
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"run"})
	case err != nil:
		return usageError("run", err)
	}
	if f.hasShell {
		rest = append(shellArgs(f.shell), rest...)
	}
	if len(rest) == 0 {
		return usageError("run", errors.New("no command given: bawn run [flags] -- CMD [ARG…]"))
	}
	if rest[0] == "" {
		return usageError("run", errors.New("the command's name is empty"))
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
		for m := policy.ReadOnlyMode; m <= policy.DangerFullAccess; m++ {
			if distance(strings.ToLower(name), m.String()) <= 2 {
				return "; did you mean --sandbox " + m.String() + "?"
			}
		}
	}
	if strings.ContainsAny(name, " \t\n;|&<>$") && !strings.HasPrefix(name, "/") {
		return "; shell text is run with -c TEXT"
	}
	return ""
}

// shellArgs runs text in a shell that reads no start-up file.
func shellArgs(text string) []string {
	for _, sh := range []string{"/bin/bash", "/usr/bin/bash"} {
		if _, err := os.Stat(sh); err == nil {
			return []string{sh, "--noprofile", "--norc", "-c", text}
		}
	}
	return []string{"/bin/sh", "-c", text}
}

// commandEnv is the caller's environment for the command: PWD follows -C,
// and shell text reads no file that a variable names.
func commandEnv(f *runFlags) []string {
	env := append([]string(nil), os.Environ()...)
	drop := func(name string) {
		out := env[:0]
		for _, e := range env {
			if !strings.HasPrefix(e, name+"=") {
				out = append(out, e)
			}
		}
		env = out
	}
	if f.hasShell {
		drop("BASH_ENV")
		drop("ENV")
	}
	if f.req.Workspace != "" {
		if abs, err := filepath.Abs(f.req.Workspace); err == nil {
			drop("PWD")
			env = append(env, "PWD="+abs)
		}
	}
	return env
}

// runArgs checks the request, builds the policy and runs.
func runArgs(f *runFlags, args []string) int {
	if f.tier() == policy.Open {
		p, _, err := f.policy()
		if err != nil {
			return fail(err)
		}
		return runOpen(p, args, commandEnv(f))
	}
	if os.Getenv("BAWN_SANDBOXED") != "" {
		return fail(&policy.RefusedError{
			What: "a sandbox inside a sandbox", Why: "this command runs in a bawn sandbox already (BAWN_SANDBOXED is set)",
			Lift: "run it without bawn: the boundary around it holds",
		})
	}
	return runSandboxed(f, args)
}

// tier is the one that holds: a fixed mode decides over --tier.
func (f *runFlags) tier() policy.Tier {
	if f.req.Mode != policy.NoMode {
		return f.req.Mode.Tier()
	}
	return f.req.Tier
}

func (f *runFlags) policy() (policy.Policy, sandbox.Host, error) {
	cfg, host, err := sandbox.Inspect(f.req)
	if err != nil {
		return policy.Policy{}, host, err
	}
	p, err := policy.New(cfg)
	if err != nil {
		return policy.Policy{}, host, fmt.Errorf("%w", err)
	}
	return p, host, nil
}
