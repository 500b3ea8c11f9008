package shell

import (
	"strings"

	"bawn/internal/shell/plain"
)

// nestedCommand is one that the arguments of another name: as words, or as
// text for a shell.
type nestedCommand struct {
	words   []Word
	assigns []Assign
	text    string
}

// wrapper is a program that runs the program its arguments name. What follows
// an option that is in none of its lists cannot be told: it may be a value.
type wrapper struct {
	names    string // separated by spaces
	values   string // options whose value is the next word; letters stand for short ones
	long     string // long ones of the same kind, separated by spaces
	flags    string // letters of options without a value
	switches string // long ones of the same kind
	rest     string // letters of options whose value, if any, is glued to them
	operands int    // words before the command
	assigns  bool   // takes NAME=VALUE before the command
	none     string // letters of options with which nothing is run
	opaque   bool   // the words do not tell
}

var wrappers = [...]wrapper{
	{names: "env", values: "uCaP", long: "--unset --chdir --argv0", flags: "i0v", assigns: true,
		switches: "--ignore-environment --null --debug --default-signal --ignore-signal --block-signal --list-signal-handling"},
	{names: "nice", values: "n", long: "--adjustment", flags: "0123456789-"},
	{names: "nohup builtin"},
	{names: "setsid", flags: "cfw", switches: "--ctty --fork --wait"},
	{names: "caffeinate", values: "tw", flags: "dimsu"},
	{names: "stdbuf", values: "ioe", long: "--input --output --error"},
	{names: "ionice", values: "cnpPu", long: "--class --classdata --pid --pgid --uid", flags: "t", switches: "--ignore"},
	{names: "chrt", values: "TPD", long: "--sched-runtime --sched-period --sched-deadline", flags: "abdefiormvR", none: "p", operands: 1,
		switches: "--all-tasks --batch --deadline --ext --fifo --idle --other --rr --reset-on-fork --verbose"},
	{names: "taskset", flags: "ac", switches: "--all-tasks --cpu-list", none: "p", operands: 1},
	{names: "chroot", values: "ugG", long: "--userspec --groups", switches: "--skip-chdir", operands: 1},
	{names: "timeout", values: "ks", long: "--kill-after --signal", flags: "fpv", switches: "--foreground --preserve-status --verbose", operands: 1},
	{names: "time", values: "fo", long: "--format --output", flags: "apqvlh", switches: "--append --portability --quiet --verbose"},
	{names: "command", flags: "p", none: "vV"},
	{names: "exec", values: "a", flags: "cl"},
	{names: "sudo doas", values: "augpCcDRrtTUh", flags: "ABbEHikNnPSsL", assigns: true, none: "lvKeV",
		long:     "--user --group --prompt --chdir --host --close-from --chroot --role --type --command-timeout --other-user --login-class --auth-type",
		switches: "--askpass --background --bell --preserve-env --set-home --login --reset-timestamp --no-update --non-interactive --preserve-groups --stdin --shell"},
	{names: "xargs", values: "IndPLsaEJRS", long: "--max-args --max-procs --delimiter --max-chars --arg-file --process-slot-var", flags: "0rtxop", rest: "iel",
		switches: "--null --no-run-if-empty --verbose --exit --open-tty --interactive --show-limits --replace --max-lines --eof"},
	{names: "strace ltrace", values: "eoPpsSuabIOXEU", flags: "fFcCdiknqrtTvwxyYzZ"},
	{names: "busybox toybox"},
	{names: "unshare nsenter setpriv systemd-run firejail bwrap flock script watch parallel entr runuser pkexec setarch linux32 linux64 prlimit " +
		"fakeroot faketime rlwrap proxychains proxychains4 dbus-run-session xvfb-run start-stop-daemon sg runcon expect", opaque: true},
}

// unseen is a command whose program is not known: any rule may be about it.
var unseen = []nestedCommand{{words: []Word{{}}}}

const (
	shells = "sh bash dash zsh ksh mksh ash rbash"
	// changers make later words mean something else, or run text from elsewhere.
	changers = "alias unalias enable hash bind complete compgen fc"
)

