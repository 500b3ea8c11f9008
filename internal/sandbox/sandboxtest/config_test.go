//go:build linux

package sandboxtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/tools/tempdir"
)

// settings writes the user's file.
func (b *Box) settings(t *testing.T, text string) string {
	t.Helper()
	file := b.Home + "/.config/bawn/config.toml"
	Write(t, file, text)
	return file
}

// project writes the workspace's own file.
func (b *Box) project(t *testing.T, text string) string {
	t.Helper()
	file := b.Workspace + "/.bawn/config.toml"
	Write(t, file, text)
	return file
}

// refused wants exit 125, the words on stderr, and nothing run.
func (r Result) refused(t *testing.T, words ...string) {
	t.Helper()
	if r.Code != 125 || strings.Contains(r.Stdout, "RAN") {
		t.Errorf("exit %d, stdout %q, stderr %q", r.Code, r.Stdout, r.Stderr)
	}
	for _, w := range words {
		if !strings.Contains(r.Stderr, w) {
			t.Errorf("stderr is %q, without %q", r.Stderr, w)
		}
	}
}

// effects are settings whose effect shows in a run: the script prints no
// without them and yes with them, whatever layer says it. $X is a folder
// beside the home.
var effects = []struct {
	name   string
	toml   string
	env    string
	flags  string // "" where there is no flag
	script string
	tries  string // instead of a project: "never"
}{
	{"allowed_paths", `allowed_paths = ["$X"]`, "BAWN_ALLOW_PATHS=$X", "--add-dir=$X", `echo x 2>/dev/null >$X/f && echo yes || echo no`, ""},
	{"hidden", `hidden = ["secrets"]`, "BAWN_HIDDEN=secrets", "", `cat secrets/s >/dev/null 2>&1 && echo no || echo yes`, ""},
	{"hidden file", `hidden = ["secrets/s"]`, "BAWN_HIDDEN=secrets/s", "", `cat secrets/s >/dev/null 2>&1 && echo no || echo yes`, ""},
	{"protect", `protect = ["deploy"]`, "BAWN_PROTECT=deploy", "", `(echo x >deploy/x) 2>/dev/null && echo no || echo yes`, ""},
	{"protect absent", `protect = ["later/on"]`, "BAWN_PROTECT=later/on", "", `mkdir -p later; (echo x >later/on) 2>/dev/null && echo no || echo yes; rm -rf later`, ""},
	{"unprotect id", `unprotect = ["shell"]`, "BAWN_UNPROTECT=shell", "", `(echo x >.bashrc) 2>/dev/null && echo yes || echo no`, "never"},
	{"unprotect file", `unprotect = [".claude/settings.json"]`, "BAWN_UNPROTECT=.claude/settings.json", "", `(echo x >.claude/settings.json) 2>/dev/null && echo yes || echo no`, "never"},
	{"unprotect absent", `unprotect = [".mcp.json"]`, "BAWN_UNPROTECT=.mcp.json", "", `(echo x >.mcp.json) 2>/dev/null && echo yes || echo no; rm -f .mcp.json`, "never"},
	{"unprotect hooks", `unprotect = ["git.hooks"]`, "BAWN_UNPROTECT=git.hooks", "", `(echo x >.git/hooks/pre-commit) 2>/dev/null && echo yes || echo no`, "never"},
	{"unprotect hooks by path", `unprotect = [".git/hooks"]`, "BAWN_UNPROTECT=.git/hooks", "", `(echo x >.git/hooks/pre-push) 2>/dev/null && echo yes || echo no`, "never"},
	{"unprotect config", `unprotect = ["git.config"]`, "BAWN_UNPROTECT=git.config", "", `git config core.fsmonitor ./x 2>/dev/null && echo yes || echo no`, "never"},
	{"unprotect config by path", `unprotect = [".git/config"]`, "BAWN_UNPROTECT=.git/config", "", `git config core.pager ./x 2>/dev/null && echo yes || echo no`, "never"},
	{"unprotect one key", `unprotect = ["git.config:core.editor"]`, "BAWN_UNPROTECT=git.config:core.editor", "",
		`git config core.sshCommand ./x 2>/dev/null && echo OTHER; git config core.editor ./x 2>/dev/null && echo yes || echo no`, "never"},
	{"env_keep", `env_keep = ["MY_API_KEY"]`, "BAWN_ENV_KEEP=MY_API_KEY", "", `[ -n "$MY_API_KEY" ] && echo yes || echo no`, ""},
	{"env_drop", `env_drop = ["PLAIN*"]`, "BAWN_ENV_DROP=PLAIN*", "", `[ -n "$PLAIN" ] && echo no || echo yes`, ""},
	{"default_tier", `default_tier = "airlock"`, "BAWN_DEFAULT_TIER=airlock", "--tier=airlock", `[ $BAWN_TIER = airlock ] && echo yes || echo no`, ""},
	{"tmp", `tmp = "host"`, "BAWN_TMP=host", "", `[ -e /var/tmp/$MARK ] && echo yes || echo no`, ""},
	{"guard", `guard = "off"`, "BAWN_GUARD=off", "--guard=off", `(echo x >.zshrc) 2>/dev/null && echo yes || echo no; rm -f .zshrc`, "never"},
	{"denied_domains", `denied_domains = ["github.com"]`, "BAWN_DENY_DOMAINS=github.com", "--deny-domain=github.com",
		`timeout 20 bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128; printf "CONNECT github.com:0 HTTP/1.1\r\n\r\nCONNECT" >&3; true'; getent hosts github.com >/dev/null && echo no || echo yes`, ""},
	{"proxy", "proxy.enabled = false", "BAWN_PROXY=0", "", `getent hosts github.com >/dev/null && echo no || echo yes`, ""},
	{"default_domains", "default_domains = false", "BAWN_DEFAULT_DOMAINS=0", "", `getent hosts github.com >/dev/null && echo no || echo yes`, ""},
	{"allowed_domains", `allowed_domains = ["unlisted.example"]`, "BAWN_ALLOW_DOMAINS=unlisted.example", "--allow-domain=unlisted.example",
		`getent hosts unlisted.example >/dev/null && echo yes || echo no`, ""},
}

