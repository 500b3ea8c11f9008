package policy

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func npm() Install {
	return Install{Folders: []string{"node_modules", ".yarn/cache"}, Files: []string{"package-lock.json"}}
}

func installing(change func(*Config)) func(*Config) {
	return func(c *Config) {
		c.Guard, c.Profile, c.Install = true, InstallProfile, npm()
		c.GitDirs = []string{"/main/.git"}
		if change != nil {
			change(c)
		}
	}
}

// F9: what a package install may write, and why not else.
func TestF9_InstallWrites(t *testing.T) {
	plain := mustNew(t, func(c *Config) { c.Guard, c.GitDirs = true, []string{"/main/.git"} })
	const ws = testHome + "/src/app"
	for _, tier := range []Tier{Guarded, Airlock} {
		p := mustNew(t, installing(func(c *Config) { c.Tier = tier }))
		for path, rule := range map[string]string{
			ws + "/node_modules": "", ws + "/node_modules/a/b": "", ws + "/packages/x/node_modules/y": "", ws + "/package-lock.json": "", ws + "/.yarn/cache/x": "", "/tmp/x": "",
			ws: "install:write", ws + "/src/a": "install:write", ws + "/package.json": "install:write", ws + "/Makefile": "install:write", ws + "/target/x": "install:write", ws + "/.yarn/releases/y.cjs": "install:write",
			ws + "/.git": "install:git", ws + "/.git/config": "install:git", ws + "/.git/refs/heads/node_modules": "install:git", ws + "/sub/.git/refs/heads/node_modules": "install:write", ws + "/sub/.GIT/node_modules/x": "install:write",
			"/main/.git/x": "root", testHome + "/x": "home", testHome + "/.ssh/x": "credential:" + testHome + "/.ssh", "/etc/x": "root",
		} {
			d := p.Decide(Write{path})
			if (d.Verdict == Allow) != (rule == "") || rule != "" && d.Rule.ID != rule {
				t.Errorf("%v: write %s: %v by %s, want %q", tier, path, d.Verdict, d.Rule.ID, rule)
			}
			if strings.HasPrefix(rule, "install:") {
				if !strings.Contains(d.Rule.Lift, `install_profile = "off"`) || (tier == Airlock) != strings.Contains(d.Rule.Lift, "--tier guarded") {
					t.Errorf("%v: write %s: lift %q", tier, path, d.Rule.Lift)
				}
				if tier == Guarded && plain.Decide(Write{path}).Verdict != Allow {
					t.Errorf("write %s: denied without the profile too", path)
				}
			}
			if strings.HasPrefix(path, ws) && p.Decide(Read{path}).Verdict != Allow {
				t.Errorf("%v: read %s is denied", tier, path)
			}
		}
		if got := p.Decide(Write{testHome + "/.npm/x"}).Verdict == Allow; got != (tier == Guarded) {
			t.Errorf("%v: the cache is writable: %v", tier, got)
		}
	}
	p := mustNew(t, installing(func(c *Config) { c.Install.Lift = "do this" }))
	for _, a := range []Action{Write{ws + "/x"}, Write{ws + "/.git/x"}, Connect{mustHost(t, "evil.test"), 443}} {
		if d := p.Decide(a); !strings.HasSuffix(d.Rule.Lift, "do this") {
			t.Errorf("%v: lift %q", a, d.Rule.Lift)
		}
	}
}

