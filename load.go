package bawn

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"bawn/internal/config"
	"bawn/internal/config/trust"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
)

// LoadPolicy makes the policy that `bawn run` uses in the folder workspace,
// relative to the current folder: from the managed settings of the machine,
// the user's config.toml, saved answers and plugins, the workspace's .bawn/config.toml
// as far as the user has trusted exactly its content, and the BAWN_ variables
// of this process. The options come on top, as flags do: what they list is
// added, and of a single value theirs counts; what the managed requirements
// exclude they cannot bring back.
//
// Nobody can be asked, so a default_tier of open does not hold; WithTier(Open)
// does. Exceptions, permissions and the profile for package installs are about
// command text, and have no effect here.
//
// The files are read now, once: a later change does not move the policy, and
// With reads none again. A setting that is not understood, or that this
// version does not support, is a *RefusedError with its place, and so is a
// file that somebody else could have written. Policy.Warnings holds what is
// left out, and which settings of the workspace wait for trust.
func LoadPolicy(workspace string, opts ...Option) (Policy, error) {
	ws, err := sandbox.Workspace(workspace)
	if err != nil {
		return Policy{}, public(err)
	}
	layers, err := config.Read(config.Options{
		Environ: os.Environ(), Workspace: ws, Trusted: trust.Open(trust.StateDir(os.Getenv, os.Getenv("HOME"))).Lookup,
	})
	if err != nil {
		return Policy{}, publicConfig(err)
	}
	p := Policy{made: true, files: &layers, req: sandbox.Request{Workspace: ws}}
	return p.With(opts...)
}

// publicConfig gives a setting that cannot be taken this package's error.
func publicConfig(err error) error {
	if e, ok := err.(*config.Error); ok {
		at := e.File
		if e.Line > 0 {
			at += ":" + strconv.Itoa(e.Line) + ":" + strconv.Itoa(e.Column)
		}
		return &RefusedError{What: "settings at " + at, Why: e.Text}
	}
	return public(err)
}

// upstream is the way out that the files name; the zero value is that of the
// environment.
type upstream struct {
	set         bool
	how         config.Upstream
	url, origin string
}

// settle makes the internal policy from the files with the options on top.
func (p Policy) settle(req sandbox.Request) (view, error) {
	flags, err := p.flags()
	if err != nil {
		return view{}, err
	}
	c, err := p.files.With(flags)
	if err != nil {
		return view{}, publicConfig(err)
	}
	r := sandbox.Request{Mode: req.Mode, Workspace: req.Workspace, Environ: req.Environ, Asking: req.Asking, Guard: guardSupported() == nil}
	r.Keep(config.UserDir(req.Environ, ""), trust.StateDir(os.Getenv, os.Getenv("HOME")), os.Getenv("XDG_RUNTIME_DIR"))
	v := view{workspace: req.Workspace, wantsGuard: c.Guard(), warnings: c.Warnings()}
	if v.policy, v.host, err = session.Settle(c, r, true); err != nil {
		return v, public(err)
	}
	v.dirs = v.policy.AddDirs()
	v.warnings = append(append(v.warnings, v.policy.Warnings()...), v.host.Warnings...)
	for _, w := range c.Pending() {
		v.warnings = append(v.warnings, w.Text())
	}
	if v.launcher = Launcher(c.Launcher()); v.launcher == "auto" {
		v.launcher = Auto
	}
	v.upstream.set = true
	_, v.upstream.how, v.upstream.url = c.Egress()
	v.upstream.origin = c.Items("sandbox.proxy.upstream")[0].Origin.String()
	return v, nil
}

// flags are the options as the strongest layer.
func (p Policy) flags() ([]config.Flag, error) {
	var out []config.Flag
	add := func(option, key string, values ...string) {
		for _, v := range values {
			out = append(out, config.Flag{Name: option, Key: "sandbox." + key, Value: v})
		}
	}
	if p.said.tier {
		add("WithTier", "default_tier", p.req.Tier.String())
	}
	for _, d := range p.req.AddDirs {
		abs, err := filepath.Abs(d)
		if err != nil {
			return nil, fmt.Errorf("bawn: added folder %q: %w", d, err)
		}
		add("WithDirs", "allowed_paths", config.PlainPath(abs))
	}
	add("WithEnv", "env_keep", p.req.Env.Keep...)
	add("WithEnv", "env_drop", p.req.Env.Drop...)
	if p.said.temp {
		add("WithTemp", "tmp", map[bool]string{true: "host", false: "private"}[p.req.Temp == policy.HostTemp])
	}
	if p.said.launcher {
		add("WithLauncher", "launcher", cmp.Or(string(p.launcher), "auto"))
	}
	if p.said.guard {
		add("WithGuard", "guard", map[bool]string{true: "off", false: "on"}[p.noGuard])
	}
	n := p.req.Network
	for _, l := range []struct {
		key  string
		list []policy.HostRule
	}{{"allowed_domains", n.Allow}, {"denied_domains", n.Deny}, {"allow_private", n.AllowPrivate}} {
		for _, r := range l.list {
			add("WithNetwork", l.key, r.String())
		}
	}
	if n.NoDefaults {
		add("WithNetwork", "default_domains", "false")
	}
	for _, port := range n.LocalPorts {
		add("WithNetwork", "allowed_local_ports", strconv.Itoa(int(port)))
	}
	return out, nil
}

// realDirs pins the folders that options name: a link changed later does not
// move the policy.
func realDirs(dirs []string) ([]string, error) {
	out := slices.Clone(dirs)
	for i, d := range out {
		abs, err := filepath.Abs(d)
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		if err != nil {
			return nil, err
		}
		out[i] = abs
	}
	return out, nil
}
