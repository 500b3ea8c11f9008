//go:build linux

package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// without runs `bawn run` where the kernel gives no name guard.
func (b *Box) without(t *testing.T, how, text string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	args := append([]string{how, binary, "run", "--launcher", b.Launcher}, append(b.Flags, "--", "sh", "-c", text)...)
	cmd := exec.CommandContext(ctx, tool(t, "old"), args...)
	var out, errb bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.Workspace, b.Environ(), &out, &errb
	err := cmd.Run()
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		t.Fatalf("%q: %v, %v\n%s", args, err, ctx.Err(), errb.String())
	}
	return Result{cmd.ProcessState.ExitCode(), out.String(), errb.String()}
}

// F2: where the kernel has no name guard, a run says so once, mounts hold what
// is there at the start, and what appears under a known name is told.
func TestF2_WithoutKernelSupport(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for how, why := range map[string]string{"nested": "inside another one", "old": "needs Linux 5.19"} {
			t.Run(how, func(t *testing.T) {
				b := New(t, l)
				Host(t, b, "git init -q -b main . && git config user.name t && git config user.email t@t && git commit -q --allow-empty -m x && git config core.hooksPath hk").OK(t)
				r := b.without(t, how, "git commit -q --allow-empty -m y && echo x >file && mkdir d").OK(t)
				if strings.Count(r.Stderr, "not held") != 1 || !strings.Contains(r.Stderr, why) {
					t.Errorf("not said once:\n%s", r.Stderr)
				}
				if strings.Contains(r.Stderr, "appeared") {
					t.Errorf("told of harmless names:\n%s", r.Stderr)
				}
				if r := b.without(t, how, "echo x >>.git/config; mv .git g; echo x >.git/hooks/post-checkout; true"); strings.Contains(r.Stderr, "appeared") {
					t.Errorf("what a mount holds changed:\n%s", r.Stderr)
				}
				r = b.without(t, how, "mkdir .codex hk; echo x >.mcp.json; echo x >.git/commondir; rm .git/commondir; echo x >.git/config.worktree")
				for _, name := range []string{".codex", ".mcp.json", "hk", ".git/config.worktree"} {
					if !strings.Contains(r.Stderr, b.Workspace+"/"+name+" appeared") {
						t.Errorf("%s is not told:\n%s", name, r.Stderr)
					}
				}
				if strings.Contains(r.Stderr, "commondir") {
					t.Errorf("what is gone is told:\n%s", r.Stderr)
				}
			})
		}
		// The pair: with the guard none of it appears, and nothing is said.
		b := New(t, l)
		r := b.Sh(t, "git init -q .; mkdir .codex; echo x >.mcp.json; true").OK(t)
		if strings.Contains(r.Stderr, "appeared") || strings.Contains(r.Stderr, "not held") {
			t.Errorf("with the guard:\n%s", r.Stderr)
		}
		// The same check where the user turned it off.
		b.Flags = []string{"--guard", "off"}
		if r := b.Sh(t, "mkdir .codex"); !strings.Contains(r.Stderr, "/.codex appeared") {
			t.Errorf("guard off:\n%s", r.Stderr)
		}
	})
}