// F9: of the network only the package registries.
func TestF9_InstallHosts(t *testing.T) {
	config := func(c *Config) {
		c.Network.Allow = []HostRule{mustRule(t, "typed.test"), mustRule(t, "saved.test"), mustRule(t, "*.wide.test")}
		c.Network.AllowPrivate = []HostRule{mustRule(t, "intra.test"), mustRule(t, "10.0.0.1:80"), mustRule(t, "x.localhost:80")}
		c.Network.Deny = []HostRule{mustRule(t, "denied.typed.test")}
		c.Network.LocalPorts = []uint16{5432}
	}
	plain := mustNew(t, func(c *Config) { config(c) })
	p := mustNew(t, installing(func(c *Config) {
		config(c)
		c.Install.Hosts = []HostRule{mustRule(t, "typed.test"), mustRule(t, "not-in-the-config.test")}
	}))
	for host, want := range map[string]Verdict{
		"packages.npmjs.org": Allow, "registry.yarnpkg.com": Allow, "static.crates.io": Allow, "pypi.org": Allow, "files.pythonhosted.org": Allow, "modules.golang.org": Allow, "typed.test": Allow, "sub.typed.test": Allow,
		"github.com": Deny, "codeload.github.com": Deny, "raw.githubusercontent.com": Deny, "gitlab.com": Deny, "bitbucket.org": Deny, "huggingface.co": Deny, "hf.co": Deny,
		"saved.test": Deny, "a.wide.test": Deny, "unlisted.test": Deny, "not-in-the-config.test": Deny, "denied.typed.test": Deny, "10.0.0.1": Deny, "x.localhost": Deny, "localhost": Deny, "127.0.0.1": Deny,
	} {
		h := mustHost(t, host)
		for _, port := range []uint16{80, 443, 5432} {
			d := p.Decide(Connect{h, port})
			if d.Verdict != want {
				t.Errorf("%s:%d: %v by %s, want %v", host, port, d.Verdict, d.Rule.ID, want)
			}
			if d.Verdict == Deny && (d.Rule.Text == "" || d.Rule.ID == "install:host" && !strings.Contains(d.Rule.Text, host+": ")) {
				t.Errorf("%s: %+v", host, d.Rule)
			}
		}
		if got := p.Network().DecideName(h).Verdict; (got == Allow) != (want == Allow) {
			t.Errorf("the name %s: %v", host, got)
		}
	}
	for _, host := range []string{"github.com", "huggingface.co", "saved.test", "a.wide.test"} { // the twins
		if d := plain.Decide(Connect{mustHost(t, host), 443}); d.Verdict != Allow {
			t.Errorf("without the profile %s: %v", host, d)
		}
	}
	if !slices.ContainsFunc(p.Warnings(), func(w string) bool { return strings.Contains(w, "local ports") }) {
		t.Errorf("warnings %q", p.Warnings())
	}
	none := mustNew(t, installing(func(c *Config) { c.Network.NoDefaults = true }))
	if d := none.Decide(Connect{mustHost(t, "packages.npmjs.org"), 443}); d.Verdict != Deny {
		t.Errorf("without the built-in hosts: %v", d)
	}
	airlock := mustNew(t, installing(func(c *Config) { c.Tier = Airlock; c.Install.Hosts = nil }))
	if d := airlock.Decide(Connect{mustHost(t, "packages.npmjs.org"), 443}); d.Verdict != Deny || d.Rule.ID != "network:airlock" {
		t.Errorf("in airlock: %+v", d)
	}
}

