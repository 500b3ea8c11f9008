package main

import (
	"fmt"
	"os"
)

// unprinted is the first error of printing to standard output. A report that
// was lost, on a full disk, must not end like one that was read.
var unprinted error

func noteUnprinted(_ int, err error) {
	if unprinted == nil {
		unprinted = err
	}
}

// printf, printLine and printText are those of package fmt.
func printf(format string, a ...any) { noteUnprinted(fmt.Fprintf(os.Stdout, format, a...)) }
func printLine(a ...any)             { noteUnprinted(fmt.Fprintln(os.Stdout, a...)) }
func printText(a ...any)             { noteUnprinted(fmt.Fprint(os.Stdout, a...)) }

// finish is the program's exit code, given the command's.
func finish(code int) int {
	if unprinted == nil || code != 0 {
		return code
	}
	return fail(fmt.Errorf("print: %w", unprinted))
}
