//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// execShell becomes a shell outside the sandbox.
func execShell(path string, args, env []string) int {
	return notRun(path, syscall.Exec(path, append([]string{path}, args...), env))
}

// exchange makes the file by which an agent learns something from its shell.
// The agent takes it away; one that stayed empty goes with the command.
func exchange(path string) (done func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the agent's file cannot be made: %w", err)
	}
	return func() {
		defer f.Close()
		held, err := f.Stat()
		now, err2 := os.Lstat(path)
		if err == nil && err2 == nil && held.Size() == 0 && os.SameFile(held, now) {
			_ = os.Remove(path)
		}
	}, nil
}