// base is the name of a program without its folder.
func base(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

// nested finds the commands that the arguments of words name. Opaque: there
// is, or may be, one that cannot be told.
func nested(words []Word) (list []nestedCommand, opaque bool) {
	if !words[0].Known {
		return nil, false
	}
	name, args := base(words[0].Text), words[1:]
	switch {
	case plain.Has(shells, name):
		return shellText(args)
	case name == "eval":
		return joined(args)
	case name == "trap":
		for len(args) > 0 && args[0].Known && (args[0].Text == "--") {
			args = args[1:]
		}
		if len(args) < 2 || args[0].Known && (args[0].Text == "-" || args[0].Text == "" || args[0].Text == "-p" || args[0].Text == "-l") {
			return nil, false
		}
		return joined(args[:1])
	case plain.Has(changers, name):
		return nil, true
	case name == "mapfile" || name == "readarray":
		return nil, len(args) > 1
	case name == "find" || name == "fd":
		return findExec(args)
	case name == "su":
		return nil, true
	}
	for i := range wrappers {
		if wr := &wrappers[i]; plain.Has(wr.names, name) {
			if wr.opaque {
				if len(args) == 0 {
					return nil, false
				}
				return unseen, true
			}
			inner, sure := wr.inner(args, name == "env")
			if !sure {
				return unseen, true
			}
			if name == "xargs" && len(inner.words) > 0 {
				inner.words = append(append([]Word(nil), inner.words...), Word{}) // what it reads
			}
			if len(inner.words) == 0 {
				return nil, false
			}
			return []nestedCommand{inner}, false
		}
	}
	return nil, false
}

// inner finds the command behind a wrapper's own options and operands. It is
// not sure after an option that may be an abbreviation, take a value or hold
// the command itself. With dash a - alone is an option.
func (wr *wrapper) inner(args []Word, dash bool) (n nestedCommand, sure bool) {
	i := 0
options:
	for ; i < len(args); i++ {
		a := args[i].Text
		switch {
		case !args[i].Known && strings.HasPrefix(a, "-"):
			return n, false
		case a == "-" && dash:
			continue
		case !strings.HasPrefix(a, "-") || a == "-":
			break options
		case a == "--":
			i++
			break options
		case strings.HasPrefix(a, "--") && strings.Trim(a, "-0123456789") != "": // nice --5 is a number
			name, _, glued := strings.Cut(a, "=")
			switch {
			case a == "--help" || a == "--version":
				return n, true
			case plain.Has(wr.switches, name) || glued && plain.Has(wr.long, name):
			case plain.Has(wr.long, name):
				i++
			default:
				return n, false
			}
			continue
		}
		for j := 1; j < len(a); j++ {
			switch letter := a[j]; {
			case strings.IndexByte(wr.none, letter) >= 0:
				return n, true
			case strings.IndexByte(wr.values, letter) >= 0:
				if j+1 == len(a) {
					i++
				}
				continue options
			case strings.IndexByte(wr.rest, letter) >= 0:
				continue options
			case strings.IndexByte(wr.flags, letter) < 0:
				return n, false
			}
		}
	}
	for ; wr.assigns && i < len(args); i++ {
		name, value, ok := strings.Cut(args[i].Text, "=")
		if !ok || name == "" {
			break
		}
		n.assigns = append(n.assigns, Assign{Name: name, Value: Word{Text: value, Known: args[i].Known}})
	}
	for range wr.operands {
		if i < len(args) && !args[i].Known {
			return n, false // may be several words
		}
		i++
	}
	if i < len(args) {
		n.words = args[i:]
	}
	return n, true
}

// shellText finds what follows -c.
func shellText(args []Word) ([]nestedCommand, bool) {
	command := false
	for i := 0; i < len(args); i++ {
		if !args[i].Known {
			return nil, true
		}
		a := args[i].Text
		switch {
		case len(a) < 2 || a[0] != '-' && a[0] != '+' || a == "--":
			if a == "--" || a == "-" {
				if i++; i >= len(args) || !args[i].Known {
					return nil, true
				}
			}
			if command {
				return []nestedCommand{{text: args[i].Text}}, false
			}
			return nil, !isFile(args[i]) // a file is as any program that is run
		case plain.Has("--rcfile --init-file --emulate", a):
			i++
		case plain.Has("--login --noprofile --norc --posix --restricted --verbose --noediting --debugger --dump-strings --dump-po-strings", a):
		case plain.Has("--help --version", a):
			return nil, false
		case strings.HasPrefix(a, "--"), plain.Has("-rcfile -init-file", a), strings.ContainsAny(a[:len(a)-1], "oO"):
			return unseen, true // -norc is a long option to one shell, -oc takes a word of its own
		default:
			command = command || a[0] == '-' && strings.Contains(a, "c")
			if strings.ContainsAny(a, "s") && !command {
				return nil, true // reads its commands
			}
			if strings.HasSuffix(a, "o") || strings.HasSuffix(a, "O") {
				i++
			}
		}
	}
	return nil, true // reads its commands from its input
}

// joined is the text that eval makes of its arguments.
func joined(args []Word) ([]nestedCommand, bool) {
	var texts []string
	for _, a := range args {
		if !a.Known {
			return nil, true
		}
		texts = append(texts, a.Text)
	}
	if len(texts) == 0 {
		return nil, false
	}
	return []nestedCommand{{text: strings.Join(texts, " ")}}, false
}

// findExec finds the commands of find -exec and its like.
func findExec(args []Word) (list []nestedCommand, opaque bool) {
	for i := 0; i < len(args); i++ {
		if !args[i].Known {
			opaque = opaque || args[i].Text == "" || strings.HasPrefix(args[i].Text, "-")
			continue
		}
		if !plain.Has("-exec -execdir -ok -okdir -x -X --exec --exec-batch", args[i].Text) {
			continue
		}
		var n nestedCommand
		for i++; i < len(args) && !(args[i].Known && (args[i].Text == ";" || args[i].Text == "+")); i++ {
			w := args[i]
			if strings.Contains(w.Text, "{}") {
				w = Word{} // the file that is found
			}
			n.words = append(n.words, w)
		}
		if len(n.words) > 0 {
			list = append(list, n)
		}
	}
	return list, opaque
}
