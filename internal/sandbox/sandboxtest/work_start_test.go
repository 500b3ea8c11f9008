//go:build linux

package sandboxtest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"bawn/internal/tools/tempdir"
)

// workRun is a bawn that was started and not waited for.
type workRun struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

// startWork runs `bawn run FLAGS -- args` and returns at once.
func (b *Box) startWork(t *testing.T, args ...string) *workRun {
	t.Helper()
	words := append(append(append(b.running(), b.Flags...), "--"), args...)
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	// A pipe of the test's own: Wait must not close it before it is read.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		r.Close()
	})
	if err := r.SetReadDeadline(time.Now().Add(Limit)); err != nil {
		t.Fatal(err)
	}
	return &workRun{cmd, bufio.NewReader(r)}
}

// line reads one line of the command's output.
func (r *workRun) line(t *testing.T) string {
	t.Helper()
	s, err := r.out.ReadString('\n')
	if err != nil {
		t.Fatalf("output of the command: %v", err)
	}
	return strings.TrimSuffix(s, "\n")
}

// kill ends bawn as kill -9 does, and waits until nothing of the sandbox is
// left: the last holder of the output closes it.
func (r *workRun) kill(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait()
	if _, err := io.Copy(io.Discard, r.out); err != nil {
		t.Fatalf("something of the sandbox outlived it: %v", err)
	}
}

// shortDir is a folder of the host with a path that fits a unix socket.
func shortDir(t *testing.T) string {
	t.Helper()
	base := ""
	if len(os.TempDir()) > 60 {
		base = "/tmp"
	}
	return tempdir.ForTest(t, base)
}

// lineWith returns the first line that holds text.
func lineWith(s, text string) string {
	for line := range strings.Lines(s) {
		if strings.Contains(line, text) {
			return strings.TrimSuffix(line, "\n")
		}
	}
	return ""
}

// hostProcesses starts n processes of the caller; end stops them.
func (b *Box) hostProcesses(t *testing.T, n int) (end func()) {
	t.Helper()
	// Each reads a pipe of the test's: they end when it is closed.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmds := make([]*exec.Cmd, n)
	for i := range cmds {
		cmds[i] = exec.CommandContext(t.Context(), "/bin/cat")
		cmds[i].Stdin = r
		if err := cmds[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		w.Close()
		for _, c := range cmds {
			_ = c.Wait()
		}
	}
}
