package importer

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bawn/internal/config"
	"bawn/internal/policy"
)

var update = flag.Bool("update", false, "write the golden files")

const home = "/home/u"

// fataler is a test, of package testing or rapid.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func tool(t fataler, name string) Tool {
	t.Helper()
	x, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func imported(t fataler, name, data string, include bool) Result {
	t.Helper()
	r, err := Import(tool(t, name), []byte(data), Options{File: "settings", Home: home, IncludeWidening: include})
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return r
}

func parsed(t fataler, text string) config.Config {
	t.Helper()
	c, err := config.ReadAlone([]byte(text), "out.toml", home, "/workspace")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

// The files in testdata, as they are and with what widens.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.in")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		base := strings.TrimSuffix(filepath.Base(name), ".in")
		tool, _, _ := strings.Cut(base, "-")
		got := imported(t, tool, string(data), false).Text
		golden := "testdata/" + base + ".toml"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		checkMarks(t, tool, string(data))
	}
}

// checkMarks holds what a result does against what bawn does without a file:
// nothing more without a mark.
func checkMarks(t fataler, name, data string) {
	t.Helper()
	plain, with := imported(t, name, data, false), imported(t, name, data, true)
	defaults := opened(t, parsed(t, ""))
	notMore := func(what, text string) {
		t.Helper()
		for _, o := range opened(t, parsed(t, text)) {
			if !slices.Contains(defaults, o) {
				t.Fatalf("%s opens %s\n%s\nfrom\n%s", what, o, text, data)
			}
		}
	}
	notMore("the plain result", plain.Text)
	var unmarked []string
	for line := range strings.Lines(with.Text) {
		if !strings.Contains(line, mark) {
			unmarked = append(unmarked, line)
		}
	}
	notMore("what has no mark", strings.Join(unmarked, ""))
	// Who takes the marks off gets what the flag gives.
	a, b := parsed(t, strings.ReplaceAll(plain.Text, "# "+mark+" ", "")), parsed(t, with.Text)
	if d := append(a.Diff(b), b.Diff(a)...); len(d) > 0 {
		t.Fatalf("without its marks the result is another one: %q\n%s", d, plain.Text)
	}
	for _, r := range []Result{plain, with} {
		for _, c := range r.Text {
			if c != '\n' && config.Printable(string(c)) != string(c) {
				t.Fatalf("the text holds %U", c)
			}
		}
	}
}

