//go:build linux

package agenttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bawn/internal/frontend/hook"
	"bawn/internal/frontend/setup"
	"bawn/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Main(m) }

// desk is a user with a project, whose agents are set up.
type desk struct {
	*sandboxtest.Box
	shims string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	b := sandboxtest.New(t, "native")
	sandboxtest.Write(t, filepath.Join(b.Home, ".ssh/id_rsa"), "SECRET\n")
	for _, dir := range []string{".git/hooks", "sub"} {
		if err := os.MkdirAll(filepath.Join(b.Workspace, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &desk{b, filepath.Join(b.State, "bawn/shims")}
}

func (d *desk) setUp(t *testing.T, agent string) {
	t.Helper()
	d.Bawn(t, "setup", agent).OK(t)
}

// call runs a program as an agent would: from a folder, with more variables.
func (d *desk) call(t *testing.T, dir string, env []string, stdin string, words ...string) sandboxtest.Result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	var out, errb bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, append(d.Environ(), env...), strings.NewReader(stdin), &out, &errb
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return sandboxtest.Result{Code: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: errb.String()}
}

// claude runs a command as Claude Code does: this test is the agent.
func (d *desk) claude(t *testing.T, dir, text string, env ...string) sandboxtest.Result {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(d.Workspace); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if os.Chdir(here) != nil { // a folder that this user may not enter
			_ = os.Chdir("/")
		}
	}()
	env = append([]string{"CLAUDE_PID=" + strconv.Itoa(os.Getpid()), "AI_AGENT=claude-code_2-1-332_agent", "SHELL=/bin/bash"}, env...)
	return d.call(t, dir, env, "", filepath.Join(d.shims, "claude-shell"), text)
}

// hook asks the program about an event.
func (d *desk) hook(t *testing.T, agent string, k hook.Kind, value string, env ...string) sandboxtest.Result {
	t.Helper()
	a := hook.Find(agent)
	if v := a.ShimVariable(); v != "" {
		name := "bash"
		if agent == "claude" {
			name = "claude-shell"
		}
		env = append([]string{v + "=" + filepath.Join(d.shims, name)}, env...)
	}
	data := a.Sample(k, value, d.Workspace)
	if data == nil {
		t.Fatalf("%s has no tool of kind %d", agent, k)
	}
	return d.call(t, d.Workspace, env, string(data), sandboxtest.Binary(), "hook", agent, "--shims", d.shims)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// T2: off until it is asked for; BAWN_SANDBOX=1 asks for it, and nothing in
// the agent's environment, which a project can set, ends it.
func TestT2_OffUntilAsked(t *testing.T) {
	d := newDesk(t)
	d.setUp(t, "claude")
	config := filepath.Join(d.Home, ".config/bawn/config.toml")
	evil := filepath.Join(d.Home, "evil")
	steer := []string{"BAWN_SANDBOX=0", "XDG_CONFIG_HOME=/nonexistent", "XDG_STATE_HOME=/nonexistent", "HOME=" + d.Workspace, "BAWN_DEFAULT_TIER=open", "PATH=" + d.Workspace}
	try := func(want bool, env ...string) {
		t.Helper()
		_ = os.Remove(evil)
		r := d.claude(t, d.Workspace, "echo tier=$BAWN_TIER; echo x > "+evil, env...)
		if got := !exists(evil) && strings.Contains(r.Stdout, "tier=guarded"); got != want || exists(evil) == want {
			t.Errorf("%v: sandboxed %v, want %v: %+v", env, got, want, r)
		}
		r = d.hook(t, "claude", hook.Read, filepath.Join(d.Home, ".ssh/id_rsa"), env...)
		if got := strings.Contains(r.Stdout, "deny"); got != want || r.Code != 0 {
			t.Errorf("%v: the hook refuses: %v, want %v: %+v", env, got, want, r)
		}
	}
	try(true)
	try(true, steer...)
	sandboxtest.Write(t, config, "[sandbox]\nenabled = false\n")
	try(false)
	try(true, "BAWN_SANDBOX=1")
	try(true, append(slices.Clone(steer[1:]), "BAWN_SANDBOX=1")...)
}

// A command gets the project as its workspace wherever the agent's shell has
// gone, starts where that is, and tells where it ended.
func TestClaudeShell(t *testing.T) {
	d := newDesk(t)
	d.setUp(t, "claude")
	state := fmt.Sprintf("/tmp/claude-%x-cwd", os.Getpid())
	wrap := func(text string) string { return "eval '" + text + "' < /dev/null && pwd -P >| " + state }
	r := d.claude(t, filepath.Join(d.Workspace, "sub"), wrap("pwd; echo x > made; cd ..; exit 0")).OK(t)
	if r.Stdout != filepath.Join(d.Workspace, "sub")+"\n" || !exists(filepath.Join(d.Workspace, "sub/made")) {
		t.Errorf("%+v", r)
	}
	if exists(state) {
		t.Error("an empty file is left")
	}
	d.claude(t, d.Workspace, wrap("cd sub")).OK(t)
	if got, err := os.ReadFile(state); err != nil || string(got) != filepath.Join(d.Workspace, "sub")+"\n" {
		t.Errorf("%q, %v", got, err)
	}
	if r := d.claude(t, d.Workspace, wrap("true")); r.Code != 125 || !strings.Contains(r.Stderr, "exists") {
		t.Errorf("a file that was there already is shown to a command: %+v", r)
	}
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	// A shell that was led elsewhere takes no rights along.
	for _, dir := range []string{d.Home, "/", filepath.Join(d.Home, ".ssh")} {
		r := d.claude(t, dir, wrap("echo x > evil; cat .ssh/id_rsa id_rsa"))
		if r.Code != 125 || exists(filepath.Join(dir, "evil")) || r.Stdout != "" || !strings.Contains(r.Stderr, "neither in the workspace nor writable") {
			t.Errorf("in %s: %+v", dir, r)
		}
	}
	// Nothing else of the host's temp is shown, whatever the text says.
	host := fmt.Sprintf("/tmp/bawn-agenttest-%d", os.Getpid())
	sandboxtest.Write(t, host, "host\n")
	defer os.Remove(host)
	if r := d.claude(t, d.Workspace, "cat "+host+"; true && pwd -P >| "+host); strings.Contains(r.Stdout, "host") {
		t.Errorf("%+v", r)
	}
	if got, _ := os.ReadFile(host); string(got) != "host\n" {
		t.Errorf("changed to %q", got)
	}
}

// The agent's own helpers go through as they are; who is no agent is refused.
func TestClaudeShellCallers(t *testing.T) {
	d := newDesk(t)
	d.setUp(t, "claude")
	r := d.claude(t, d.Workspace, "echo out > "+d.Home+"/made; echo tier=$BAWN_TIER", "AI_AGENT=claude-code_2-1-332_harness").OK(t)
	if r.Stdout != "tier=\n" || !exists(filepath.Join(d.Home, "made")) {
		t.Errorf("a helper: %+v", r)
	}
	for _, pid := range []string{"", "1", "x", strconv.Itoa(os.Getppid() + 100000)} {
		if r := d.claude(t, d.Workspace, "echo ran", "CLAUDE_PID="+pid); r.Code != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, "cannot be found") {
			t.Errorf("with pid %q: %+v", pid, r)
		}
	}
	if r := d.claude(t, d.Workspace, "echo ran", "BAWN_SANDBOXED=1"); r.Code != 125 || r.Stdout != "" {
		t.Errorf("said to be inside: %+v", r)
	}
}

// C5: what is judged is the command inside what the agent wraps round it, and
// the refusal reaches the model.
func TestC5_ClaudeRules(t *testing.T) {
	d := newDesk(t)
	d.setUp(t, "claude")
	sandboxtest.Write(t, filepath.Join(d.Home, ".config/bawn/config.toml"), "[sandbox]\nenabled = true\n[permissions]\ndeny = [\"git push *\"]\n")
	if r := d.claude(t, d.Workspace, fmt.Sprintf("shopt -u extglob && eval 'git push origin' < /dev/null && pwd -P >| /tmp/claude-%xc5-cwd", os.Getpid())); r.Code != 125 || !strings.Contains(r.Stderr, "git push") {
		t.Errorf("%+v", r)
	}
	if r := d.claude(t, d.Workspace, "shopt -u extglob && eval 'echo git pull' < /dev/null"); r.Code != 0 || r.Stdout != "git pull\n" {
		t.Errorf("%+v", r)
	}
	r := d.claude(t, d.Workspace, "echo x > .git/hooks/post-merge")
	if r.Code == 0 || !strings.Contains(r.Stderr, ".git/hooks/post-merge") || exists(filepath.Join(d.Workspace, ".git/hooks/post-merge")) {
		t.Errorf("%+v", r)
	}
}

// What steers bawn is read from a record that must be whole and one's own.
func TestRecord(t *testing.T) {
	d := newDesk(t)
	d.setUp(t, "claude")
	record := filepath.Join(d.shims, "environment")
	whole, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "HOME", "HOME\x00", strings.Repeat("x", 70<<10)} {
		sandboxtest.Write(t, record, bad)
		if r := d.claude(t, d.Workspace, "echo ran"); r.Code != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, "bawn setup") {
			t.Errorf("%.10q: %+v", bad, r)
		}
		if r := d.hook(t, "claude", hook.Shell, "x"); r.Code != 2 || r.Stdout != "" || r.Stderr == "" {
			t.Errorf("%.10q: hook %+v", bad, r)
		}
	}
	sandboxtest.Write(t, record, string(whole))
	if err := os.Chmod(record, 0o666); err != nil {
		t.Fatal(err)
	}
	if r := d.claude(t, d.Workspace, "echo ran"); r.Code != 125 || r.Stdout != "" {
		t.Errorf("a record that others write: %+v", r)
	}
	if err := os.Chmod(record, 0o600); err != nil {
		t.Fatal(err)
	}
	d.claude(t, d.Workspace, "echo ran").OK(t)
	// Settings that are not understood refuse too.
	sandboxtest.Write(t, filepath.Join(d.Home, ".config/bawn/config.toml"), "[sandbox]\nenabeld = true\n")
	if r := d.claude(t, d.Workspace, "echo ran"); r.Code != 125 || r.Stdout != "" {
		t.Errorf("bad settings: %+v", r)
	}
	if r := d.hook(t, "claude", hook.Shell, "x"); r.Code != 2 || r.Stdout != "" || !strings.Contains(r.Stderr, "enabeld") {
		t.Errorf("bad settings: %+v", r)
	}
}

