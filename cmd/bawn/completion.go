package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bawn/internal/frontend/preset"
	"bawn/internal/frontend/setup"
	"bawn/internal/policy"
)

// completionCommand prints what a shell or man needs to know of the command
// line, made from the same lists as the help.
func completionCommand(args []string) int {
	kinds := map[string]func() string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion, "man": manPage, "man-config": configManPage}
	switch {
	case len(args) == 1 && (args[0] == "-h" || args[0] == "--help"):
		return helpCommand([]string{"completion"})
	case len(args) != 1:
		return usageError("completion", errors.New("completion takes one word: bash, zsh, fish, man or man-config"))
	case kinds[args[0]] == nil:
		return usageError("completion", unknown("kind", args[0], wordsOf("completion")))
	}
	printText(kinds[args[0]]())
	return 0
}

// wordsOf are the words that may stand after a command and its flags.
func wordsOf(command string) []string {
	switch command {
	case "check":
		return []string{"read", "write", "connect", "run"}
	case "config":
		return []string{"show", "path", "check", "keys"}
	case "log":
		return slices.Concat(logActions, exportFormats)
	case "setup", "hook":
		return setup.Names()
	case "import":
		return []string{"claude", "codex", "fence", "srt"}
	case "completion":
		return []string{"bash", "zsh", "fish", "man", "man-config"}
	case "help":
		var names []string
		for _, c := range commands() {
			names = append(names, c.name)
		}
		return append(names, sessionTopic)
	}
	return nil
}

// takesCommand reports whether a command line of another program follows.
func takesCommand(name string) bool {
	return name == "run" || name == "wrap" || name == "watch" || name == "learn" || name == "--"
}

// takesPaths reports whether a command's words are paths, and nothing else that
// is known.
func takesPaths(name string) bool { return name == "keep" }

// values are what a flag's value can be, if those are few.
func (s flagSpec) values() []string {
	switch {
	case s.name == "--sandbox":
		var out []string
		for m := policy.ReadOnlyMode; m <= policy.DangerFullAccess; m++ {
			out = append(out, m.String())
		}
		return out
	case s.arg == "AGENT":
		return preset.Names()
	case s.arg == "AGENT|none":
		return append(preset.Names(), "none")
	case strings.Contains(s.arg, "|"):
		return strings.Split(s.arg, "|")
	}
	return nil
}

// wantsPath reports whether a flag's value is a path; dir, that it is a folder.
func (s flagSpec) wantsPath() (path, dir bool) {
	dir = s.arg == "DIR"
	return dir || strings.Contains(s.arg, "FILE") || s.arg == "PATH", dir
}

// line is a help text on one line.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

func bashCompletion() string {
	var values, flags strings.Builder
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
		var words []string
		for _, f := range flagsOf(c.name) {
			words = append(words, f.name)
			path, dir := f.wantsPath()
			action := ""
			switch {
			case dir:
				action = "compgen -d -- \"$cur\""
			case path:
				action = "compgen -f -- \"$cur\""
			case f.values() != nil:
				action = fmt.Sprintf("compgen -W '%s' -- \"$cur\"", strings.Join(f.values(), " "))
			case f.arg != "" && f.optional == nil:
				action = ":" // any word
			}
			if action != "" {
				fmt.Fprintf(&values, "\t%s:%s) mapfile -t COMPREPLY < <(%s); return ;;\n", c.name, f.name, action)
			}
		}
		fmt.Fprintf(&flags, "\t%s) words='%s' ;;\n", c.name, strings.Join(append(words, wordsOf(c.name)...), " "))
	}
	return `# bash completion for bawn: source <(bawn completion bash)
_bawn_command() { # words from $1 on are another program's
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}
_bawn() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= i
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W '` + strings.Join(names, " ") + `' -- "$cur")
		return
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			_bawn_command $((i + 1))
			return
		fi
	done
	if [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; elif [[ $cur == = ]]; then cur=; fi
	case ${COMP_WORDS[1]}:$prev in
` + values.String() + `	esac
	case ${COMP_WORDS[1]} in
` + flags.String() + `	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	if [[ $cur != -* ]]; then
		case ${COMP_WORDS[1]} in
		run | wrap | watch | learn) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -c -- "$cur") ;;
		check | keep) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur") ;;
		esac
	fi
}
complete -o filenames -F _bawn bawn
`
}

// zshText escapes what _arguments and _describe read.
var zshText = strings.NewReplacer(`'`, `'\''`, `[`, `\[`, `]`, `\]`, `:`, `\:`)

func zshCompletion() string {
	var list, cases strings.Builder
	for _, c := range commands() {
		fmt.Fprintf(&list, "\t\t'%s:%s'\n", c.name, zshText.Replace(c.summary))
		fmt.Fprintf(&cases, "\t%s)\n\t\t_arguments -s -S \\\n", c.name)
		for _, f := range flagsOf(c.name) {
			spec := "*" + f.name
			if f.arg != "" && strings.HasPrefix(f.name, "--") {
				spec += "="
			}
			spec += "[" + zshText.Replace(line(f.help)) + "]"
			path, dir := f.wantsPath()
			sep := ":"
			if f.optional != nil {
				sep = "::"
			}
			switch {
			case f.arg == "":
			case dir:
				spec += sep + "folder:_files -/"
			case path:
				spec += sep + "file:_files"
			case f.values() != nil:
				spec += sep + "value:(" + strings.Join(f.values(), " ") + ")"
			default:
				spec += sep + zshText.Replace(strings.ToLower(f.arg)) + ":"
			}
			fmt.Fprintf(&cases, "\t\t\t'%s' \\\n", spec)
		}
		switch {
		case takesCommand(c.name):
			cases.WriteString("\t\t\t'*::command:_normal'\n")
		case c.name == "check":
			cases.WriteString("\t\t\t'1:action:(" + strings.Join(wordsOf(c.name), " ") + ")' '*:object:_files'\n")
		case takesPaths(c.name):
			cases.WriteString("\t\t\t'*:path:_files'\n")
		case wordsOf(c.name) != nil:
			cases.WriteString("\t\t\t'1:word:(" + strings.Join(wordsOf(c.name), " ") + ")'\n")
		default:
			cases.WriteString("\t\t\t'*: :'\n")
		}
		cases.WriteString("\t\t;;\n")
	}
	return `#compdef bawn
# zsh completion for bawn: bawn completion zsh > "${fpath[1]}/_bawn"
_bawn() {
	local -a commands
	commands=(
` + list.String() + `	)
	if ((CURRENT == 2)); then
		_describe command commands
		return
	fi
	shift words
	((CURRENT--))
	case $words[1] in
	--) shift words; ((CURRENT--)); _normal ;;
` + cases.String() + `	esac
}
if [[ $funcstack[1] == _bawn ]]; then _bawn "$@"; else compdef _bawn bawn; fi
`
}

