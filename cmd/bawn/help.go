package main

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"bawn/internal/frontend/setup"
)

func helpCommand(args []string) int {
	if len(args) > 1 {
		return usageError("", fmt.Errorf("help takes one command, got %q", args[1]))
	}
	if len(args) == 1 && args[0] != "-h" && args[0] != "--help" {
		all := append(commands(), command{name: sessionTopic, args: "[flags]", summary: sessionSummary})
		for _, c := range all {
			if c.name == args[0] {
				printCommandHelp(c)
				return 0
			}
		}
		return usageError("", fmt.Errorf("unknown command %q%s", args[0], suggestion(args[0], wordsOf("help"))))
	}
	printLine("bawn runs commands inside a boundary that the operating system enforces.")
	printLine()
	all := slices.Concat([]command{{args: "[flags]", summary: sessionSummary}}, commands(), []command{{name: "--", args: "CMD [ARG…]", summary: "the same as bawn run -- CMD"}})
	wide := 0
	for i, c := range all {
		all[i].name = strings.TrimSpace(c.name + " " + c.args)
		wide = max(wide, utf8.RuneCountInString(all[i].name))
	}
	for _, c := range all {
		printf("  bawn %-*s  %s\n", wide, c.name, c.summary)
	}
	printText(`
Tiers: guarded (the default) writes the workspace, a private temp and the tool
caches, and reaches allowed hosts; airlock no caches and no network; open has no
sandbox. 'bawn help run' has the flags, 'bawn help session' those of a session.

Exit codes: the command's own; 125 bawn could not or would not run it; 126 not
executable; 127 not found; 128+n ended by signal n.
`)
	return 0
}

// sessionTopic is what the help calls bawn without a command.
const (
	sessionTopic   = "session"
	sessionSummary = "open a session in this folder"
)

