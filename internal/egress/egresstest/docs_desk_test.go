//go:build linux

package egresstest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"bawn/internal/sandbox/sandboxtest"
	"bawn/internal/tools/vterm"
)

// desk is where the commands of one block are run: a home and a workspace, in
// a world, with programs that stand for those that are not here.
type desk struct {
	*Box
	bin string
}

func newDesk(t *testing.T, w *World) *desk {
	t.Helper()
	d := &desk{Box: NewBox(t, w, "auto")}
	top := filepath.Dir(d.Home)
	d.bin = filepath.Join(top, "bin")
	run := filepath.Join(top, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range docsFiles {
		path := filepath.Join(d.Workspace, name)
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			path = filepath.Join(d.Home, rest)
		} else if rest, ok := strings.CutPrefix(name, "bin/"); ok {
			path = filepath.Join(d.bin, rest)
		}
		sandboxtest.Write(t, path, text)
		if strings.HasPrefix(text, "#!") {
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.Env = append(d.Env, "XDG_RUNTIME_DIR="+run, "TERM=xterm-256color",
		"PATH="+d.bin+":"+filepath.Dir(sandboxtest.Binary())+":/usr/local/bin:/usr/bin:/bin")
	return d
}

// shell is shell text in the world, outside of any sandbox.
func (d *desk) shell(ctx context.Context, text string, env ...string) *exec.Cmd {
	argv := d.w.inside(d.Workspace, "bash", "--norc", "-c", text)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = d.Workspace, append(d.Environ(), env...)
	return cmd
}

func (d *desk) prepare(t *testing.T, text string) {
	t.Helper()
	if text == "" {
		return
	}
	if out, err := d.shell(t.Context(), "set -e\n"+text).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", text, err, out)
	}
}

// run runs a command as the table says, and returns all that it wrote.
func (d *desk) run(t *testing.T, text string, e example) (code int, out string) {
	t.Helper()
	d.prepare(t, e.setup)
	ctx, cancel := context.WithTimeout(t.Context(), d.Limit)
	defer cancel()
	cmd := d.shell(ctx, text, e.env...)
	if len(e.keys) > 0 {
		return d.onTerminal(t, cmd, e.keys)
	}
	var said bytes.Buffer
	file := filepath.Join(filepath.Dir(d.Home), "out")
	if e.until == "" {
		cmd.Stdout, cmd.Stderr = &said, &said
		err := cmd.Run()
		var ee *exec.ExitError
		if ctx.Err() != nil || err != nil && !errors.As(err, &ee) {
			t.Fatalf("%s: %v\n%s", text, err, said.String())
		}
		return cmd.ProcessState.ExitCode(), said.String()
	}
	// It goes on until it is ended.
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait := d.shell(ctx, "until "+e.until+"; do sleep 0.05; done", "OUT="+file)
	waited, err := wait.CombinedOutput()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	data, _ := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%s: waiting for %s: %v\n%s%s", text, e.until, err, waited, data)
	}
	if st := cmd.ProcessState.Sys().(syscall.WaitStatus); st.Signaled() {
		return 128 + int(st.Signal()), string(data)
	}
	return cmd.ProcessState.ExitCode(), string(data)
}

// onTerminal runs cmd on a terminal on which each text is waited for and then
// answered.
func (d *desk) onTerminal(t *testing.T, cmd *exec.Cmd, keys [][2]string) (int, string) {
	t.Helper()
	term, err := vterm.Open(100, 30)
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	if err := term.Start(cmd); err != nil {
		t.Fatal(err)
	}
	var seen string
	for _, k := range keys {
		if seen, err = term.Wait(time.Minute, func(s string) bool { return strings.Contains(s, k[0]) }); err != nil {
			_ = cmd.Process.Kill()
			t.Fatalf("%q: %v on\n%s", k[0], err, seen)
		}
		if err := term.Type(k[1]); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), seen
}

// matches reports whether out is what the docs show, in which "…" stands for
// anything, and /home/me for the home with the workspace in it.
func (d *desk) matches(want, out string) bool {
	want = strings.NewReplacer("/home/me/project", d.Workspace, "/home/me", d.Home, "/root/", d.Home+"/", "/usr/bin/docker", d.bin+"/docker").Replace(want)
	parts := strings.Split(strings.TrimSpace(want), "…")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile(`^(?s:` + strings.Join(parts, `.*?`) + `)\n?$`).MatchString(out)
}
