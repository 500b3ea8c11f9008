package hook

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bawn/internal/policy"
)

const (
	home = "/home/me"
	ws   = home + "/src/app"
	bawn = "/usr/bin/bawn"
)

func rules(t testing.TB, change func(*policy.Config)) policy.Policy {
	t.Helper()
	none := func(string) string { return "" }
	c := policy.Config{
		Tier: policy.Guarded, Workspace: ws, Homes: []string{home}, AddDirs: []string{"/data"},
		Hidden: policy.Credentials([]string{home}, none), Caches: policy.Caches(home, none, policy.SharedCaches),
		Protected: []policy.PathRule{
			policy.FixedRule(ws+"/.git/hooks", policy.ReadOnly, "protect:hooks", "git hooks"),
			policy.FixedRule(ws+"/.claude/settings.json", policy.ReadOnly, "protect:agent", "agent settings"),
		},
	}
	if change != nil {
		change(&c)
	}
	p, err := policy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// links are the symbolic links of the machine that the tests pretend.
var links = map[string]string{ws + "/link": home + "/.ssh/id_rsa", ws + "/out": home + "/notes"}

func facts(t testing.TB) Facts {
	return Facts{
		Program: bawn, Workspace: ws, Shim: "/state/shims/x", Set: "/state/shims/x", Policy: rules(t, nil), Home: home,
		Real: func(p string) (string, []string, error) {
			if to := links[p]; to != "" {
				return to, []string{p}, nil
			}
			if rest, ok := strings.CutPrefix(p, ws+"/up/.."); ok { // up leads to .config/nvim
				return home + "/.config" + rest, []string{ws + "/up"}, nil
			}
			return filepath.Clean(p), nil, nil
		},
	}
}

// event is one in the agent's own shape.
func event(t testing.TB, a *Agent, tool string, input map[string]any) []byte {
	t.Helper()
	e := obj{a.tool: tool, a.input: input, a.dirs[0]: ws}
	if a.event != "" {
		e[a.event] = a.events[0]
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func ask(t testing.TB, a *Agent, data []byte, f Facts) Reply {
	t.Helper()
	e, err := Parse(a, data)
	if err != nil {
		return Closed(err.Error())
	}
	return Answer(a, e, f)
}

func each(t *testing.T, f func(t *testing.T, a *Agent)) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) { f(t, Find(name)) })
	}
}

// toolsOf are an agent's tools of a kind, each with a field.
func toolsOf(a *Agent, k Kind) map[string]string {
	out := map[string]string{}
	for name, tl := range a.tools {
		if tl.kind == k && len(tl.fields) > 0 && !tl.patch {
			out[name] = tl.fields[0]
		}
	}
	return out
}

// F8: what the policy allows passes without a word, what it denies is refused
// with the reason, in every agent and for every tool of a kind.
func TestF8_FileTools(t *testing.T) {
	for _, c := range []struct {
		kind          Kind
		allow, refuse string
		why           string
	}{
		{Read, ws + "/main.go", home + "/.ssh/id_rsa", "SSH keys"},
		{Read, "main.go", "../../.aws/credentials", "AWS"},
		{Read, "/etc/hosts", ws + "/link", "SSH keys"},
		{Read, "~/notes", "~/.ssh/id_rsa", "SSH keys"},
		{Read, " main.go", " ~/.ssh/id_rsa\n", "SSH keys"},
		{Read, "@main.go", "@" + home + "/.ssh/id_rsa", "SSH keys"},
		{Read, "file://" + ws + "/main.go", "file://" + home + "/.ssh/id_rsa", "SSH keys"},
		{Write, ws + "/new/file", home + "/notes", "read-only"},
		{Write, "/data/x", "/tmp/x", "file tools write"},
		{Write, "a", ws + "/.git/hooks/pre-commit", "git"},
		{Write, "b", ws + "/out", "read-only"},
		{Write, ws + "/c", home + "/.cache/x", "file tools write"},
		{Write, ws + "/d", ws + "/.claude/settings.json", "settings"},
		{Search, ws, home, "lies below it"},
		{Search, "/usr/share", home + "/.ssh", "SSH keys"},
		{Fetch, "https://packages.npmjs.org/left-pad", "http://169.254.169.254/latest", "169.254.169.254"},
		{Fetch, "https://github.com", "https://127.0.0.1:8080/", "127.0.0.1"},
	} {
		each(t, func(t *testing.T, a *Agent) {
			for tool, field := range toolsOf(a, c.kind) {
				if r := ask(t, a, event(t, a, tool, obj{field: c.allow}), facts(t)); r != (Reply{}) {
					t.Errorf("%s %s: %+v", tool, c.allow, r)
				}
				r := ask(t, a, event(t, a, tool, obj{field: c.refuse}), facts(t))
				if r.Code != 0 || !json.Valid([]byte(r.Stdout)) || !strings.Contains(r.Stdout, c.why) || !strings.Contains(r.Stdout, tool) || strings.Contains(r.Stdout, "ask") && c.kind != Fetch {
					t.Errorf("%s %s: %+v, want %q", tool, c.refuse, r, c.why)
				}
			}
		})
	}
}