// C7: every setting has its effect on a real run, from the user's file, a
// variable, a flag, and a project's file once that is trusted; without it, and
// from an untrusted project where it would widen, it has none.
func TestC7_EveryLayerHasItsEffect(t *testing.T) {
	for _, e := range effects {
		t.Run(strings.ReplaceAll(e.name, " ", "_"), func(t *testing.T) {
			b := New(t, "native")
			x := filepath.Dir(b.Home) + "/x"
			mkdir(t, x)
			mark := tempdir.ForTest(t, "/var/tmp")
			clean := []string{"MY_API_KEY=abc", "PLAIN=1", "MARK=" + filepath.Base(mark), "X=" + x}
			in := strings.NewReplacer("$X", x)
			git(t, b, "init", "-q", ".")
			mkdir(t, b.Workspace+"/.claude")
			fresh := func() {
				b.Env, b.Flags = clean, nil
				for _, f := range []string{"/.bawn", "/.bashrc", "/.zshrc", "/.claude/settings.json", "/.git/hooks/pre-commit", "/.git/hooks/pre-push", "/deploy/x"} {
					os.RemoveAll(b.Workspace + f)
				}
				os.RemoveAll(b.Home + "/.config")
				for _, key := range []string{"core.fsmonitor", "core.pager", "core.editor"} {
					cmd := exec.Command("git", "config", "--unset-all", key)
					cmd.Dir, cmd.Env = b.Workspace, b.Environ()
					_ = cmd.Run()
				}
				Write(t, b.Workspace+"/secrets/s", "s")
				mkdir(t, b.Workspace+"/deploy")
				mkdir(t, b.Home+"/.config")
			}
			check := func(layer, want string) {
				t.Helper()
				r := b.Sh(t, e.script).OK(t)
				if r.Stdout != want+"\n" {
					t.Errorf("%s: %q, want %s\n%s", layer, r.Stdout, want, r.Stderr)
				}
			}
			text := "[sandbox]\n" + in.Replace(e.toml) + "\n"
			fresh()
			check("nothing", "no")
			fresh()
			b.settings(t, text)
			check("user", "yes")
			fresh()
			b.Env = append(clean[:len(clean):len(clean)], in.Replace(e.env))
			check("variable", "yes")
			if e.flags != "" {
				fresh()
				b.Flags = []string{in.Replace(e.flags)}
				check("flag", "yes")
			}
			fresh()
			b.project(t, text)
			untrusted := "no"
			switch strings.Fields(e.name)[0] {
			case "hidden", "protect", "env_drop", "default_tier", "denied_domains", "proxy", "default_domains":
				untrusted = "yes" // it tightens
			}
			check("untrusted project", untrusted)
			b.trust(t)
			want := "yes"
			if e.tries == "never" {
				want = "no"
			}
			check("trusted project", want)
		})
	}
}

