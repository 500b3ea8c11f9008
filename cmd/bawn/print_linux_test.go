//go:build !race

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// A report that nobody can read is no report: on a full disk every command
// that only prints fails, and says why.
func TestLostOutputIsAnError(t *testing.T) {
	t.Parallel()
	b := sandboxtest.New(t, "native")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range []string{
		"help", "help run", "version", "policy", "policy --json", "check read .", "check --json read .", "check run -- ls", "env", "env --json",
		"config show", "config keys", "config path", "completion bash", "completion man", "trust --list", "keep --list",
		"wrap --print-preset claude", "setup claude --print",
	} {
		for _, to := range []*os.File{nil, full} {
			cmd := exec.Command(sandboxtest.Binary(), strings.Fields(args)...)
			cmd.Dir, cmd.Env = b.Workspace, b.Environ()
			var out, errors bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errors
			if to != nil {
				cmd.Stdout = to
			}
			err := cmd.Run()
			switch {
			case to == nil && (err != nil || out.Len() == 0):
				t.Errorf("%s: %v, printed %q\n%s", args, err, out.String(), errors.String())
			case to != nil && (cmd.ProcessState.ExitCode() != exitRefused || !strings.Contains(errors.String(), "no space left on device")):
				t.Errorf("%s on a full disk: exit %d\n%s", args, cmd.ProcessState.ExitCode(), errors.String())
			}
		}
	}
}