// A host that nobody decided about is the person's to allow, where the agent
// can ask; else refused. In airlock nothing is.
func TestN8_Fetch(t *testing.T) {
	each(t, func(t *testing.T, a *Agent) {
		for tool, field := range toolsOf(a, Fetch) {
			r := ask(t, a, event(t, a, tool, obj{field: "https://new.example/x"}), facts(t))
			if want := a.ask != nil; strings.Contains(r.Stdout, `"ask"`) != want || r.Stdout == "" || !strings.Contains(r.Stdout, "new.example") {
				t.Errorf("%s: %+v", tool, r)
			}
			f := facts(t)
			f.Policy = rules(t, func(c *policy.Config) { c.Tier, c.AddDirs = policy.Airlock, nil })
			if r := ask(t, a, event(t, a, tool, obj{field: "https://github.com"}), f); !strings.Contains(r.Stdout, "airlock") {
				t.Errorf("%s in airlock: %+v", tool, r)
			}
		}
		for tool, tl := range a.tools {
			if tl.kind != WebSearch {
				continue
			}
			f := facts(t)
			if r := ask(t, a, event(t, a, tool, obj{"query": "x"}), f); r != (Reply{}) {
				t.Errorf("%s: %+v", tool, r)
			}
			f.Policy = rules(t, func(c *policy.Config) { c.Tier, c.AddDirs = policy.Airlock, nil })
			if r := ask(t, a, event(t, a, tool, obj{"query": "x"}), f); !strings.Contains(r.Stdout, "airlock") {
				t.Errorf("%s in airlock: %+v", tool, r)
			}
		}
	})
}

// C1: a command is changed so that it runs in the sandbox, or refused where
// the agent's shell is not bawn's.
func TestC1_Commands(t *testing.T) {
	const command = "echo 'a b' && ls > x"
	each(t, func(t *testing.T, a *Agent) {
		for tool, field := range toolsOf(a, Shell) {
			data := event(t, a, tool, obj{field: command, "timeout": 1e3, "other": []int{1}})
			if a.shim != "" {
				if r := ask(t, a, data, facts(t)); r != (Reply{}) {
					t.Errorf("%+v", r)
				}
				for _, set := range []string{"", "/usr/bin/env", "/state/shims/x "} {
					f := facts(t)
					f.Set = set
					if r := ask(t, a, data, f); !strings.Contains(r.Stdout, a.shim) || !strings.Contains(r.Stdout, "is not run") {
						t.Errorf("with %q: %+v", set, r)
					}
				}
				f := facts(t)
				f.Shim, f.Set = "", ""
				if r := ask(t, a, data, f); !strings.Contains(r.Stdout, "is not run") {
					t.Errorf("without a shim: %+v", r)
				}
				continue
			}
			r := ask(t, a, data, facts(t))
			var top any
			if json.Unmarshal([]byte(r.Stdout), &top) != nil || r.Code != 0 {
				t.Fatalf("%+v", r)
			}
			wrapped := search(top, field)
			if wrapped != Wrap(bawn, ws, command) {
				t.Errorf("%s: %q", tool, wrapped)
			}
			if strings.Contains(r.Stdout, "updatedInput") || strings.Contains(r.Stdout, "modifiedArgs") || a.Name == "cursor" {
				if !strings.Contains(r.Stdout, `"other":[1]`) {
					t.Errorf("the rest of the input is gone: %s", r.Stdout)
				}
			}
			if r := ask(t, a, event(t, a, tool, obj{field: wrapped}), facts(t)); r != (Reply{}) {
				t.Errorf("wrapped twice: %+v", r)
			}
			f := facts(t)
			f.Workspace = ""
			if r := ask(t, a, data, f); r.Code != 2 {
				t.Errorf("without a workspace: %+v", r)
			}
		}
	})
}

