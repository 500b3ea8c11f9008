//go:build unix

package session

import (
	"os"
	"path/filepath"
	"testing"

	"bawn/internal/config"
	"bawn/internal/frontend/preset"
	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// What a preset opens is its agent's own, in every file and environment: of
// the credentials those of the agent, of the hosts those that it names, and
// none that a rule denies.
func TestPresetOpensItsOwnAlone(t *testing.T) {
	m := newMachine(t)
	settle := func(p *sandbox.Preset, tier policy.Tier, mode policy.Mode) policy.Policy {
		t.Helper()
		c, err := config.Load(config.Options{Environ: m.environ(), Workspace: m.ws})
		if err != nil {
			t.Fatal(err)
		}
		pol, _, err := SettleTier(c, sandbox.Request{Tier: tier, Mode: mode, Workspace: m.ws, Environ: m.environ(), Guard: true, Preset: p})
		if err != nil {
			t.Fatal(err)
		}
		return pol
	}
	connect := func(p policy.Policy, h policy.HostRule) policy.Verdict {
		return p.Decide(policy.Connect{Host: h.Host(), Port: 443}).Verdict
	}
	getenv := func(name string) string { return map[string]string{"HOME": m.home}[name] }
	hidden := policy.Credentials([]string{m.home}, getenv)
	for _, name := range preset.Names() {
		p, err := preset.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		o := p.Open(m.home, getenv)
		for _, dir := range o.State {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		plain, own := settle(nil, policy.Guarded, policy.NoMode), settle(o, policy.Guarded, policy.NoMode)
		for _, r := range hidden {
			if policy.Inside(r.Path, m.home+"/.cache") {
				continue // what is not there in a writable cache is not claimed to be held
			}
			if plain.Decide(policy.Read{Path: r.Path}).Verdict != policy.Deny {
				t.Errorf("%s is not hidden", r.Path)
			}
			if got := own.Decide(policy.Read{Path: r.Path}).Verdict == policy.Allow; got != (r.Agent() == name) {
				t.Errorf("%s: %s can be read: %v", name, r.Path, got)
			}
		}
		for _, dir := range o.State {
			if plain.Decide(policy.Write{Path: dir + "/x"}).Verdict == policy.Allow || own.Decide(policy.Write{Path: dir + "/x"}).Verdict != policy.Allow {
				t.Errorf("%s: its state %s", name, dir)
			}
			for _, k := range o.Kept {
				if d := own.Decide(policy.Write{Path: dir + "/" + k}); d.Verdict != policy.Deny || d.Rule.Origin.File != "preset "+name {
					t.Errorf("%s: %s/%s: %+v", name, dir, k, d)
				}
			}
		}
		for _, n := range policy.ProtectedNames() {
			if own.Decide(policy.Write{Path: m.ws + "/" + n.Path}).Verdict == policy.Allow {
				t.Errorf("%s writes %s in the project", name, n.Path)
			}
		}
		for _, h := range o.Hosts {
			if connect(plain, h) == policy.Allow || connect(own, h) != policy.Allow {
				t.Errorf("%s: %s", name, h)
			}
		}
		for _, e := range o.Env {
			if kept, _ := own.Env().Scrub([]string{e + "=v"}); len(kept) != 1 {
				t.Errorf("%s does not see %s", name, e)
			}
		}
		for _, strict := range []policy.Policy{settle(o, policy.Airlock, policy.NoMode), settle(o, policy.Guarded, policy.ReadOnlyMode)} {
			for _, r := range hidden {
				if policy.Inside(r.Path, m.home+"/.cache") {
					continue
				}
				if strict.Decide(policy.Read{Path: r.Path}).Verdict != policy.Deny {
					t.Errorf("%s: %s in %s", name, r.Path, strict.Tier())
				}
			}
			if kept, _ := strict.Env().Scrub([]string{o.Env[0] + "=v"}); len(kept) != 0 || connect(strict, o.Hosts[0]) == policy.Allow {
				t.Errorf("%s has its preset in %s", name, strict.Tier())
			}
		}
	}
	p, err := preset.Read("claude")
	if err != nil {
		t.Fatal(err)
	}
	o := p.Open(m.home, getenv)
	if err := os.WriteFile(m.home+"/.claude/.credentials.json", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(m.home, ".config/bawn/config.toml")
	if err := os.WriteFile(file, []byte("[sandbox]\ndenied_domains = [\"api.anthropic.com\"]\nenv_drop = [\"ANTHROPIC_*\"]\nhidden = [\"~/.claude/.credentials.json\"]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if own := settle(o, policy.Guarded, policy.NoMode); connect(own, o.Hosts[0]) != policy.Deny || own.Decide(policy.Read{Path: m.home + "/.claude/.credentials.json"}).Verdict != policy.Deny {
		t.Error("a rule that denies does not win")
	} else if kept, _ := own.Env().Scrub([]string{"ANTHROPIC_API_KEY=v"}); len(kept) != 0 {
		t.Error("env_drop does not win")
	}
}
