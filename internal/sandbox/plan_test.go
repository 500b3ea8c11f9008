package sandbox

import (
	flags "flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bawn/internal/policy"
)

var update = flags.Bool("update", false, "write the golden files anew")

const home = "/home/me"

// ordinary is a home with some of everything.
func ordinary(more ...string) fakeFS {
	return newFS(append([]string{
		home + "/.bashrc=file", home + "/.bash_history=file", home + "/.ssh/id=file", home + "/.aws/credentials=file",
		home + "/.config/gh/hosts.yml=file", home + "/.config/nvim", home + "/.config/editor.sock=sock",
		home + "/.cache/go-build", home + "/.cache/huggingface/token=file", home + "/.cache/huggingface/hub",
		home + "/.npm", home + "/.npmrc=file", home + "/.pypirc=file", home + "/notes=file", home + "/agent.sock=sock",
		home + "/link=-> notes", home + "/src/app/.git/hooks", home + "/src/app/.git/config=file", home + "/src/app/main.go=file",
		"/etc/shadow=file", "/etc/ssl/private",
	}, more...)...)
}

func noEnv(string) string { return "" }

func ordinaryConfig(change func(*policy.Config)) policy.Config {
	c := policy.Config{
		Tier: policy.Guarded, Workspace: home + "/src/app", Homes: []string{home},
		Hidden: policy.Credentials([]string{home}, noEnv), Caches: policy.Caches(home, noEnv, policy.SharedCaches),
		Protected: []policy.PathRule{
			policy.ProtectRule(home+"/src/app/.git/hooks", "git control file"),
			policy.ProtectRule(home+"/src/app/.git/config", "git control file"),
		},
	}
	if change != nil {
		change(&c)
	}
	return c
}

func hide(path string) policy.PathRule {
	return policy.FixedRule(path, policy.Hidden, "credential:"+path, "hidden by a test")
}

