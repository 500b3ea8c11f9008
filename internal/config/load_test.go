//go:build unix

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/policy"
)

func TestNoFilesMeansDefaults(t *testing.T) {
	w := newWorld(t)
	c := w.load()
	if tier, _ := c.Tier(false); tier != policy.Guarded {
		t.Errorf("tier %v", tier)
	}
	if !c.NarrowInstalls() || c.Enabled() || !c.Guard() || c.Caches() != policy.SharedCaches || c.Temp() != policy.PrivateTemp || c.StrictPrecheck() || c.Launcher() != "auto" {
		t.Errorf("not the defaults: %s", c.Report().Text())
	}
	if on, how, _ := c.Egress(); !on || how != UpstreamEnv {
		t.Errorf("egress %v %v", on, how)
	}
	if got := c.Keys("cycle_sandbox_tier"); len(got) != 1 || got[0] != "alt+s" {
		t.Errorf("keys %q", got)
	}
	if len(c.Files()) != 0 || len(c.Warnings()) != 0 || len(c.Pending()) != 0 {
		t.Errorf("files %q, warnings %q, pending %v", c.Files(), c.Warnings(), c.Pending())
	}
	// The zero Config is the same, and no zero value of a helper opens anything.
	var zero Config
	if zero.Diff(c) != nil || c.Diff(zero) != nil {
		t.Errorf("the zero Config differs: %q %q", zero.Diff(c), c.Diff(zero))
	}
}

// Scalars come from the strongest layer, lists add up, and each value keeps
// its place.
func TestLayers(t *testing.T) {
	w := newWorld(t)
	w.write(w.managed+"/config.toml", "[sandbox]\ndefault_tier = 'airlock'\ntmp = 'private'\nallowed_domains = ['managed.example']\n")
	w.write(w.userFile(), "[sandbox]\ndefault_tier = 'open'\nallowed_domains = [\n  'user.example',\n  'managed.example',\n]\n[keybindings]\ncycle_sandbox_tier = ['alt+t', 'f6']\n")
	w.write(w.savedFile(), "[sandbox]\nallowed_domains = ['saved.example']\n")
	w.write(w.projectFile(), "[sandbox]\ndefault_tier = 'guarded'\nallowed_domains = ['project.example']\nallowed_paths = ['../neighbour', 'sub/']\nprotect = ['deploy/']\n")
	w.trustProject()
	w.environ = []string{"BAWN_ALLOW_DOMAINS=env.example, second.example:443", "BAWN_TMP=host", "BAWN_SANDBOX=1", "BAWN_ENV_DROP="}
	w.flags = []Flag{{"--allow-domain", "sandbox.allowed_domains", "flag.example"}, {"--tier", "sandbox.default_tier", "open"}, {"--tier", "sandbox.default_tier", "airlock"}}
	c := w.load()
	if tier, it := c.Tier(false); tier != policy.Airlock || it.Origin.String() != "--tier" {
		t.Errorf("tier %v of %v", tier, it.Origin)
	}
	if c.Temp() != policy.HostTemp || !c.Enabled() {
		t.Error("the environment does not win over files")
	}
	var got []string
	for _, it := range c.Items("sandbox.allowed_domains") {
		got = append(got, it.Text+" "+it.Layer.String()+" "+strings.TrimPrefix(it.Origin.String(), w.root))
	}
	want := `managed.example managed /etc/bawn/config.toml:4
user.example user /home/.config/bawn/config.toml:4
saved.example saved answers /home/.config/bawn/allowed.toml:2
project.example project /home/work/.bawn/config.toml:3
env.example environment BAWN_ALLOW_DOMAINS
second.example:443 environment BAWN_ALLOW_DOMAINS
flag.example flags --allow-domain`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if got := texts(c.Folders()); got != w.home+"/neighbour "+w.dir+"/sub" {
		t.Errorf("folders %q", got)
	}
	if got := c.Keys("cycle_sandbox_tier"); strings.Join(got, " ") != "alt+t f6" {
		t.Errorf("keys %q", got)
	}
	if c.NarrowInstalls() {
		t.Error("hosts written by hand do not lift the install profile")
	}
	rules := protect(c, []policy.PathRule{policy.ProtectRule(w.dir+"/.husky", "x")})
	if len(rules) != 2 || rules[1].Path != w.dir+"/deploy" {
		t.Errorf("protected: %v", rules)
	}
	if len(c.Files()) != 4 {
		t.Errorf("files %q", c.Files())
	}
}