// opened lists what a configuration opens, by what a run would do and not by
// the code under test.
func opened(t fataler, c config.Config) []string {
	t.Helper()
	var out []string
	yes := func(on bool, what string) {
		if on {
			out = append(out, what)
		}
	}
	n, err := policy.NewNetwork(c.Network())
	if err != nil {
		t.Fatal(err)
	}
	enabled, how, _ := c.Egress()
	yes(how != config.UpstreamEnv, "an upstream proxy")
	yes(enabled, "egress")
	for _, name := range []string{"a.example", "b.a.example", "github.com", "api.github.com", "npmjs.org", "other.test", "10.0.0.1", "127.0.0.1", "localhost", "203.0.113.7"} {
		h, err := policy.ParseHost(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, port := range []uint16{80, 443, 5432} {
			yes(n.Decide(policy.Connect{Host: h, Port: port}).Verdict == policy.Allow, "connections to "+name)
		}
	}
	yes(len(c.Network().LocalPorts) > 0, "local ports")
	yes(len(c.Network().AllowPrivate) > 0, "private addresses")
	for _, headless := range []bool{false, true} {
		tier, _ := c.Tier(headless)
		yes(tier >= policy.Open, "the tier open")
		yes(tier >= policy.Guarded, "the tier guarded")
	}
	for _, f := range c.Folders() {
		out = append(out, "writes in "+f.Text)
	}
	x := c.Exceptions()
	yes(len(x.Exclude) > 0, "excluded commands")
	yes(len(x.Hatches) > 0, "escape hatches")
	kept, _ := c.Env().Scrub([]string{"A_TOKEN=x", "B_SECRET=x", "AWS_SECRET_ACCESS_KEY=x"})
	yes(len(kept) > 0, "secrets in the environment")
	yes(c.Temp() == policy.HostTemp, "the host's temp")
	yes(!c.Guard(), "no guard")
	yes(!c.NarrowInstalls(), "wide package installs")
	p := c.Permissions()
	yes(p.Mode != "ask", "commands that are not asked about")
	yes(p.Mode == "bypass", "commands without rules")
	yes(len(p.Allow) > 0, "commands that run without a question")
	for _, it := range c.Items("sandbox.unprotect") {
		out = append(out, "writing "+it.Text)
	}
	yes(c.Launcher() != "auto", "another launcher")
	return out
}

// Every way in which a tool's settings open something: a comment by default,
// and in force with the flag.
func TestWidening(t *testing.T) {
	for _, tt := range []struct{ tool, data, opens string }{
		{"claude", `{"permissions": {"allow": ["Bash(make *)"]}}`, "commands that run without a question"},
		{"claude", `{"permissions": {"allow": ["Bash(make:*)"]}}`, "commands that run without a question"},
		{"claude", `{"permissions": {"allow": ["WebFetch(domain:a.example)"]}}`, "connections to a.example"},
		{"claude", `{"permissions": {"allow": ["Edit(//srv/data/**)"]}}`, "writes in /srv/data"},
		{"claude", `{"permissions": {"allow": ["Write(~/data)"]}}`, "writes in /home/u/data"},
		{"claude", `{"permissions": {"additionalDirectories": ["~/x"]}}`, "writes in /home/u/x"},
		{"claude", `{"permissions": {"defaultMode": "bypassPermissions"}}`, "commands without rules"},
		{"claude", `{"sandbox": {"autoAllowBashIfSandboxed": true}}`, "commands that are not asked about"},
		{"claude", `{"sandbox": {"excludedCommands": ["docker *"]}}`, "excluded commands"},
		{"claude", `{"sandbox": {"network": {"allowedDomains": ["a.example"]}}}`, "connections to b.a.example"},
		{"claude", `{"sandbox": {"network": {"allowedDomains": ["*"]}}}`, "connections to other.test"},
		{"claude", `{"sandbox": {"network": {"allowedDomains": ["localhost:80"]}}}`, "connections to localhost"},
		{"claude", `{"sandbox": {"filesystem": {"allowWrite": ["/opt/x"]}}}`, "writes in /opt/x"},
		{"codex", `sandbox_mode = "danger-full-access"`, "the tier open"},
		{"codex", `default_permissions = ":danger-full-access"`, "the tier open"},
		{"codex", "sandbox_mode = 'workspace-write'\n[sandbox_workspace_write]\nnetwork_access = true", "connections to other.test"},
		{"codex", "sandbox_mode = 'workspace-write'\nsandbox_workspace_write = {writable_roots = ['/srv/x']}", "writes in /srv/x"},
		{"codex", `approval_policy = "never"`, "commands that are not asked about"},
		{"codex", "default_permissions = 'p'\n[permissions.p.network]\nenabled = true", "connections to other.test"},
		{"codex", "default_permissions = 'p'\n[permissions.p.network]\nenabled = true\ndomains = {'a.example' = 'allow'}", "connections to a.example"},
		{"codex", "default_permissions = 'p'\n[permissions.p.filesystem]\n'/srv/x' = 'write'", "writes in /srv/x"},
		{"codex", "default_permissions = 'p'\n[permissions.p.workspace_roots]\n'~/x' = true", "writes in /home/u/x"},
		{"srt", `{"network": {"allowedDomains": ["a.example:443"]}}`, "connections to a.example"},
		{"srt", `{"filesystem": {"allowWrite": ["/opt/x/**"]}}`, "writes in /opt/x"},
		{"srt", `{"filesystem": {"allowGitConfig": true}}`, "writing /workspace/.git/config"},
		{"fence", `{"network": {"allowLocalOutbound": true, "allowLocalOutboundPorts": [5432,],},}`, "local ports"},
		{"fence", `{"network": {"allowedDomains": ["*"]}, // all
			}`, "connections to other.test"},
		{"fence", `{"filesystem": {"allowGitConfig": true}}`, "writing /workspace/.git/config"},
	} {
		plain, with := imported(t, tt.tool, tt.data, false), imported(t, tt.tool, tt.data, true)
		if slices.Contains(opened(t, parsed(t, plain.Text)), tt.opens) {
			t.Errorf("%s %s: opens %s without a word\n%s", tt.tool, tt.data, tt.opens, plain.Text)
		}
		if !slices.Contains(opened(t, parsed(t, with.Text)), tt.opens) {
			t.Errorf("%s %s: does not open %s when it should\n%s", tt.tool, tt.data, tt.opens, with.Text)
		}
		if plain.Widens == 0 || !strings.Contains(plain.Text, "# "+mark) || !strings.Contains(with.Text, mark) {
			t.Errorf("%s %s: no mark\n%s", tt.tool, tt.data, plain.Text)
		}
		checkMarks(t, tt.tool, tt.data)
	}
}

// What forbids something holds at once.
func TestTightening(t *testing.T) {
	for _, tt := range []struct{ tool, data, line string }{
		{"claude", `{"permissions": {"deny": ["Bash(rm -rf *)"]}}`, `  "rm -rf *",`},
		{"claude", `{"permissions": {"ask": ["Bash(git push:*)"]}}`, `  "git push *",`},
		{"claude", `{"permissions": {"deny": ["Read(./.env)"]}}`, `  ".env",`},
		{"claude", `{"permissions": {"deny": ["Read(/secrets/**)"]}}`, `  "secrets",`},
		{"claude", `{"permissions": {"deny": ["Read(//etc/x)"]}}`, `  "/etc/x",`},
		{"claude", `{"permissions": {"deny": ["Edit(~/.profile)"]}}`, `  "~/.profile",`},
		{"claude", `{"permissions": {"deny": ["WebFetch(domain:bad.example)"]}}`, `  "bad.example",`},
		{"claude", `{"sandbox": {"enabled": true}}`, `enabled = true`},
		{"claude", `{"sandbox": {"network": {"strictAllowlist": true}}}`, `default_domains = false`},
		{"claude", `{"sandbox": {"filesystem": {"denyRead": ["//etc/y"], "denyWrite": ["z"]}}}`, `  "/etc/y",`},
		{"claude", `{"sandbox": {"credentials": {"envVars": [{"name": "X_Y", "mode": "mask"}]}}}`, `  "X_Y",`},
		{"codex", `sandbox_mode = "read-only"`, `default_tier = "airlock"`},
		{"codex", `sandbox_mode = "workspace-write"`, `enabled = false`},
		{"codex", `default_permissions = ":workspace"`, `enabled = false`},
		{"codex", "default_permissions = 'p'\n[permissions.p]\n", `  ".",`},
		{"codex", "default_permissions = 'p'\n[permissions.p.filesystem]\n':workspace_roots' = {'.' = 'write', '.git' = 'read', 'x' = 'deny'}", `  ".git",`},
		{"codex", "[shell_environment_policy]\nexclude = ['AWS_*']", `  "AWS_*",`},
		{"srt", `{}`, `default_domains = false`},
		{"srt", `{"network": {"deniedDomains": ["*:22"]}}`, `  "*:22",`},
		{"srt", `{"filesystem": {"denyWrite": [".env"]}}`, `  ".env",`},
		{"fence", `{"command": {"deny": ["git push"]}}`, `  "git push *",`},
	} {
		r := imported(t, tt.tool, tt.data, false)
		if !strings.Contains("\n"+r.Text, "\n"+tt.line+"  # ") {
			t.Errorf("%s %s: no line %q\n%s", tt.tool, tt.data, tt.line, r.Text)
		}
		checkMarks(t, tt.tool, tt.data)
	}
}

// A relative path in the user's own file of Claude Code begins beside it, in a
// project's at the project.
func TestRelativeToTheFile(t *testing.T) {
	data := []byte(`{"sandbox": {"filesystem": {"denyRead": ["./x"], "denyWrite": ["y"], "allowWrite": ["z"]}}}`)
	for user, want := range map[bool][]string{true: {`"~/.claude/x"`, `"~/.claude/y"`, `"~/.claude/z"`}, false: {`  "x"`, `  "y"`, `allowWrite "z"`}} {
		r, err := Import(tool(t, "claude"), data, Options{Home: home, UserFile: user})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(r.Text, w) {
				t.Errorf("user %v: no %s\n%s", user, w, r.Text)
			}
		}
	}
}

