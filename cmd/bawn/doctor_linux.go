package main

import (
	"os"

	"bawn/internal/sandbox/linux"
	"bawn/internal/session"
)

func diagnose() diagnosis {
	r := linux.Examine()
	d := diagnosis{Fit: r.Fit(), Launcher: string(r.Launcher), Hint: r.Hint}
	for _, c := range r.Checks {
		d.Checks = append(d.Checks, doctorCheck{c.Name, c.Outcome.String(), c.Detail, c.Fix})
	}
	return d
}

func isTerminal(f *os.File) bool { return session.IsTerminal(f) }
