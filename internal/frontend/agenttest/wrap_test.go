//go:build linux

package agenttest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bawn/internal/frontend/hook"
	"bawn/internal/frontend/preset"
	"bawn/internal/frontend/setup"
	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/tools/tempdir"
)

// agent puts a program of this name into a folder in PATH that no command can
// write, and returns what PATH is then.
func (d *desk) agent(t *testing.T, name, script string) {
	t.Helper()
	d.script(t, filepath.Join(d.Home, "bin", name), script)
	d.Env = append(d.Env, "PATH="+filepath.Join(d.Home, "bin")+":/usr/local/bin:/usr/bin:/bin")
}

func (d *desk) script(t *testing.T, path, script string) {
	t.Helper()
	sandboxtest.Write(t, path, script)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// asClaude runs a text as Claude Code runs a command: this script is the agent.
const asClaude = `run() { CLAUDE_PID=$$ AI_AGENT=claude-code_2-1-332_agent "$CLAUDE_CODE_SHELL_PREFIX" "source ~/.claude/shell-snapshots/s.sh 2>/dev/null || true && eval '$1' < /dev/null && pwd -P >| /tmp/claude-7-cwd"; }
`

// An agent under its preset has its login, its key and its state; what it runs
// through bawn's shell has none of them, and neither has what they do not name.
func TestWrapPreset(t *testing.T) {
	d := newDesk(t)
	for name, text := range map[string]string{
		".claude/.credentials.json": "LOGIN", ".claude.json": "ACCOUNT", ".codex/auth.json": "OTHER", ".claude/settings.json": "{}", ".claude/shell-snapshots/s.sh": "SNAP=yes",
	} {
		sandboxtest.Write(t, filepath.Join(d.Home, name), text+"\n")
	}
	d.Env = append(d.Env, "ANTHROPIC_API_KEY=KEY-OF-IT", "OPENAI_API_KEY=KEY-OF-OTHERS")
	d.agent(t, "claude", "#!/bin/bash\n"+asClaude+`
echo agent: $ANTHROPIC_API_KEY $OPENAI_API_KEY; cat ~/.claude/.credentials.json ~/.claude.json
cat ~/.ssh/id_rsa ~/.codex/auth.json
echo x > ~/.claude/kept && mv ~/.claude/kept ~/.claude/kept2 && echo state written
for f in .claude/settings.json .claude/.config.json .claude/.claude.json .claude/shell-snapshots/s.sh .claude/hooks .claude/plugins/p .claude.json .bashrc new; do { mkdir -p ~/.claude/plugins; echo x > ~/$f; } 2>/dev/null && echo wrote $f; done
ls ~/.local/state/bawn "$(dirname "$CLAUDE_CODE_SHELL_PREFIX")/environment" >/dev/null 2>&1 && echo sees the state
readlink /proc/self/ns/net > net1
echo command:
run "readlink /proc/self/ns/net > net2; cat ~/.claude/.credentials.json ~/.claude.json; echo key=\$ANTHROPIC_API_KEY tier=\$BAWN_TIER \$SNAP; echo x > made; echo x > ~/.claude/evil; tr \"\\0\" \"\\n\" < /proc/1/environ | grep KEY-OF; cd sub" 2>&1
cat /tmp/claude-7-cwd
run "exit 7"; echo code $?
`)
	r := d.Bawn(t, "wrap", "--", "claude").OK(t)
	agent, command, _ := strings.Cut(r.Stdout, "command:\n")
	for _, want := range []string{"agent: KEY-OF-IT\n", "LOGIN\n", "ACCOUNT\n", "state written\n"} {
		if !strings.Contains(agent, want) {
			t.Errorf("the agent has no %q: %s", want, agent)
		}
	}
	for _, not := range []string{"OTHER", "SECRET", "KEY-OF-OTHERS", "wrote", "sees"} {
		if strings.Contains(agent, not) {
			t.Errorf("the agent has %q: %s", not, agent)
		}
	}
	for _, want := range []string{"key= tier=guarded yes\n", filepath.Join(d.Workspace, "sub") + "\n", "code 7\n", "Permission denied"} {
		if !strings.Contains(command, want) {
			t.Errorf("a command has no %q: %s", want, command)
		}
	}
	for _, not := range []string{"LOGIN", "ACCOUNT", "KEY-OF"} {
		if strings.Contains(command, not) {
			t.Errorf("a command has %q: %s", not, command)
		}
	}
	// A network of its own: who shares it would share its hosts.
	one, err := os.ReadFile(filepath.Join(d.Workspace, "net1"))
	two, err2 := os.ReadFile(filepath.Join(d.Workspace, "net2"))
	if err != nil || err2 != nil || string(one) == string(two) {
		t.Errorf("networks %q and %q, %v, %v", one, two, err, err2)
	}
	if exists(filepath.Join(d.Home, ".claude/evil")) || !exists(filepath.Join(d.Workspace, "made")) || !exists(filepath.Join(d.Home, ".claude/kept2")) {
		t.Errorf("files: %s", command)
	}
}

// What an agent writes in a private folder of its state is there for it the next
// time, and never for what runs outside; where the host has none, none is made.
func TestWrapPrivateState(t *testing.T) {
	for _, launcher := range []string{"native", "bwrap"} {
		d := newDesk(t)
		t.Cleanup(func() { // the kernel leaves folders there that nobody may enter
			_ = filepath.WalkDir(d.State, func(path string, e fs.DirEntry, err error) error {
				if err == nil && e.IsDir() {
					err = os.Chmod(path, 0o700)
				}
				return err
			})
		})
		history := filepath.Join(d.Home, ".gemini/history")
		sandboxtest.Write(t, filepath.Join(history, "old/.project_root"), "theirs\n")
		d.agent(t, "gemini", `#!/bin/bash
cd ~/.gemini/history
echo saw $(cat fresh/.gitconfig)
mkdir -p fresh && echo made && cat old/.project_root
echo evil > fresh/.gitconfig; echo evil > old/.gitconfig; echo evil > old/.project_root
cd ~/.gemini
mv history moved 2>/dev/null && echo moved
ln -s history link && echo evil > link/fresh/hook; rm -f link
`)
		for _, saw := range []string{"saw\n", "saw evil\n"} {
			r := d.Bawn(t, "wrap", "--launcher", launcher, "--", "gemini")
			if r.Code != 0 || !strings.HasPrefix(r.Stdout, saw+"made\n") || strings.Contains(r.Stdout, "moved") {
				t.Errorf("%s: %+v", launcher, r)
			}
		}
		want := map[string]string{history: "", filepath.Join(history, "old"): "", filepath.Join(history, "old/.project_root"): "theirs\n"}
		if got := tree(t, history); !maps.Equal(got, want) {
			t.Errorf("%s: %v", launcher, got)
		}
		// Another command has no copy, and no agent of another name.
		if r := d.Bawn(t, "run", "--launcher", launcher, "-c", "ls ~/.gemini/history"); r.Stdout != "old\n" {
			t.Errorf("%s: %+v", launcher, r)
		}
		if err := os.RemoveAll(history); err != nil {
			t.Fatal(err)
		}
		r := d.Bawn(t, "wrap", "--launcher", launcher, "--preset", "gemini", "--", "bash", "-c", "mkdir ~/.gemini/history; echo x > ~/.gemini/state; exit 1")
		if exists(history) || !exists(filepath.Join(d.Home, ".gemini/state")) || !strings.Contains(r.Stderr, "Gemini CLI writes a private copy of it, for which the folder must be there") || !strings.Contains(r.Stderr, `mkdir "`+history+`"`) {
			t.Errorf("%s: %+v", launcher, r)
		}
		// Where the whole state is lost after the run, nothing of it needs a copy.
		if err := os.RemoveAll(filepath.Dir(history)); err != nil {
			t.Fatal(err)
		}
		r = d.Bawn(t, "wrap", "--launcher", launcher, "--preset", "gemini", "--", "bash", "-c", "mkdir -p ~/.gemini/history/new && echo x > ~/.gemini/history/new/file && cat ~/.gemini/history/new/file")
		if exists(filepath.Dir(history)) || r.Stdout != "x\n" || !strings.Contains(r.Stderr, "what it writes there is lost") {
			t.Errorf("%s: %+v", launcher, r)
		}
	}
}

// A bawn that commands could exchange, or that the agent's sandbox does not show,
// is none to run commands beside an agent with.
func TestWrapByAChangeableBawn(t *testing.T) {
	d := newDesk(t)
	d.agent(t, "claude", "#!/bin/sh\necho started\n")
	program, err := os.ReadFile(sandboxtest.Binary())
	if err != nil {
		t.Fatal(err)
	}
	temp := tempdir.ForTest(t, "/tmp")
	for dir, why := range map[string]string{d.Workspace: "sandboxed commands may write it", temp: "temp folder of its own"} {
		path := filepath.Join(dir, "bawn")
		if err := os.WriteFile(path, program, 0o755); err != nil {
			t.Fatal(err)
		}
		if r := d.call(t, d.Workspace, nil, "", path, "wrap", "--", "claude"); r.Code != 125 || !strings.Contains(r.Stderr, why) {
			t.Errorf("%s: %+v", path, r)
		}
		if r := d.call(t, d.Workspace, nil, "", path, "wrap", "--preset", "none", "--", "claude"); r.Code != 0 || r.Stdout != "started\n" {
			t.Errorf("%s, without a preset: %+v", path, r)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// Without its preset an agent is a command like any other: by the settings, by
// a flag, in airlock, and where a command could have made the program.
func TestWrapWithoutPreset(t *testing.T) {
	const show = "#!/usr/bin/env bash\ncat ~/.claude/.credentials.json; echo key=$ANTHROPIC_API_KEY; echo x > ~/.claude/state\n"
	d := newDesk(t)
	sandboxtest.Write(t, filepath.Join(d.Home, ".claude/.credentials.json"), "LOGIN\n")
	d.Env = append(d.Env, "ANTHROPIC_API_KEY=KEY")
	d.agent(t, "claude", show)
	d.script(t, filepath.Join(d.Home, "bin/other"), show)
	d.script(t, filepath.Join(d.Workspace, "claude"), show)
	d.script(t, filepath.Join(d.Home, ".cache/claude"), show)
	state := filepath.Join(d.Home, ".claude/state")
	try := func(want bool, says string, args ...string) {
		t.Helper()
		_ = os.Remove(state)
		r := d.Bawn(t, append([]string{"wrap"}, args...)...)
		if got := r.Stdout == "LOGIN\nkey=KEY\n" && exists(state); got != want || !want && r.Stdout != "key=\n" || exists(state) != want || !strings.Contains(r.Stderr, says) {
			t.Errorf("%v: it holds: %v, want %v (%s): %+v", args, got, want, says, r)
		}
	}
	try(true, "", "--", "claude")
	try(true, "", "--", filepath.Join(d.Home, "bin/claude"))
	try(true, "", "--preset", "claude", "--", "other")
	try(false, "", "--", "other")
	try(false, "", "--preset", "none", "--", "claude")
	try(false, "", "--tier", "airlock", "--", "claude")
	try(false, "", "--sandbox", "read-only", "--", "claude")
	try(true, "", "--sandbox", "workspace-write", "--", "claude")
	try(false, "commands can write", "--", "./claude")
	try(false, "commands can write", "--", filepath.Join(d.Home, ".cache/claude"))
	try(true, "", "--preset", "claude", "--", "./claude") // as a person says
	config := filepath.Join(d.Home, ".config/bawn/config.toml")
	sandboxtest.Write(t, config, "[sandbox]\npresets = false\n")
	try(false, "", "--", "claude")
	try(false, "", "--preset", "claude", "--", "claude")
	sandboxtest.Write(t, config, "[sandbox]\nenv_drop = [\"ANTHROPIC_API_KEY\"]\nhidden = [\"~/.claude\"]\n")
	try(false, "", "--", "claude")
	sandboxtest.Write(t, config, "")
	// A project may only switch it off.
	project := filepath.Join(d.Workspace, ".bawn/config.toml")
	sandboxtest.Write(t, project, "[sandbox]\npresets = false\n")
	try(false, "", "--", "claude")
	if err := os.Remove(project); err != nil {
		t.Fatal(err)
	}
	// Its interpreter is found in a folder that commands can write.
	env := d.Env
	d.Env = append(env, "PATH="+filepath.Join(d.Home, "bin")+":"+d.Workspace+":/usr/bin:/bin")
	try(false, "where PATH looks for bash", "--", "claude")
	d.Env = env
	try(true, "", "--", "claude")
	// A link to the real one is another's to change before it is started, as is a
	// folder that is looked in before.
	if err := errors.Join(os.Symlink(filepath.Join(d.Home, "bin/claude"), filepath.Join(d.Workspace, "linked")), os.Mkdir(filepath.Join(d.Workspace, "b"), 0o755)); err != nil {
		t.Fatal(err)
	}
	try(false, "commands can write", "--", "./linked")
	d.Env = append(slices.Clip(env), "PATH="+filepath.Join(d.Workspace, "b")+":"+filepath.Join(d.Home, "bin")+":/usr/bin:/bin")
	try(false, "where PATH looks for claude", "--", "claude")
	d.Env = env
	// The interpreter itself, and env's own words before it.
	d.script(t, filepath.Join(d.Home, ".cache/sh"), "#!/bin/bash\n")
	d.script(t, filepath.Join(d.Home, "bin/claude"), "#!"+filepath.Join(d.Home, ".cache/sh")+"\n")
	if r := d.Bawn(t, "wrap", "--", "claude"); !strings.Contains(r.Stderr, "preset of claude is not used: sandboxed commands can write") {
		t.Errorf("its interpreter: %+v", r)
	}
	d.script(t, filepath.Join(d.Home, "bin/claude"), strings.Replace(show, "env bash", "env -S bash --norc", 1))
	try(true, "", "--", "claude")
}

// The hooks that setup wrote work in the agent's sandbox, where bawn's settings
// cannot be read: a command goes beside it, and the login is for the process
// of the agent, not for its model.
func TestWrapHooks(t *testing.T) {
	for _, name := range []string{"claude", "gemini", "crush"} {
		d := newDesk(t)
		login := map[string]string{"claude": ".claude/.credentials.json", "gemini": ".gemini/oauth_creds.json", "crush": ".local/share/crush/crush.json"}[name]
		sandboxtest.Write(t, filepath.Join(d.Home, login), "LOGIN\n")
		a := hook.Find(name)
		ask := func(k hook.Kind, value string) string {
			return "'" + sandboxtest.Binary() + "' hook " + name + " --shims '" + d.shims + "' <<'E'\n" + string(a.Sample(k, value, d.Workspace)) + "\nE\necho \" code $?\"\n"
		}
		d.agent(t, name, "#!/bin/bash\nexec 2>&1\n[ -n \"$CLAUDE_CODE_SHELL_PREFIX\" ] || cat ~/"+login+"\n"+
			ask(hook.Read, filepath.Join(d.Home, login))+ask(hook.Read, "/etc/hosts")+ask(hook.Search, d.Home)+ask(hook.Write, filepath.Join(d.Home, login))+ask(hook.Shell, "cat ~/"+login+"; echo tier=$BAWN_TIER"))
		if r := d.Bawn(t, "wrap", "-q", "--", name).OK(t); !strings.Contains(r.Stdout, "code 0") {
			t.Errorf("%s, not set up: %+v", name, r)
		}
		d.setUp(t, name)
		r := d.Bawn(t, "wrap", "-q", "--", name).OK(t)
		answers := strings.Split(r.Stdout, " code ")
		if len(answers) != 6 {
			t.Fatalf("%s: %q", name, r.Stdout)
		}
		for i, denied := range []bool{true, false, true, true} {
			if strings.Contains(answers[i], "the agent's own login") != denied {
				t.Errorf("%s: answer %d: %q", name, i, answers[i])
			}
		}
		if name == "claude" {
			if strings.Contains(answers[4], "not run") {
				t.Errorf("its shell is not the one of the sandbox: %q", answers[4])
			}
			continue
		}
		// The changed command, run by the agent.
		text := command(t, strings.TrimPrefix(answers[4], "0\n"))
		d.agent(t, name, "#!/bin/bash\nexec 2>&1\ncat ~/"+login+"\nmkdir ~/"+filepath.Dir(login)+"/sessions\n"+text+"\n")
		r = d.Bawn(t, "wrap", "-q", "--", name).OK(t)
		if !strings.HasPrefix(r.Stdout, "LOGIN\n") || strings.Count(r.Stdout, "LOGIN") != 1 || !strings.Contains(r.Stdout, "tier=guarded") || !strings.Contains(r.Stdout, "Permission denied") {
			t.Errorf("%s: %q", name, r.Stdout)
		}
		if !exists(filepath.Join(d.Home, filepath.Dir(login), "sessions")) {
			t.Errorf("%s cannot write its state: %q", name, r.Stdout)
		}
	}
}

// Who only says to be in a sandbox gets no other answer for it.
func TestWrapPretended(t *testing.T) {
	d := newDesk(t)
	d.setUp(t, "gemini")
	secret := filepath.Join(d.Home, ".ssh/id_rsa")
	for _, env := range [][]string{nil, {"BAWN_SANDBOXED=1"}} {
		if r := d.hook(t, "gemini", hook.Read, secret, env...); !strings.Contains(r.Stdout, "SSH keys are hidden") {
			t.Errorf("%v: %+v", env, r)
		}
	}
}

// The tables are of the same agents: aider alone has nothing to set up.
func TestTablesAgree(t *testing.T) {
	if h, s := hook.Names(), setup.Names(); !slices.Equal(h, s) || !slices.Equal(append(slices.Clone(h), "aider"), preset.Names()) {
		t.Errorf("hooks %v, set-ups %v, presets %v", h, s, preset.Names())
	}
	for _, name := range hook.Names() {
		p, err := preset.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		// Whose commands need a shim has them beside it without a hook.
		if hook.Find(name).ShimVariable() != "" && p.Commands != preset.Shimmed {
			t.Errorf("%s: the shim of its hook is not its preset's", name)
		}
	}
}

func TestPrintPreset(t *testing.T) {
	d := newDesk(t)
	for _, name := range preset.Names() {
		if r := d.Bawn(t, "wrap", "--print-preset", name).OK(t); !strings.Contains(r.Stdout, "hosts = [") || name == "codex" && !strings.Contains(r.Stdout, "#   ~/.codex/auth.json") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := d.Bawn(t, "wrap", "--print-preset", "nobody"); r.Code != 125 || !strings.Contains(r.Stderr, `unknown agent "nobody": it is claude, `) {
		t.Errorf("%+v", r)
	}
}