// Every agent's hook, as the real program: a command that it changes runs in
// the sandbox with the project as workspace, and in no folder outside; files
// are judged by the real policy.
func TestHooks(t *testing.T) {
	d := newDesk(t)
	for _, agent := range setup.Names() {
		if agent != "codex" {
			d.setUp(t, agent)
		}
	}
	d.setUp(t, "codex")
	link := filepath.Join(d.Workspace, "link")
	if err := os.Symlink(filepath.Join(d.Home, ".ssh/id_rsa"), link); err != nil {
		t.Fatal(err)
	}
	up := filepath.Join(d.Workspace, "up") // the kernel goes up from where it leads
	if err := os.MkdirAll(filepath.Join(d.Home, ".config/nvim"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(d.Home, ".config/nvim"), up); err != nil {
		t.Fatal(err)
	}
	for _, agent := range hook.Names() {
		a := hook.Find(agent)
		env := []string{}
		if a.Project != "" {
			env = append(env, a.Project+"="+d.Workspace)
		}
		evil, made := filepath.Join(d.Home, "evil"), filepath.Join(d.Workspace, "made")
		r := d.hook(t, agent, hook.Shell, "pwd; echo x > "+made+"; echo x > "+evil, env...)
		if a.ShimVariable() == "" {
			text := command(t, r.Stdout)
			sub := filepath.Join(d.Workspace, "sub")
			if r := d.call(t, sub, nil, "", "/bin/sh", "-c", text); r.Stdout != sub+"\n" || !exists(made) || exists(evil) {
				t.Errorf("%s: %q: %+v", agent, text, r)
			}
			if r := d.call(t, d.Home, nil, "", "/bin/sh", "-c", text); r.Code != 125 || exists(evil) {
				t.Errorf("%s in the home: %+v", agent, r)
			}
		} else if r.Stdout != "" || r.Code != 0 {
			t.Errorf("%s: %+v", agent, r)
		}
		_ = os.Remove(made)
		if agent == "codex" {
			continue // its files are changed by patches alone
		}
		for _, c := range []struct {
			kind   hook.Kind
			value  string
			denied bool
		}{
			{hook.Read, "/etc/hosts", false}, {hook.Read, filepath.Join(d.Home, ".ssh/id_rsa"), true}, {hook.Read, link, true},
			{hook.Read, up + "/../gh/hosts.yml", true}, {hook.Read, up + "/../nvim/init.lua", false},
			{hook.Write, filepath.Join(d.Workspace, "new"), false}, {hook.Write, filepath.Join(d.Workspace, ".git/hooks/pre-commit"), true},
			{hook.Write, filepath.Join(d.Home, ".bashrc"), true}, {hook.Write, filepath.Join(d.Workspace, ".claude/settings.json"), true},
		} {
			r := d.hook(t, agent, c.kind, c.value, env...)
			if (r.Stdout != "") != c.denied || r.Code != 0 || c.denied && !strings.Contains(r.Stdout, "refused") {
				t.Errorf("%s: %d %s: %+v", agent, c.kind, c.value, r)
			}
		}
	}
}

// command finds the changed command in an answer.
func command(t *testing.T, answer string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(answer), &v); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	var find func(v any) string
	find = func(v any) string {
		m, _ := v.(map[string]any)
		if s, ok := m["command"].(string); ok {
			return s
		}
		for _, x := range m {
			if s := find(x); s != "" {
				return s
			}
		}
		return ""
	}
	return find(v)
}