// C7, A09, A68, B41, B43: what is not understood, or could not be enforced,
// refuses the run with its place, in every layer.
func TestC7_StrictReading(t *testing.T) {
	for _, c := range []struct{ line, words string }{
		{"alowed_domains = ['a.example']", "2:1: unknown key|did you mean allowed_domains?"},
		{"default_tier = 'gaurded'", "2:16: |did you mean \"guarded\"?"},
		{"default_tier = 1", "2:16: |text in quotes"},
		{"allowed_domains = 'a.example'", "2:19: |is a list"},
		{"allowed_domains = ['*.io']", "2:20: |public suffix"},
		{"allowed_domains = ['https://a.example']", "2:20: "},
		{"hidden = ['secrets/*.env']", "2:11: |wildcards are not taken"},
		{"protect = ['**/.cfg/guard.py']", "2:12: |wildcards are not taken"},
		{"unprotect = ['git.hook']", "2:14: |did you mean \"git.hooks\"?"},
		{"hidden = [\"a\\u0007b\"]", "2:11: |control character"},
		{"protect = ['a', 'a/../b']", "2:17: |.."},
		{"[sandbox.porxy]", "2:2: unknown table|did you mean \"sandbox.proxy\"?"},
		{"hidden = [", "not TOML"},
	} {
		for _, project := range []bool{false, true} {
			b := New(t, "native")
			place := b.settings
			if project {
				place = b.project
			}
			file := place(t, "[sandbox]\n"+c.line+"\n")
			words := append(strings.Split(c.words, "|"), file)
			b.Sh(t, "echo RAN").refused(t, words...)
			b.Flags = []string{"--tier", "open"}
			b.Sh(t, "echo RAN").refused(t, words...)
			b.Bawn(t, "config", "check").refused(t, words...)
			b.Bawn(t, "check", "read", "x").refused(t, words...)
			os.Remove(file)
			b.Sh(t, "true").OK(t)
		}
	}
	b := New(t, "native")
	for _, c := range []struct{ env, words string }{
		{"BAWN_DEFAULT_TIER=gaurded", "did you mean \"guarded\"?"},
		{"BAWN_ALLOW_DOMAIN=a.example", "did you mean BAWN_ALLOW_DOMAINS?"},
		{"BAWN_HIDDEN=a*", "wildcards are not taken"},
	} {
		b.Env = []string{c.env}
		b.Sh(t, "echo RAN").refused(t, c.words, strings.Split(c.env, "=")[0])
	}
}

// What this version cannot do is refused, not ignored.
func TestC7_UnsupportedIsRefused(t *testing.T) {
	b := New(t, "native")
	b.Flags = []string{"--guard", "off"}
	b.settings(t, "[sandbox]\nunprotect = ['git.config:core.editor']\n")
	b.Sh(t, "echo RAN").refused(t, "git.config:core.editor", "name guard")
	b.Flags = nil
	b.Sh(t, "true").OK(t)
}

// T7, T8: a fixed mode ignores the saved tier; a saved stricter one holds, a
// wider one does not where nobody can be asked; the typed one always does.
func TestT8_SavedTier(t *testing.T) {
	for _, c := range []struct{ saved, flags, want string }{
		{"airlock", "", "airlock"},
		{"guarded", "", "guarded"},
		{"open", "", "guarded"},
		{"open", "--no-prompt", "guarded"},
		{"open", "--sandbox", "guarded"},
		{"open", "--tier airlock", "airlock"},
		{"airlock", "--tier guarded", "guarded"},
		{"airlock", "--tier open", ""},
		{"airlock", "--sandbox", "airlock"},
		{"airlock", "--sandbox workspace-write", "workspace-write"},
		{"open", "--sandbox read-only", "read-only"},
		{"airlock", "--sandbox danger-full-access", ""},
	} {
		b := New(t, "native")
		b.settings(t, "[sandbox]\ndefault_tier = '"+c.saved+"'\n")
		b.Flags = strings.Fields(c.flags)
		if r := b.Sh(t, "echo $BAWN_TIER").OK(t); r.Stdout != c.want+"\n" {
			t.Errorf("%+v: %q", c, r.Stdout)
		}
	}
}

