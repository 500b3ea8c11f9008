package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const testHome = "/home/me"

// testConfig is an ordinary machine: one home, its credentials and caches.
func testConfig(change func(*Config)) Config {
	none := func(string) string { return "" }
	c := Config{
		Tier: Guarded, Workspace: testHome + "/src/app", Homes: []string{testHome},
		Hidden: Credentials([]string{testHome}, none), Caches: Caches(testHome, none, SharedCaches),
	}
	if change != nil {
		change(&c)
	}
	return c
}

func mustNew(t *testing.T, change func(*Config)) Policy {
	t.Helper()
	p, err := New(testConfig(change))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Each refused folder has an allowed neighbour.
func TestNewRefusesFolders(t *testing.T) {
	for _, c := range []struct{ refused, allowed string }{
		{"/", "/data"},
		{"/home", "/home2"},
		{testHome, testHome + "/src"},
		{testHome + "/.ssh", testHome + "/.sshx"},
		{testHome + "/.ssh/deep/er", testHome + "/ssh/deep/er"},
		{testHome + "/.config", testHome + "/.config/myapp"},
		{testHome + "/.config/gh", testHome + "/.config/ghx"},
		{testHome + "/.config/bawn", testHome + "/.config/bawnx"},
		{testHome + "/.local/share", testHome + "/.local/share/app"},
		{testHome + "/.netrc", testHome + "/netrc"},
		{testHome + "/.cache/mozilla", testHome + "/.cache"}, // the secrets in a cache are masked
		{testHome + "/.cache/huggingface/token", testHome + "/.cache/huggingface"},
		{"/proc/self/cwd", "/process"},
		{"/sys/kernel", "/system"},
		{"/dev/shm/x", "/devel"},
		{"/run/user/1000/x", "/run/media/me/disk"},
		{"/boot", "/bootstrap"},
		{"/tmp", "/tmp/x"},
		{"/var/tmp", "/var/tmp/x"},
		{"/var", "/var/www"},
		{"/usr", "/usr/src"},
		{"/etc", "/etc/skel"},
		{"/etc/ssl/private", "/etc/ssl/certs"},
		{"/var/lib/docker/x", "/var/lib/app"},
		{"", "/a"},
		{"relative", "/relative"},
		{"/a/../b", "/a/b"},
		{"/a/", "/a"},
		{"/a\x00b", "/ab"},
	} {
		for kind, set := range map[string]func(string) func(*Config){
			"workspace":    func(d string) func(*Config) { return func(c *Config) { c.Workspace = d } },
			"added folder": func(d string) func(*Config) { return func(c *Config) { c.AddDirs = []string{"/data", d} } },
		} {
			if _, err := New(testConfig(set(c.allowed))); err != nil {
				t.Errorf("%s %q: %v", kind, c.allowed, err)
			}
			_, err := New(testConfig(set(c.refused)))
			var r *RefusedError
			if !errors.As(err, &r) || r.Why == "" || !strings.HasPrefix(r.What, kind) {
				t.Errorf("%s %q: %v", kind, c.refused, err)
			}
		}
	}
}

func TestNewRefusesValues(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"tier": func(c *Config) { c.Tier = 3 },
		"mode": func(c *Config) { c.Mode = 4 },
		"env":  func(c *Config) { c.Env.Keep = []string{"A=B"} },
	} {
		if p, err := New(testConfig(change)); err == nil || p.Workspace() != "" {
			t.Errorf("%s: %v, %v", name, p.Workspace(), err)
		}
	}
	mustNew(t, nil)
}

func TestNewByTierAndMode(t *testing.T) {
	const ws, add, cache, git = testHome + "/src/app", "/data", testHome + "/.npm", "/repos/app.git"
	for _, c := range []struct {
		name  string
		tier  Tier
		mode  Mode
		write string // which of w(orkspace) a(dded) c(ache) g(it) are writable
	}{
		{"airlock", Airlock, NoMode, "w"},
		{"guarded", Guarded, NoMode, "wacg"},
		{"read-only", Guarded, ReadOnlyMode, ""},
		{"read-only from open", Open, ReadOnlyMode, ""},
		{"workspace-write", Airlock, WorkspaceWrite, "wacg"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustNew(t, func(cfg *Config) {
				cfg.Tier, cfg.Mode, cfg.AddDirs, cfg.GitDirs = c.tier, c.mode, []string{add}, []string{git}
			})
			for mark, dir := range map[string]string{"w": ws, "a": add, "c": cache, "g": git} {
				want := strings.Contains(c.write, mark)
				if d := p.Decide(Write{dir + "/x"}); (d.Verdict == Allow) != want {
					t.Errorf("write in %s: %+v", dir, d)
				}
				if d := p.Decide(Read{dir + "/x"}); d.Verdict != Allow {
					t.Errorf("read in %s: %+v", dir, d)
				}
			}
			if warned := len(p.Warnings()) == 1; warned == strings.Contains(c.write, "a") {
				t.Errorf("warnings: %q", p.Warnings())
			}
			for _, path := range []string{testHome + "/.ssh/id", "/etc/shadow", testHome + "/.config/bawn/config.toml"} {
				for _, a := range []Action{Read{path}, Write{path}} {
					if d := p.Decide(a); d.Verdict != Deny {
						t.Errorf("%#v: %+v", a, d)
					}
				}
			}
			for _, path := range []string{"/etc/passwd", testHome + "/notes", "/proc/sys/kernel", "/dev/sda", "/run/x"} {
				if d := p.Decide(Write{path}); d.Verdict != Deny {
					t.Errorf("write %s: %+v", path, d)
				}
			}
			for _, path := range []string{"/tmp/x", "/var/tmp/x", "/dev/null", "/dev/shm/x"} {
				if d := p.Decide(Write{path}); d.Verdict != Allow {
					t.Errorf("write %s: %+v", path, d)
				}
			}
		})
	}
}