// bawn is a shell where it is called as one: for tools that honour SHELL, and
// for make.
func TestShells(t *testing.T) {
	d := newDesk(t)
	d.setUp(t, "goose")
	evil := filepath.Join(d.Home, "evil")
	for _, c := range []struct {
		shell string
		args  []string
	}{
		{"bash", []string{"-c", "echo $0 $1 $BAWN_TIER > made; echo x > " + evil, "a", "b"}},
		{"bash", []string{"-lc", "echo $0 $1 $BAWN_TIER > made; echo x > " + evil, "a", "b"}},
		{"bash", []string{"-l", "-i", "-c", "echo $0 $1 $BAWN_TIER > made; echo x > " + evil, "a", "b"}},
		{"bash", []string{"-euo", "pipefail", "-c", "set +e; echo $0 $1 $BAWN_TIER > made; echo x > " + evil, "a", "b"}},
		{"sh", []string{"-c", "echo $0 $1 $BAWN_TIER > made; echo x > " + evil, "a", "b"}},
		{"zsh", []string{"-c", "echo $0 $1 $BAWN_TIER > made; echo x > " + evil, "a", "b"}},
	} {
		r := d.call(t, d.Workspace, nil, "", append([]string{filepath.Join(d.shims, c.shell)}, c.args...)...)
		made, _ := os.ReadFile(filepath.Join(d.Workspace, "made"))
		if string(made) != "a b guarded\n" || exists(evil) {
			t.Errorf("%s %q: %q, %+v", c.shell, c.args, made, r)
		}
		_ = os.Remove(filepath.Join(d.Workspace, "made"))
	}
	if r := d.call(t, d.Workspace, nil, "echo from stdin $BAWN_TIER; exit 7", filepath.Join(d.shims, "bash")); r.Code != 7 || r.Stdout != "from stdin guarded\n" {
		t.Errorf("%+v", r)
	}
	// Callers that name it in argv[0] alone, and ask for a login shell there.
	sandboxtest.Write(t, filepath.Join(d.Home, ".profile"), "export LOGIN=yes\n")
	sandboxtest.Write(t, filepath.Join(d.Home, ".bash_profile"), "export LOGIN=yes\n")
	for name, want := range map[string]string{"bash": "guarded-\n", "-bash": "guarded-yes\n", "sh": "guarded-\n", "-sh": "guarded-yes\n"} {
		shim := strings.TrimPrefix(name, "-")
		for _, place := range []string{d.shims + "/" + shim, shim} { // by a path, and by PATH
			text := "PATH=" + d.shims + ":$PATH; exec -a " + name + " " + place + " -c 'echo $BAWN_TIER-$LOGIN; echo x > " + evil + "'"
			if r := d.call(t, d.Workspace, nil, "", "/bin/bash", "-c", text); r.Stdout != want || exists(evil) {
				t.Errorf("%s, want %q: %+v", text, want, r)
			}
		}
	}
	sandboxtest.Write(t, filepath.Join(d.Workspace, "Makefile"), "SHELL = "+d.shims+"/bash\nall:\n\t@echo $$BAWN_TIER; echo x > "+evil+"\n")
	if r := d.call(t, d.Workspace, nil, "", "make"); !strings.Contains(r.Stdout, "guarded") || exists(evil) || r.Code == 0 {
		t.Errorf("make: %+v", r)
	}
	sandboxtest.Write(t, filepath.Join(d.Home, ".config/bawn/config.toml"), "[sandbox]\nenabled = true\n[permissions]\ndeny = [\"git push\"]\n")
	if r := d.call(t, d.Workspace, nil, "", filepath.Join(d.shims, "bash"), "-lc", "git push"); r.Code != 125 || !strings.Contains(r.Stderr, "git push") {
		t.Errorf("%+v", r)
	}
	if r := d.Bawn(t, "-c", "echo $BAWN_TIER").OK(t); r.Stdout != "guarded\n" {
		t.Errorf("%+v", r)
	}
}

