package bawn

import (
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux"
	"bawn/internal/sandbox/linux/guard"
	"bawn/internal/session"
)

func unavailableHint() string { return linux.Hint() }

func guardSupported() error { return guard.Supported() }

func (j job) backend() sandbox.Backend { return linux.Backend{Launcher: linux.Launcher(j.launcher)} }

// way is what the backend asks of the egress: nothing.
func way(*session.Egress) {}