// What is not taken is said, with a reason, and a denial that is lost stands
// where it is seen.
func TestRemarks(t *testing.T) {
	for _, tt := range []struct {
		tool, data string
		group      group
		says       string
	}{
		{"claude", `{"permissions": {"deny": ["Read(**/*.pem)"]}}`, lost, "wildcards are not taken"},
		{"claude", `{"permissions": {"deny": ["Read(.env)"]}}`, lost, "top alone"},
		{"claude", `{"permissions": {"deny": ["Bash"]}}`, lost, "a rule for every command"},
		{"claude", `{"sandbox": {"filesystem": {"denyRead": ["~/"]}}}`, lost, "single places"},
		{"claude", `{"permissions": {"allow": ["Bash(ls*)"]}}`, none, "last word"},
		{"claude", `{"permissions": {"allow": ["mcp__a__b"]}}`, none, "not about commands"},
		{"claude", `{"env": {"KEY": "s3cret"}}`, none, "the shell that starts bawn"},
		{"claude", `{"sandbox": {"network": {"allowUnixSockets": ["/x"]}}}`, none, "sockets"},
		{"claude", `{"nobody": 1}`, strange, "nobody (line 1)"},
		{"claude", `{"sandbox": {"enabled": "yes"}}`, strange, "it is text, not true or false"},
		{"claude", `{"permissions": {"allow": [1]}}`, strange, "it is a number, not text"},
		{"claude", `{"permissions": []}`, strange, "it is a list, not a table"},
		{"claude", `{"sandbox": {"failIfUnavailable": true}}`, superseded, "no command runs"},
		{"codex", "sandbox_mode = 'read-only'", partly, "--sandbox read-only"},
		{"codex", "default_permissions = 'none-such'", strange, "no table of [permissions]"},
		{"codex", "sandbox_mode = 'read-only'\ndefault_permissions = 'p'\n[permissions.p]", superseded, "sandbox_mode stands before it"},
		{"codex", "default_permissions = 'p'\n[permissions.p]\nextends = 'base'\n[permissions.base]", none, "not followed"},
		{"codex", "default_permissions = 'p'\n[permissions.p.filesystem]\n':root' = 'deny'", lost, "no such place"},
		{"codex", "model = 'x'", strange, "model (line 1)"},
		{"srt", `{"filesystem": {"disabled": true}}`, none, "every tier but open"},
		{"srt", `{"network": {"parentProxy": {"http": "http://u:s3cret@h:1"}}}`, partly, "password"},
		{"fence", `{"extends": "code"}`, none, "fence config show"},
		{"fence", `{"command": {"deny": ["dd if="]}}`, lost, "whole words"},
		{"fence", `{"filesystem": {"defaultDenyRead": true}}`, lost, "no list of what may be read"},
	} {
		got := imported(t, tt.tool, tt.data, false).Text
		_, section, ok := strings.Cut(got, "# "+groupTitles[tt.group]+"\n")
		section, _, _ = strings.Cut(section, "\n\n")
		if !ok || !strings.Contains(section, tt.says) {
			t.Errorf("%s %s: %q does not stand under %q\n%s", tt.tool, tt.data, tt.says, groupTitles[tt.group], got)
		}
		if strings.Contains(got, "s3cret") {
			t.Errorf("%s: a secret is printed\n%s", tt.data, got)
		}
		checkMarks(t, tt.tool, tt.data)
	}
}

