//go:build linux

package staged_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// stopped runs a keep that stops at each point of this name, and calls at
// there. It returns the exit code and what was said.
func stopped(t *testing.T, b *sandboxtest.Box, point string, at func()) (int, string) {
	t.Helper()
	cmd := exec.Command(program("killed"), "keep")
	cmd.Dir, cmd.Env = b.Workspace, append(b.Environ(), "BAWN_TEST_STOP="+point)
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	times := 0
	for {
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(cmd.Process.Pid, &ws, syscall.WUNTRACED, nil); err != nil {
			t.Fatal(err)
		}
		if ws.Stopped() {
			times++
			at()
			_ = cmd.Process.Signal(syscall.SIGCONT)
			continue
		}
		if times == 0 {
			t.Error("it never stopped there: the test shows nothing")
		}
		return ws.ExitStatus(), text(t, out.Name())
	}
}

// What another sandboxed command does while a file is copied does not bring a
// protected name in: each is tried while the file has its temporary name.
func TestKeepRaced(t *testing.T) {
	t.Parallel()
	evil := "[core]\n\tfsmonitor = /bin/evil\n"
	for _, c := range []struct {
		name, setup, staged, point, race, bad, said string
	}{
		{"folder moved", "mkdir x", "echo '{}' >x/settings.json", "temp", "mv x .claude", ".claude/settings.json", "moved"},
		{"folder moved after it", "mkdir x; echo old >x/y", "echo '{}' >x/settings.json; echo new >x/y", "swapped", "outside: mv x .claude", ".claude/settings.json", "moved"},
		{"folder moved, old file", "mkdir x; echo old >x/settings.json", "echo '{}' >x/settings.json", "temp", "rm x/settings.json; mv x .claude", ".claude/settings.json", "moved"},
		{"folder a repository", "mkdir x", "printf '" + evil + "' >x/config", "temp", "mkdir x/refs x/objects; echo 'ref: refs/heads/x' >x/HEAD", "x/config", "fsmonitor"},
		{"two names", "mkdir a x", "echo >a/a; ln a/a x/config", "temp", "if [ -e a/a ]; then echo 'ref: refs/heads/x' >x/HEAD; printf '" + evil + "' >a/a; fi", "x/config", "became"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := box(t)
			shell(t, b.Workspace, c.setup)
			b.Sh(t, c.staged).OK(t)
			other := *b
			other.Flags = []string{"-q"}
			code, said := stopped(t, b, c.point, func() {
				if race, outside := strings.CutPrefix(c.race, "outside: "); outside {
					shell(t, b.Workspace, race+" || true")
					return
				}
				other.Sh(t, c.race)
			})
			if old := b.Workspace + "/.claude/y"; exists(old) && text(t, old) != "old\n" {
				t.Error("an old file was not given back")
			}
			if exists(b.Workspace + "/" + c.bad) {
				t.Errorf("%s is there: %q", c.bad, text(t, b.Workspace+"/"+c.bad))
			}
			if code != 1 || !strings.Contains(said, c.said) {
				t.Errorf("exit %d: %s", code, said)
			}
			if dir := b.Workspace + "/x"; exists(dir) && temp(t, dir) || exists(b.Workspace+"/.claude") && temp(t, b.Workspace+"/.claude") {
				t.Error("a temporary file is left")
			}
		})
	}
}