// search finds a text by its key, however deep.
func search(v any, key string) string {
	m, _ := v.(map[string]any)
	if s, ok := m[key].(string); ok {
		return s
	}
	for _, x := range m {
		if s := search(x, key); s != "" {
			return s
		}
	}
	return ""
}

// What is not understood is refused: exit code 2, the reason on standard
// error, and nothing on standard output.
func TestUnknownShapesAreRefused(t *testing.T) {
	each(t, func(t *testing.T, a *Agent) {
		shell := ""
		for tool := range toolsOf(a, Shell) {
			shell = tool
		}
		whole := string(event(t, a, shell, obj{"command": "x"}))
		bad := []string{
			"", "null", "[]", "{}", "{", whole[:len(whole)-1], whole + "x", `"x"`,
			string(event(t, a, shell, obj{})), string(event(t, a, shell, nil)), string(event(t, a, "", obj{"command": "x"})),
			string(event(t, a, shell, obj{"command": 1})), string(event(t, a, shell, obj{"command": []any{1}})),
			string(event(t, a, shell, obj{"command": ""})), string(event(t, a, shell, obj{"Command": "x"})),
			string(event(t, a, shell, obj{"command": []string{"a", "b"}})),
		}
		for tool := range toolsOf(a, Write) {
			bad = append(bad, string(event(t, a, tool, obj{})), string(event(t, a, tool, obj{"content": "x"})))
		}
		if a.event != "" {
			bad = append(bad, strings.Replace(whole, a.events[0], "PostToolUse", 1))
		}
		for _, text := range bad {
			if r := ask(t, a, []byte(text), facts(t)); r.Code != 2 || r.Stdout != "" || !strings.HasPrefix(r.Stderr, "bawn: ") {
				t.Errorf("%s: %+v", text, r)
			}
		}
		if _, err := Parse(a, make([]byte, MaxEvent+1)); err == nil {
			t.Error("an event without end is read")
		}
		if r := ask(t, a, event(t, a, "mcp__x__y", obj{"command": "x"}), facts(t)); r != (Reply{}) {
			t.Errorf("another tool: %+v", r)
		}
	})
}

func TestPatch(t *testing.T) {
	a := Find("codex")
	patch := func(name string) []byte {
		return event(t, a, "apply_patch", obj{"command": "*** Begin Patch\n*** Update File: main.go\n*** Move to: " + name + "\n@@\n-a\n+b\n*** End Patch\n"})
	}
	if r := ask(t, a, patch("other.go"), facts(t)); r != (Reply{}) {
		t.Errorf("%+v", r)
	}
	if r := ask(t, a, patch(".git/hooks/post-merge"), facts(t)); !strings.Contains(r.Stdout, "deny") {
		t.Errorf("%+v", r)
	}
	if r := ask(t, a, event(t, a, "apply_patch", obj{"command": "nothing"}), facts(t)); r.Code != 2 {
		t.Errorf("a patch without a file: %+v", r)
	}
}

func TestRefusedTools(t *testing.T) {
	for agent, tool := range map[string]string{"claude": "PowerShell", "crush": "agent", "copilot": "powershell"} {
		a := Find(agent)
		if r := ask(t, a, event(t, a, tool, obj{"prompt": "x"}), facts(t)); !strings.Contains(r.Stdout, "deny") || !strings.Contains(r.Stdout, "outside the sandbox") && agent == "crush" {
			t.Errorf("%s: %+v", agent, r)
		}
	}
	a := Find("crush")
	in := func(file string) []byte {
		return event(t, a, "download", obj{"url": "https://github.com/x", "file_path": file})
	}
	if r := ask(t, a, in(ws+"/x"), facts(t)); r != (Reply{}) {
		t.Errorf("%+v", r)
	}
	if r := ask(t, a, in(home+"/.bashrc"), facts(t)); !strings.Contains(r.Stdout, "deny") {
		t.Errorf("%+v", r)
	}
}