// The cases of the golden files. Each expectation is a place and what a
// command must find there, so that a wrong golden file is noticed.
var planCases = []struct {
	name   string
	fs     fakeFS
	config func(*policy.Config)
	host   func(*Host)
	net    Network
	want   map[string]view
}{
	{
		name: "guarded", fs: ordinary(),
		host: func(h *Host) {
			h.Pins = []string{home + "/src/app/.git"}
			h.Copies[home+"/.npmrc"] = "audit=false\n"
			h.Sockets = []string{home + "/agent.sock", "/var/lib/app/app.sock", home + "/src/app/dev.sock", "/run/x.sock"}
			h.Kinds["/var/lib/app/app.sock"], h.Kinds[home+"/src/app/dev.sock"] = KindOther, KindOther
		},
		want: map[string]view{
			home + "/notes": viewHostRead, home + "/.ssh/id": viewNothing, home + "/.npmrc": viewNothing, home + "/.npm/x": viewHostWrite,
			home + "/src/app/main.go": viewHostWrite, home + "/src/app/.git/hooks/x": viewHostRead, home + "/src/app/.git/HEAD": viewHostWrite,
			home + "/src/other": viewHostRead, home + "/.cache/huggingface/token": viewNothing, home + "/.cache/huggingface/hub": viewHostWrite,
			home + "/.cargo/registry/x": viewNothing, home + "/new": viewNothing, "/etc/shadow": viewNothing, "/etc/passwd": viewHostRead,
			"/tmp/x": viewNothing, "/run/x.sock": viewNothing, "/var/lib/app/app.sock": viewNothing, home + "/src/app/dev.sock": viewNothing,
		},
	},
	{
		name: "airlock", fs: ordinary(), config: func(c *policy.Config) { c.Tier = policy.Airlock },
		want: map[string]view{home + "/src/app/x": viewHostWrite, home + "/.npm/x": viewHostRead, home + "/.cache/huggingface/token": viewNothing},
	},
	{
		name: "read-only", fs: ordinary(), config: func(c *policy.Config) { c.Mode = policy.ReadOnlyMode },
		want: map[string]view{home + "/src/app/x": viewHostRead, home + "/.npm/x": viewHostRead, home + "/.ssh/id": viewNothing, "/tmp/x": viewNothing},
	},
	{
		name: "host-temp", fs: ordinary(), config: func(c *policy.Config) { c.Temp = policy.HostTemp },
		want: map[string]view{"/tmp/x": viewHostWrite, "/var/tmp/x": viewHostWrite},
	},
	{
		name: "worktree", fs: ordinary("/repos/app/.git/worktrees/wt", "/repos/app/.git/config=file", "/repos/app/.git/hooks"),
		config: func(c *policy.Config) {
			c.GitDirs = []string{"/repos/app/.git"}
			c.Protected = []policy.PathRule{
				policy.ProtectRule("/repos/app/.git/hooks", "git control file"), policy.ProtectRule("/repos/app/.git/config", "git control file"),
			}
		},
		host: func(h *Host) { h.Pins = []string{"/repos/app/.git/worktrees", "/repos/app/.git"} },
		want: map[string]view{
			"/repos/app/.git/index": viewHostWrite, "/repos/app/.git/hooks/x": viewHostRead, "/repos/app/.git/config": viewHostRead, "/repos/app/main.go": viewHostRead,
		},
	},
	{
		name: "home-in-tmp", fs: newFS("/tmp/home/.ssh/id=file", "/tmp/home/notes=file", "/tmp/home/ws/a=file", "/tmp/home/.cache"),
		config: func(c *policy.Config) {
			c.Homes, c.Workspace, c.Protected = []string{"/tmp/home"}, "/tmp/home/ws", nil
			c.Hidden, c.Caches = policy.Credentials(c.Homes, noEnv), policy.Caches("/tmp/home", noEnv, policy.SharedCaches)
		},
		want: map[string]view{
			"/tmp/home/notes": viewHostRead, "/tmp/home/.ssh/id": viewNothing, "/tmp/home/ws/a": viewHostWrite, "/tmp/other": viewNothing,
			"/tmp/home/.cache/x": viewHostWrite,
		},
	},
	{
		name: "home-in-host-temp", fs: newFS("/tmp/home/.ssh/id=file", "/tmp/home/notes=file", "/tmp/home/ws/a=file", "/tmp/home/.cache"),
		config: func(c *policy.Config) {
			c.Homes, c.Workspace, c.Protected, c.Temp = []string{"/tmp/home"}, "/tmp/home/ws", nil, policy.HostTemp
			c.Hidden, c.Caches = policy.Credentials(c.Homes, noEnv), policy.Caches("/tmp/home", noEnv, policy.SharedCaches)
		},
		want: map[string]view{
			"/tmp/home/notes": viewHostRead, "/tmp/home/.ssh/id": viewNothing, "/tmp/home/ws/a": viewHostWrite, "/tmp/other": viewHostWrite,
			"/tmp/home/.aws/later": viewNothing, "/tmp/home/.cache/x": viewHostWrite,
		},
	},
	{
		// A read-only folder between two writable ones, with a secret in it.
		name: "nested-folders", fs: ordinary("/data/.codex/auth.json=file", "/data/.codex/work/a=file", "/data/x=file"),
		config: func(c *policy.Config) {
			c.Workspace = "/data/.codex/work"
			c.Caches = append(c.Caches, policy.FixedRule("/data", policy.ReadWrite, "cache:x", "a cache"))
			c.Protected = append(c.Protected, policy.ProtectRule("/data/.codex", "agent settings"))
			c.Hidden = append(c.Hidden, hide("/data/.codex/auth.json"))
		},
		want: map[string]view{
			"/data/x": viewHostWrite, "/data/.codex/config": viewHostRead, "/data/.codex/auth.json": viewNothing, "/data/.codex/work/a": viewHostWrite,
		},
	},
	{
		name: "workspace-in-config", fs: ordinary(home + "/.config/app/init.lua=file"),
		config: func(c *policy.Config) { c.Workspace, c.Protected = home+"/.config/app", nil },
		want: map[string]view{
			home + "/.config/app/init.lua": viewHostWrite, home + "/.config/nvim/x": viewHostRead, home + "/.config/gh/hosts.yml": viewNothing,
			home + "/.config/new": viewNothing,
		},
	},
	{
		name: "no-caches", fs: newFS(home+"/src/app", home+"/.local/share/pnpm", home+"/go=file", home+"/.cargo"),
		config: func(c *policy.Config) { c.Protected = nil },
		want: map[string]view{
			home + "/.npm/x": viewNothing, home + "/.cache/x": viewNothing, home + "/.cargo/registry/x": viewNothing, home + "/go": viewHostRead,
		},
	},
	{
		name: "linked-credentials",
		fs:   ordinary(home+"/.azure=-> dotfiles/azure", home+"/dotfiles/azure/token=file", home+"/dotfiles/vimrc=file", home+"/.netrc=-> /data/netrc", "/data/netrc=file", "/data/open=file"),
		config: func(c *policy.Config) {
			c.Hidden = append(c.Hidden, hide(home+"/dotfiles/azure"), hide("/data/netrc"))
		},
		want: map[string]view{
			home + "/dotfiles/azure/token": viewNothing, home + "/dotfiles/vimrc": viewHostRead, "/data/netrc": viewNothing, "/data/open": viewHostRead,
		},
	},
	{
		name: "runtime-folder", fs: ordinary(),
		config: func(c *policy.Config) { c.RunUser = "/run/user/1000" },
		host: func(h *Host) {
			h.ResolvConf = "/run/systemd/resolve/stub-resolv.conf"
			h.RunBinds, h.Links = []string{"/run/current-system", "/run/opengl-driver"}, map[string]string{"/run/current-system": "/nix/store/x"}
		},
		want: map[string]view{"/run/user/1000/bus": viewNothing, "/run/docker.sock": viewNothing, "/run/opengl-driver/lib": viewHostRead},
	},
	{
		name: "transparent", fs: ordinary(), net: Network{Proxy: true, Transparent: true},
		host: func(h *Host) { h.ResolvConf, h.HostsFile, h.Hostname = "/etc/resolv.conf", "/etc/hosts", "box" },
		want: map[string]view{home + "/src/app/x": viewHostWrite},
	},
	{
		// Git's files are the guard's, its hooks folder is a mount still.
		name: "guard", fs: ordinary(home+"/src/app/.git/config=file", home+"/src/app/.git/hooks/x=file", home+"/src/app/.git/worktrees/w/gitdir=file"),
		config: func(c *policy.Config) {
			c.Guard = true
			for _, n := range []string{"config", "hooks", "worktrees/w/gitdir"} {
				c.Protected = append(c.Protected, policy.ProtectRule(home+"/src/app/.git/"+n, "git control file"))
			}
		},
		host: func(h *Host) {
			h.Pins = []string{home + "/src/app/.git", home + "/src/app/.git/worktrees/w"}
			for _, n := range []string{"config", "hooks", "worktrees/w/gitdir"} {
				h.Control = append(h.Control, home+"/src/app/.git/"+n)
			}
		},
		want: map[string]view{home + "/src/app/.git/config": viewHostWrite, home + "/src/app/.git/hooks/x": viewHostRead},
	},
	{
		// The repository is held by a mount, all else in the workspace by names.
		name: "install", fs: ordinary(home+"/src/app/.git/config=file", home+"/src/app/.git/refs/heads/target", home+"/src/app/node_modules"),
		config: func(c *policy.Config) {
			c.Guard, c.Profile, c.Install = true, policy.InstallProfile, policy.Install{Folders: []string{"node_modules", "target"}, Files: []string{"package-lock.json"}}
			c.GitDirs = []string{"/repos/app/.git"}
			if _, err := c.Narrow(); err != nil {
				panic(err)
			}
		},
		host: func(h *Host) { h.Pins = []string{home + "/src/app/.git"} },
		want: map[string]view{
			home + "/src/app/.git/config": viewHostRead, home + "/src/app/.git/refs/heads/target": viewHostRead, home + "/src/app/node_modules": viewHostWrite,
			home + "/.npm/x": viewHostWrite, "/repos/app/.git/x": viewHostRead,
		},
	},
	{
		name: "scratch", fs: ordinary("/tmp/scratch/ws/a=file"),
		config: func(c *policy.Config) {
			c.Profile, c.Workspace, c.Protected = policy.ScratchProfile, "/tmp/scratch/ws", nil
		},
		want: map[string]view{"/tmp/scratch/ws/a": viewHostRead, home + "/src/app/main.go": viewHostRead, home + "/.npm/x": viewHostRead, "/tmp/x": viewNothing, home + "/.ssh/id": viewNothing},
	},
}

