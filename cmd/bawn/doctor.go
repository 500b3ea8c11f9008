package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// diagnosis is what `bawn doctor` found, on any system.
type diagnosis struct {
	Fit      bool          `json:"fit"`
	Launcher string        `json:"launcher"` // what auto uses; "" if nothing works
	Hint     string        `json:"hint,omitempty"`
	Checks   []doctorCheck `json:"checks"`
}

type doctorCheck struct {
	Name   string `json:"check"`
	Result string `json:"result"` // ok, warn, fail, info
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// doctorCommand tries what the sandbox needs on this machine.
func doctorCommand(args []string) int {
	asJSON := false
	rest, err := parseFlags(args, []flagSpec{jsonFlag(&asJSON)})
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"doctor"})
	case err != nil:
		return usageError("doctor", err)
	case len(rest) > 0:
		return usageError("doctor", fmt.Errorf("doctor takes no argument, got %q", rest[0]))
	}
	d := diagnose()
	if asJSON {
		if code := printJSON(d); code != 0 {
			return code
		}
	} else {
		printText(d.text(colours(os.Stdout)))
	}
	if !d.Fit {
		return 1
	}
	return 0
}

// text is an aligned table: check, result, detail and, below it, the fix.
func (d diagnosis) text(colour bool) string {
	width := 0
	for _, c := range d.Checks {
		width = max(width, len(c.Name))
	}
	var b strings.Builder
	for _, c := range d.Checks {
		fmt.Fprintf(&b, "%-*s  %s  %s\n", width, c.Name, paint(c.Result, colour), printable(c.Detail))
		if c.Fix != "" {
			fmt.Fprintf(&b, "%-*s  %-4s  fix: %s\n", width, "", "", printable(c.Fix))
		}
	}
	b.WriteByte('\n')
	if d.Fit {
		fmt.Fprintf(&b, "auto uses the %s launcher\n", d.Launcher)
	} else {
		fmt.Fprintf(&b, "no launcher works: sandboxed commands are refused; %s\n", printable(d.Hint))
	}
	return b.String()
}

// paint pads a result to its column, coloured on a terminal.
func paint(result string, colour bool) string {
	padded := fmt.Sprintf("%-4s", result)
	codes := map[string]string{"ok": "32", "warn": "33", "fail": "31"}
	if code := codes[result]; colour && code != "" {
		return "\x1b[" + code + "m" + padded + "\x1b[0m"
	}
	return padded
}

// colours reports whether f shows colours and the person wants them
// (https://no-color.org).
func colours(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(f)
}