// A wrapped command is one plain command whose last word is the text, and
// nothing else counts as wrapped.
func TestWrapProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.StringOfN(rapid.RuneFrom([]rune("a '\"\\$;|&\n\t-é")), 0, 30, -1)
		program, dir, text := "/"+words.Draw(t, "program"), "/"+words.Draw(t, "dir"), words.Draw(t, "text")
		wrapped := Wrap(program, dir, text)
		if !Wrapped(program, dir, wrapped) {
			t.Fatalf("%q is not seen as wrapped", wrapped)
		}
		if Wrapped(program, dir, wrapped+";x") || Wrapped(program, dir, text) || Wrapped(program, dir, wrapped+" y") || Wrapped(program, dir, wrapped+"'$(x)'") {
			t.Fatal("more than one command is seen as wrapped")
		}
	})
}

func TestClaudeState(t *testing.T) {
	for text, want := range map[string]string{
		"eval 'x' < /dev/null && pwd -P >| /tmp/claude-1a2b-cwd":          "/tmp/claude-1a2b-cwd",
		"a && pwd -P >| /tmp/claude-1-cwd && pwd -P >| /tmp/claude-2-cwd": "/tmp/claude-2-cwd",
		"pwd": "", "x && pwd -P >| /tmp/claude-../../etc-cwd": "", "x && pwd -P >| /tmp/claude--cwd": "",
		"x && pwd -P >| /tmp/claude-1-cwd; rm": "", "x && pwd -P >| /home/me/.ssh/id": "", "x && pwd -P >| '/tmp/claude-1-cwd'": "",
		"x && pwd -P >| /tmp/claude-" + strings.Repeat("a", 33) + "-cwd": "",
	} {
		if got := ClaudeState(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// No event brings the program down, opens a credential, or is answered by
// anything but silence, JSON or a refusal.
func FuzzEvent(f *testing.F) {
	for _, name := range Names() {
		a := Find(name)
		for tool, tl := range a.tools {
			in := obj{}
			for _, field := range tl.fields {
				in[field] = "~/.ssh/id_rsa"
			}
			f.Add(name, event(f, a, tool, in))
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		a := Find(name)
		if a == nil {
			return
		}
		e, err := Parse(a, data)
		if err != nil {
			return
		}
		r := Answer(a, e, facts(t))
		if r.Code != 0 && r.Code != 2 || r.Code == 2 && (r.Stdout != "" || r.Stderr == "") || r.Stdout != "" && !json.Valid([]byte(r.Stdout)) {
			t.Fatalf("%+v", r)
		}
		if e.Kind == Read && slices.Contains(e.paths, home+"/.ssh/id_rsa") && r.Stdout == "" {
			t.Fatalf("%s reads a key", data)
		}
		if e.Kind == Shell && a.shim == "" && r.Code == 0 && !Wrapped(bawn, ws, e.command) {
			var top any
			if json.Unmarshal([]byte(r.Stdout), &top) != nil || search(top, e.field) != Wrap(bawn, ws, e.command) {
				t.Fatalf("%s: %+v", data, r)
			}
		}
	})
}

// What wraps is read back by bawn's own reader of plain commands.
func ExampleWrap() {
	fmt.Println(Wrap("/usr/bin/bawn", "/src/my app", "echo 'hi'"))
	// Output: '/usr/bin/bawn' run --no-terminal --workspace '/src/my app' -c 'echo '\''hi'\'''
}

// Of the host's temp a text names one file of an exact form, or none.
func FuzzClaudeState(f *testing.F) {
	f.Add("eval 'x' && pwd -P >| /tmp/claude-1a2b-cwd")
	f.Add("x && pwd -P >| /tmp/claude-../x-cwd")
	f.Fuzz(func(t *testing.T, text string) {
		got := ClaudeState(text)
		if got != "" && (!regexp.MustCompile(`^/tmp/claude-[0-9a-z]{1,32}-cwd$`).MatchString(got) || !strings.HasSuffix(text, " && pwd -P >| "+got)) {
			t.Fatalf("%q names %q", text, got)
		}
	})
}

// What a value means to the agent is judged, in each reading that an agent may
// have of it.
func TestF8_FormsOfPathsAndAddresses(t *testing.T) {
	many := "*** Begin Patch\n" + strings.Repeat("*** Delete File: a\n", maxPlaces+1)
	for _, c := range []struct {
		agent, tool string
		in          obj
		refused     bool
	}{
		{"goose", "developer__read_image", obj{"source": ws + "/up/../gh/hosts.yml"}, true},
		{"claude", "Read", obj{"file_path": "up/../gh/hosts.yml"}, true},
		{"claude", "Read", obj{"file_path": "sub/../gh/hosts.yml"}, false},
		{"claude", "Glob", obj{"pattern": home + "/.ssh/*"}, true},
		{"claude", "Glob", obj{"pattern": "../../.ssh/*"}, true},
		{"claude", "Glob", obj{"pattern": "~/.s*h/*"}, true},
		{"claude", "Glob", obj{"pattern": "*/../../../.ssh/*"}, true},
		{"claude", "Glob", obj{"pattern": "{src," + home + "/.ssh}/*"}, true},
		{"claude", "Glob", obj{"pattern": strings.Repeat("{a,b}", 9)}, true},
		{"claude", "Glob", obj{"pattern": strings.Repeat("*", maxPattern+1)}, true},
		{"claude", "Glob", obj{"pattern": "*", "path": home}, true},
		{"claude", "Glob", obj{"pattern": "**/*.{go,mod}"}, false},
		{"claude", "Glob", obj{"pattern": "[a-z]*/{x,{y,z}}/*.go", "path": ws + "/sub"}, false},
		{"gemini", "read_many_files", obj{"include": []string{home + "/.s*h/id_rsa"}}, true},
		{"gemini", "read_many_files", obj{"paths": []string{"src/**/*.ts", "README.md"}}, false},
		{"opencode", "glob", obj{"pattern": home + "/.aws/**"}, true},
		{"copilot", "glob", obj{"pattern": "*", "paths": home + "/.ssh"}, true},
		{"copilot", "glob", obj{"pattern": "*", "paths": []string{ws, home + "/.ssh"}}, true},
		{"copilot", "glob", obj{"pattern": ".ssh/*", "paths": []string{ws, home}}, true},
		{"copilot", "glob", obj{"pattern": "*", "paths": []string{ws + "/a", ws + "/b"}}, false},
		// A field that another agent, or another release, names a file by.
		{"claude", "Grep", obj{"pattern": "x", "paths": []string{home + "/.ssh"}}, true},
		{"opencode", "read", obj{"filePath": ws + "/a", "path": home + "/.ssh/id_rsa"}, true},
		{"gemini", "write_file", obj{"path": home + "/notes", "content": "x"}, true},
		{"gemini", "write_file", obj{"path": ws + "/a", "content": home + "/.ssh/id_rsa"}, false},
		{"claude", "WebFetch", obj{"url": "https://github.com/a_(b)"}, false},
		{"claude", "WebFetch", obj{"url": "http:/127.0.0.1/x"}, true},
		{"claude", "WebFetch", obj{"url": "http:github.com"}, true},
		{"claude", "WebFetch", obj{"url": "http:\\\\127.0.0.1\\x"}, true},
		{"claude", "WebFetch", obj{"url": "http://github.com\t.evil.example/"}, true},
		{"claude", "WebFetch", obj{"url": "http://github.com\\@127.0.0.1/"}, true},
		{"claude", "WebFetch", obj{"url": "file:///etc/passwd"}, true},
		{"claude", "WebFetch", obj{"url": ""}, true},
		{"gemini", "web_fetch", obj{"prompt": "read (https://github.com/x), now"}, false},
		{"gemini", "web_fetch", obj{"prompt": "read [it](https://github.com/x)."}, false},
		{"gemini", "web_fetch", obj{"prompt": "read https://github.com,.evil.example/ now"}, true},
		{"codex", "apply_patch", obj{"command": many}, true},
	} {
		a := Find(c.agent)
		data := event(t, a, c.tool, c.in)
		e, err := Parse(a, data)
		r := Reply{Code: 2}
		if err == nil {
			r = Answer(a, e, facts(t))
		}
		if refused := r.Code == 2 || r.Stdout != ""; refused != c.refused {
			t.Errorf("%s %s %.80v: refused %v, %+v %v", c.agent, c.tool, c.in, refused, r, err)
		}
	}
}
