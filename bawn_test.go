//go:build linux

package bawn_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bawn"
	"bawn/internal/tools/tempdir"
)

// limit ends what hangs; a test never waits for it when all is well.
const limit = 5 * time.Minute

// hostDir makes a folder that is not below /tmp: that is private in the
// sandbox, where a write that wrongly passes would not be seen.
func hostDir(t *testing.T) string {
	t.Helper()
	base := "/opt"
	if os.Getuid() != 0 {
		base = os.Getenv("HOME")
	}
	dir, err := filepath.EvalSymlinks(tempdir.ForTest(t, base))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mkdir(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func newPolicy(t *testing.T, tier bawn.Tier, ws string, opts ...bawn.Option) bawn.Policy {
	t.Helper()
	p, err := bawn.NewPolicy(tier, ws, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// sh runs a shell text and returns its standard output.
func sh(t *testing.T, p bawn.Policy, text string) (string, error) {
	t.Helper()
	out, err := bawn.Command(deadline(t), p, "sh", "-c", text).Output()
	return string(out), err
}

func eachLauncher(t *testing.T, f func(t *testing.T, opt bawn.Option)) {
	t.Helper()
	for _, l := range []bawn.Launcher{bawn.Native, bawn.Bwrap} {
		t.Run(string(l), func(t *testing.T) { f(t, bawn.WithLauncher(l)) })
	}
}

func TestBoundary(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		root := hostDir(t)
		ws, home := mkdir(t, root, "ws"), mkdir(t, root, "home")
		t.Setenv("HOME", home)
		write(t, home+"/.ssh/id", "secret", 0o644)
		write(t, home+"/plain", "readable", 0o644)
		p := newPolicy(t, bawn.Guarded, ws, launcher)

		if _, err := sh(t, p, "echo x >in"); err != nil {
			t.Fatal("a write in the workspace:", err)
		}
		if _, err := sh(t, p, "echo x >../out"); err == nil {
			t.Error("a write outside the workspace passed")
		}
		if out, err := sh(t, p, "cat ~/plain"); err != nil || out != "readable" {
			t.Fatalf("an ordinary file of the home: %q, %v", out, err)
		}
		_, err := sh(t, p, "cat ~/.ssh/id")
		var exit *bawn.ExitError
		if !errors.As(err, &exit) || !strings.Contains(string(exit.Stderr), "Permission denied") {
			t.Errorf("a key: %v", err)
		}
		for name, want := range map[string]bool{"/ws/in": true, "/out": false} {
			if _, err := os.Stat(root + name); (err == nil) != want {
				t.Errorf("%s on the host: %v, want it to exist: %v", name, err, want)
			}
		}
	})
}

// A name of another program's settings that is not there yet is held, unless
// the caller lifts that; what is there is held without the guard too.
func TestWithGuard(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		for _, tc := range []struct {
			opts []bawn.Option
			held bool
		}{
			{nil, true},
			{[]bawn.Option{bawn.WithGuard(true)}, true},
			{[]bawn.Option{bawn.WithGuard(false)}, false},
			{[]bawn.Option{bawn.WithGuard(false), bawn.WithGuard(true)}, true},
		} {
			ws := hostDir(t)
			write(t, ws+"/.bashrc", "", 0o644)
			p := newPolicy(t, bawn.Guarded, ws, append(tc.opts, launcher)...)
			if w := p.Warnings(); len(w) != 0 {
				t.Errorf("warnings: %q", w)
			}
			out, err := sh(t, p, "mkdir work && ! echo x >.bashrc && mkdir .codex && echo made")
			if (err != nil) != tc.held || (out == "made\n") == tc.held {
				t.Errorf("held %v: %q, %v", tc.held, out, err)
			}
			for name, want := range map[string]bool{"work": true, ".codex": !tc.held} {
				if _, err := os.Stat(filepath.Join(ws, name)); (err == nil) != want {
					t.Errorf("held %v: %s on the host: %v", tc.held, name, err)
				}
			}
			if st, err := os.Stat(ws + "/.bashrc"); err != nil || st.Size() != 0 {
				t.Errorf("held %v: .bashrc on the host: %v, %v", tc.held, st, err)
			}
		}
	})
}

