//go:build linux

package sandboxtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// command is a run of bawn that the test starts and watches itself.
func (b *Box) command(args ...string) *exec.Cmd { return b.Command(args...) }

// hostShell runs a text outside the sandbox, in which `bawn CMD` is a run
// with the case's launcher and flags.
func (b *Box) hostShell(t *testing.T, text string) Result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", b.shellFunction()+text)
	var out, errb bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.Workspace, b.Environ(), &out, &errb
	cmd.WaitDelay = 20 * time.Second
	timer := time.AfterFunc(Limit/2, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Run()
	return Result{cmd.ProcessState.ExitCode(), out.String(), errb.String()}
}

func (b *Box) shellFunction() string {
	return fmt.Sprintf("bawn() { '%s' run --launcher %s %s -- \"$@\"; }\n", Binary(), b.Launcher, strings.Join(b.Flags, " "))
}

// running is a started run whose output is read line by line.
type running struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	errs  *bytes.Buffer
}

// begin starts cmd in a process group of its own, as a shell with job
// control would.
func begin(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	r := &running{cmd: cmd, lines: make(chan string, 1000), errs: &bytes.Buffer{}}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.in, cmd.Stdout, cmd.Stderr = in, w, r.errs
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() {
		defer out.Close()
		for sc := bufio.NewScanner(out); sc.Scan(); {
			r.lines <- sc.Text()
		}
		close(r.lines)
	}()
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return r
}

// expect reads one line of output.
func (r *running) expect(t *testing.T, want string) {
	t.Helper()
	select {
	case got, ok := <-r.lines:
		if !ok || got != want {
			t.Fatalf("output line %q (more: %v), want %q", got, ok, want)
		}
	case <-time.After(patience):
		t.Fatalf("no line %q in time", want)
	}
}

// eof waits for the end of the output.
func (r *running) eof(t *testing.T) {
	t.Helper()
	select {
	case got, ok := <-r.lines:
		if ok {
			t.Fatalf("output line %q, want the end", got)
		}
	case <-time.After(patience):
		t.Fatal("no end of output in time")
	}
}

func (r *running) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := unix.Kill(r.cmd.Process.Pid, sig); err != nil {
		t.Fatalf("signal %v: %v", sig, err)
	}
}

// code waits for the end of the run.
func (r *running) code(t *testing.T) int {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- r.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("the run did not end; stderr: %s", r.errs)
	}
	return r.cmd.ProcessState.ExitCode()
}

var markers atomic.Int64

// sleepMarker is an argument for sleep that no other process of the machine has.
func sleepMarker() string {
	return fmt.Sprintf("1000.%d%04d", os.Getpid(), markers.Add(1))
}

// processes returns the host's pids that have mark as one of their arguments,
// launchers left out.
func processes(mark string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		data, _ := os.ReadFile(f)
		args := strings.Split(string(data), "\x00")
		for _, a := range args[1:] {
			if a == mark && filepath.Base(args[0]) == "sleep" {
				pid, _ := strconv.Atoi(strings.Split(f, "/")[2])
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// procState is the letter of a process's state.
func procState(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := bytes.LastIndexByte(data, ')'); i >= 0 && len(data) > i+2 {
		return string(data[i+2])
	}
	return ""
}

// descendants are the pids of all processes below pid.
func descendants(pid int) map[int]bool {
	below := map[int]bool{pid: true}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for grown := true; grown; {
		grown = false
		for _, f := range files {
			data, _ := os.ReadFile(f)
			_, rest, _ := strings.Cut(string(data), ") ")
			fields := strings.Fields(rest)
			if len(fields) < 2 {
				continue
			}
			child, _ := strconv.Atoi(strings.Split(f, "/")[2])
			parent, _ := strconv.Atoi(fields[1])
			if below[parent] && !below[child] {
				below[child], grown = true, true
			}
		}
	}
	delete(below, pid)
	return below
}
