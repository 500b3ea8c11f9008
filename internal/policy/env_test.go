package policy

import (
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// envVerdict scrubs one entry; an empty rule means it was kept.
func envVerdict(t *testing.T, r EnvRules, entry string) DroppedVar {
	t.Helper()
	kept, dropped := r.Scrub([]string{entry})
	switch {
	case len(kept) == 1 && len(dropped) == 0:
		if kept[0] != entry {
			t.Fatalf("kept %q as %q", entry, kept[0])
		}
		return DroppedVar{}
	case len(kept) == 0 && len(dropped) == 1:
		if dropped[0].Rule == "" || dropped[0].Reason == "" {
			t.Fatalf("%q dropped without a reason: %+v", entry, dropped[0])
		}
		return dropped[0]
	}
	t.Fatalf("Scrub(%q) = %q, %v", entry, kept, dropped)
	return DroppedVar{}
}

func TestEnvPrecedence(t *testing.T) {
	both := EnvRules{Keep: []string{"A_TOKEN", "db_*", "BAWN_X", "SSH_AUTH_SOCK"}, Drop: []string{"*_url", "LANG"}}
	for _, c := range []struct {
		rules EnvRules
		entry string
		rule  string // "" = kept
	}{
		{EnvRules{}, "A_TOKEN=x", "env:name:*_TOKEN"},
		{both, "A_TOKEN=x", ""},
		{both, "a_token=x", ""},
		{both, "B_TOKEN=x", "env:name:*_TOKEN"},
		{EnvRules{}, "DB_DSN=postgres://u:pw@h/d", "env:value:url-password"},
		{both, "DB_DSN=postgres://u:pw@h/d", ""},
		{both, "DB_URL=postgres://h/d", "env:user-drop"},
		{EnvRules{}, "DB_URL=postgres://h/d", ""},
		{both, "LANG=C", "env:user-drop"},
		{EnvRules{}, "LANG=C", ""},
		{both, "LANGUAGE=C", ""},
		{EnvRules{}, "SSH_AUTH_SOCK=/s", "env:socket"},
		{both, "SSH_AUTH_SOCK=/s", ""},
		{both, "BAWN_X=1", "env:bawn"},
		{EnvRules{Keep: []string{"*"}}, "BAWN_ALLOW_DOMAINS=*", "env:bawn"},
		{EnvRules{Keep: []string{"*"}}, "bawn_tier=open", "env:bawn"},
		{EnvRules{Keep: []string{"*"}}, "BAWNER=1", ""},
		{EnvRules{Keep: []string{"*"}, Drop: []string{"*"}}, "HOME=/h", "env:user-drop"},
		{EnvRules{Keep: []string{"*"}}, "ghp_no_equals_sign", "env:malformed"},
		{EnvRules{Keep: []string{"*"}}, "=x", "env:malformed"},
		{EnvRules{Keep: []string{"*"}}, "A=x\x00B_TOKEN=y", "env:malformed"},
		{EnvRules{Keep: []string{"*"}}, "https://u:hunter22@h/?q=x", "env:malformed"},
		{EnvRules{}, "A=", ""},
		{EnvRules{}, "A= =", ""},
	} {
		if d := envVerdict(t, c.rules, c.entry); d.Rule != c.rule {
			t.Errorf("Scrub(%q) with %+v: rule %q, want %q", c.entry, c.rules, d.Rule, c.rule)
		}
	}
}

// A line without a = may be the rest of somebody's secret, and a name may be
// one: neither is shown.
func TestEnvMalformedIsNotShown(t *testing.T) {
	for _, entry := range []string{
		"hunter22hunter22", "=hunter22hunter22", "https://u:hunter22@h/?q=x",
		"ghp_hunter22aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1", "A\x00hunter22=1",
	} {
		if d := envVerdict(t, EnvRules{}, entry); strings.Contains(d.Name+d.Reason, "hunter22") {
			t.Errorf("%q: shown in %+v", entry, d)
		}
	}
	if d := envVerdict(t, EnvRules{}, "npm_config_//registry.example/:_authToken=x"); d.Name != "npm_config_//registry.example/:_authToken" {
		t.Errorf("a harmless name is withheld: %+v", d)
	}
}

func TestEnvReasons(t *testing.T) {
	for _, c := range []struct{ entry, reason string }{
		{"A_TOKEN=x", "name looks like a secret (*_TOKEN)"},
		{"MYSQL_PWD=x", "name is known to hold a secret"},
		{"KUBECONFIG=/k", "points to credentials that are hidden here"},
		{"KUBECONFIG=rel:/k", "points to credentials that are hidden here"},
		{"KRB5CCNAME=FILE:/t", "points to credentials that are hidden here"},
		{"KRB5CCNAME=KEYRING:x", "points to credentials"},
		{"TF_CLI_CONFIG_FILE=cli.tfrc", "points to credentials"},
		{"X_TOKEN_FILE=./token", "points to credentials"},
		{"AWS_SHARED_CREDENTIALS_FILE=creds", "points to credentials"},
		{"AWS_PROFILE=dev", "points to credentials that are hidden here"},
		{"GIT_ASKPASS=/a", "names a program of the host that hands out passwords"},
		{"TMUX=/t,1,0", "names a socket of the host"},
		{"DISPLAY=:0", "names a display of the host"},
		{"BAWN_LOG=1", "steers bawn itself"},
		{"X=http://u:pw@h", "value holds a password in a URL"},
		{"X=https://ghp_xxx@github.com", "value holds a token in a URL"},
		{"X=ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "value holds a credential (GitHub token)"},
		{"X=Z2hwX2FhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh", "value holds base64 of a credential (GitHub token)"},
	} {
		if d := envVerdict(t, EnvRules{}, c.entry); d.Reason != c.reason {
			t.Errorf("%q: reason %q, want %q", c.entry, d.Reason, c.reason)
		}
	}
}

func TestEnvOrderDuplicatesAndBytes(t *testing.T) {
	in := []string{"B=1", "A=\xff\xfe", "A_TOKEN=x", "\xc3\x28=1", "A=http://u:pw@h", "A=2", "B=1"}
	orig := slices.Clone(in)
	kept, dropped := EnvRules{}.Scrub(in)
	if want := []string{"B=1", "A=\xff\xfe", "\xc3\x28=1", "A=2", "B=1"}; !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
	if len(dropped) != 2 || dropped[0].Name != "A_TOKEN" || dropped[1].Name != "A" {
		t.Errorf("dropped %+v", dropped)
	}
	if !slices.Equal(in, orig) {
		t.Errorf("the caller's slice was changed: %q", in)
	}
}

// git stops with "missing config value" if a counted pair is gone.
func TestEnvGitConfigCount(t *testing.T) {
	pair := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraheader"}
	bad := append(slices.Clone(pair), "GIT_CONFIG_VALUE_0=AUTHORIZATION: basic eDp5enp6enp6enp6", "A=1")
	good := append(slices.Clone(pair), "GIT_CONFIG_VALUE_0=X-Trace: yes", "A=1")
	if kept, _ := (EnvRules{}).Scrub(good); !slices.Equal(kept, good) {
		t.Errorf("harmless git settings: kept %q", kept)
	}
	kept, dropped := EnvRules{}.Scrub(bad)
	if !slices.Equal(kept, []string{"GIT_CONFIG_KEY_0=http.extraheader", "A=1"}) {
		t.Errorf("kept %q", kept)
	}
	if n := len(dropped); n != 2 || dropped[0].Rule != "env:value:auth-header" || dropped[1].Rule != "env:git-config" {
		t.Errorf("dropped %+v", dropped)
	}
	if git, err := exec.LookPath("git"); err == nil {
		cmd := exec.Command(git, "config", "--list")
		cmd.Env = append(kept, "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1")
		cmd.Dir = t.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("git refuses the scrubbed environment: %v: %s", err, out)
		}
	}
	if kept, _ := (EnvRules{Keep: []string{"git_config_*"}}).Scrub(bad); !slices.Equal(kept, bad) {
		t.Errorf("env_keep: kept %q", kept)
	}
	if kept, _ := (EnvRules{Keep: []string{"GIT_CONFIG_COUNT"}}).Scrub(bad); kept[0] != "GIT_CONFIG_COUNT=1" {
		t.Errorf("env_keep of the count: kept %q", kept)
	}
}

func TestEnvValidate(t *testing.T) {
	for _, ok := range []EnvRules{
		{}, {Keep: []string{"*", "AWS_*", "*_TOKEN", "npm_config_//r/:_authToken", "BASH_FUNC_x%%", "BAWNER"}},
		{Drop: []string{"BAWN_*", "X"}},
	} {
		if err := ok.Validate(); err != nil {
			t.Errorf("%+v: %v", ok, err)
		}
	}
	for _, c := range []struct {
		rules EnvRules
		want  []string
	}{
		{EnvRules{Keep: []string{"A", ""}}, []string{`env_keep entry ""`, "empty", "remove it"}},
		{EnvRules{Drop: []string{"A=hunter22"}}, []string{`env_drop entry "A=…"`, "=", "alone"}},
		{EnvRules{Drop: []string{"A\x00B"}}, []string{`env_drop entry "A\x00B"`, "NUL", "alone"}},
		{EnvRules{Drop: []string{"A?"}}, []string{`env_drop entry "A?"`, "only * is a wildcard", "use *"}},
		{EnvRules{Drop: []string{"[AB]"}}, []string{"only * is a wildcard"}},
		{EnvRules{Drop: []string{"$A"}}, []string{`"$A"`, "alone"}},
		{EnvRules{Drop: []string{" A"}}, []string{`" A"`, "remove the space"}},
		{EnvRules{Keep: []string{"A B"}}, []string{`"A B"`, "one entry for each"}},
		{EnvRules{Drop: []string{"A,B"}}, []string{`"A,B"`, "one entry for each"}},
		{EnvRules{Keep: []string{"bawn_tier"}}, []string{`env_keep entry "bawn_tier"`, "never kept", "remove the entry"}},
	} {
		err := c.rules.Validate()
		if err == nil {
			t.Errorf("%+v: no error", c.rules)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%+v: error %q does not say %q", c.rules, err, w)
			}
		}
		if strings.Contains(err.Error(), "hunter22") {
			t.Errorf("the error shows a value: %v", err)
		}
	}
}