func TestCmdString(t *testing.T) {
	for _, tc := range []struct {
		cmd  bawn.Cmd
		want string
	}{
		{*bawn.Command(t.Context(), bawn.Policy{}, "go"), "go"},
		{*bawn.Command(t.Context(), bawn.Policy{}, "go", "test", "./..."), "go test ./..."},
		{*bawn.Command(t.Context(), bawn.Policy{}, "sh", "-c", "a  b"), "sh -c a  b"},
		{bawn.Cmd{Path: "/bin/true"}, "/bin/true"},
		{bawn.Cmd{Path: "/bin/sh", Args: []string{"-sh", "x"}}, "/bin/sh x"}, // what runs, not what it is told it is
	} {
		if got := tc.cmd.String(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

func TestTiersAndModes(t *testing.T) {
	root := hostDir(t)
	ws, more := mkdir(t, root, "ws"), mkdir(t, root, "more")
	add := bawn.WithDirs(more)
	for _, c := range []struct {
		name     string
		tier     bawn.Tier
		opts     []bawn.Option
		ws, more bool // writable
		seen     string
	}{
		{"airlock", bawn.Airlock, []bawn.Option{add}, true, false, "airlock"},
		{"guarded", bawn.Guarded, []bawn.Option{add}, true, true, "guarded"},
		{"read-only", bawn.Guarded, []bawn.Option{add, bawn.WithMode(bawn.ReadOnly)}, false, false, "read-only"},
		{"workspace-write", bawn.Airlock, []bawn.Option{bawn.WithMode(bawn.WorkspaceWrite), add}, true, true, "workspace-write"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPolicy(t, c.tier, ws, c.opts...)
			for dir, want := range map[string]bool{ws: c.ws, more: c.more} {
				_, err := sh(t, p, "echo x >"+dir+"/f")
				_, onHost := os.Stat(dir + "/f")
				if (err == nil) != want || (onHost == nil) != want {
					t.Errorf("write in %s: %v, on the host: %v, want %v", dir, err, onHost, want)
				}
				if d := p.Check(bawn.Write{Path: dir + "/f"}); (d.Verdict == bawn.Allow) != want {
					t.Errorf("Check of a write in %s: %v", dir, d)
				}
				os.Remove(dir + "/f")
			}
			if out, err := sh(t, p, "echo $BAWN_SANDBOXED $BAWN_TIER $BAWN_STAGE"); err != nil || out != "1 "+c.seen+"\n" {
				t.Errorf("variables: %q, %v", out, err)
			}
		})
	}
}

// F10: the command starts in an empty folder and writes nothing of the host.
func TestF10_WithScratch(t *testing.T) {
	ws := hostDir(t)
	write(t, ws+"/file", "content\n", 0o644)
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		p := newPolicy(t, bawn.Guarded, ws, launcher, bawn.WithScratch())
		out, err := sh(t, p, `pwd; echo $PWD; ls -A; echo x >a && cat a; cat `+ws+`/file; echo x 2>/dev/null >`+ws+`/new || echo refused`)
		if want := "/tmp/scratch\n/tmp/scratch\nx\ncontent\nrefused\n"; err != nil || out != want {
			t.Errorf("%q, %v", out, err)
		}
		for _, a := range []bawn.Action{bawn.Write{Path: ws + "/new"}, bawn.Connect{Host: "github.com", Port: 443}} {
			d := p.Check(a)
			twin := newPolicy(t, bawn.Guarded, ws, launcher).Check(a)
			if d.Verdict != bawn.Deny || !strings.Contains(d.Rule.Lift, "scratch") || twin.Verdict != bawn.Allow {
				t.Errorf("%v: %+v, without the profile %v", a, d, twin)
			}
		}
		cmd := bawn.Command(deadline(t), p, "pwd")
		cmd.Dir = ws
		if out, err := cmd.Output(); err != nil || string(out) != ws+"\n" {
			t.Errorf("in a folder: %q, %v", out, err)
		}
	})
	var refused *bawn.RefusedError
	if _, err := bawn.NewPolicy(bawn.Open, ws, bawn.WithScratch()); !errors.As(err, &refused) {
		t.Errorf("open: %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	ws := hostDir(t)
	write(t, ws+"/plain", "#!/bin/sh\necho ran\n", 0o644)
	write(t, ws+"/script", "#!/bin/sh\necho ran\n", 0o755)
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		p := newPolicy(t, bawn.Airlock, ws, launcher)
		if out, err := bawn.Command(deadline(t), p, "./script").Output(); err != nil || string(out) != "ran\n" {
			t.Fatalf("a script: %q, %v", out, err)
		}
		for _, c := range []struct {
			name string
			code int
		}{{"./plain", 126}, {"./absent", 127}, {"no-such-program", 127}, {ws, 126}} {
			cmd := bawn.Command(deadline(t), p, c.name)
			err := cmd.Start()
			var ee *bawn.ExecError
			if !errors.As(err, &ee) || ee.Code != c.code || !strings.Contains(ee.Reason, c.name) {
				t.Errorf("%s: %v, want code %d", c.name, err, c.code)
			}
			if got := errors.Is(err, exec.ErrNotFound) && errors.Is(err, fs.ErrNotExist); got != (c.code == 127) {
				t.Errorf("%s: errors.Is not found: %v", c.name, got)
			}
			if cmd.Wait() == nil {
				t.Errorf("%s: Wait after a failed Start gives no error", c.name)
			}
		}
	})
}