// Text that is no settings file is refused with its line.
func TestHostile(t *testing.T) {
	deep := strings.Repeat("[", 100)
	for _, tt := range []struct{ tool, data, says string }{
		{"claude", "", "line 1: the text ends"},
		{"claude", "[]", "not a list"},
		{"claude", "null", "not nothing"},
		{"claude", "{}\n{}", "line 2: text after the end"},
		{"claude", "{\"a\": 1,\n \"a\": 2}", "line 2: \"a\" stands here a second time; the first is in line 1"},
		{"claude", `{"sandbox": {"x": 1, "\u0078": 2}}`, "a second time"},
		{"claude", `{"a": ` + deep + strings.Repeat("]", 100) + "}", "nested deeper than 32"},
		{"claude", strings.Repeat(`{"a":`, 100000), "nested deeper than 32"},
		{"claude", "{\"a\": \"\x1b[2J\"}", "a control character (0x1b)"},
		{"claude", "{\"a\": \"\xff\"}", "not UTF-8"},
		{"claude", "{} // c", "a comment"},
		{"claude", `{"a": 1,}`, "a comma after the last entry"},
		{"claude", `{'a': 1}`, "double quotes"},
		{"claude", `{"a" 1}`, "a colon is missing"},
		{"claude", `{"a": 01}`, "not a number"},
		{"claude", `{"a": "\ud800"}`, "surrogate"},
		{"claude", `{"a": "\x"}`, "not one of JSON's"},
		{"claude", `{"a": "b`, "does not end"},
		{"claude", `{"a": tru}`, "no value"},
		{"claude", "{\"a\": \"b\nc\"}", "does not end in its line"},
		{"claude", `{"permissions": {"deny": [` + strings.Repeat(`"Bash(x y)",`, 20000) + `"Bash(z)"]}}`, "more than 10000 settings"},
		{"claude", `{"permissions": {"deny": [` + many(600) + `]}}`, "500 are the most"},
		{"claude", strings.Repeat(" ", MaxFile+1), "larger than"},
		{"fence", "{} /* c", "a comment that does not end"},
		{"codex", "a = 1\na = 2", "line 2: \"a\" stands here a second time"},
		{"codex", "[a]\nb = 1\n[a.b]\n", "is a value, not a table"},
		{"codex", "a = ", "line 1: not TOML"},
		{"codex", "x = 1\ny = [1,,]", "line 2: not TOML"},
		{"codex", "a = " + deep + strings.Repeat("]", 100), "nested deeper than 32"},
		{"codex", "a = " + strings.Repeat("[", 500000), "nested too deep"},
		{"codex", strings.Repeat("a.", 100) + "b = 1", "nested deeper than 32"},
		{"codex", "a = \"\x07\"", "a control character"},
	} {
		r, err := Import(tool(t, tt.tool), []byte(tt.data), Options{Home: home})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s %.60q: %v, want %q", tt.tool, tt.data, err, tt.says)
		}
		if r.Text != "" && err != nil {
			t.Errorf("%s %.60q: text beside an error", tt.tool, tt.data)
		}
	}
	for _, name := range []string{"optiq", "o4", "", "../claude", "Claude"} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), "claude, codex, fence and srt") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func many(n int) string {
	var out []string
	for i := range n {
		out = append(out, `"Bash(x `+strings.Repeat("y", i+1)+`)"`)
	}
	return strings.Join(out, ",")
}