// helpNotes is what a command's help says below its flags.
func helpNotes(command string) string {
	switch command {
	case "run":
		return `
Flags end at --, or at the first word that is not a flag.

Examples:
  bawn run -- npm test
  bawn run -c 'make && ./a.out'
  bawn run --tier airlock -C ~/src/unknown -- make
  bawn run --sandbox read-only -- grep -r TODO .

Exit codes: the command's own; 125 bawn could not or would not run it; 126 not
executable; 127 not found; 128+n ended by signal n.
`
	case "wrap":
		return `
The agent and all that it starts run in the sandbox; bawn run inside asks for a
sandbox beside it. Questions come on the terminal while the agent owns it; every
key of bawn's but Alt+S is behind Ctrl+\. Where there is no terminal, or with
--no-prompt, nothing asks.

An agent that bawn knows has a preset, in guarded: its own settings, state and
login, the hosts of its models, and its keys in the environment. They are for its
own process; what it has run beside it has none of them.

Examples:
  bawn wrap -- claude
  bawn wrap --print-preset codex
  bawn wrap --tier airlock -- codex

Exit codes: the agent's own; 125 bawn could not or would not run it.
`
	case sessionTopic:
		return `
What is typed at its input line runs in the sandbox; /help lists the keys and the
slash commands. 'bawn run' in another terminal of the folder runs in it too.

Examples:
  bawn --plain
  bawn --tier airlock -C ~/src/unknown

Exit codes: 0 the session was ended; 125 an error, or no terminal.
`
	case "watch":
		return `
The command has no way to the network, but in the open tier, where no sandbox
takes it away. Folders that tools fill (.git, node_modules, target…) are not
watched, and what changes while the command runs does not start it again.

Examples:
  bawn watch -- go test ./...
  bawn watch -C web -c 'npm run lint && npm test'

Exit codes: 128+n ended by signal n; 125 bawn could not or would not run it.
`
	case "learn":
		return `
The command runs in guarded; hosts are asked about as ever, and yours to answer.
What it was denied becomes entries for your config.toml: asked about on a
terminal, else only printed. Credentials, protected names and commands that run
outside are never proposed, nor is a project's file touched.

With --print or --json standard output has the result alone, and what the command
writes there goes to standard error.

Examples:
  bawn learn -- make test
  bawn learn --print -- ./build.sh > bawn.patch

Exit codes: the command's own; 125 bawn could not or would not run it, or could
not change the file.
`
	case "keep":
		return `
Without an ID it is the newest staged run of this folder's workspace; the first
few digits of an ID are enough. A PATH that looks like one is written ./PATH.
What was changed in the workspace since the run began is not overwritten but
listed, and stays staged.

Examples:
  bawn run --stage -- npm run codemod
  bawn keep --diff
  bawn keep src/ package.json
  bawn keep --force src/app.js
  bawn discard

Exit codes: 0 all that was asked for is kept; 1 some of it stays staged; 125 an
error. With --list and --diff 0 or 125.
`
	case "discard":
		return `
Without an ID it is the newest staged run of this folder's workspace; the first
few digits of an ID are enough, and 'bawn keep --list' has them. What was kept of
the run stays in the workspace.

Examples:
  bawn discard
  bawn discard 3f9a

Exit codes: 0; 125 an error.
`
	case "check":
		return `
Examples:
  bawn check write .git/config
  bawn check --tier airlock write ~/.npm
  bawn check connect npmjs.org:443
  bawn check run -c 'docker ps | head'
  bawn check run -- npm install

Exit codes: 0 allowed; 1 denied; 2 a person would be asked; 125 bad arguments,
or settings that are not understood.
`
	case "import":
		return `
Tools: claude, codex, fence, srt. What has no equivalent is listed at the end,
each with its reason.

Examples:
  bawn import claude
  bawn import codex -o ~/.config/bawn/config.toml
  bawn import fence --from ./fence.jsonc

Exit codes: 0 printed or written; 125 not.
`
	case "mcp":
		return `
The server speaks the Model Context Protocol on standard input and output. The
workspace is that of the flags, else CLAUDE_PROJECT_DIR or CRUSH_PROJECT_DIR, else
the current folder. Questions are the agent's to show, if it can, else those of
the workspace's session; with neither, what would be a question is denied. All
commands share one session of the server's own.

Examples:
  bawn mcp
  bawn mcp -C ~/src/project --test-command 'make check'
  bawn mcp --sandbox read-only

Exit codes: 0 the agent has ended the connection; 125 it could not start, or the
connection broke.
`
	case "setup":
		return `
Agents: ` + strings.Join(setup.Names(), ", ") + `.
It adds bawn's entries to the agent's settings, keeps the rest, and turns the
sandbox on for agents ([sandbox] enabled). What held before is kept in bawn's
state, for --uninstall.

Examples:
  bawn setup claude --print
  bawn setup claude
  bawn setup claude --check
  bawn setup claude --uninstall

Exit codes: 0; 1 --check found something; 125 an error, and nothing is changed.
`
	case "hook":
		return `
An event as JSON on standard input; the answer on standard output. 'bawn setup'
writes this command into an agent's settings.

Exit codes: 0 answered; 2 refused, with the reason on standard error.
`
	case "config":
		return `
  bawn config                   every value that holds, with its file and line
  bawn config path              where the files belong
  bawn config check [FILE]      read all files, or one, and say what is wrong
  bawn config keys [KEY]        the keys, with examples

Exit codes: 0; 125 bad arguments, or settings that are not understood.
`
	case "trust":
		return `
Without a flag it shows what the workspace's .bawn/config.toml would allow, and
asks at the terminal. Where nobody can be asked --hash names the content.

Exit codes: 0 trusted, or nothing to trust; 1 not trusted; 125 an error. With
--json, which only shows, 0 or 125.
`
	case "log":
		return `
  bawn log                      the last records that the flags let through
  bawn log runs                 the last runs, a line each
  bawn log show [ID|last]       one run: its processes, and what happened when
  bawn log follow               the same as bawn log, and what comes
  bawn log verify               whether anything was changed or cut off
  bawn log export FORMAT        jsonl, csv, markdown, html; otlp sends to an
                                OpenTelemetry collector, as the OTEL_ variables say

Examples:
  bawn log --verdict deny --since 2h
  bawn log --host example.com
  bawn log export html -o log.html --since 7d

Exit codes: 0; with verify 1 for a log that was changed or cut; 125 an error.
`
	case "completion":
		return `
  bash    source <(bawn completion bash)                               in ~/.bashrc
  zsh     bawn completion zsh > "${fpath[1]}/_bawn"                    once
  fish    bawn completion fish > ~/.config/fish/completions/bawn.fish  once
  man     bawn completion man | man -l -                               the manual
          bawn completion man-config | man -l -                        the settings

Exit codes: 0; 125 bad arguments.
`
	case "policy", "env":
		return "\nExit codes: 0; 125 bad arguments, or settings that are not understood.\n"
	case "version", "help":
		return "\nExit codes: 0; 125 bad arguments.\n"
	case "doctor":
		return "\nExit codes: 0 at least one launcher works; 1 none does; 125 bad arguments.\n"
	}
	return ""
}

