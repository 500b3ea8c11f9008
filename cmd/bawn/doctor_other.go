//go:build !linux && !darwin

package main

import (
	"os"
	"runtime"
)

func diagnose() diagnosis {
	const hint = "--tier open runs without a sandbox"
	return diagnosis{Hint: hint, Checks: []doctorCheck{{
		Name: "platform", Result: "fail", Detail: "this version has no sandbox for " + runtime.GOOS, Fix: hint,
	}}}
}

func isTerminal(*os.File) bool { return false }
