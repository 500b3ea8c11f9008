//go:build linux && agents

package agenttest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bawn/internal/sandbox/sandboxtest"
)

// real is an agent as npm has it, and how it is run without a person, against
// the model server on the loopback of a network namespace that has nothing
// else.
type real struct {
	name    string // of setup
	pkg     string // with its version
	program []string
	args    []string
	env     []string
	files   func(t *testing.T, home string) // its settings, before bawn's
	shell   func(command string) step
	read    func(path string) step // nil if it has no tool for that
	login   string                 // a file in the home that is its alone
	holds   string                 // what is in there, where the agent can be given a key by it
	key     string                 // what its model server is to get then
	write   func(path string) step // for one whose own tools read the project alone
	names   func(dir string) step  // tells what is in a folder; nil if it has no other tool than read for that
	sub     func(task string) step // has a sub-agent do something; nil if that was not tried
}

func shellTool(name string) func(string) step {
	return func(c string) step { return step{name, obj{"command": c, "description": "t"}} }
}

// reals are the agents that npm has, at the versions that were tried.
func reals() []real {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	triple := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH] + "-unknown-linux-musl"
	return []real{
		{
			name: "claude", pkg: "@anthropic-ai/claude-code-linux-" + arch + "@2.1.332",
			program: []string{"@anthropic-ai/claude-code-linux-" + arch + "/claude"}, args: []string{"-p", "hi", "--allowedTools", "Bash(*)", "Read(//**)", "Monitor"},
			env:   []string{"ANTHROPIC_BASE_URL=" + modelURL, "ANTHROPIC_API_KEY=sk-ant-mock", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1"},
			login: ".claude/.credentials.json", key: "sk-ant-mock", shell: shellTool("Bash"), read: func(p string) step { return step{"Read", obj{"file_path": p}} },
			sub: func(task string) step {
				return step{"Agent", obj{"description": "t", "prompt": task, "subagent_type": "general-purpose", "run_in_background": false}}
			},
		},
		{
			name: "codex", pkg: "@openai/codex@0.171.0-linux-" + arch,
			program: []string{"@openai/codex/vendor/" + triple + "/bin/codex"}, args: []string{"exec", "-s", "danger-full-access", "--skip-git-repo-check", "hi"},
			files: func(t *testing.T, home string) {
				sandboxtest.Write(t, filepath.Join(home, ".codex/config.toml"), "model = \"mock-model\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"mock\"\nbase_url = \""+modelURL+"/v1\"\nwire_api = \"responses\"\nrequires_openai_auth = true\n")
			},
			login: ".codex/auth.json", holds: `{"OPENAI_API_KEY":"LOGIN-OF-IT"}`, key: "Bearer LOGIN-OF-IT", shell: func(c string) step { return step{"exec_command", obj{"cmd": c}} },
		},
		{
			name: "gemini", pkg: "@google/gemini-cli@0.61.0",
			program: []string{"node", "@google/gemini-cli/bundle/gemini.js"}, args: []string{"-p", "hi", "--yolo"},
			env: []string{"GEMINI_API_KEY=mock", "GOOGLE_GEMINI_BASE_URL=" + modelURL, "GEMINI_CLI_TRUST_WORKSPACE=true"},
			files: func(t *testing.T, home string) {
				sandboxtest.Write(t, filepath.Join(home, ".gemini/settings.json"), "{\n  // how to log in\n  \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}},\n  \"privacy\": {\"usageStatisticsEnabled\": false}\n}\n")
			},
			login: ".gemini/oauth_creds.json", key: "mock", shell: shellTool("run_shell_command"), write: func(p string) step { return step{"write_file", obj{"file_path": p, "content": "x"}} },
			sub: func(task string) step {
				return step{"invoke_agent", obj{"agent_name": "generalist", "prompt": task}}
			},
		},
		{
			name: "opencode", pkg: "opencode-linux-" + arch + "@1.18.33",
			program: []string{"opencode-linux-" + arch + "/bin/opencode"}, args: []string{"run", "-m", "mock/mock-model", "hi"},
			env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "NPM_CONFIG_REGISTRY=http://127.0.0.1:1/", "npm_config_registry=http://127.0.0.1:1/"},
			files: func(t *testing.T, home string) {
				sandboxtest.Write(t, filepath.Join(home, ".config/opencode/opencode.json"), `{"provider":{"mock":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"`+modelURL+`/v1"},"models":{"mock-model":{}}}},"permission":{"external_directory":"allow"}}`)
			},
			login: ".local/share/opencode/auth.json", holds: `{"mock":{"type":"api","key":"LOGIN-OF-IT"}}`, key: "Bearer LOGIN-OF-IT", shell: shellTool("bash"), read: func(p string) step { return step{"read", obj{"filePath": p}} },
			names: func(dir string) step { return step{"glob", obj{"pattern": "*", "path": dir}} },
			sub: func(task string) step {
				return step{"task", obj{"description": "t", "prompt": task, "subagent_type": "general"}}
			},
		},
		{
			name: "copilot", pkg: "@github/copilot-linux-" + arch + "@1.0.102",
			program: []string{"@github/copilot-linux-" + arch + "/copilot"}, args: []string{"-p", "hi", "--allow-all-tools", "--allow-all-paths"},
			env:   []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + modelURL + "/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_MODEL=mock-model", "COPILOT_AUTO_UPDATE=false", "COPILOT_PROVIDER_API_KEY=x"},
			login: ".copilot/config.json", shell: func(c string) step {
				return step{"bash", obj{"command": c, "description": "t", "mode": "sync", "initial_wait": 20}}
			},
			read:  func(p string) step { return step{"view", obj{"path": p}} },
			names: func(dir string) step { return step{"glob", obj{"pattern": "*", "paths": []string{dir}}} },
			sub: func(task string) step {
				return step{"task", obj{"name": "t", "description": "t", "prompt": task, "agent_type": "general-purpose", "mode": "sync"}}
			},
		},
	}
}