func planCase(t *testing.T, i int) Spec {
	t.Helper()
	c := planCases[i]
	cfg := ordinaryConfig(c.config)
	h := c.fs.inspect(cfg)
	if c.host != nil {
		c.host(&h)
	}
	return Plan(mustPolicy(t, cfg), h, Command{Args: []string{"true"}, Net: c.net})
}

func TestPlanGolden(t *testing.T) {
	for i, c := range planCases {
		t.Run(c.name, func(t *testing.T) {
			spec := planCase(t, i)
			var b strings.Builder
			for _, m := range spec.Mounts {
				b.WriteString(show(m) + "\n")
			}
			if spec.Guard.On {
				fmt.Fprintf(&b, "guard    %+v\n", spec.Guard)
			}
			golden(t, filepath.Join("testdata", "plan", c.name+".golden"), b.String())
			for path, want := range c.want {
				if got := look(spec.Mounts, path); got != want {
					t.Errorf("%s shows %v, want %v", path, got, want)
				}
			}
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(string(want), "\r\n", "\n"); got != want {
		t.Errorf("%s (run with -update if the change is meant)\n--- want\n%s--- got\n%s", file, want, got)
	}
}

// The same input gives the same Spec, and Plan changes neither.
func TestPlanIsPure(t *testing.T) {
	for i := range planCases {
		a, b := planCase(t, i), planCase(t, i)
		x, err1 := MarshalSpec(a)
		y, err2 := MarshalSpec(b)
		if err1 != nil || err2 != nil || string(x) != string(y) {
			t.Errorf("%s differs from run to run (%v, %v)", planCases[i].name, err1, err2)
		}
	}
}

// F10: the scratch folder is the working folder, unless another one is named.
func TestF10_PlanScratch(t *testing.T) {
	for i, c := range planCases {
		if c.name != "scratch" && c.name != "read-only" {
			continue
		}
		cfg := ordinaryConfig(c.config)
		p, h := mustPolicy(t, cfg), c.fs.inspect(cfg)
		for asked, want := range map[string]string{"": "/tmp/scratch-", "/usr": "/usr"} {
			if c.name == "read-only" && asked == "" {
				want = home + "/src/app"
			}
			s := Plan(p, h, Command{Args: []string{"true"}, Dir: asked, Environ: []string{"PWD=/x"}})
			pwd := "PWD=/x"
			if want == "/tmp/scratch-" {
				pwd = "PWD=" + want
			}
			if s.Dir != want || !slices.Contains(s.Env, pwd) {
				t.Errorf("%s, folder %q: %q, %q", planCases[i].name, asked, s.Dir, s.Env)
			}
		}
	}
}

func TestPlanCommand(t *testing.T) {
	fs := ordinary()
	environ := []string{"PATH=/bin", "TMPDIR=/var/folders/x", "MY_TOKEN=s", "XDG_RUNTIME_DIR=/run/user/7", "PATH=/usr/bin", "BAWN_TIER=open", "A=1"}
	for _, c := range []struct {
		name    string
		change  func(*policy.Config)
		want    []string
		dropped []string
	}{
		{"guarded", nil, []string{"TMPDIR=/tmp", "A=1", "BAWN_SANDBOXED=1", "BAWN_TIER=guarded"}, []string{"MY_TOKEN=s", "BAWN_TIER=open", "XDG_RUNTIME_DIR=/run/user/7"}},
		{"mode", func(c *policy.Config) { c.Mode = policy.ReadOnlyMode }, []string{"BAWN_TIER=read-only"}, nil},
		{"host temp", func(c *policy.Config) { c.Temp = policy.HostTemp }, []string{"TMPDIR=/var/folders/x"}, nil},
		{"runtime", func(c *policy.Config) { c.RunUser = "/run/user/7" }, []string{"XDG_RUNTIME_DIR=/run/user/7"}, nil},
	} {
		cfg := ordinaryConfig(c.change)
		spec := Plan(mustPolicy(t, cfg), fs.inspect(cfg), Command{Args: []string{"a", "b"}, Environ: environ, TTY: true})
		for _, e := range c.want {
			if !slices.Contains(spec.Env, e) {
				t.Errorf("%s: %q is not in %q", c.name, e, spec.Env)
			}
		}
		for _, e := range c.dropped {
			if slices.Contains(spec.Env, e) {
				t.Errorf("%s: %q is in %q", c.name, e, spec.Env)
			}
		}
		if spec.Dir != cfg.Workspace || spec.Path != "/usr/bin" || !spec.TTY || !slices.Equal(spec.Args, []string{"a", "b"}) {
			t.Errorf("%s: %+v", c.name, spec)
		}
	}
	cfg := ordinaryConfig(nil)
	if spec := Plan(mustPolicy(t, cfg), fs.inspect(cfg), Command{Dir: home + "/src/app/sub"}); spec.Dir != home+"/src/app/sub" {
		t.Error(spec.Dir)
	}
}
