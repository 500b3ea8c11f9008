package preset

import (
	"os"
	"slices"
	"strings"
	"testing"

	"bawn/internal/policy"
)

const home = "/home/me"

func none(string) string { return "" }

func each(t *testing.T, f func(t *testing.T, p *Preset)) {
	t.Helper()
	for _, name := range Names() {
		p, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { f(t, p) })
	}
}

// Every file is one of the table, and the other way round.
func TestFiles(t *testing.T) {
	list, err := os.ReadDir("agents")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if name, ok := strings.CutSuffix(e.Name(), ".toml"); !ok || !slices.Contains(Names(), name) {
			t.Errorf("%s belongs to no agent", e.Name())
		}
	}
	if len(list) != len(Names()) {
		t.Errorf("%d files, %d agents", len(list), len(Names()))
	}
	if p, err := Read("nobody"); p != nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
}

// A preset holds something in each part, its folders are the agent's own and
// hold no other credential, and its variables are such as no other command
// sees.
func TestPresets(t *testing.T) {
	hidden := policy.Credentials([]string{home}, none)
	each(t, func(t *testing.T, p *Preset) {
		o := p.Open(home, none)
		if o.Title == "" || len(o.State) == 0 || len(o.Hosts) == 0 || len(o.Env) == 0 || o.Agent != p.Name {
			t.Errorf("%+v", o)
		}
		own := 0
		for _, r := range hidden {
			if r.Agent() == p.Name {
				own++
				continue
			}
			for _, dir := range o.State {
				if policy.Inside(r.Path, dir) || policy.Inside(dir, r.Path) {
					t.Errorf("%s would open %s", dir, r.Path)
				}
			}
		}
		if own == 0 && p.Name != "aider" {
			t.Error("no credential is its own")
		}
		for _, e := range o.Env {
			if kept, _ := (policy.EnvRules{}).Scrub([]string{e + "=value"}); len(kept) > 0 {
				t.Errorf("every command sees %s", e)
			}
			if kept, _ := (policy.EnvRules{Keep: o.Env}).Scrub([]string{e + "=value"}); len(kept) != 1 {
				t.Errorf("the agent does not see %s", e)
			}
		}
		for _, h := range o.Hosts {
			if h.Any() {
				t.Error("every host")
			}
		}
	})
}

// A variable moves the folder, if it names one.
func TestState(t *testing.T) {
	p, err := Read("claude")
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{"": home + "/.claude", "/x/c": "/x/c", "rel": home + "/.claude", "/x/../y/": "/y"} {
		if got := p.Open(home, func(n string) string { return map[string]string{"CLAUDE_CONFIG_DIR": value}[n] }).State; !slices.Equal(got, []string{want}) {
			t.Errorf("%q: %v", value, got)
		}
	}
}

func TestOf(t *testing.T) {
	for real, want := range map[string]string{
		"/usr/bin/claude": "claude", home + "/.local/share/claude/versions/2.1.332": "claude", "/x/share/claude/versions/2.1.332": "",
		"/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js":                "claude",
		"/usr/lib/node_modules/@anthropic-ai/claude-code-linux-x64/claude":      "claude",
		"/usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js":             "gemini",
		"/usr/lib/node_modules/@openai/codex/vendor/x/bin/codex":                "codex",
		"/usr/lib/node_modules/evil/claude":                                     "",
		"/usr/lib/node_modules/@google/gemini-cli/node_modules/evil/bin/gemini": "",
		"/usr/lib/node_modules/opencode-linux-x64/bin/opencode":                 "opencode",
		"/usr/bin/node": "", "/usr/bin/claude.sh": "", "/usr/bin/cursor-agent": "cursor", "/usr/bin/aider": "aider",
	} {
		p, err := Of(real, home)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if p != nil {
			got = p.Name
		}
		if got != want {
			t.Errorf("%s is %q, want %q", real, got, want)
		}
	}
}

// What is not quite right is refused: a word more, one that is missing, a
// folder that is not an agent's.
func TestStrict(t *testing.T) {
	good := string(Text("claude"))
	if _, err := parse("claude", []byte(good)); err != nil {
		t.Fatal(err) // the twin
	}
	for _, c := range [][2]string{
		{"title =", "titel ="}, {"hosts =", "host ="}, {`"hooks",`, `"hooks", 3,`}, {"or ~/.claude", "or ~/."}, {"or ~/.claude", "or ~/.."}, {"or ~/.claude", "or ~"}, {"or ~/.claude", "or ~/.claude/../.ssh"},
		{"or ~/.claude", "or ~/src"}, {"or ~/.claude", "or /etc"}, {`"settings.json"`, `"/a"`}, {`"settings.json"`, `"a/../b"`}, {`"settings.json"`, `".."`}, {`"claude.ai"`, `"*.com"`},
		{`"claude.ai"`, `"*"`}, {`"ANTHROPIC_API_KEY"`, `"*_KEY"`}, {`"ANTHROPIC_API_KEY"`, `"BAWN_X"`}, {`commands = "shim"`, `commands = "hook"`},
		{`commands = "shim"`, `commands = "outside"`}, {`commands = "shim"`, "commands = \"shim\"\n[table]"}, {`env = `, "env = []\nenv = "},
		{`shell = "CLAUDE_CODE_SHELL_PREFIX=claude-shell"`, ``}, {`title = "Claude Code"`, `title = ["x"]`},
	} {
		bad := strings.Replace(good, c[0], c[1], 1)
		if bad == good {
			t.Fatalf("%q is not in it", c[0])
		}
		if p, err := parse("claude", []byte(bad)); err == nil {
			t.Errorf("%q: %+v", c[1], p)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, n := range Names() {
		f.Add(Text(n))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parse("x", data)
		if err != nil {
			return
		}
		for _, dir := range p.Open(home, none).State {
			if !strings.HasPrefix(dir, home+"/.") {
				t.Fatal(dir)
			}
		}
	})
}

// What is run, or believed, by an agent that starts outside later cannot be
// written in its state: each of these was found in the agent or its documents.
func TestKept(t *testing.T) {
	for name, want := range map[string][]string{
		"claude":   {"settings.json", ".config.json", ".claude.json", "remote-settings.json", "shell-snapshots", "session-env"},
		"codex":    {"config.toml", ".env", "tmp", "shell_snapshots", "AGENTS.override.md"},
		"gemini":   {"settings.json", "trusted_hooks.json", "acknowledgments", "tmp/bin", "history", ".env"},
		"opencode": {"bin", "snapshot"},
		"copilot":  {"settings.json", "config.json", "permissions-config.json", "mcp-config.json"},
		"cursor":   {"cli-config.json", "mcp.json", "sandbox.json"},
		"goose":    {"schedule.json", "scheduled_recipes"},
		"crush":    {"crush.json"},
		"aider":    {"oauth-keys.env"},
	} {
		p, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range want {
			if o := p.Open(home, none); !slices.Contains(o.Kept, k) && !slices.Contains(o.Private, k) {
				t.Errorf("%s writes %s: %q, %q", name, k, o.Kept, o.Private)
			}
		}
	}
}