const (
	agentsVariable = "BAWN_TEST_AGENTS"     // which, with commas; all if it is empty
	foldVariable   = "BAWN_TEST_AGENTS_DIR" // where npm has put them, or puts them
	insideVariable = "AGENTTEST_INSIDE"     // set in the namespace: the one to run
)

// TestRealAgents runs each in a network namespace of its own.
func TestRealAgents(t *testing.T) {
	if os.Getuid() != 0 {
		return // once is enough, and a namespace is root's to make
	}
	var want []string
	if s := os.Getenv(agentsVariable); s != "" {
		want = strings.Split(s, ",")
	}
	dir := os.Getenv(foldVariable)
	if dir == "" {
		dir = sandboxtest.Dir(t)
	}
	for _, a := range reals() {
		if want != nil && !slices.Contains(want, a.name) {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			install(t, dir, a)
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestInside$", "-test.v")
			cmd.Env = append(os.Environ(), insideVariable+"="+a.name, foldVariable+"="+dir, "SANDBOXTEST_BAWN="+sandboxtest.Binary(), "SANDBOXTEST_CHILD=1")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
			out, err := cmd.CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("--- PASS: TestInside")) {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// install has npm put a package into a folder, unless it is there. Its scripts
// are not run.
func install(t *testing.T, dir string, a real) {
	t.Helper()
	dir = filepath.Join(dir, a.name) // npm takes away what it did not put there
	if exists(filepath.Join(dir, "node_modules")) {
		return
	}
	started := time.Now()
	cmd := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--force", a.pkg)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm install %s: %v\n%s", a.pkg, err, out)
	}
	t.Logf("%s was installed in %v", a.pkg, time.Since(started).Round(time.Second))
}

// TestInside is one agent, in the namespace.
func TestInside(t *testing.T) {
	name := os.Getenv(insideVariable)
	if name == "" {
		return
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, a := range reals() {
		if a.name == name {
			inside(t, a)
		}
	}
}

func inside(t *testing.T, a real) {
	d := newDesk(t)
	if a.files != nil {
		a.files(t, d.Home)
	}
	if a.holds != "" {
		sandboxtest.Write(t, filepath.Join(d.Home, a.login), a.holds)
	}
	evil, made := filepath.Join(d.Home, "evil"), filepath.Join(d.Workspace, "made")
	secret := filepath.Join(d.Home, ".ssh/id_rsa")
	hooked, unlisted := filepath.Join(d.Workspace, ".git/hooks/post-commit"), "http://unlisted.example/"
	steps := []step{
		a.shell("echo tier=$BAWN_TIER; echo x > made; echo x > " + evil), a.shell("cat " + secret),
		// In a form that no agent's own rules see through.
		a.shell(`python3 -c "open('.git/hoo' + 'ks/post-commit', 'w')"`), a.shell("curl -sS " + unlisted),
	}
	servers := filepath.Join(d.Workspace, ".mcp.json")
	file := len(steps) // of the results: that of its file tool
	if a.read != nil {
		steps = append(steps, a.read(secret))
	}
	if a.write != nil {
		steps = append(steps, a.write(servers))
	}
	names := len(steps)
	if a.names != nil {
		steps = append(steps, a.names(filepath.Dir(secret)))
	}
	// Without bawn the model gets what it asks for: the test can fail.
	if r := d.run(t, a, steps); !exists(evil) || !strings.Contains(r[0], "tier=") || strings.Contains(r[0], "guarded") || !strings.Contains(r[1], "SECRET") {
		t.Fatalf("without bawn: %q, %v", r, exists(evil))
	} else if a.read != nil && !strings.Contains(r[file], "SECRET") || a.write != nil && !exists(servers) {
		t.Errorf("its file tool, without bawn: %q", r[file])
	} else if a.names != nil && !strings.Contains(r[names], "id_rsa") {
		t.Errorf("what is in a folder, without bawn: %q", r[names])
	} else if !exists(hooked) || strings.Contains(r[3], "bawn") {
		t.Errorf("a hook and a host, without bawn: %q", r)
	}
	for _, f := range []string{evil, made, hooked, servers} {
		if err := os.Remove(f); err != nil && (f != servers || a.write != nil) {
			t.Fatal(err)
		}
	}
	d.wrapped(t, a, false)
	before := d.settings(t, a)
	d.setUp(t, a.name)
	r := d.run(t, a, steps)
	if exists(evil) || !exists(made) || !strings.Contains(r[0], "tier=guarded") || !strings.Contains(r[0], "Read-only file system") {
		t.Errorf("a command: %q", r[0])
	}
	if strings.Contains(r[1], "SECRET") || !strings.Contains(r[1], "Permission denied") {
		t.Errorf("a secret: %q", r[1])
	}
	// What the model reads names the thing and the rule.
	if exists(hooked) || !strings.Contains(r[2], "Permission denied") || !strings.Contains(r[2], ".git/hooks/post-commit") {
		t.Errorf("a hook of git: %q", r[2])
	}
	if !strings.Contains(r[3], "unlisted.example") || !strings.Contains(r[3], "no rule allows") && !strings.Contains(r[3], "bawn") {
		t.Errorf("a host: %q", r[3])
	}
	if a.read != nil && (strings.Contains(r[file], "SECRET") || !strings.Contains(r[file], "SSH keys are hidden")) {
		t.Errorf("its file tool: %q", r[file])
	}
	if a.write != nil && (exists(servers) || !strings.Contains(r[file], "write_file is refused")) {
		t.Errorf("its file tool: %q", r[file])
	}
	if a.names != nil && (strings.Contains(r[names], "id_rsa") || !strings.Contains(r[names], "SSH keys are hidden")) {
		t.Errorf("what is in a folder: %q", r[names])
	}
	t.Logf("the model reads: %q", r)
	d.subAgent(t, a)
	d.wrapped(t, a, true)
	if a.name == "claude" {
		d.claudeOnly(t, a)
	}
	d.Bawn(t, "setup", a.name, "--uninstall").OK(t)
	for path, text := range before {
		if now, err := os.ReadFile(path); string(now) != text || (err == nil) != (text != "") {
			t.Errorf("%s was %q, and is %q after all is taken back", path, text, now)
		}
	}
	if r := d.run(t, a, steps[:1]); !exists(evil) {
		t.Errorf("taken back: %q", r)
	}
}

// subAgent: what a sub-agent runs and opens is held like what its agent does.
func (d *desk) subAgent(t *testing.T, a real) {
	if a.sub == nil {
		return
	}
	evil, secret := filepath.Join(d.Home, "evil"), filepath.Join(d.Home, ".ssh/id_rsa")
	steps := []step{a.shell("echo tier=$BAWN_TIER; echo x > " + evil)}
	if a.read != nil {
		steps = append(steps, a.read(secret))
	}
	o := d.serve(t, a, []step{a.sub(subTask)}, steps)
	r := o.sub
	if len(r) != len(steps) || exists(evil) || !strings.Contains(r[0], "tier=guarded") || !strings.Contains(r[0], "Read-only file system") {
		t.Errorf("a sub-agent: %q, %q\n%s", r, o.results, o.output)
	} else if a.read != nil && (strings.Contains(r[1], "SECRET") || !strings.Contains(r[1], "SSH keys are hidden")) {
		t.Errorf("a sub-agent's file tool: %q", r[1])
	}
	t.Logf("the model of a sub-agent reads: %q", r)
}

// settings are the files that setup changes, as they are now; "" is none.
func (d *desk) settings(t *testing.T, a real) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(d.Bawn(t, "setup", a.name, "--print").OK(t).Stdout) {
		path := strings.TrimSpace(line)
		if st, err := os.Stat(path); !filepath.IsAbs(path) || err == nil && st.IsDir() || path == d.shims {
			continue
		}
		data, _ := os.ReadFile(path)
		out[path] = string(data)
	}
	if len(out) < 2 { // the agent's, and bawn's own
		t.Fatalf("setup would change %v", out)
	}
	return out
}

// claudeOnly: its shell keeps its folder, its own rules hold, its MCP servers
// start, and a project's settings do not take bawn's shell away.
func (d *desk) claudeOnly(t *testing.T, a real) {
	evil := filepath.Join(d.Home, "evil")
	r := d.run(t, a, []step{a.shell("cd sub"), a.shell("pwd")})
	if !strings.Contains(r[1], filepath.Join(d.Workspace, "sub")) {
		t.Errorf("cd does not last: %q", r)
	}
	denied := a
	denied.args = append(slices.Clone(a.args), "--disallowedTools", "Bash(echo no*)")
	if r := d.run(t, denied, []step{denied.shell("echo no > said"), denied.shell("echo yes > said2")}); exists(filepath.Join(d.Workspace, "said")) || !exists(filepath.Join(d.Workspace, "said2")) {
		t.Errorf("its own rules: %q", r)
	}
	// What goes on behind its turns.
	if r := d.run(t, a, []step{
		{"ToolSearch", obj{"query": "select:Monitor", "max_results": 1}},
		{"Monitor", obj{"command": "echo tier=$BAWN_TIER > watched; echo x > " + evil, "description": "t", "timeout_ms": 20000}},
		{"Bash", obj{"command": "echo tier=$BAWN_TIER > behind; echo x > " + evil, "description": "t", "run_in_background": true}},
		a.shell("until [ -s watched ] && [ -s behind ]; do sleep 0.1; done; cat watched behind"),
	}); exists(evil) || strings.Count(r[3], "tier=guarded") != 2 {
		t.Errorf("in the background: %q", r)
	}
	out := step{"Bash", obj{"command": "echo tier=$BAWN_TIER; echo x > " + evil, "description": "t", "dangerouslyDisableSandbox": true}}
	if r := d.run(t, a, []step{out}); exists(evil) || !strings.Contains(r[0], "tier=guarded") {
		t.Errorf("the call's own field takes it out of the sandbox: %q", r)
	}
	settings := filepath.Join(d.Workspace, ".claude/settings.json")
	other := filepath.Join(d.Workspace, "other-shell")
	sandboxtest.Write(t, other, "#!/bin/sh\nexec sh -c \"$1\"\n")
	if err := os.Chmod(other, 0o755); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Write(t, settings, `{"env":{"CLAUDE_CODE_SHELL_PREFIX":"`+other+`"}}`)
	if r := d.run(t, a, []step{a.shell("echo x > " + evil)}); exists(evil) || !strings.Contains(r[0], "does not name bawn's shell") {
		t.Errorf("another shell: %q", r)
	}
	sandboxtest.Write(t, settings, `{"env":{"BAWN_SANDBOX":"0","XDG_CONFIG_HOME":"/nonexistent","AI_AGENT":"x_harness","CLAUDE_PID":"1"}}`)
	if r := d.run(t, a, []step{a.shell("echo tier=$BAWN_TIER; echo x > " + evil)}); exists(evil) || !strings.Contains(r[0], "tier=guarded") {
		t.Errorf("steered: %q", r)
	}
	if err := os.Remove(settings); err != nil {
		t.Fatal(err)
	}
}

// run starts the agent, lets the model make its steps, and returns what came
// back for each.
func (d *desk) run(t *testing.T, a real, steps []step, before ...string) []string {
	t.Helper()
	return d.served(t, a, steps, before...).results
}

// outcome is one run of an agent.
type outcome struct {
	results []string        // what came back to its model for each step
	sub     []string        // and to that of its sub-agent
	keys    map[string]bool // that its model server got
	output  string
}

func (d *desk) served(t *testing.T, a real, steps []step, before ...string) outcome {
	t.Helper()
	return d.serve(t, a, steps, nil, before...)
}

func (d *desk) serve(t *testing.T, a real, steps, sub []step, before ...string) outcome {
	t.Helper()
	m := serve(t, steps, sub)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	dir := filepath.Join(os.Getenv(foldVariable), a.name, "node_modules")
	words := slices.Clone(a.program)
	words[len(words)-1] = filepath.Join(dir, words[len(words)-1])
	folder := filepath.Dir(words[len(words)-1])
	words = slices.Concat(before, words, a.args)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env = d.Workspace, d.Environ()
	cmd.Env = append(append(cmd.Env, a.env...), "PATH="+folder+":/usr/local/bin:/usr/bin:/bin", "SHELL=/bin/bash")
	started := time.Now()
	out, err := cmd.CombinedOutput()
	t.Logf("%s ran for %v", words[0], time.Since(started).Round(time.Second/10))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stop()
	if len(m.results) != len(steps) {
		t.Fatalf("%s made %d of %d steps: %v: %q\n%s", a.name, len(m.results), len(steps), err, m.results, out)
	}
	m.sub.mu.Lock()
	defer m.sub.mu.Unlock()
	return outcome{m.results, m.sub.results, m.keys, string(out)}
}
