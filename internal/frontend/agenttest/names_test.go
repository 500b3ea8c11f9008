//go:build linux

package agenttest

import (
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/frontend/hook"
	"bawn/internal/frontend/setup"
	"bawn/internal/sandbox/sandboxtest"
)

// A name that commands may not make is none for a file tool, which writes outside
// the sandbox: also where nothing is there yet that could be looked at.
func TestF2_NamesOfFileTools(t *testing.T) {
	d := newDesk(t)
	sandboxtest.Write(t, filepath.Join(d.Workspace, ".git/HEAD"), "ref: refs/heads/main\n")
	sandboxtest.Write(t, filepath.Join(d.Workspace, ".git/config"), "[core]\n\thooksPath = .named\n")
	for _, agent := range setup.Names() {
		if hook.Find(agent).Sample(hook.Write, "x", "/") == nil {
			continue // it writes by patches alone
		}
		d.setUp(t, agent)
		for path, free := range map[string]bool{
			"sub/.git/hooks/post-commit": false, "sub/.git/config": false, "sub/.git": false, ".GIT/hooks/x": false, ".named/pre-commit": false,
			".git/modules/m/hooks/x": false, ".Claude/settings.json": false, ".git/hooks/pre-commit": false,
			"sub/hooks/x": true, "sub/config": true, ".named2/x": true, ".git/refs/heads/config": false, ".git/refs/heads/gitdir": true, ".git/logs/refs/heads/config": true, ".gitignore": true,
		} {
			r := d.hook(t, agent, hook.Write, filepath.Join(d.Workspace, path))
			if r.Code != 0 || strings.Contains(r.Stdout, "refused") == free {
				t.Errorf("%s, %s: %d %s%s", agent, path, r.Code, r.Stdout, r.Stderr)
			}
		}
	}
}
