package main

import (
	"fmt"
	"os"
	"runtime/debug"
)

func helpCommand(args []string) int {
	if len(args) > 1 {
		return usageError(fmt.Errorf("help takes one command, got %q", args[1]))
	}
	if len(args) == 1 {
		for _, c := range commands() {
			if c.name == args[0] {
				printCommandHelp(c)
				return 0
			}
		}
		return usageError(fmt.Errorf("unknown command %q", args[0]))
	}
	fmt.Println("bawn runs commands inside a boundary that the operating system enforces.")
	fmt.Println()
	for _, c := range commands() {
		fmt.Printf("  bawn %-30s %s\n", c.name+" "+c.args, c.summary)
	}
	fmt.Println("  bawn -- CMD [ARG…]                  the same as bawn run -- CMD")
	fmt.Println()
	fmt.Println("Exit codes: the command's own; 125 bawn could not or would not run it; 126 not")
	fmt.Println("executable; 127 not found; 128+n ended by signal n.")
	return 0
}

func printCommandHelp(c command) {
	fmt.Printf("bawn %s %s\n    %s\n", c.name, c.args, c.summary)
	f := newRunFlags()
	var specs []flagSpec
	switch c.name {
	case "run":
		specs = f.specs()
	case "check":
		specs = f.policySpecs()
	}
	if len(specs) > 0 {
		fmt.Println()
	}
	for _, s := range specs {
		name := s.name
		if s.arg != "" {
			name += " " + s.arg
		}
		fmt.Printf("  %-32s %s\n", name, s.help)
	}
}

// version is set by release builds (-ldflags -X main.version=…).
var version = ""

func versionCommand(args []string) int {
	if len(args) > 0 {
		return usageError(fmt.Errorf("version takes no argument, got %q", args[0]))
	}
	v := version
	if v == "" {
		v = "dev"
		if info, ok := debug.ReadBuildInfo(); ok {
			for _, s := range info.Settings {
				if s.Key == "vcs.revision" {
					v = "dev " + s.Value
				}
			}
		}
	}
	fmt.Fprintln(os.Stdout, "bawn "+v)
	return 0
}
