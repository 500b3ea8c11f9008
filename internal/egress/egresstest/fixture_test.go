//go:build linux

package egresstest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(worldEnv) != "" {
		runWorld()
		return
	}
	sandboxtest.Main(m)
}

// worldEnv marks the process that holds a world.
const worldEnv = "EGRESSTEST_WORLD"

// World is a network namespace that stands for the internet: global-looking
// and internal addresses on its own loopback, a name server, and servers.
// bawn and its egress run in it; nothing leaves the machine.
type World struct {
	Dir string // shared with the world's process; holds its logs
	pid int

	mu  sync.Mutex
	in  *bufio.Writer
	out *bufio.Reader
}

// Addresses of a world.
const (
	upstream = "11.0.0.10" // all ordinary servers listen here
	nameSrv  = "11.0.0.53"
)

// NewWorld starts a world that ends with the test.
func NewWorld(t *testing.T) *World {
	t.Helper()
	w := &World{Dir: sandboxtest.Dir(t)}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = []string{worldEnv + "=" + w.Dir, "PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir}
	cmd.Stderr = os.Stderr
	uid, gid := os.Getuid(), os.Getgid()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN, unix.CAP_NET_BIND_SERVICE},
		Pdeathsig:   syscall.SIGKILL,
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	// The parent-death signal follows the thread.
	started := make(chan error)
	stop := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		started <- cmd.Start()
		<-stop
	}()
	if err := <-started; err != nil {
		t.Fatalf("make a world: %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close() // the world ends on this
		_ = cmd.Wait()
		close(stop)
	})
	w.pid, w.in, w.out = cmd.Process.Pid, bufio.NewWriter(in), bufio.NewReader(out)
	if line, err := w.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the world said %q, %v", line, err)
	}
	return w
}

// Ask sends the world one command and returns its answer.
func (w *World) Ask(t *testing.T, format string, a ...any) string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.in, format+"\n", a...)
	if err := w.in.Flush(); err != nil {
		t.Fatal(err)
	}
	line, err := w.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the world is gone: %v", err)
	}
	text, err := strconv.Unquote(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the world said %q", line)
	}
	return text
}

// Queries are the names that the world's name server has been asked for.
func (w *World) Queries(t *testing.T) string { return w.Ask(t, "queries") }

// Hits counts connections to a server of the world by "address:port".
func (w *World) Hits(t *testing.T, addr string) int {
	n, _ := strconv.Atoi(w.Ask(t, "hits %s", addr))
	return n
}

// inside is the command line that runs something in the world, in a folder.
func (w *World) inside(dir string, args ...string) []string {
	pre := []string{"nsenter", "-t", strconv.Itoa(w.pid), "-U", "--preserve-credentials", "-n", "-m", "--wdns=" + dir}
	return append(append(pre, "--"), args...)
}

// Box is a run of bawn in a world.
type Box struct {
	*sandboxtest.Box
	w     *World
	Limit time.Duration // ends a run that hangs
}

// NewBox makes a workspace and home for runs in w.
func NewBox(t *testing.T, w *World, launcher string) *Box {
	return &Box{sandboxtest.New(t, launcher), w, sandboxtest.Limit}
}

// command is `bawn run FLAGS -- args` in the world.
func (b *Box) command(ctx context.Context, args ...string) *exec.Cmd {
	all := append([]string{sandboxtest.Binary(), "run", "--launcher", b.Launcher}, b.Flags...)
	argv := b.w.inside(b.Workspace, append(append(all, "--"), args...)...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = b.Workspace, b.Environ()
	return cmd
}

// Run runs a command in a sandbox in the world.
func (b *Box) Run(t *testing.T, args ...string) sandboxtest.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), b.Limit)
	defer cancel()
	cmd := b.command(ctx, args...)
	var out, errb bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errb
	err := cmd.Run()
	var ee *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%q hung\nstdout: %s\nstderr: %s", args, out.String(), errb.String())
	case err != nil && !errors.As(err, &ee):
		t.Fatalf("%q: %v", args, err)
	}
	return sandboxtest.Result{Code: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: errb.String()}
}

// Sh runs shell text in a sandbox in the world.
func (b *Box) Sh(t *testing.T, format string, a ...any) sandboxtest.Result {
	t.Helper()
	text := format
	if len(a) > 0 {
		text = fmt.Sprintf(format, a...)
	}
	return b.Run(t, "bash", "--norc", "-c", text)
}

// Outside runs a command in the world but in no sandbox.
func (w *World) Outside(t *testing.T, args ...string) string {
	t.Helper()
	argv := w.inside(w.Dir, args...)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// Python writes a script into the workspace and returns its name.
func (b *Box) Python(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(b.Workspace, "script.py")
	sandboxtest.Write(t, name, text)
	return "script.py"
}

// running is a sandbox that waits for a line on its standard input.
type running struct {
	cmd *exec.Cmd
	in  interface{ Close() error }
	out *bufio.Reader
	err *bytes.Buffer
}

// start runs a command that says "up" when it is ready, and returns then.
func (b *Box) start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sandboxtest.Limit)
	t.Cleanup(cancel)
	return start(t, b.command(ctx, args...))
}

func start(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{cmd: cmd, in: in, out: bufio.NewReader(out), err: new(bytes.Buffer)}
	cmd.Stderr = r.err
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := r.out.ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("%q said %q, %v: %s", cmd.Args, line, err, r.err)
	}
	return r
}

// end closes the command's input and waits for it.
func (r *running) end(t *testing.T, code int) {
	t.Helper()
	_ = r.in.Close()
	_ = r.cmd.Wait()
	if c := r.cmd.ProcessState.ExitCode(); c != code {
		t.Errorf("exit %d, want %d: %s", c, code, r.err)
	}
}
