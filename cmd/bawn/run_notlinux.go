//go:build !linux

package main

import (
	"errors"
	"fmt"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// checkLauncher takes the names that Linux has, so that one script serves
// everywhere; nothing is launched here.
func checkLauncher(v string) error {
	switch v {
	case "auto", "native", "bwrap":
		return nil
	}
	return fmt.Errorf("unknown launcher %q: it is auto, native or bwrap", v)
}

func bwrapArgs(policy.Policy, sandbox.Host, []string) ([]string, error) {
	return nil, errors.New("bubblewrap is for Linux")
}

// program is what would run outside a sandbox: there is none to leave.
type program struct{}

func (*program) close() {}
