//go:build linux && agents

package agenttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/frontend/preset"
	"bawn/internal/sandbox/sandboxtest"
)

// wrapped runs the agent itself in a sandbox, with its preset. It reaches its
// model with its own key; what its model has it run meets the rules of any
// command, and says so to the model. set is whether bawn setup has been there:
// without it some agents run their commands as their own children, which have
// their login.
func (d *desk) wrapped(t *testing.T, a real, set bool) {
	t.Helper()
	p, err := preset.Read(a.name)
	if err != nil {
		t.Fatal(err)
	}
	login := filepath.Join(d.Home, a.login)
	mark := "LOGIN-OF-IT"
	if !exists(login) {
		sandboxtest.Write(t, login, `{"LOGIN-OF-IT":1}`)
		defer os.Remove(login)
	} else if a.name == "copilot" { // which made it, and does not start without what is in it
		mark = "firstLaunchAt"
	}
	made, evil, outside := filepath.Join(d.Workspace, "made"), filepath.Join(d.Home, "evil"), filepath.Join(filepath.Dir(d.Workspace), "outside")
	secret, hooked := filepath.Join(d.Home, ".ssh/id_rsa"), filepath.Join(d.Workspace, ".git/hooks/post-commit")
	if err := os.Mkdir(outside, 0o777); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	_ = os.Remove(made)
	steps := []step{
		a.shell("echo tier=$BAWN_TIER; echo x > made; echo x > " + evil + "; echo x > " + outside + "/evil"),
		a.shell("cat " + login),
		a.shell("cat " + secret),
		a.shell(`python3 -c "open('.git/hoo' + 'ks/post-commit', 'w')"`),
		a.shell("curl -sS http://unlisted.example/"),
	}
	file := len(steps)
	if a.read != nil {
		steps = append(steps, a.read(secret), a.read(login))
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(modelURL, "http://"), ":")
	words := []string{sandboxtest.Binary(), "wrap", "--allow-local-port", port}
	if a.program[0] == "node" { // which is no agent by itself
		words = append(words, "--preset", a.name)
	}
	o := d.served(t, a, steps, append(words, "--")...)
	r := o.results
	if !exists(made) || exists(evil) || exists(outside+"/evil") || !strings.Contains(r[0], "tier=guarded") || strings.Count(r[0], "Read-only file system") != 2 {
		t.Errorf("wrapped, a command: %q", r[0])
	}
	beside := set || p.Commands == preset.Shimmed
	if has := strings.Contains(r[1], mark); has == beside || beside && !strings.Contains(r[1], "Permission denied") {
		t.Errorf("wrapped, a command and the login: %q", r[1])
	}
	if says := strings.Contains(o.output, "run in the agent's own sandbox"); says == beside {
		t.Errorf("that commands run in the sandbox of the agent is said: %v, and should be %v\n%s", says, !beside, o.output)
	}
	if strings.Contains(r[2], "SECRET") || !strings.Contains(r[2], "Permission denied") {
		t.Errorf("wrapped, a secret: %q", r[2])
	}
	if exists(hooked) || !strings.Contains(r[3], "Permission denied") || !strings.Contains(r[3], ".git/hooks/post-commit") {
		t.Errorf("wrapped, a hook of git: %q", r[3])
	}
	if !strings.Contains(r[4], "unlisted.example") || !strings.Contains(r[4], "no rule allows") && !strings.Contains(r[4], "bawn") {
		t.Errorf("wrapped, a host: %q", r[4])
	}
	if a.read != nil {
		// By the hook, or by the sandbox that the tool is in, in the tool's words.
		words := strings.ReplaceAll(strings.ToLower(r[file]), " ", "")
		if strings.Contains(r[file], "SECRET") || !strings.Contains(words, "permissiondenied") && !strings.Contains(words, "sshkeysarehidden") && !(a.name == "copilot" && strings.Contains(words, "doesnotexist")) {
			t.Errorf("wrapped, its file tool and a secret: %q", r[file])
		}
		if set && (strings.Contains(r[file+1], mark) || !strings.Contains(r[file+1], "own login")) {
			t.Errorf("wrapped, its file tool and the login: %q", r[file+1])
		}
	}
	if a.key != "" && (!o.keys[a.key] || len(o.keys) != 1) {
		t.Errorf("wrapped, its model server was asked with %v, not with %q", o.keys, a.key)
	}
	t.Logf("wrapped, set up: %v; the model reads: %q", set, r)
}
