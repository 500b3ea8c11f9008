package policy

import (
	"slices"
	"strings"
	"testing"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func checkRules(t *testing.T, rules []PathRule, access Access) map[string]PathRule {
	t.Helper()
	seen := map[string]PathRule{}
	for _, r := range rules {
		if !IsClean(r.Path) || r.Path == "/" {
			t.Errorf("%q is not a clean path", r.Path)
		}
		if r.Access != access {
			t.Errorf("%q is %v", r.Path, r.Access)
		}
		if rule := r.Rule(); rule.ID == "" || rule.Text == "" || HasControl(rule.Text) {
			t.Errorf("%q has the rule %+v", r.Path, rule)
		}
		seen[r.Path] = r
	}
	return seen
}

// The sentence about a hidden place is made of what the table calls it.
func TestHiddenSentences(t *testing.T) {
	all := slices.Concat(Credentials([]string{"/h"}, func(name string) string { return "/moved/" + name }), MacCredentials([]string{"/h"}))
	for _, r := range all {
		what, ok := strings.CutSuffix(r.Rule().Text, " are hidden from sandboxed commands")
		if !ok || !strings.HasSuffix(what, "s") && !strings.HasSuffix(what, " data") && !strings.Contains(what, "s with ") {
			t.Errorf("%s: %s", r.Path, r.Rule().Text)
		}
	}
}

func TestCredentialTables(t *testing.T) {
	seen := map[string]bool{}
	agents := make([]place, len(agentSecrets))
	for i, a := range agentSecrets {
		agents[i] = a.place
	}
	home := slices.Concat(homeSecrets[:], agents)
	for _, list := range [][]place{home, homeOwn[:], systemSecrets[:]} {
		for _, p := range list {
			if seen[p.path] {
				t.Errorf("%q is listed twice", p.path)
			}
			seen[p.path] = true
			if p.what == "" {
				t.Errorf("%q does not say what it is", p.path)
			}
			if full := "/" + strings.TrimPrefix(p.path, "/"); !IsClean(full) || full == "/" {
				t.Errorf("%q is not clean", p.path)
			}
		}
	}
	for _, p := range systemSecrets {
		if !strings.HasPrefix(p.path, "/") {
			t.Errorf("%q is not absolute", p.path)
		}
	}
	for _, p := range home {
		if strings.HasPrefix(p.path, "/") {
			t.Errorf("%q is absolute", p.path)
		}
		// One inside another adds nothing.
		for _, q := range home {
			if p.path != q.path && Inside("/"+p.path, "/"+q.path) {
				t.Errorf("%q lies in %q", p.path, q.path)
			}
		}
	}
	pairs := map[string]bool{}
	for _, e := range envSecrets {
		if key := e.name + "\x00" + e.sub; pairs[key] {
			t.Errorf("%s %s is listed twice", e.name, e.sub)
		} else {
			pairs[key] = true
		}
	}
}

func TestCredentials(t *testing.T) {
	rules := Credentials([]string{"/home/a", "/root"}, env())
	seen := checkRules(t, rules, Hidden)
	if len(seen) != len(rules) {
		t.Errorf("%d rules for %d paths", len(rules), len(seen))
	}
	// SPEC F4 by name, in every home.
	for _, name := range strings.Fields(`.ssh .aws .gnupg .gpg .kube .docker .azure .gcloud .config/gcloud .config/gh .env .netrc .npmrc
		.pypirc .git-credentials .cache/huggingface/token .config/git/credentials .cargo/credentials.toml .gem/credentials
		.bash_history .terraform.d .vault-token .local/share/keyrings .password-store .mozilla .config/google-chrome
		.claude/.credentials.json .claude/.config.json .codex/auth.json .codex/.credentials.json .codex/.env .gemini/gemini-credentials.json
		.gemini/mcp-oauth-tokens.json .gemini/mcp-oauth-tokens-v2.json .gemini/a2a-oauth-tokens.json .qwen/mcp-oauth-tokens.json .config/bawn .local/state/bawn`) {
		for _, home := range []string{"/home/a/", "/root/"} {
			if _, ok := seen[home+name]; !ok {
				t.Errorf("%s is not hidden", home+name)
			}
		}
	}
	for _, path := range []string{"/home/a", "/home/a/.config", "/home/a/.cache", "/home/a/.cargo", "/home/a/.claude", "/home/a/.codex"} {
		if _, ok := seen[path]; ok {
			t.Errorf("%s is hidden whole", path)
		}
	}
	if !seen["/root/.netrc"].File || seen["/root/.ssh"].File {
		t.Error("files and folders are mixed up")
	}
	if id := seen["/root/.config/bawn"].Rule().ID; id != "own:/root/.config/bawn" {
		t.Error(id)
	}
}

func TestCredentialsMovedByEnvironment(t *testing.T) {
	seen := checkRules(t, Credentials(nil, env(
		"GNUPGHOME", "/keys/gpg/", "KUBECONFIG", "/k/one:/k/two::relative", "CARGO_HOME", "/c", "AWS_CONFIG_FILE", "relative",
		"XDG_CONFIG_HOME", "/conf/.//", "XDG_DATA_HOME", "/data", "XDG_CACHE_HOME", "/cache", "NETRC", "/", "HF_HOME", "/hf/../x",
		"PGPASSFILE", "/a\x00b", "HISTFILE", "/dev/null", "SOPS_AGE_KEY_FILE", "/proc/self/fd/3",
	)), Hidden)
	for path, want := range map[string]bool{
		"/keys/gpg": true, "/k/one": true, "/k/two": true, "/c/credentials": true, "/c/credentials.toml": true,
		"/conf/bawn": true, "/conf/gh": true, "/conf/git/credentials": true, "/etc/shadow": true,
		"/": false, "relative": false, "/c": false, "/conf": false, "/hf/../x/token": false, "/x/token": true, "/token": false,
		"/dev/null": false, "/proc/self/fd/3": false,
	} {
		if _, ok := seen[path]; ok != want {
			t.Errorf("%q is hidden: %v, want %v", path, ok, want)
		}
	}
}

// What is hidden below a home's .config, .local/share and .cache is hidden
// where variables put these, and theirs who have an agent stay that agent's.
func TestMovedFoldersHideTheSame(t *testing.T) {
	moved := map[string]string{".config": "/conf", ".local/share": "/data", ".cache": "/cache"}
	plain := Credentials([]string{"/home/a"}, env())
	seen := checkRules(t, Credentials([]string{"/home/a"}, env(
		"XDG_CONFIG_HOME", "/conf", "XDG_DATA_HOME", "/data", "XDG_CACHE_HOME", "/cache")), Hidden)
	n := 0
	for _, r := range plain {
		if _, ok := seen[r.Path]; !ok {
			t.Errorf("%s is no longer hidden", r.Path)
		}
		for home, to := range moved {
			rest, ok := strings.CutPrefix(r.Path, "/home/a/"+home+"/")
			if !ok {
				continue
			}
			n++
			if twin, ok := seen[to+"/"+rest]; !ok || twin.File != r.File || twin.Agent() != r.Agent() || twin.what != r.what {
				t.Errorf("%s for %s: %+v", to+"/"+rest, r.Path, twin)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d places", n)
	}
	// Named as they are anyway: nothing twice.
	same := Credentials([]string{"/real/a"}, env("HOME", "/home/a", "XDG_CONFIG_HOME", "/home/a/.config/", "XDG_DATA_HOME", "/real/a/.local/share"))
	if len(same) > len(plain)+1 { // bawn's own settings
		t.Errorf("%d rules, %d without variables", len(same), len(plain))
	}
}

func TestCaches(t *testing.T) {
	seen := checkRules(t, Caches("/home/a", env(), SharedCaches), ReadWrite)
	for _, name := range strings.Fields(`.cache .npm .cargo/registry .cargo/git .cache/go-build go/pkg/mod .cache/pip .cache/uv
		.cache/yarn .local/share/pnpm/store .bun/install/cache .cache/bawn`) {
		if _, ok := seen["/home/a/"+name]; !ok {
			t.Errorf("%s is no cache", name)
		}
	}
	moved := checkRules(t, Caches("/home/a", env("GOPATH", "/go:/other", "npm_config_cache", "/npm/", "PIP_CACHE_DIR", "relative",
		"UV_CACHE_DIR", "/home", "CARGO_HOME", "/cargo", "GOCACHE", "off", "XDG_CACHE_HOME", "/"), SharedCaches), ReadWrite)
	for path, want := range map[string]bool{
		"/go/pkg/mod": true, "/other/pkg/mod": false, "/npm": true, "/cargo/registry": true, "/cargo/git": true,
		"/home": false, "/home/a": false, "relative": false, "off": false, "/": false, "/home/a/go/pkg/mod": false,
	} {
		if _, ok := moved[path]; ok != want {
			t.Errorf("%q is a cache: %v, want %v", path, ok, want)
		}
	}
}

// No cache opens a credential: the deepest rule decides, and every secret in
// a cache is deeper than the cache.
func TestCachesHideTheirSecrets(t *testing.T) {
	hidden, caches := Credentials([]string{testHome}, env()), Caches(testHome, env(), SharedCaches)
	table := newTable(append(hidden, caches...))
	for _, h := range hidden {
		if r := table.Lookup(h.Path + "/x"); r.Access != Hidden {
			t.Errorf("%s is %v by %s", h.Path, r.Access, r.Path)
		}
	}
}

func TestProtected(t *testing.T) {
	rules := Protected("/ws")
	seen := checkRules(t, rules, ReadOnly)
	if len(seen) != len(rules) {
		t.Error("a name is listed twice")
	}
	for _, name := range strings.Fields(".bawn .mcp.json .claude/settings.json .codex .gemini .cursor .opencode .github/hooks .agents/plugins crush.json .crush.json .copilot .bashrc .profile .zshrc .zshenv") {
		if _, ok := seen["/ws/"+name]; !ok {
			t.Errorf("%s is not protected", name)
		}
	}
	for _, name := range []string{"", "/.claude", "/.config", "/src", "/Makefile", "/.vscode/tasks.json"} {
		if _, ok := seen["/ws"+name]; ok {
			t.Errorf("/ws%s is protected", name)
		}
	}
}

// What an agent keeps in a folder of its own is hidden where its variable puts
// that, and stays that agent's.
func TestMovedAgentsHideTheSame(t *testing.T) {
	for name, v := range map[string]struct{ agent, home string }{
		"CODEX_HOME": {"codex", ".codex"}, "CLAUDE_CONFIG_DIR": {"claude", ".claude"}, "COPILOT_HOME": {"copilot", ".copilot"}, "CURSOR_CONFIG_DIR": {"cursor", ".cursor"},
	} {
		seen := checkRules(t, Credentials([]string{"/home/a"}, env(name, "/moved")), Hidden)
		n := 0
		for _, r := range Credentials([]string{"/home/a"}, env()) {
			rest, ok := strings.CutPrefix(r.Path, "/home/a/"+v.home)
			if !ok || rest != "" && rest[0] != '/' {
				continue
			}
			n++
			if twin, ok := seen["/moved"+rest]; !ok || twin.File != r.File || twin.Agent() != v.agent || twin.what != r.what {
				t.Errorf("%s: %s: %+v", name, r.Path, twin)
			}
		}
		if _, ok := seen["/moved/.claude.json"]; n == 0 || ok != (v.agent == "claude") {
			t.Errorf("%s: %d places, .claude.json %v", name, n, ok)
		}
	}
}