func TestExitStatus(t *testing.T) {
	p := newPolicy(t, bawn.Airlock, hostDir(t))
	for text, want := range map[string]int{
		"exit 0": 0, "exit 1": 1, "exit 255": 255, "exit 125": 125, "kill -TERM $$": 143, "kill -KILL $$": 137,
	} {
		cmd := bawn.Command(deadline(t), p, "sh", "-c", text)
		err := cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != want || cmd.ProcessState.Success() != (want == 0) {
			t.Errorf("%s: exit code %d, want %d", text, got, want)
		}
		var exit *bawn.ExitError
		if errors.As(err, &exit) != (want != 0) || (exit != nil && exit.ExitCode() != want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got := (&bawn.Cmd{}).ProcessState.ExitCode(); got != -1 {
		t.Errorf("exit code of a command that has not run: %d", got)
	}
}

func TestStreams(t *testing.T) {
	p := newPolicy(t, bawn.Airlock, hostDir(t))
	command := func(text string) *bawn.Cmd { return bawn.Command(deadline(t), p, "sh", "-c", text) }

	t.Run("null", func(t *testing.T) {
		if err := command("cat; echo lost; echo lost >&2").Run(); err != nil {
			t.Error(err)
		}
	})
	t.Run("combined", func(t *testing.T) {
		out, err := command("for i in 1 2 3; do echo o$i; echo e$i >&2; done").CombinedOutput()
		if err != nil || string(out) != "o1\ne1\no2\ne2\no3\ne3\n" {
			t.Errorf("%q, %v", out, err)
		}
	})
	t.Run("writers", func(t *testing.T) {
		var out, errb bytes.Buffer
		cmd := command("cat; echo e >&2")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("in"), &out, &errb
		if err := cmd.Run(); err != nil || out.String() != "in" || errb.String() != "e\n" {
			t.Errorf("%q, %q, %v", out.String(), errb.String(), err)
		}
	})
	t.Run("files", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir+"/in", "from a file", 0o644)
		in, _ := os.Open(dir + "/in")
		out, _ := os.Create(dir + "/out")
		defer in.Close()
		defer out.Close()
		cmd := command("cat")
		cmd.Stdin, cmd.Stdout = in, out
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(dir + "/out"); err != nil || string(data) != "from a file" {
			t.Errorf("%q, %v", data, err)
		}
		if _, err := out.WriteString("x"); err != nil {
			t.Error("the caller's file was closed:", err)
		}
		folder, _ := os.Open(dir)
		defer folder.Close()
		cmd = command("cat")
		cmd.Stdin = folder
		var refused *bawn.RefusedError
		if err := cmd.Run(); !errors.As(err, &refused) {
			t.Errorf("a folder as a stream: %v", err)
		}
	})
	t.Run("large", func(t *testing.T) {
		const size = 32 << 20
		var n counter
		cmd := command("head -c 33554432 /dev/zero")
		cmd.Stdout = &n
		if err := cmd.Run(); err != nil || n != size {
			t.Errorf("%d bytes, %v", n, err)
		}
		cmd = command("wc -c")
		cmd.Stdin = io.LimitReader(zeros{}, size)
		if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "33554432" {
			t.Errorf("%q, %v", out, err)
		}
		cmd = command("exit 0") // does not read
		cmd.Stdin = io.LimitReader(zeros{}, size)
		if err := cmd.Run(); err != nil {
			t.Errorf("input that nobody reads: %v", err)
		}
	})
	t.Run("stderr", func(t *testing.T) {
		_, err := command("echo first >&2; head -c 1000000 /dev/zero | tr '\\0' x >&2; echo last >&2; exit 1").Output()
		var exit *bawn.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		s := string(exit.Stderr)
		if !strings.HasPrefix(s, "first\n") || !strings.HasSuffix(s, "last\n") || len(s) > 70<<10 || !strings.Contains(s, "bytes left out") {
			t.Errorf("%d bytes kept, from %.20q to %.20q", len(s), s, s[len(s)-20:])
		}
	})
	t.Run("failing writer", func(t *testing.T) {
		cmd := command("while echo x; do :; done")
		cmd.Stdout = failing{}
		var exit *bawn.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) && !errors.Is(err, errFull) {
			t.Errorf("%v", err)
		}
	})
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestPipes(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		p := newPolicy(t, bawn.Airlock, hostDir(t), launcher)
		// The command closes its output and goes on: the reader must see the
		// end at once, while the command still waits for its input.
		cmd := bawn.Command(deadline(t), p, "sh", "-c", "echo out; echo err >&2; exec >&- 2>&-; read line; test \"$line\" = go")
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		errp, err3 := cmd.StderrPipe()
		if err := errors.Join(err1, err2, err3, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		o, err1 := io.ReadAll(out)
		e, err2 := io.ReadAll(errp)
		if string(o) != "out\n" || string(e) != "err\n" || err1 != nil || err2 != nil {
			t.Errorf("%q, %q, %v, %v", o, e, err1, err2)
		}
		if _, err := io.WriteString(in, "go\n"); err != nil {
			t.Error(err)
		}
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
		if _, err := in.Write([]byte("x")); err == nil {
			t.Error("a write after the end passed")
		}
		if _, err := cmd.StdinPipe(); err == nil {
			t.Error("a second StdinPipe passed")
		}
	})
}