// flagsOf are the flags of a command, for its help, its completion and its
// manual; they set nothing that lasts.
func flagsOf(command string) []flagSpec {
	f := new(runFlags)
	var asJSON bool
	switch command {
	case "run":
		return f.specs()
	case sessionTopic:
		return f.sessionSpecs()
	case "watch":
		return f.watchSpecs()
	case "wrap":
		return f.wrapSpecs(new(string))
	case "learn":
		return f.learnSpecs(new(learning))
	case "check":
		return append(append(f.policySpecs(), jsonFlag(&asJSON)), f.checkRunSpecs()...)
	case "mcp":
		return new(mcpFlags).specs()
	case "setup":
		return new(setupFlags).specs()
	case "hook":
		return new(hookFlags).specs()
	case "import":
		return new(importFlags).specs()
	case "policy":
		return append(f.policySpecs(), policyFlags(new(bool), &asJSON, new(bool))...)
	case "config":
		return configSpecs(f, &asJSON)
	case "trust":
		return new(trustFlags).specs()
	case "env":
		return append(f.folderSpecs(), jsonFlag(&asJSON))
	case "keep":
		return new(keepFlags).specs()
	case "discard":
		return new(keepFlags).discardSpecs()
	case "log":
		return new(logFlags).specs()
	case "doctor":
		return []flagSpec{jsonFlag(&asJSON)}
	}
	return nil
}

func printCommandHelp(c command) {
	usage := "bawn " + c.name + " " + c.args
	if c.name == sessionTopic {
		usage = "bawn " + c.args
	}
	printLine(strings.TrimSpace(usage))
	switch c.name {
	case "run", "watch", "learn":
		printf("bawn %s [flags] -c TEXT [ARG…]\n", c.name)
	case "check":
		printLine("    ACTION OBJECT: read PATH, write PATH, connect HOST[:PORT],\n    run -- CMD [ARG…], run -c TEXT")
	}
	printf("    %s\n", c.summary)
	specs := flagsOf(c.name)
	if len(specs) > 0 {
		printLine()
	}
	for _, s := range specs {
		name := s.name
		if s.arg != "" {
			name += " " + s.arg
		}
		for line := range strings.SplitSeq(s.help, "\n") {
			printf("  %-29s %s\n", name, line)
			name = ""
		}
	}
	printText(helpNotes(c.name))
}

// version is set by release builds (-ldflags -X main.version=…).
var version = ""

func versionCommand(args []string) int {
	if len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
		return helpCommand([]string{"version"})
	}
	if len(args) > 0 {
		return usageError("version", fmt.Errorf("version takes no argument, got %q", args[0]))
	}
	printLine("bawn " + programVersion())
	return 0
}

func programVersion() string {
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
	return v
}