// The file in the making is nobody's: neither opened, nor moved, nor replaced.
func TestKeepTempRaced(t *testing.T) {
	t.Parallel()
	b := box(t)
	shell(t, b.Workspace, "git init -q .")
	b.Sh(t, "git config user.name me").OK(t)
	other := *b
	other.Flags = []string{"-q"}
	code, said := stopped(t, b, "temp", func() {
		for _, race := range []string{
			"echo x >>.git/.bawn-keep-*", "mv .git/.bawn-keep-* .git/x", "ln .git/.bawn-keep-* .git/y", "echo evil >.git/z; mv -f .git/z .git/.bawn-keep-*",
			"for f in .git/.bawn-keep-*; do exec 3<$f; echo x >/proc/self/fd/3; done",
		} {
			if r := other.Sh(t, race); r.Code == 0 {
				t.Errorf("%s passed", race)
			}
		}
		other.Sh(t, "cat .git/.bawn-keep-* && mkdir ok && echo x >ok/bawn-keep-1").OK(t)
	})
	if code != 0 || !strings.Contains(text(t, b.Workspace+"/.git/config"), "name = me") {
		t.Errorf("exit %d: %s", code, said)
	}
}

// What somebody outside puts in the place of a file at the last moment stays.
func TestKeepReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	for what, race := range map[string]string{"replaced": "echo mine >g; mv g f", "removed": "rm f", "made a folder": "rm f; mkdir f"} {
		b := box(t)
		write(t, b.Workspace+"/f", "old")
		b.Sh(t, "echo new >f").OK(t)
		code, said := stopped(t, b, "temp", func() { shell(t, b.Workspace, race) })
		if code != 1 || !strings.Contains(said, "while it was kept") || temp(t, b.Workspace) {
			t.Errorf("%s: exit %d: %s", what, code, said)
		}
		if what == "replaced" && text(t, b.Workspace+"/f") != "mine\n" {
			t.Error("what was put there meanwhile is lost")
		}
	}
}

// A folder that took the workspace's place, often with its inode number, is
// not the one that the run began with.
func TestWorkspaceReplaced(t *testing.T) {
	t.Parallel()
	b := box(t)
	b.Sh(t, "echo new >f").OK(t)
	record := b.State + "/bawn/staged/" + stagedIDs(t, b)[0] + "/run.json"
	was := text(t, record)
	write(t, record, regexp.MustCompile(`"born":\d+`).ReplaceAllString(was, `"born":1`)) // as if it had another's number
	wantKept(t, keep(t, b), 125, "another folder", "bawn discard")
	if exists(b.Workspace + "/f") {
		t.Error("it was kept all the same")
	}
	write(t, record, was)
	keep(t, b).OK(t)
}

// A state folder behind a link is one like others.
func TestLinkedState(t *testing.T) {
	t.Parallel()
	b := box(t)
	real := b.State
	b.State += "-link"
	shell(t, "/", "mkdir -p "+real)
	if err := os.Symlink(real, b.State); err != nil {
		t.Fatal(err)
	}
	b.Sh(t, "echo new >f").OK(t)
	if exists(b.Workspace + "/f") {
		t.Error("it was not staged")
	}
	keep(t, b).OK(t)
	if text(t, b.Workspace+"/f") != "new\n" {
		t.Error("it was not kept")
	}
}

// What is a hole in both trees is not read to compare them: 4 TB would take
// the better part of an hour.
func TestHugeHole(t *testing.T) {
	t.Parallel()
	b := box(t)
	shell(t, b.Workspace, "mkdir d; echo old >d/f")
	b.Sh(t, "rm -r d; mkdir d; truncate -s 4T d/huge; echo end >>d/huge; echo new >d/g").OK(t)
	keep(t, b, "d/huge").OK(t)
	r := keep(t, b, "--diff") // the layer has it still: the folder hides the old one
	if r.OK(t); strings.Contains(r.Stdout, "huge") || !strings.Contains(r.Stdout, "d/g") {
		t.Errorf("not what is still staged: %s", r.Stdout)
	}
	shell(t, b.Workspace, "m=$(stat -c %y d/huge); printf x | dd of=d/huge bs=1 seek=1000000000 conv=notrunc status=none; touch -d \"$m\" d/huge")
	if r := keep(t, b, "--diff"); !strings.Contains(r.Stdout, "d/huge") {
		t.Errorf("one byte that differs is not seen: %s", r.Stdout)
	}
}