func TestSignal(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher bawn.Option) {
		p := newPolicy(t, bawn.Airlock, hostDir(t), launcher)
		cmd := bawn.Command(deadline(t), p, "sh", "-c", "trap 'echo caught; exit 7' TERM; echo ready; while :; do sleep 0.01; done")
		if err := cmd.Signal(syscall.SIGTERM); err == nil {
			t.Error("a signal before the start passed")
		}
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(out); string(rest) != "caught\n" || err != nil {
			t.Errorf("%q, %v", rest, err)
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 7 {
			t.Errorf("exit code %d", got)
		}
		if err := cmd.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("a signal after the end: %v", err)
		}
	})
}

func TestMisuse(t *testing.T) {
	p := newPolicy(t, bawn.Airlock, hostDir(t))
	cmd := bawn.Command(deadline(t), p, "true")
	if cmd.Wait() == nil {
		t.Error("Wait before Start")
	}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if cmd.Start() == nil || cmd.Wait() == nil {
		t.Error("a Cmd was used twice")
	}
	if _, err := cmd.StdoutPipe(); err == nil {
		t.Error("StdoutPipe after Start")
	}
	cmd = bawn.Command(deadline(t), p, "true")
	cmd.Stdout = io.Discard
	if _, err := cmd.Output(); err == nil {
		t.Error("Output with Stdout set")
	}
	if _, err := cmd.CombinedOutput(); err == nil {
		t.Error("CombinedOutput with Stdout set")
	}
	var refused *bawn.RefusedError
	if err := bawn.Command(deadline(t), p, "").Run(); !errors.As(err, &refused) {
		t.Errorf("no name: %v", err)
	}
	if err := bawn.Command(deadline(t), p, "echo", "a\x00b").Run(); err == nil {
		t.Error("an argument with a NUL passed")
	}
	t.Setenv("BAWN_SANDBOXED", "1")
	if err := bawn.Command(deadline(t), p, "true").Run(); !errors.As(err, &refused) {
		t.Errorf("a sandbox inside a sandbox: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a nil context passed")
		}
	}()
	//lint:ignore SA1012 the panic is the point
	bawn.Command(nil, p, "true")
}