func TestNewOpen(t *testing.T) {
	for _, ws := range []string{"/", testHome, "/etc", `C:\src`} {
		p, err := New(testConfig(func(c *Config) { c.Tier, c.Workspace = Open, ws }))
		if err != nil || p.Sandboxed() || p.Workspace() != ws {
			t.Errorf("%q: %v", ws, err)
		}
		if d := p.Decide(Write{"/etc/shadow"}); d.Verdict != Allow || d.Rule.ID != "tier:open" {
			t.Errorf("%+v", d)
		}
	}
	if _, err := New(testConfig(func(c *Config) { c.Tier, c.Workspace = Open, "" })); err == nil {
		t.Error("an empty workspace passed")
	}
}

// Hidden and protected places hold inside what is writable, in whatever order
// the rules come.
func TestNewStrictestWins(t *testing.T) {
	p := mustNew(t, func(c *Config) {
		c.Protected = []PathRule{ProtectRule(c.Workspace+"/.git/hooks", "git hooks"), ProtectRule(testHome+"/.ssh", "odd")}
		c.Caches = append(c.Caches, PathRule{Path: testHome + "/.aws", Access: ReadWrite}, PathRule{Path: testHome + "/.ssh/cache", Access: ReadWrite})
	})
	for path, want := range map[string]Access{
		p.Workspace() + "/.git/config":          ReadWrite,
		p.Workspace() + "/.git/hooks/pre":       ReadOnly,
		testHome + "/.aws/x":                    Hidden,
		testHome + "/.ssh/cache/x":              Hidden,
		testHome + "/.cache/huggingface/token":  Hidden,
		testHome + "/.cache/huggingface/models": ReadWrite,
	} {
		if got := p.Files().Lookup(path).Access; got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

// A59: where a repository says its git directory lies opens no secret.
func TestA59_ForgedGitDirectory(t *testing.T) {
	p := mustNew(t, func(c *Config) {
		c.GitDirs = []string{"/repos/app.git", testHome + "/.ssh", testHome + "/.ssh/git", testHome, "/etc", "/", "a/../b"}
		c.Protected = []PathRule{ProtectRule(testHome+"/.ssh/config", "git control file"), ProtectRule("/repos/app.git/config", "git control file")}
	})
	for path, want := range map[string]Access{
		"/repos/app.git/index": ReadWrite, "/repos/app.git/config": ReadOnly, testHome + "/.ssh/git/x": Hidden,
		testHome + "/.ssh/config": Hidden, testHome + "/x": ReadOnly, "/etc/x": ReadOnly, "/x": ReadOnly,
	} {
		if got := p.Files().Lookup(path).Access; got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if w := p.Warnings(); len(w) != 6 || !strings.Contains(w[0], ".ssh") {
		t.Errorf("warnings: %q", w)
	}
}

func TestPolicyIsImmutable(t *testing.T) {
	c := testConfig(func(c *Config) { c.AddDirs = []string{"/data"} })
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	c.Homes[0], c.AddDirs[0] = "/", "/etc"
	for i := range c.Hidden {
		c.Hidden[i].Access = ReadWrite
	}
	p.Homes()[0] = "/"
	if !slices.Equal(p.Homes(), []string{testHome}) || p.Decide(Read{testHome + "/.ssh/id"}).Verdict != Deny || p.Decide(Write{"/data/x"}).Verdict != Allow {
		t.Error("a policy changed with what it was made from")
	}
}

// C5: of the repository that begins above the workspace a denied write names the
// flag that takes it in, where that flag would not be refused; it grants nothing.
func TestC5_RepositoryAboveTheWorkspace(t *testing.T) {
	for _, c := range []struct {
		repository, path string
		mode             Mode
		id               string
		named            bool
	}{
		{"/home/u/repo", "/home/u/repo/.git/index.lock", NoMode, "home", true},
		{"/home/u/repo", "/home/u/repo/x", WorkspaceWrite, "home", true},
		{"/srv/repo", "/srv/repo/x", NoMode, "root", true},
		{"/home/u/repo", "/home/u/repository/x", NoMode, "home", false},
		{"/home/u/repo", "/home/u/repo/x", ReadOnlyMode, "home", false},
		{"/home/u", "/home/u/x", NoMode, "home", false},
		{"/", "/x", NoMode, "root", false},
		{"", "/home/u/repo/x", NoMode, "home", false},
	} {
		p, err := New(Config{Tier: Guarded, Mode: c.mode, Workspace: "/home/u/repo/sub", Homes: []string{"/home/u"}, Repository: c.repository})
		if err != nil {
			t.Fatal(err)
		}
		d := p.Decide(Write{c.path})
		if d.Verdict != Deny || d.Rule.ID != c.id || strings.Contains(d.Rule.Lift, `--workspace "`+c.repository+`"`) != c.named {
			t.Errorf("%+v: %+v", c, d)
		}
		if d := p.Decide(Read{c.path}); d.Verdict != Allow {
			t.Errorf("%+v: %+v", c, d)
		}
	}
}