// T4: the file of a workspace that nobody trusts may name a stricter tier
// only.
func TestT4_ProjectTier(t *testing.T) {
	for _, c := range []struct{ user, project, want string }{
		{"airlock", "guarded", "airlock"}, {"open", "guarded", "guarded"}, {"guarded", "airlock", "airlock"}, {"airlock", "open", "airlock"},
	} {
		b := New(t, "native")
		b.settings(t, "[sandbox]\ndefault_tier = '"+c.user+"'\n")
		b.project(t, "[sandbox]\ndefault_tier = '"+c.project+"'\n")
		if r := b.Sh(t, "echo $BAWN_TIER").OK(t); r.Stdout != c.want+"\n" {
			t.Errorf("%+v: %q", c, r.Stdout)
		}
		b.trust(t)
		if r := b.Sh(t, "echo $BAWN_TIER").OK(t); c.project == "guarded" && r.Stdout != "guarded\n" {
			t.Errorf("%+v, trusted: %q", c, r.Stdout)
		}
	}
}

// C7: `bawn check` and `bawn policy` name the file and line, and a run's
// denials do.
func TestC7_OriginsAreTold(t *testing.T) {
	b := New(t, "native")
	mkdir(t, b.Workspace+"/deploy")
	x := filepath.Dir(b.Home) + "/x"
	mkdir(t, x)
	file := b.settings(t, "[sandbox]\nprotect = [\n  'deploy',\n]\nhidden = ['s']\ndenied_domains = ['evil.example']\nallowed_paths = ['"+x+"']\nallowed_local_ports = [5432]\nenv_drop = ['FOO']\ntmp = 'host'\n")
	Write(t, b.Workspace+"/s", "s")
	b.Env = []string{"FOO=1"}
	for _, c := range []struct {
		args string
		code int
		line string
	}{
		{"write deploy/x", 1, ":3"}, {"read s", 1, ":5"}, {"connect evil.example", 1, ":6"}, {"write " + x + "/y", 0, ":7"}, {"connect localhost:5432", 0, ":8"}, {"write /tmp/x", 0, ":10"},
	} {
		r := b.Bawn(t, append([]string{"check"}, strings.Fields(c.args)...)...)
		if r.Code != c.code || !strings.Contains(r.Stdout, file+c.line+")") {
			t.Errorf("check %s: exit %d\n%s%s", c.args, r.Code, r.Stdout, r.Stderr)
		}
		r = b.Bawn(t, append([]string{"check", "--json"}, strings.Fields(c.args)...)...)
		var out struct{ Origin, Verdict string }
		if err := json.Unmarshal([]byte(r.Stdout), &out); err != nil || out.Origin != file+c.line {
			t.Errorf("check --json %s: %v %+v", c.args, err, out)
		}
	}
	r := b.Sh(t, "echo x >deploy/x; getent hosts evil.example; exit 3")
	if r.Code != 3 || !strings.Contains(r.Stderr, "deploy/x\" to sh: the settings protect it (rule at "+file+":3)") || !strings.Contains(r.Stderr, "denied evil.example") || !strings.Contains(r.Stderr, file+":6") {
		t.Errorf("exit %d: %s", r.Code, r.Stderr)
	}
	if r := b.Bawn(t, "env").OK(t); !strings.Contains(r.Stdout, "FOO  removed by env_drop ("+file+":9)") {
		t.Errorf("env: %s", r.Stdout)
	}
	r = b.Bawn(t, "policy").OK(t)
	for _, origin := range []string{"3", "5", "6", "7", "8", "10"} {
		if !strings.Contains(r.Stdout, file+":"+origin+"\n") {
			t.Errorf("the short policy does not name line %s:\n%s", origin, r.Stdout)
		}
	}
	if n := strings.Count(r.Stdout, "\n"); n > 60 {
		t.Errorf("the short policy has %d lines:\n%s", n, r.Stdout)
	}
	r = b.Bawn(t, "policy", "--all").OK(t)
	for _, want := range []string{"deploy  (protect:" + b.Workspace + "/deploy, " + file + ":3)", "deny           evil.example  (" + file + ":6)", "local port     5432  (" + file + ":8)"} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("policy has no %q:\n%s", want, r.Stdout)
		}
	}
	r = b.Bawn(t, "policy", "--bwrap-args").OK(t)
	if !strings.Contains(r.Stdout, "--ro-bind\n"+b.Workspace+"/deploy\n"+b.Workspace+"/deploy\n") || !strings.HasPrefix(r.Stdout, "--unshare-user\n") {
		t.Errorf("bwrap arguments:\n%s", r.Stdout)
	}
	// XDG_CONFIG_HOME moves the file; lifts name it there.
	b.Env = []string{"XDG_CONFIG_HOME=" + x + "/cfg"}
	if r := b.Bawn(t, "check", "connect", "other.example"); !strings.Contains(r.Stdout, "allowed_domains in "+x+"/cfg/bawn/config.toml") {
		t.Errorf("lift: %s", r.Stdout)
	}
}