// F9: only what a person wrote into a file lifts the narrow profile.
func TestInstallProfile(t *testing.T) {
	hosts := "[sandbox]\nallowed_domains = ['a.example']\n"
	for _, tt := range []struct {
		name   string
		set    func(*world)
		narrow bool
	}{
		{"nothing", func(w *world) {}, true},
		{"user's hosts", func(w *world) { w.write(w.userFile(), hosts) }, false},
		{"user's folders", func(w *world) { w.write(w.userFile(), "[sandbox]\nallowed_paths = ['/srv']\n") }, false},
		{"managed hosts", func(w *world) { w.write(w.managed+"/config.toml", hosts) }, false},
		{"empty list", func(w *world) { w.write(w.userFile(), "[sandbox]\nallowed_domains = []\n") }, true},
		{"other keys", func(w *world) { w.write(w.userFile(), "[sandbox]\ntmp = 'host'\ndenied_domains = ['x.example']\n") }, true},
		{"saved answer", func(w *world) { w.write(w.savedFile(), hosts) }, true},
		{"variable", func(w *world) { w.environ = []string{"BAWN_ALLOW_DOMAINS=a.example"} }, true},
		{"flag", func(w *world) { w.flags = []Flag{{"--allow-domain", "sandbox.allowed_domains", "a.example"}} }, true},
		{"untrusted project", func(w *world) { w.write(w.projectFile(), hosts) }, true},
		{"trusted project", func(w *world) { w.write(w.projectFile(), hosts); w.trustProject() }, false},
		{"clamped away", func(w *world) {
			w.write(w.userFile(), hosts)
			w.write(w.managed+"/requirements.toml", "[sandbox]\nallowed_domains = ['corp.example']\n")
		}, true},
		{"off", func(w *world) { w.write(w.userFile(), "[sandbox]\ninstall_profile = 'off'\n") }, false},
		{"on", func(w *world) {
			w.write(w.userFile(), "[sandbox]\ninstall_profile = 'on'\nallowed_domains = ['a.example']\n")
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			tt.set(w)
			if got := w.load().NarrowInstalls(); got != tt.narrow {
				t.Errorf("narrow %v, want %v", got, tt.narrow)
			}
		})
	}
}

