package session

import (
	"fmt"
	"slices"
	"strings"

	"bawn/internal/config"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Settle makes the policy of a run from its configuration. Of the request it
// takes what no file can say: the fixed mode, the workspace's real path, the
// environment, and whether names that do not exist can be held at all;
// everything else comes from the configuration, which the command line's flags
// are a layer of, and from the manifests of installed plugins. Request.Own are the folders of bawn's own settings and
// state. Nobody can be asked if headless is set (SPEC T8).
//
// What cannot be had as it is set is refused, never left out in silence; a
// folder that a file names is left out with a warning (SPEC F6).
func Settle(c config.Config, r sandbox.Request, headless bool) (policy.Policy, sandbox.Host, error) {
	var notice string
	if r.Mode == policy.NoMode {
		var from config.Item
		r.Tier, from = c.Tier(headless)
		if saved := c.Items("sandbox.default_tier"); len(saved) == 1 && from.Text != saved[0].Text {
			notice = fmt.Sprintf("default_tier %q (%s) is not applied where nobody can be asked: %s; --tier %s is", saved[0].Text, saved[0].Origin, from.Text, saved[0].Text)
		}
	}
	p, host, err := SettleTier(c, r)
	if err == nil && notice != "" {
		host.Warnings = append(host.Warnings, notice)
	}
	return p, host, err
}

// SettleTier is Settle for the request's own tier, which a person picked while
// a session runs.
func SettleTier(c config.Config, r sandbox.Request) (policy.Policy, sandbox.Host, error) {
	fail := func(err error) (policy.Policy, sandbox.Host, error) { return policy.Policy{}, sandbox.Host{}, err }
	if r.Mode != policy.NoMode {
		r.Tier = r.Mode.Tier()
	}
	if err := c.AllowTier(r.Tier); err != nil {
		return fail(err)
	}
	r.Temp, r.Caches, r.Env, r.Network = c.Temp(), c.Caches(), c.Env(), c.Network()
	r.TempOrigin = c.Items("sandbox.tmp")[0].Origin
	r.Guard = r.Guard && c.Guard()
	r.Lifted, r.Unprotected = c.Unprotect()
	r.MayAdd = c.AllowFolder
	if access := (policy.Config{Tier: r.Tier, Mode: r.Mode}).CacheAccess(); r.Preset != nil && (!access || r.Profile != policy.NoProfile) {
		r.Preset = nil
	}
	if g := r.Preset; g != nil {
		hosts, env := c.Required(g.Hosts, g.Env)
		r.Network.Allow = append(slices.Clip(r.Network.Allow), hosts...)
		r.Env.Keep = append(slices.Clip(r.Env.Keep), env...)
	}
	r.Settings = append(c.Hidden(), c.Protect()...)
	for _, it := range c.Folders() {
		r.Folders = append(r.Folders, sandbox.Folder{Path: it.Text, Origin: it.Origin, Must: it.Typed()})
	}
	for _, f := range c.Files() {
		if !policy.Inside(f, r.Workspace) { // the project's is among the protected names
			r.Own = append(r.Own, f)
		}
	}
	problems := plugins(c, &r)
	own := realOwn(r.Own)
	if r.Decisions { // ownPlaces asks too
		r.About = slices.Clip(r.About)
		for _, o := range own {
			r.About = append(r.About, o.real)
		}
		if r.Caches == policy.PrivateCaches {
			real, _ := sandbox.RealPath(r.Layers)
			r.About = append(r.About, real)
		}
	}
	cfg, host, err := sandbox.Inspect(r)
	if err != nil {
		return policy.Policy{}, host, err
	}
	host.Warnings = append(host.Warnings, problems...)
	if err := supported(c, cfg); err != nil {
		return policy.Policy{}, host, err
	}
	p, err := policy.New(cfg)
	if err != nil {
		return policy.Policy{}, host, fmt.Errorf("%w", err)
	}
	if host.Layers != "" { // a link of the user's may have led elsewhere
		own = append(own, ownPlace{host.Layers, host.Layers})
	}
	if err := ownPlaces(p, own); err != nil {
		return policy.Policy{}, host, err
	}
	if r.Network.Off && p.Tier() == policy.Guarded && p.Mode() != policy.ReadOnlyMode {
		host.Warnings = append(host.Warnings, fmt.Sprintf("no network: enabled = false in [sandbox.proxy] (%s)", r.Network.Origin))
	}
	return p, host, nil
}

// supported refuses what this version cannot do.
func supported(c config.Config, cfg policy.Config) error {
	for _, id := range cfg.Lifted {
		if strings.HasPrefix(id, "git.config:") && !cfg.Guard && cfg.Tier != policy.Open && cfg.Mode != policy.ReadOnlyMode {
			return &policy.RefusedError{
				What: fmt.Sprintf("unprotect %q", id), Why: "a single key needs the name guard, which is off",
				Lift: `turn the guard on, or unprotect "git.config" as a whole`,
			}
		}
	}
	return nil
}

// ownPlace is one of bawn's own files and folders; real is "" where that is not
// known.
type ownPlace struct{ path, real string }

func realOwn(paths []string) []ownPlace {
	out := make([]ownPlace, len(paths), len(paths)+1)
	for i, path := range paths {
		out[i].path = path
		out[i].real, _ = sandbox.RealPath(path)
	}
	return out
}

// ownPlaces refuses a run in which a command could write what bawn will read
// as its own the next time. What exists is hidden; a folder that does not is
// hidden only where it cannot be made.
func ownPlaces(p policy.Policy, own []ownPlace) error {
	if !p.Sandboxed() {
		return nil
	}
	for _, o := range own {
		if o.real != "" && p.Files().Lookup(o.real).Access != policy.ReadWrite {
			continue
		}
		return &policy.RefusedError{
			What: fmt.Sprintf("bawn's own folder %q", o.path), Why: "a sandboxed command could make or change it, and so what bawn reads",
			Lift: "make the folder now, or set XDG_CONFIG_HOME and XDG_STATE_HOME to places that commands cannot write",
		}
	}
	return nil
}
