//go:build !linux && !darwin

package main

import (
	"os"
	"runtime"

	"bawn/internal/sandbox"
)

func diagnose() diagnosis {
	hint := sandbox.NoBackendHint(runtime.GOOS)
	return diagnosis{Hint: hint, Checks: []doctorCheck{{
		Name: "platform", Result: "fail", Detail: sandbox.NoBackend(runtime.GOOS).Error(), Fix: hint,
	}}}
}

func isTerminal(*os.File) bool { return false }