func TestEnvGlobMatch(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"A", "A", true}, {"A", "a", true}, {"A", "AB", false}, {"AB", "A", false},
		{"*", "", true}, {"*", "x", true}, {"", "", true}, {"", "x", false},
		{"A*", "A", true}, {"A*", "BA", false}, {"*A", "BA", true}, {"*A", "AB", false},
		{"*A*", "BAB", true}, {"A*B*C", "AxBxBxC", true}, {"A*B*C", "AxCxB", false},
		{"**A**", "xA", true}, {"A.B", "AxB", false}, {"*_X", "a_x_x", true},
		{"\xff*", "\xff\xfe", true}, {"\xff", "\xfe", false}, {"[", "{", false}, {"@", "`", false},
	} {
		if got := envGlobMatch(c.glob, c.name); got != c.want {
			t.Errorf("envGlobMatch(%q, %q) = %v", c.glob, c.name, got)
		}
	}
}

func envGenName() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,20}`),
		rapid.SampledFrom([]string{"HOME", "A_TOKEN", "SSH_AUTH_SOCK", "bawn_x", "http_proxy", "GIT_CONFIG_COUNT",
			"GIT_CONFIG_VALUE_0", "GIT_CONFIG_KEY_0", "npm_config_//r/:_auth", "K\xff", "", "KUBECONFIG"}),
	)
}

func envGenValue() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(), rapid.StringMatching(`[ -~]{0,60}`),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom(envPieces), 0, 12), func(p []string) string { return strings.Join(p, "") }),
	)
}

var envPieces = []string{"://", "u:p@h", "@", ":", "/", "ghp_", strings.Repeat("a1", 20), "eyJ", ".", "-----BEGIN ",
	"PRIVATE KEY", "-----", "password", "=", "\"", " ", "sk-", "AKIA", "ABCDEFGH23456789", "\xff", "\n", "authorization", "Bearer "}

func envGenEnviron() *rapid.Generator[[]string] {
	return rapid.SliceOfN(rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string {
			return envGenName().Draw(t, "name") + "=" + envGenValue().Draw(t, "value")
		}), envGenValue()), 0, 15)
}

func envGenRules() *rapid.Generator[EnvRules] {
	glob := rapid.OneOf(envGenName(), rapid.StringMatching(`\*?[A-Z_]{0,3}\*?`))
	return rapid.Custom(func(t *rapid.T) EnvRules {
		return EnvRules{rapid.SliceOfN(glob, 0, 3).Draw(t, "keep"), rapid.SliceOfN(glob, 0, 3).Draw(t, "drop")}
	})
}

func TestEnvProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, environ := envGenRules().Draw(t, "rules"), envGenEnviron().Draw(t, "environ")
		kept, dropped := rules.Scrub(environ)

		if len(kept)+len(dropped) != len(environ) {
			t.Fatalf("%d kept and %d dropped of %d", len(kept), len(dropped), len(environ))
		}
		rest := environ // kept is a subsequence
		for _, k := range kept {
			i := slices.Index(rest, k)
			if i < 0 {
				t.Fatalf("kept %q is not in order in the input", k)
			}
			rest = rest[i+1:]
		}
		again, more := rules.Scrub(kept)
		if len(more) != 0 || !slices.Equal(again, kept) {
			t.Fatalf("not idempotent: then dropped %+v", more)
		}
		for _, entry := range environ {
			name, _, ok := strings.Cut(entry, "=")
			isBawn := strings.HasPrefix(strings.ToUpper(name), "BAWN_")
			if ok && name != "" && !isBawn && !strings.Contains(entry, "\x00") && envFindSecret(name).rule == "" &&
				envMatchAny(rules.Keep, name) && !envMatchAny(rules.Drop, name) && !slices.Contains(kept, entry) {
				t.Fatalf("%q matches env_keep %q and was dropped", entry, rules.Keep)
			}
			if ok && (isBawn || envMatchAny(rules.Drop, name)) && slices.Contains(kept, entry) {
				t.Fatalf("%q was kept", entry)
			}
		}
	})
}

// Nothing of a value is in what is said about it. Each value carries a marker
// that no text of ours can hold by chance ("password" alone, as a value, does
// stand in a reason); so does an entry without a name.
func TestEnvReportsNeverHoldValues(t *testing.T) {
	seen := false
	rapid.Check(t, func(t *rapid.T) {
		mark := rapid.StringMatching(`Q[0-9]{9}Z`).Draw(t, "mark")
		value := envGenValue().Draw(t, "before") + mark + envGenValue().Draw(t, "after")
		if rapid.Bool().Draw(t, "base64") {
			value = envB64(value)
		}
		name := rapid.SampledFrom([]string{"X=", "A_TOKEN=", "TMUX=", "HTTP_PROXY=", "GIT_CONFIG_VALUE_0=", "BAWN_X=", "K_DROP=", "=", ""}).
			Draw(t, "name")
		if name == "" { // a line that is no variable at all; with a = it has a name, which is shown
			value = strings.ReplaceAll(value, "=", "")
		}
		entry := name + value
		_, dropped := EnvRules{Drop: []string{"*_DROP"}}.Scrub([]string{entry})
		for _, d := range dropped {
			seen = true
			if all := d.Name + d.Reason + d.Rule; strings.Contains(all, mark) || strings.Contains(all, value) {
				t.Fatalf("%+v holds a part of %q", d, entry)
			}
		}
	})
	if !seen {
		t.Error("nothing was dropped: the test says nothing")
	}
}

// Whatever surrounds it, a variable whose name marks it never gets through.
func TestEnvSecretNamesNeverPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stem := rapid.StringMatching(`[A-Za-z][A-Za-z0-9_]{0,12}`).Filter(func(s string) bool {
			return !strings.HasPrefix(strings.ToUpper(s), "BAWN_")
		}).Draw(t, "stem")
		end := rapid.SampledFrom([]string{"_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS", "_ACCESS_KEY_ID",
			"_auth", "_Private_Key", "_passwd", "_PASSPHRASE", "_COOKIE", "_TOKEN_2", "_api_key1"}).Draw(t, "end")
		entry := stem + end + "=" + rapid.String().Draw(t, "value")
		environ := envGenEnviron().Draw(t, "environ")
		at := rapid.IntRange(0, len(environ)).Draw(t, "at")
		environ = slices.Insert(environ, at, entry)
		kept, _ := EnvRules{}.Scrub(environ)
		if slices.Contains(kept, entry) {
			t.Fatalf("%q was kept", entry)
		}
	})
}

// benchEnviron is a developer's desktop: 60 variables, the size of real ones.
func benchEnviron() []string {
	path := "PATH=" + strings.Repeat("/home/user/.local/share/tool/bin:/usr/local/sbin:", 12) + "/bin"
	colors := "LS_COLORS=" + strings.Repeat("*.tar=01;31:*.tgz=01;31:*.jpg=01;35:", 40)
	env := []string{path, colors, "HOME=/home/user", "LANG=en_US.UTF-8", "LC_ALL=C.UTF-8", "TERM=xterm-256color",
		"COLORTERM=truecolor", "SHELL=/bin/bash", "USER=user", "PWD=/home/user/src/project", "OLDPWD=/home/user",
		"XDG_RUNTIME_DIR=/run/user/1000", "XDG_DATA_DIRS=/usr/share/gnome:/usr/local/share:/usr/share", "EDITOR=vim",
		"GOPATH=/home/user/go", "GOPROXY=https://goproxy.example,direct", "JAVA_HOME=/usr/lib/jvm/java-21-openjdk-amd64",
		"NVM_DIR=/home/user/.nvm", "SSH_AUTH_SOCK=/run/user/1000/ssh", "DISPLAY=:0", "GITHUB_TOKEN=x", "OPENAI_API_KEY=x",
		"DATABASE_URL=postgres://u:pw@localhost/db", "HTTPS_PROXY=http://u:pw@proxy:3128", "npm_config_cache=/home/user/.npm",
		"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus", "PROMPT_COMMAND=history -a; history -n"}
	for len(env) < 60 {
		env = append(env, "SETTING_"+strings.Repeat("X", len(env)%9)+"=/some/plain/value-of-usual.length:"+strings.Repeat("y", len(env)%30))
	}
	return env
}

func BenchmarkEnvScrub(b *testing.B) {
	env := benchEnviron()
	b.ReportAllocs()
	for b.Loop() {
		EnvRules{}.Scrub(env)
	}
}

func BenchmarkEnvScrubRules(b *testing.B) {
	env := benchEnviron()
	r := EnvRules{Keep: []string{"AWS_*", "GITHUB_TOKEN", "*_CACHE"}, Drop: []string{"COMPANY_*", "*INTERNAL*"}}
	b.ReportAllocs()
	for b.Loop() {
		r.Scrub(env)
	}
}

// Every command pays for what these imports do before main.
func TestEnvImports(t *testing.T) {
	files, err := filepath.Glob("env*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source: %v", err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if i.Path.Value != `"strings"` && i.Path.Value != `"fmt"` {
				t.Errorf("%s imports %s", name, i.Path.Value)
			}
		}
	}
}
