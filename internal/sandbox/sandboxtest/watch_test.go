//go:build linux

package sandboxtest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// watching starts `bawn watch` with its notices among the output.
func (b *Box) watching(t *testing.T, args ...string) *running {
	t.Helper()
	words := append([]string{"-c", `exec "$0" "$@" 2>&1`, binary, "watch", "--launcher", b.Launcher}, b.Flags...)
	cmd := exec.Command("sh", append(append(words, "--"), args...)...)
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	return begin(t, cmd)
}

// expectPart reads one line of output that has want in it.
func (r *running) expectPart(t *testing.T, want string) {
	t.Helper()
	select {
	case got, ok := <-r.lines:
		if !ok || !strings.Contains(got, want) {
			t.Fatalf("output line %q (more: %v), want %q in it", got, ok, want)
		}
	case <-time.After(patience):
		t.Fatalf("no line with %q in time", want)
	}
}

// A command runs at the start and again after each change, in the sandbox,
// without a way to the network; its own changes do not start it again.
func TestWatch(t *testing.T) {
	EachLauncher(t, func(t *testing.T, launcher string) {
		b := New(t, launcher)
		Write(t, b.Workspace+"/in", "one\n")
		r := b.watching(t, "sh", "-c", `cat in; env | grep -ci _proxy= ; cp in out; touch "$HOME/.planted" 2>/dev/null; exit 3`)
		r.expect(t, "one")
		r.expect(t, "0")
		r.expectPart(t, "/.planted\" to touch")
		r.expectPart(t, "watch: exit 3 after ")
		Write(t, b.Workspace+"/node_modules/x", "not watched")
		Write(t, b.Workspace+"/in", "two\n")
		r.expectPart(t, "changed")
		r.expect(t, "two")
		r.expect(t, "0")
		r.expectPart(t, "/.planted\" to touch")
		r.expectPart(t, "watch: exit 3 after ")
		r.signal(t, syscall.SIGINT)
		if code := r.code(t); code != 130 {
			t.Errorf("exit %d after SIGINT", code)
		}
		if b.Sh(t, `env | grep -ci _proxy=`).Stdout == "0\n" {
			t.Error("bawn run has no egress: the check above proves nothing")
		}
		if exists(b.Home + "/.planted") {
			t.Error("it wrote outside the workspace")
		}
	})
}

// N9: the open tier has no sandbox that could take the network away. A run that
// asks for that there is refused, and bawn watch says it.
func TestN9_OpenTierHasTheNetwork(t *testing.T) {
	b := New(t, "native")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	for _, flags := range [][]string{{"--no-egress"}, {"--publish", free}} {
		for _, tier := range [][]string{{"--tier", "open"}, {"--sandbox", "danger-full-access"}} {
			args := append(append(append([]string{"run"}, tier...), flags...), "--", "touch", b.Workspace+"/ran")
			if r := b.Bawn(t, args...); r.Code != 125 || !strings.Contains(r.Stderr, flags[0]+": ") || !strings.Contains(r.Stderr, "the open tier") || exists(b.Workspace+"/ran") {
				t.Errorf("%q: %+v", args, r)
			}
		}
		if r := b.Bawn(t, append(append([]string{"run"}, flags...), "--", "true")...); r.Code != 0 {
			t.Errorf("the twin in guarded, %q: %+v", flags, r)
		}
	}
	b.Flags = []string{"--tier", "open"}
	r := b.watching(t, "sh", "-c", "echo tier=$BAWN_TIER; exit 3")
	r.expectPart(t, "the open tier has no sandbox")
	r.expect(t, "tier=")
	r.expectPart(t, "watch: exit 3 after ")
	r.signal(t, syscall.SIGINT)
	if code := r.code(t); code != 130 {
		t.Errorf("exit %d after SIGINT", code)
	}
}

// A signal while the command runs reaches it, and ends the watching after it.
func TestWatchSignal(t *testing.T) {
	b := New(t, "native")
	r := b.watching(t, "sh", "-c", `trap 'echo caught; exit 7' TERM; echo ready; read x`)
	r.expect(t, "ready")
	r.signal(t, syscall.SIGTERM)
	r.expect(t, "caught")
	if code := r.code(t); code != 143 {
		t.Errorf("exit %d", code)
	}
}

// What cannot run at all is not waited for.
func TestWatchRefused(t *testing.T) {
	b := New(t, "native")
	for _, args := range [][]string{{"watch"}, {"watch", "--no-such", "--", "true"}, {"watch", "-C", "/", "--", "true"}, {"watch", "--stage", "--", "true"}, {"watch", "--publish", "8080", "--", "true"}} {
		if r := b.Bawn(t, args...); r.Code != 125 || r.Stderr == "" {
			t.Errorf("%q: exit %d, %q", args, r.Code, r.Stderr)
		}
	}
}

// --report with a descriptor gets one object of each run, though that is
// another process, whose numbers are its own.
func TestWatchReport(t *testing.T) {
	b := New(t, "native")
	Write(t, b.Workspace+"/in", "one\n")
	file := filepath.Dir(b.Workspace) + "/reports"
	cmd := exec.Command("sh", "-c", `exec 7>"$1"; shift; exec "$0" "$@" 2>&1`, binary, file, "watch", "--report", "fd:7", "-q", "--", "sh", "-c", `cat in; mkdir .bawn; exit 3`)
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	r := begin(t, cmd)
	r.expect(t, "one")
	lines := func(n int) []string {
		var list []string
		until(t, "a report", func() bool {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			list = strings.SplitAfter(string(data), "\n")
			return len(list) > n
		})
		return list
	}
	lines(1)
	Write(t, b.Workspace+"/in", "two\n")
	for _, line := range lines(2)[:2] {
		if got := parseReport(t, line); got.Code == nil || *got.Code != 3 || len(got.Denials) != 1 || got.Denials[0].Target != b.Workspace+"/.bawn" {
			t.Errorf("%s", line)
		}
	}
	r.signal(t, syscall.SIGINT)
	r.code(t)
}