// An action has the key it comes with until a layer names it; an empty list
// takes that away. A key that a person needs everywhere is refused.
func TestKeybindings(t *testing.T) {
	for text, want := range map[string][2]string{
		"":                               {"alt+s", ""},
		"cycle_sandbox_tier = []\n":      {"", ""},
		"cycle_sandbox_tier = ['f6']\n":  {"f6", ""},
		"show_tasks = ['Alt+T', 'f7']\n": {"alt+s", "alt+t f7"},
	} {
		w := newWorld(t)
		w.write(w.userFile(), "[keybindings]\n"+text)
		c := w.load()
		got := [2]string{strings.Join(c.Keys("cycle_sandbox_tier"), " "), strings.Join(c.Keys("show_tasks"), " ")}
		if got != want || strings.Join(c.Keys("prefix"), " ") != `ctrl+\` || c.Keys("no_action") != nil {
			t.Errorf("%q: %q", text, got)
		}
		if n := len(c.Items("keybindings.cycle_sandbox_tier")); (n == 0) != (want[0] == "") {
			t.Errorf("%q: %d items", text, n)
		}
	}
	for chord, ok := range map[string]bool{"ctrl+c": false, "ctrl+d": false, "ctrl+z": false, "ctrl+m": false, "alt+[": false, "ctrl+x": true, "alt+c": true, "f6": true, "enter": false, "y": false} {
		if _, err := parseChord(chord); (err == nil) != ok {
			t.Errorf("%s: %v", chord, err)
		}
	}
}

// T8: with nobody to ask a saved wider tier does not apply, a stricter one
// does; what is typed does.
func TestHeadlessTier(t *testing.T) {
	for _, tt := range []struct {
		file, env, flag    string
		headless, attended policy.Tier
	}{
		{"", "", "", policy.Guarded, policy.Guarded},
		{"open", "", "", policy.Guarded, policy.Open},
		{"airlock", "", "", policy.Airlock, policy.Airlock},
		{"airlock", "open", "", policy.Airlock, policy.Open},
		{"open", "airlock", "", policy.Airlock, policy.Airlock},
		{"airlock", "", "open", policy.Open, policy.Open},
		{"open", "", "guarded", policy.Guarded, policy.Guarded},
	} {
		w := newWorld(t)
		if tt.file != "" {
			w.write(w.userFile(), "[sandbox]\ndefault_tier = '"+tt.file+"'\n")
		}
		if tt.env != "" {
			w.environ = []string{"BAWN_DEFAULT_TIER=" + tt.env}
		}
		if tt.flag != "" {
			w.flags = []Flag{{"--tier", "sandbox.default_tier", tt.flag}}
		}
		c := w.load()
		if got, _ := c.Tier(true); got != tt.headless {
			t.Errorf("%+v: headless %v", tt, got)
		}
		if got, _ := c.Tier(false); got != tt.attended {
			t.Errorf("%+v: attended %v", tt, got)
		}
	}
}

func TestRequirementsClamp(t *testing.T) {
	w := newWorld(t)
	w.write(w.userFile(), `[sandbox]
default_tier = "open"
allowed_domains = ["a.corp.example", "evil.example", "*", "corp.example:443", "*.corp.example"]
allowed_paths = ["/srv/data/x", "/srv/database"]
allowed_local_ports = [80, 443]
exclude = ["docker *", "make deploy"]
guard = "off"
launcher = "bwrap"
[permissions]
mode = "bypass"
`)
	w.write(w.managed+"/requirements.toml", `[sandbox]
default_tier = "guarded"
allowed_domains = ["corp.example", "github.com"]
denied_domains = ["secret.corp.example"]
allowed_paths = ["/srv/data"]
allowed_local_ports = [443]
exclude = ["make deploy"]
guard = "on"
launcher = "native"
[permissions]
mode = "auto"
`)
	w.flags = []Flag{{"--tier", "sandbox.default_tier", "open"}}
	c := w.load()
	if tier, it := c.Tier(false); tier != policy.Guarded || filepath.Base(it.Origin.File) != "requirements.toml" {
		t.Errorf("tier %v of %v", tier, it.Origin)
	}
	if c.AllowTier(policy.Open) == nil || !errors.Is(c.AllowTier(policy.Open), policy.ErrRefused) || c.AllowTier(policy.Guarded) != nil {
		t.Error("the highest tier does not hold for what is asked later")
	}
	for _, tt := range []struct{ key, want string }{
		{"sandbox.allowed_domains", "github.com a.corp.example corp.example:443 *.corp.example"},
		{"sandbox.denied_domains", "secret.corp.example"},
		{"sandbox.allowed_paths", "/srv/data/x"},
		{"sandbox.allowed_local_ports", "443"},
		{"sandbox.exclude", "make deploy"},
		{"sandbox.guard", "on"},
		{"sandbox.launcher", "native"},
		{"permissions.mode", "auto"},
	} {
		if got := texts(c.Items(tt.key)); got != tt.want {
			t.Errorf("%s = %q, want %q", tt.key, got, tt.want)
		}
	}
	// The built-in hosts are clamped too.
	for host, want := range map[string]policy.Verdict{
		"x.a.corp.example:80": policy.Allow, "secret.corp.example:443": policy.Deny,
		"github.com:443": policy.Allow, "npmjs.org:443": policy.Ask, "evil.example:443": policy.Ask,
	} {
		if got := connect(t, c, host); got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
	if !contains(c.Warnings(), "evil.example") || !contains(c.Warnings(), "docker *") {
		t.Errorf("nothing is said about what was dropped: %q", c.Warnings())
	}
	// Its twin: without requirements all of it holds.
	if err := os.Remove(w.managed + "/requirements.toml"); err != nil {
		t.Fatal(err)
	}
	c = w.load()
	if tier, _ := c.Tier(false); tier != policy.Open || c.AllowTier(policy.Open) != nil || connect(t, c, "evil.example:443") != policy.Allow || len(c.Exceptions().Exclude) != 2 {
		t.Error("the user's settings do not hold without requirements")
	}
}

func TestEnvironment(t *testing.T) {
	for _, tt := range []struct{ entry, want string }{
		{"BAWN_DEFAULT_TIER=gaurded", "BAWN_DEFAULT_TIER: "},
		{"BAWN_SANDBOX=yes", "BAWN_SANDBOX: "},
		{"BAWN_TIER=airlock", "BAWN_DEFAULT_TIER"},
		{"BAWN_ALLOW_DOMAIN=x.example", "did you mean BAWN_ALLOW_DOMAINS?"},
		{"BAWN_DENIED_DOMAINS=x.example", "did you mean BAWN_DENY_DOMAINS?"},
		{"BAWN_ALLOW_DOMAINS=a.example,*.com", "public suffix"},
		{"BAWN_ALLOW_PATHS=/a:b", "relative path"},
		{"BAWN_ENV_KEEP=A=B", "may not contain ="},
		{"BAWN_HIDDEN=/a\x01", "control character"},
		{"BAWN_ALLOW_LOCAL_PORTS=80,http", "not a port"},
	} {
		w := newWorld(t)
		w.environ = []string{tt.entry}
		w.refused(tt.want)
	}
	w := newWorld(t)
	w.environ = []string{
		"BAWN_EXCLUDE=ship it, deploy prod", "BAWN_ALLOW_PATHS=~/x:/srv", "BAWN_ALLOW_LOCAL_PORTS=80,443", "BAWN_PROXY=0",
		"BAWN_TIER=guarded", "BAWN_SANDBOXED=1", "BAWN_BUILD_VERSION=3", "BAWN=1", "NOT_BAWN_SANDBOX=1", "BAWN_TMP=private", "BAWN_TMP=host",
	}
	c := w.load()
	if got := texts(c.Items("sandbox.exclude")); got != "ship it deploy prod" {
		t.Errorf("exclude %q", got)
	}
	if got := texts(c.Folders()); got != w.home+"/x /srv" {
		t.Errorf("folders %q", got)
	}
	if got := c.Network().LocalPorts; len(got) != 2 || got[0] != 80 {
		t.Errorf("ports %v", got)
	}
	if on, _, _ := c.Egress(); on {
		t.Error("BAWN_PROXY=0 does not hold")
	}
	if c.Temp() != policy.HostTemp {
		t.Error("of a repeated variable the first counts")
	}
	if len(c.Warnings()) != 1 || !strings.Contains(c.Warnings()[0], "BAWN_BUILD_VERSION") {
		t.Errorf("warnings %q", c.Warnings())
	}
}

// A key's id holds the sign that parts the entries of a variable.
func TestEnvironmentGitKeys(t *testing.T) {
	w := newWorld(t)
	for value, want := range map[string]string{
		"git.config:core.editor":            "git.config:core.editor",
		"shell:git.config:core.editor:bawn": "shell git.config:core.editor bawn",
		"git.config":                        "git.config",
		"git.config:shell":                  "git.config shell",
		"git.config:./core.editor":          "git.config " + w.dir + "/core.editor",
		"./git.config:/x/core.editor":       w.dir + "/git.config /x/core.editor",
	} {
		w.environ = []string{"BAWN_UNPROTECT=" + value}
		if got := texts(w.load().Items("sandbox.unprotect")); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
	for _, value := range []string{"git.confg", "git.config:Core.editor", "shel", "agents", "git.hooks.x"} {
		w.environ = []string{"BAWN_UNPROTECT=" + value}
		w.refused("BAWN_UNPROTECT", "no protected name")
	}
}

func TestZeroOptionsAllowNothing(t *testing.T) {
	w := newWorld(t)
	w.write(w.projectFile(), hostile)
	c, err := Load(Options{Workspace: w.dir, managed: w.managed})
	if err != nil || len(Config{}.Diff(c)) != 0 || !contains(c.Warnings(), "no settings of yours") {
		t.Errorf("%v, %q", err, c.Warnings())
	}
	if _, err := Load(Options{Workspace: "relative"}); err == nil {
		t.Error("a relative workspace is taken")
	}
}

// A project's tier is stricter only if it is so with and without somebody to
// ask; the review says which it widens.
func TestProjectTierWithNobodyToAsk(t *testing.T) {
	w := newWorld(t)
	w.write(w.managed+"/config.toml", "[sandbox]\ndefault_tier = 'airlock'\n")
	w.write(w.userFile(), "[sandbox]\ndefault_tier = 'open'\n")
	w.write(w.projectFile(), "[sandbox]\ndefault_tier = 'guarded'\n")
	c := w.load()
	if got, _ := c.Tier(true); got != policy.Airlock || len(c.Pending()) != 1 {
		t.Errorf("headless %v, pending %v", got, c.Pending())
	}
	o := w.options()
	r, err := LoadReview(o)
	if err != nil || len(r.Widens) != 1 || !strings.Contains(r.Widens[0], "where nobody can be asked") {
		t.Errorf("review %q, %v", r.Widens, err)
	}
	w.trustProject()
	if got, _ := w.load().Tier(true); got != policy.Guarded {
		t.Errorf("trusted: %v", got)
	}
}

// A folder on the command line may have any name; in a file or a variable it
// may not act on a terminal.
// What a file says and a person types is typed: a profile takes no other hosts.
func TestTypedHosts(t *testing.T) {
	w := newWorld(t)
	w.write(w.userFile(), "[sandbox]\nallowed_domains = ['a.test', 'b.test']\n")
	w.flags = []Flag{{"--allow-domain", "sandbox.allowed_domains", "a.test"}}
	for _, it := range w.load().Items("sandbox.allowed_domains") {
		if it.Typed() != (it.Text == "a.test") || it.Layer != User {
			t.Errorf("%+v: typed %v", it, it.Typed())
		}
	}
}

func TestTypedFolderNames(t *testing.T) {
	for _, name := range []string{"a\nb", "tab\there", "\x7f\x01", "\xff", "[*]{}$?\\", "~x"} {
		w := newWorld(t)
		w.flags = []Flag{{"--add-dir", "sandbox.allowed_paths", PlainPath("/x/" + name)}}
		c := w.load()
		if got := c.Folders(); len(got) != 1 || got[0].Text != "/x/"+name {
			t.Errorf("%q: %q", name, texts(got))
		}
		if text := c.Report().Text(); strings.ContainsAny(text, "\x01\x7f\t") || strings.Contains(text, "a\nb") {
			t.Errorf("%q is printed raw: %q", name, text)
		}
	}
	w := newWorld(t)
	w.environ = []string{"BAWN_ALLOW_PATHS=/x/a\tb"}
	w.refused("control character")
}
