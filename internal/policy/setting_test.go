package policy

import (
	"strings"
	"testing"
)

func settingConfig(tier Tier) Config {
	return Config{
		Tier: tier, Workspace: "/home/u/w", Homes: []string{"/home/u"},
		Hidden: append(Credentials([]string{"/home/u"}, func(string) string { return "" }), SettingRule("/home/u/w/secrets", Hidden, Origin{"f", 1})),
	}
}

// What settings hide may lie in the workspace, where a credential may not; the
// rule knows its line.
func TestSettingRules(t *testing.T) {
	c := settingConfig(Guarded)
	c.Protected = []PathRule{SettingRule("/home/u/w/deploy", ReadOnly, Origin{"f", 2})}
	c.AddDirs, c.DirOrigins = []string{"/data"}, map[string]Origin{"/data": {"f", 3}}
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		a    Action
		want Verdict
		line int
	}{
		{Read{"/home/u/w/secrets/x"}, Deny, 1}, {Write{"/home/u/w/secrets/x"}, Deny, 1}, {Read{"/home/u/w/deploy/x"}, Allow, 2},
		{Write{"/home/u/w/deploy/x"}, Deny, 2}, {Write{"/data/x"}, Allow, 3}, {Write{"/home/u/w/x"}, Allow, 0},
	} {
		if d := p.Decide(tt.a); d.Verdict != tt.want || d.Rule.Origin.Line != tt.line {
			t.Errorf("%v: %+v", tt.a, d)
		}
	}
	c.Workspace = "/home/u/w/secrets/sub"
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "the settings hide it") {
		t.Errorf("a hidden workspace: %v", err)
	}
}

// A folder inside a protected place does not open it, whoever names it.
func TestAddedFolderInAProtectedPlace(t *testing.T) {
	for dir, want := range map[string]Verdict{"/home/u/w/deploy/sub": Deny, "/home/u/w/deploy": Deny, "/home/u/w/.codex/x": Deny, "/home/u/w/deployed": Allow, "/data": Allow} {
		c := settingConfig(Guarded)
		c.Protected = append(Protected("/home/u/w"), SettingRule("/home/u/w/deploy", ReadOnly, Origin{"f", 2}))
		c.AddDirs = []string{dir}
		p, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		if d := p.Decide(Write{dir + "/f"}); d.Verdict != want || (len(p.Warnings()) == 0) != (want == Allow) || (len(p.AddDirs()) == 1) != (want == Allow) {
			t.Errorf("%s: %+v, %q, %q", dir, d, p.Warnings(), p.AddDirs())
		}
	}
}

// N9, T1: switched off there is no network, by the rule that says so; and what
// only guarded may have, airlock has not.
func TestSettingsByTier(t *testing.T) {
	for _, tier := range []Tier{Airlock, Guarded, Open} {
		c := settingConfig(tier)
		c.Temp = HostTemp
		c.Network = NetworkConfig{Off: true, Origin: Origin{"f", 9}, Allow: mustRules(t, "*")}
		p, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		d := p.Decide(connect(t, "github.com:443"))
		want := map[Tier]string{Airlock: "network:airlock", Guarded: "network:off", Open: "tier:open"}[tier]
		if p.HasNetwork() != (tier == Open) || d.Rule.ID != want || tier == Guarded && d.Rule.Origin.Line != 9 {
			t.Errorf("%v: %+v", tier, d)
		}
		if tier != Open && (p.Temp() == HostTemp) != (tier == Guarded) {
			t.Errorf("%v: temp %v", tier, p.Temp())
		}
		if tier == Airlock && p.Files().Lookup("/tmp/x").Access != Private {
			t.Error("airlock writes the host's temp folder")
		}
		if got := p.WithTierLift("the lift").NoNetwork().Lift; (got == "the lift") != (tier != Guarded) {
			t.Errorf("%v: lifted by %q", tier, got)
		}
		c.Network.Off = false
		if p, err = New(c); err != nil || p.HasNetwork() != (tier != Airlock) {
			t.Errorf("%v: %v", tier, err)
		}
	}
}
