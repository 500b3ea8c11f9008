//go:build linux

package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Launchers are the ways to make a sandbox that every case must pass under.
var Launchers = []string{"native", "bwrap"}

// EachLauncher runs a case under every launcher. A launcher that cannot work
// on this machine fails the test: nothing is skipped.
func EachLauncher(t *testing.T, f func(t *testing.T, launcher string)) {
	t.Helper()
	for _, l := range Launchers {
		t.Run(l, func(t *testing.T) { f(t, l) })
	}
}

// Box is one run of bawn to be: a workspace, a home and flags.
type Box struct {
	Launcher  string
	Workspace string   // the working folder of bawn; made by New
	Home      string   // HOME, made by New: empty, so nothing of the machine's user matters
	State     string   // XDG_STATE_HOME, beside them and absent, with bawn's own state in it
	Env       []string // added to a small fixed environment
	Flags     []string // of bawn run, before --
	Stdin     string
}

// New makes a workspace and a home for one case, in real (symlink-free)
// folders that are not below the sandbox's private /tmp unless TMPDIR is.
func New(t *testing.T, launcher string) *Box {
	t.Helper()
	root := Dir(t)
	b := &Box{Launcher: launcher, Workspace: filepath.Join(root, "ws"), Home: filepath.Join(root, "home"), State: filepath.Join(root, "state")}
	for _, d := range []string{b.Workspace, b.Home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// Dir makes a folder for one test whose path has no symbolic link.
func Dir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Result is what a run left.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Limit ends a run that hangs; a test never waits for it when all is well.
const Limit = 5 * time.Minute

// Run runs `bawn run FLAGS -- args` in the workspace.
func (b *Box) Run(t *testing.T, args ...string) Result {
	t.Helper()
	return b.exec(t, append(append(append(b.running(), b.Flags...), "--"), args...)...)
}

// Sh runs a shell text in the sandbox.
func (b *Box) Sh(t *testing.T, text string) Result {
	t.Helper()
	return b.Run(t, "sh", "-c", text)
}

// Bawn runs the program with these arguments.
func (b *Box) Bawn(t *testing.T, args ...string) Result {
	t.Helper()
	return b.exec(t, append([]string{binary}, args...)...)
}

func (b *Box) exec(t *testing.T, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var out, errb bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.Workspace, &out, &errb
	cmd.Env = b.Environ()
	cmd.Stdin = bytes.NewReader([]byte(b.Stdin))
	err := cmd.Run()
	var ee *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%q hung\nstdout: %s\nstderr: %s", args, out.String(), errb.String())
	case err != nil && !errors.As(err, &ee):
		t.Fatalf("%q: %v", args, err)
	}
	return Result{cmd.ProcessState.ExitCode(), out.String(), errb.String()}
}

// Environ is the environment a run starts with.
func (b *Box) Environ() []string {
	return append([]string{
		"HOME=" + b.Home, "XDG_STATE_HOME=" + b.State, "PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
		"LANG=C.UTF-8", "USER=" + os.Getenv("USER"), "PWD=" + b.Workspace,
	}, b.Env...)
}

// OK fails the test unless the run ended with 0.
func (r Result) OK(t *testing.T) Result {
	t.Helper()
	if r.Code != 0 {
		t.Fatalf("exit %d\nstdout: %s\nstderr: %s", r.Code, r.Stdout, r.Stderr)
	}
	return r
}

// Write makes a file, and the folders above it, on the host.
func Write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
