//go:build linux

package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// job is ordinary work that must go inside exactly as outside: the same text
// runs without bawn in one folder and with it in a twin of that folder, and
// exit code, output and what is left on the host are compared. In every text
// $ROOT is the folder above workspace and home.
type job struct {
	name  string
	setup string // on the host, before
	run   string // inside and outside
	after string // on the host, afterwards: shows what arrived
	want  string // what stdout must hold, so that two failures are not a match
	env   []string
	flags []string
	dir   string // the workspace, below $ROOT; default ws
	code  int    // the exit code outside
	// heavy work runs under one launcher only: the default one as the user,
	// bubblewrap as root.
	heavy bool
	// each is where it runs; by default EachLauncher.
	each func(t *testing.T, f func(t *testing.T, launcher string))
}

// gitEnv makes commits the same everywhere.
var gitEnv = []string{
	"GIT_AUTHOR_NAME=A U Thor", "GIT_AUTHOR_EMAIL=author@example.com", "GIT_AUTHOR_DATE=2024-02-03T04:05:06Z",
	"GIT_COMMITTER_NAME=C O Mitter", "GIT_COMMITTER_EMAIL=committer@example.com", "GIT_COMMITTER_DATE=2024-02-03T04:05:06Z",
	"GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true",
}

// bash is how every text of a job runs: it stops at the first failure.
func bash(text string) []string {
	return []string{"bash", "--noprofile", "--norc", "-euo", "pipefail", "-c", text}
}

// place makes the job's folders and its set-up.
func (j job) place(t *testing.T, launcher string) (b *Box, root string) {
	t.Helper()
	b = New(t, launcher)
	root = filepath.Dir(b.Workspace)
	b.Env = append([]string{"ROOT=" + root, "TMPDIR=" + shortDir(t)}, j.env...)
	for i, e := range b.Env {
		b.Env[i] = strings.ReplaceAll(e, "$ROOT", root)
	}
	b.Flags = []string{"-q"}
	for _, f := range j.flags {
		b.Flags = append(b.Flags, strings.ReplaceAll(f, "$ROOT", root))
	}
	if j.setup != "" {
		Host(t, b, j.setup).OK(t)
	}
	if j.dir != "" {
		b.Workspace = filepath.Join(root, j.dir)
	}
	return b, root
}

// Host runs a text on the host, in the workspace, with the box's environment.
func Host(t *testing.T, b *Box, text string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	args := bash(text)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var out, errb bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.Workspace, b.Environ(), &out, &errb
	var ee *exec.ExitError
	if err := cmd.Run(); ctx.Err() != nil || err != nil && !errors.As(err, &ee) {
		t.Fatalf("host: %s\n%v\nstdout: %s\nstderr: %s", text, err, out.String(), errb.String())
	}
	return Result{cmd.ProcessState.ExitCode(), out.String(), errb.String()}
}

// masked is a result without the one thing in which twins differ.
func masked(r Result, root string) Result {
	r.Stdout = strings.ReplaceAll(r.Stdout, root, "ROOT")
	r.Stderr = strings.ReplaceAll(r.Stderr, root, "ROOT")
	return r
}

func (j job) test(t *testing.T) {
	t.Run(j.name, func(t *testing.T) {
		t.Parallel()
		b, root := j.place(t, "")
		outside := masked(Host(t, b, j.run), root)
		if outside.Code != j.code || !strings.Contains(outside.Stdout, j.want) {
			t.Fatalf("without bawn: exit %d, want %d and %q\nstdout: %s\nstderr: %s", outside.Code, j.code, j.want, outside.Stdout, outside.Stderr)
		}
		left := masked(Host(t, b, j.after).OK(t), root)
		each := j.each
		if each == nil {
			each = EachLauncher
		}
		each(t, func(t *testing.T, l string) {
			if j.heavy && (l == "bwrap") != (os.Getuid() == 0) {
				return
			}
			t.Parallel()
			b, root := j.place(t, l)
			inside := masked(b.Run(t, bash(j.run)...), root)
			if inside != outside {
				t.Errorf("inside: exit %d\nstdout: %s\nstderr: %s\n--- outside: exit %d\nstdout: %s\nstderr: %s",
					inside.Code, inside.Stdout, inside.Stderr, outside.Code, outside.Stdout, outside.Stderr)
			}
			if r := masked(Host(t, b, j.after), root); r != left {
				t.Errorf("left inside: %+v\n--- left outside: %+v", r, left)
			}
		})
	})
}

func testJobs(t *testing.T, env []string, jobs []job) {
	for _, j := range jobs {
		j.env = append(append([]string(nil), env...), j.env...)
		j.test(t)
	}
}

// dirNames lists a folder of the host, sorted, space-separated.
func dirNames(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

// wantRefused is the twin of OK: the command ran and was denied something.
func wantRefused(t *testing.T, what string, r Result) {
	t.Helper()
	if r.Code == 0 {
		t.Errorf("%s passed\nstdout: %s\nstderr: %s", what, r.Stdout, r.Stderr)
	}
}
