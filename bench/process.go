//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// memory adds up the proportional set size of the whole tree while the
// command waits.
func (b *bench) memory() error {
	home := filepath.Join(b.dir, "home")
	ws := filepath.Join(home, "src", "project")
	total, err := waitingPSS([]string{b.bawn, "run", "--launcher", "native", "--"}, ws, environ(home, ws))
	if err != nil {
		return err
	}
	fmt.Printf("\nMemory\n")
	verdict(fmt.Sprintf("PSS of the whole tree: %.1f MB", total), total <= 15, "at most 15 MB")
	return nil
}

// startPiped starts a command whose input is written and whose output is read.
func startPiped(cmd *exec.Cmd) (in io.WriteCloser, out io.Reader, err error) {
	if in, err = cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		return nil, nil, err
	}
	return in, out, cmd.Start()
}

// tree lists pid and its descendants.
func tree(pid int) []int {
	out := []int{pid}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range tasks {
		data, _ := os.ReadFile(t)
		for _, c := range strings.Fields(string(data)) {
			if n, err := strconv.Atoi(c); err == nil {
				out = append(out, tree(n)...)
			}
		}
	}
	return out
}

func pss(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "Pss:" {
			return strconv.ParseFloat(f[1], 64)
		}
	}
	return 0, fmt.Errorf("no Pss for process %d", pid)
}

// initTime is the median over several starts of the sum that the runtime
// prints with GODEBUG=inittrace=1.
func initTime(path string, args ...string) (ms float64, packages int, err error) {
	var got []float64
	for range 21 {
		cmd := exec.Command(path, args...)
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		var text strings.Builder
		cmd.Stderr = &text
		if err := cmd.Run(); err != nil {
			return 0, 0, err
		}
		total, n := sumInit(text.String())
		got, packages = append(got, total), n
	}
	slices.Sort(got)
	return got[len(got)/2], packages, nil
}

// stageInit counts what a stage initialises before it takes over. It starts
// one as a launcher does, and leaves it without a description.
func (b *bench) stageInit() (ms float64, packages int, err error) {
	var got []float64
	for range 21 {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return 0, 0, err
		}
		far := os.NewFile(uintptr(pair[1]), "control")
		cmd := exec.Command(b.bawn)
		cmd.Env = []string{"GODEBUG=inittrace=1", "BAWN_STAGE=native," + strconv.Itoa(os.Getuid()) + "," + strconv.Itoa(os.Getgid())}
		var text strings.Builder
		cmd.Stderr, cmd.Stdout = &text, io.Discard
		cmd.ExtraFiles = []*os.File{far}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID}
		if err := cmd.Start(); err != nil {
			return 0, 0, err
		}
		far.Close()
		unix.Close(pair[0]) // the supervisor is gone: the stage ends
		_ = cmd.Wait()
		total, n := sumInit(text.String())
		if n == 0 {
			return 0, 0, fmt.Errorf("the stage printed no initialisation: %q", text.String())
		}
		got, packages = append(got, total), n
	}
	slices.Sort(got)
	return got[len(got)/2], packages, nil
}
