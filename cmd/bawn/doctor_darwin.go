package main

import (
	"os"

	"bawn/internal/sandbox/seatbelt"
	"bawn/internal/session"
)

func diagnose() diagnosis {
	d := diagnosis{Fit: true, Launcher: "sandbox-exec"}
	c := doctorCheck{Name: "sandbox-exec", Result: "ok", Detail: "a profile of bawn's was taken and holds"}
	if err := seatbelt.Probe(); err != nil {
		d.Fit, d.Hint = false, seatbelt.Hint
		c.Result, c.Detail, c.Fix = "fail", err.Error(), seatbelt.Hint
	}
	d.Checks = []doctorCheck{c}
	return d
}

func isTerminal(f *os.File) bool { return session.IsTerminal(f) }