var fishText = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

func fishCompletion() string {
	var b strings.Builder
	b.WriteString("# fish completion for bawn: bawn completion fish > ~/.config/fish/completions/bawn.fish\n")
	b.WriteString("complete -c bawn -n 'not __fish_seen_subcommand_from (__bawn_commands)' -f\n")
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	head := "function __bawn_commands\n\tstring split ' ' -- '" + strings.Join(names, " ") + "'\nend\n"
	for _, c := range commands() {
		fmt.Fprintf(&b, "complete -c bawn -n '__fish_is_first_arg' -a %s -d '%s'\n", c.name, fishText.Replace(c.summary))
		on := "complete -c bawn -n '__fish_seen_subcommand_from " + c.name + "'"
		for _, f := range flagsOf(c.name) {
			name := " -s " + strings.TrimPrefix(f.name, "-")
			if long, ok := strings.CutPrefix(f.name, "--"); ok {
				name = " -l " + long
			}
			b.WriteString(on + name)
			path, _ := f.wantsPath()
			switch {
			case f.arg == "":
			case path:
				b.WriteString(" -r -F")
			case f.values() != nil:
				fmt.Fprintf(&b, " -x -a '%s'", strings.Join(f.values(), " "))
			default:
				b.WriteString(" -x")
			}
			fmt.Fprintf(&b, " -d '%s'\n", fishText.Replace(line(f.help)))
		}
		switch {
		case takesCommand(c.name):
			b.WriteString(on + " -f -a '(__fish_complete_subcommand --fcs-skip=2)'\n")
		case wordsOf(c.name) != nil && c.name != "check":
			fmt.Fprintf(&b, "%s -f -a '%s'\n", on, strings.Join(wordsOf(c.name), " "))
		case c.name == "check":
			fmt.Fprintf(&b, "%s -a '%s'\n", on, strings.Join(wordsOf(c.name), " "))
		case takesPaths(c.name): // as fish does by itself
		default:
			b.WriteString(on + " -f\n")
		}
	}
	return head + b.String()
}

// roff escapes text for a manual page.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", `\&...`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

func manPage() string {
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	p(`.TH BAWN 1 "" "bawn" "User Commands"`)
	p(".SH NAME\nbawn \\- run commands inside a boundary that the operating system enforces")
	p(".SH SYNOPSIS")
	for _, c := range slices.Concat([]command{{args: "[flags]"}}, commands(), []command{{name: "--", args: "CMD [ARG…]"}}) {
		p(".B bawn %s", roff(c.name))
		if c.args != "" {
			p("%s", roff(c.args))
		}
		p(".br")
	}
	p(".SH DESCRIPTION")
	p("%s", roff("bawn puts a boundary around a command and everything it starts: it writes only where the work is, reads no credentials, sees no secrets and reaches only allowed hosts. Tiers: guarded (the default) writes the workspace, a private temp and the tool caches, and reaches allowed hosts; airlock no caches and no network; open has no sandbox."))
	p(".SH COMMANDS")
	for _, c := range commands() {
		p(".SS bawn %s %s", roff(c.name), roff(c.args))
		p("%s.", roff(strings.ToUpper(c.summary[:1])+c.summary[1:]))
		for _, f := range flagsOf(c.name) {
			p(".TP\n.B %s\n%s", roff(strings.TrimSpace(f.name+" "+f.arg)), roff(line(f.help)))
		}
		if notes := strings.Trim(helpNotes(c.name), "\n"); notes != "" {
			p(".PP\n.nf")
			for l := range strings.Lines(notes) {
				p("%s", roff(strings.TrimSuffix(l, "\n")))
			}
			p(".fi")
		}
	}
	p(".SH SESSION\n%s", roff("bawn alone opens a session in the folder: a terminal whose commands run in the sandbox, and that asks. Its flags:"))
	for _, f := range new(runFlags).sessionSpecs() {
		p(".TP\n.B %s\n%s", roff(strings.TrimSpace(f.name+" "+f.arg)), roff(line(f.help)))
	}
	p(".SH EXIT STATUS\nThe command's own; 125 bawn could not or would not run it; 126 not executable; 127 not found; 128+n ended by signal n.")
	p(".SH FILES")
	for _, f := range [][2]string{
		{policy.UserFile, "your settings"}, {".bawn/config.toml", "a project's settings, which may only tighten until you trust them"},
		{"/etc/bawn/", "managed settings and requirements"},
	} {
		p(".TP\n.I %s\n%s", roff(f[0]), roff(f[1]))
	}
	p(".SH SEE ALSO\n.BR bawn\\-config (5)")
	return b.String()
}