// What would weaken a profile is refused or left out.
func TestProfileRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		why    string // "" is made
	}{
		"install":                    {installing(nil), ""},
		"install without the guard":  {installing(func(c *Config) { c.Guard = false }), "--guard on, or install_profile"},
		"install in open":            {installing(func(c *Config) { c.Tier = Open }), "the open tier"},
		"install with full access":   {installing(func(c *Config) { c.Mode = DangerFullAccess }), "the open tier"},
		"install, nothing to write":  {installing(func(c *Config) { c.Guard = false; c.Mode = ReadOnlyMode }), ""},
		"install that names nothing": {installing(func(c *Config) { c.Install = Install{} }), ""},
		"scratch":                    {func(c *Config) { c.Profile = ScratchProfile }, ""},
		"scratch in open":            {func(c *Config) { c.Profile, c.Tier = ScratchProfile, Open }, "the open tier"},
		"unknown":                    {func(c *Config) { c.Profile = 9 }, "unknown profile"},
	} {
		p, err := New(testConfig(c.change))
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
		var refused *RefusedError
		if errors.As(err, &refused) && refused.Lift == "" {
			t.Errorf("%s: no way out: %v", name, err)
		}
		if err != nil && p.Decide(Write{testHome + "/src/app/x"}).Verdict != Deny {
			t.Errorf("%s: an error and a policy", name)
		}
	}
	for _, s := range []Profile{InstallProfile, ScratchProfile} {
		if got, err := ParseProfile(s.String()); got != s || err != nil {
			t.Errorf("%v: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "Install", "profile(3)"} {
		if got, err := ParseProfile(s); got != NoProfile || err == nil {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
}

// F9, F10: of what a profile leaves out, that which a file names for every run
// is passed over without a word; what was typed for this run is told.
func TestF9_F10_WhatAProfileLeavesOut(t *testing.T) {
	file := Origin{File: "/home/me/.config/bawn/config.toml", Line: 2}
	for _, profile := range []Profile{InstallProfile, ScratchProfile} {
		for _, typed := range []bool{false, true} {
			p := mustNew(t, func(c *Config) {
				installing(nil)(c)
				c.Profile, c.AddDirs, c.Network.LocalPorts = profile, []string{"/srv/out"}, []uint16{5432}
				if !typed {
					c.DirOrigins, c.Network.PortOrigins = map[string]Origin{"/srv/out": file}, map[uint16]Origin{5432: file}
				}
			})
			if got := strings.Join(p.Warnings(), "\n"); typed != strings.Contains(got, "added folders") || typed != (len(p.Warnings()) == 2) {
				t.Errorf("%v, typed %v: %q", profile, typed, got)
			}
			if p.Decide(Write{"/srv/out/x"}).Verdict != Deny {
				t.Errorf("%v, typed %v: an added folder is writable", profile, typed)
			}
		}
	}
}

// F10: nothing of the host is writable, and there is no network.
func TestF10_Scratch(t *testing.T) {
	for _, mode := range []Mode{NoMode, ReadOnlyMode, WorkspaceWrite} {
		p := mustNew(t, func(c *Config) {
			c.Profile, c.Mode, c.Temp, c.Guard = ScratchProfile, mode, HostTemp, true
			c.AddDirs, c.GitDirs = []string{"/data"}, []string{"/main/.git"}
			c.Network.Allow = []HostRule{mustRule(t, "a.test")}
		})
		for path, want := range map[string]Verdict{
			"/tmp/x": Allow, testHome + "/src/app/x": Deny, testHome + "/.npm/x": Deny, "/data/x": Deny, "/main/.git/x": Deny, "/etc/x": Deny, testHome + "/x": Deny,
		} {
			if d := p.Decide(Write{path}); d.Verdict != want {
				t.Errorf("%v: write %s: %v by %s", mode, path, d.Verdict, d.Rule.ID)
			}
		}
		if d := p.Decide(Write{testHome + "/src/app/x"}); d.Rule.Lift != scratchLift {
			t.Errorf("%+v", d.Rule)
		}
		if d := p.Decide(Connect{mustHost(t, "a.test"), 443}); d.Verdict != Deny || d.Rule.ID != "network:scratch" || d.Rule.Lift != scratchLift {
			t.Errorf("%v: %+v", mode, d)
		}
		if p.Decide(Read{testHome + "/src/app/x"}).Verdict != Allow || p.Decide(Read{testHome + "/.ssh/x"}).Verdict != Deny {
			t.Error("what can be read is not as without the profile")
		}
		if p.Temp() != PrivateTemp || p.Guard() || p.HasNetwork() || len(p.AddDirs()) > 0 || !slices.ContainsFunc(p.Warnings(), func(w string) bool { return strings.Contains(w, "scratch") }) {
			t.Errorf("%v: %q", mode, p.Warnings())
		}
	}
}

// For random trees, names and hosts: whatever a profile allows, the same run
// without it allows too.
func TestProfilesOnlyNarrow(t *testing.T) {
	elem := rapid.SampledFrom([]string{"node_modules", "src", ".git", ".yarn", "cache", "package-lock.json", "package-lock.json.1", "package.json", ".ssh", "config", ".bashrc", "a", ".npm", ".config", "bawn", "home", "me", "app", "main", "tmp"})
	tree := rapid.Custom(func(t *rapid.T) string {
		root := rapid.SampledFrom([]string{"", testHome, testHome + "/src/app", "/data", "/main/.git"}).Draw(t, "root")
		return root + "/" + strings.Join(rapid.SliceOfN(elem, 1, 4).Draw(t, "elements"), "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"node_modules", "src", ".yarn/cache", "package-lock.json", ".git", ".git/config", ".ssh", ".bashrc", "a"}), 0, 4)
		c := testConfig(func(c *Config) {
			c.Tier = rapid.SampledFrom([]Tier{Airlock, Guarded}).Draw(t, "tier")
			c.Mode = rapid.SampledFrom([]Mode{NoMode, NoMode, ReadOnlyMode, WorkspaceWrite}).Draw(t, "mode")
			c.Temp = rapid.SampledFrom([]TempMode{PrivateTemp, HostTemp}).Draw(t, "temp")
			c.Guard = true
			c.AddDirs = rapid.SampledFrom([][]string{nil, {"/data"}}).Draw(t, "added")
			c.GitDirs = rapid.SampledFrom([][]string{nil, {"/main/.git"}}).Draw(t, "git")
			c.Protected = append(Protected(c.Workspace), ProtectRule(c.Workspace+"/.git/hooks", "x"))
			for _, p := range rapid.SliceOfN(tree, 0, 3).Draw(t, "protected") {
				c.Protected = append(c.Protected, ProtectRule(p, "x"))
			}
			c.Network = genNetworkConfig().Draw(t, "network")
		})
		plain, err := New(c)
		if err != nil {
			t.Skip(err)
		}
		n := c
		n.Profile = rapid.SampledFrom([]Profile{InstallProfile, ScratchProfile}).Draw(t, "profile")
		n.Install = Install{Folders: names.Draw(t, "folders"), Files: names.Draw(t, "files"), Hosts: append(genNetworkConfig().Draw(t, "typed").Allow, c.Network.Allow...)}
		narrow, err := New(n)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Narrow(); err != nil {
			t.Fatal(err)
		}
		twice, err := New(n)
		if err != nil {
			t.Fatal(err)
		}
		check := func(a Action) {
			got := narrow.Decide(a)
			if got.Verdict > plain.Decide(a).Verdict {
				t.Fatalf("%#v: %v by %s with the profile, %v without", a, got.Verdict, got.Rule.ID, plain.Decide(a))
			}
			if again := twice.Decide(a); again != got {
				t.Fatalf("%#v: %v, narrowed twice %v", a, got, again)
			}
		}
		for range 20 {
			path := tree.Draw(t, "path")
			check(Write{path})
			check(Read{path})
			conn := genConnect(c.Network).Draw(t, "connection")
			if rapid.IntRange(0, 4).Draw(t, "built in") == 0 {
				conn.Host = rapid.SampledFrom(DefaultHosts()).Draw(t, "default").host
			}
			check(conn)
			addr := netip.AddrPortFrom(netip.MustParseAddr(rapid.SampledFrom([]string{"11.0.0.1", "10.0.0.1", "127.0.0.1", "::1", "169.254.169.254"}).Draw(t, "address")), conn.Port)
			if narrow.Network().DecideAddr(conn.Host, addr).Verdict > plain.Network().DecideAddr(conn.Host, addr).Verdict {
				t.Fatalf("%v at %v: only with the profile", conn, addr)
			}
		}
	})
}