// T8: a command that a hook changed asks nothing on its terminal: that is the
// agent's, whose model could type the yes.
func TestT8_NoQuestionOnAnAgentsTerminal(t *testing.T) {
	d := newDesk(t)
	d.setUp(t, "gemini")
	sandboxtest.Write(t, filepath.Join(d.Home, ".config/bawn/config.toml"), "[sandbox]\nenabled = true\n[permissions]\nask = [\"echo *\"]\n")
	onTerminal := func(text string) sandboxtest.Result {
		return d.call(t, d.Workspace, nil, "", "script", "-qec", text, "/dev/null")
	}
	const question = "Run this command?"
	// A person is asked; nobody waits here for the answer.
	asked := exec.CommandContext(t.Context(), "script", "-qec", "'"+sandboxtest.Binary()+"' run -c 'echo ran'", "/dev/null")
	asked.Dir, asked.Env = d.Workspace, d.Environ()
	out, err := asked.StdoutPipe()
	if err == nil {
		err = asked.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var seen []byte
	for buf := make([]byte, 512); !bytes.Contains(seen, []byte(question)); {
		n, err := out.Read(buf)
		if seen = append(seen, buf[:n]...); err != nil {
			t.Fatalf("a person is not asked: %q, %v", seen, err)
		}
	}
	_ = asked.Process.Kill()
	_ = asked.Wait()
	text := command(t, d.hook(t, "gemini", hook.Shell, "echo ran").Stdout)
	for _, text := range []string{text, "'" + d.shims + "/bash' -c 'echo ran'"} {
		if r := onTerminal(text); strings.Contains(r.Stdout, question) || !strings.Contains(r.Stdout, "nobody to ask") || r.Code != 125 {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

// F2: what every agent that can be set up reads in a project cannot be made
// there by a command; what lies beside it can.
func TestF2_AgentFiles(t *testing.T) {
	d := newDesk(t)
	if err := os.MkdirAll(filepath.Join(d.Workspace, ".github"), 0o755); err != nil {
		t.Fatal(err)
	}
	for refused, allowed := range map[string]string{
		".github/hooks/x.json": ".github/workflows/x.yml", ".agents/plugins/x/plugin.json": ".agents/skills/x.md",
		"crush.json": "crush.toml", ".crush.json": ".crush.txt", ".copilot/hooks/x.json": ".copilots/x", ".cursor/hooks.json": ".cursors",
		".claude/settings.local.json": ".claude/agents/x.md", ".gemini/settings.json": ".geminirc", ".opencode/plugins/x.js": ".opencodes",
	} {
		make := func(name string) string {
			return "mkdir -p " + filepath.Dir(name) + "; echo x > " + name
		}
		if r := d.Sh(t, make(refused)); r.Code == 0 || exists(filepath.Join(d.Workspace, refused)) {
			t.Errorf("%s: %+v", refused, r)
		}
		if r := d.Sh(t, make(allowed)); r.Code != 0 || !exists(filepath.Join(d.Workspace, allowed)) {
			t.Errorf("%s: %+v", allowed, r)
		}
	}
}
