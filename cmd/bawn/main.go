// Command bawn runs the shell commands of AI coding agents inside a boundary
// that the operating system enforces.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Exit codes of bawn itself; a command's own code passes through.
const (
	exitRefused       = 125 // bawn could not or would not run it
	exitNotExecutable = 126
	exitNotFound      = 127
	exitUsage         = exitRefused
)

// command is one subcommand: an explicit list, no registration at start-up.
type command struct {
	name, args, summary string
	run                 func(args []string) int
}

func commands() []command {
	return []command{
		{"run", "[flags] -- CMD [ARG…]", "run one command in the sandbox", runCommand},
		{"wrap", "[flags] -- AGENT [ARG…]", "run a coding agent in a session of its own", wrapCommand},
		{"watch", "[flags] -- CMD [ARG…]", "run it again whenever files change", watchCommand},
		{"learn", "[flags] -- CMD [ARG…]", "run it, and propose the settings that it lacks", learnCommand},
		{"keep", "[flags] [ID] [PATH…]", "bring what a staged run wrote into the workspace", keepCommand},
		{"discard", "[flags] [ID]", "throw away what a staged run wrote", discardCommand},
		{"check", "[flags] ACTION OBJECT", "say what is allowed, and the rule behind it", checkCommand},
		{"policy", "[flags]", "print what a run may do, and which file says so", policyCommand},
		{"config", "[show|path|check|keys]", "print the settings that hold and where they come from", configCommand},
		{"trust", "[--list|--revoke]", "look at a project's own settings, and trust them", trustCommand},
		{"env", "[--json]", "list the variables that commands do not get", envCommand},
		{"log", "[list|runs|show|…]", "read the record of runs and decisions", logCommand},
		{"doctor", "[--json]", "try what the sandbox needs on this machine", doctorCommand},
		{"setup", "AGENT [flags]", "put an AI agent's commands into the sandbox", setupCommand},
		{"mcp", "[flags]", "serve commands and file tools to an agent (MCP)", mcpCommand},
		{"hook", "AGENT", "answer an agent's hook (for agents)", hookCommand},
		{"import", "[flags] TOOL", "print another tool's settings as bawn's", importCommand},
		{"completion", "SHELL|man|…", "print the completion for a shell, or the manual", completionCommand},
		{"version", "", "print the version", versionCommand},
		{"help", "[COMMAND]", "explain a command", helpCommand},
	}
}

func main() {
	roomy(false)
	if err := checkUmask(); err != nil {
		warn("%v", err)
		os.Exit(exitRefused)
	}
	if run := shim(os.Args[0]); run != nil {
		os.Exit(finish(run(os.Args[1:])))
	}
	os.Exit(finish(dispatch(os.Args[1:])))
}

func dispatch(args []string) int {
	if len(args) == 0 {
		if !sessionTerminal() {
			return helpCommand(nil)
		}
		return sessionCommand(nil)
	}
	switch args[0] {
	case "--", "-c":
		return runCommand(args)
	case "-h", "--help":
		return helpCommand(args[1:])
	case "--version":
		return versionCommand(nil)
	}
	if len(args[0]) > 1 && args[0][0] == '-' {
		return sessionCommand(args)
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(args[1:])
		}
	}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return usageError("", fmt.Errorf("unknown command %q%s", args[0], wayOut(args[0], names)))
}

func standardStreams() sandbox.Stdio {
	return sandbox.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
}

// wayOut is what a word that is no command was probably meant to be.
func wayOut(word string, names []string) string {
	near := suggestion(word, names)
	switch {
	case word == sessionTopic:
		return "; bawn alone opens a session"
	case near != "" || word == "":
		return near
	}
	return "; to run a program: bawn run -- " + word
}

// warn prints one line of bawn's own on stderr, never the command's stdout.
// What a terminal would act on, or not show, is escaped.
func warn(format string, a ...any) {
	fmt.Fprintln(os.Stderr, "bawn: "+printable(fmt.Sprintf(format, a...)))
}

// printable is text of any origin as it may be shown.
func printable(s string) string { return policy.Escape(s) }

// usageError reports a bad command line of a command ("" for none).
func usageError(command string, err error) int {
	warn("%v", err)
	if command == "" {
		fmt.Fprintln(os.Stderr, "Run 'bawn help' for the commands.")
	} else {
		fmt.Fprintf(os.Stderr, "Run 'bawn help %s' for its flags.\n", command)
	}
	return exitUsage
}

// fail maps an error that kept a command from running to what a person reads
// and the exit code.
func fail(err error) int {
	var u *sandbox.Unavailable
	if errors.As(err, &u) {
		warn("no sandbox can be made here (%v); %s", u, unavailableHint())
		return exitRefused
	}
	// An error in a file of settings shows the place in lines of its own.
	first, rest, _ := strings.Cut(err.Error(), "\n")
	warn("%s", first)
	for rest != "" {
		first, rest, _ = strings.Cut(rest, "\n")
		fmt.Fprintln(os.Stderr, printable(first))
	}
	return exitRefused
}
