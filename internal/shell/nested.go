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

// wrapper is a program that runs the program its arguments name.
type wrapper struct {
	names    string // separated by spaces
	values   string // options whose value is the next word; letters stand for short ones
	long     string // long ones of the same kind, separated by spaces
	operands int    // words before the command
	assigns  bool   // takes NAME=VALUE before the command
	none     string // letters of options with which nothing is run
	opaque   string // letters of options with which the words do not tell
}

var wrappers = [...]wrapper{
	{names: "env", values: "uC", long: "--unset --chdir", assigns: true, opaque: "S"},
	{names: "nice", values: "n", long: "--adjustment"},
	{names: "nohup setsid caffeinate builtin"},
	{names: "stdbuf", values: "ioe", long: "--input --output --error"},
	{names: "ionice", values: "cnpPu", long: "--class --classdata"},
	{names: "chrt taskset chroot", operands: 1},
	{names: "timeout", values: "ks", long: "--kill-after --signal", operands: 1},
	{names: "time", values: "fo", long: "--format --output"},
	{names: "command", none: "vV"},
	{names: "exec", values: "a"},
	{names: "sudo doas", values: "ugpCcDRrtTUh", long: "--user --group --prompt --chdir --host", assigns: true, none: "lvKk"},
	{names: "xargs", values: "IndPLsaE", long: "--max-args --max-procs --replace --delimiter --max-lines --arg-file"},
	{names: "strace ltrace", values: "eoPpsSuabIOX"},
	{names: "busybox toybox"},
	{names: "unshare nsenter setpriv systemd-run firejail bwrap flock script watch parallel entr", opaque: "*"},
}

const (
	shells = "sh bash dash zsh ksh mksh ash rbash"
	// changers make later words mean something else, or run text from elsewhere.
	changers = "alias unalias enable hash bind complete fc"
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
			if wr.opaque == "*" {
				return nil, len(args) > 0
			}
			inner, opaque := wr.inner(args)
			if name == "xargs" && len(inner.words) > 0 {
				inner.words = append(append([]Word(nil), inner.words...), Word{}) // what it reads
			}
			if len(inner.words) == 0 {
				return nil, opaque
			}
			return []nestedCommand{inner}, opaque
		}
	}
	return nil, false
}

// inner finds the command behind a wrapper's own options and operands.
func (wr *wrapper) inner(args []Word) (n nestedCommand, opaque bool) {
	i := 0
options:
	for ; i < len(args); i++ {
		a := args[i].Text
		switch {
		case !args[i].Known && strings.HasPrefix(a, "-"):
			return n, true
		case !strings.HasPrefix(a, "-") || a == "-":
			break options
		case a == "--":
			i++
			break options
		case strings.HasPrefix(a, "--"):
			if plain.Has(wr.long, a) {
				i++
			}
			continue
		}
		for j := 1; j < len(a); j++ {
			switch letter := a[j]; {
			case strings.IndexByte(wr.none, letter) >= 0:
				return n, false
			case strings.IndexByte(wr.opaque, letter) >= 0:
				return n, true
			case strings.IndexByte(wr.values, letter) >= 0:
				if j+1 == len(a) {
					i++
				}
				continue options
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
			return n, true // may be several words
		}
		i++
	}
	if i >= len(args) {
		return n, false
	}
	n.words = args[i:]
	return n, false
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
			return nil, false // a file, as any program that is run
		case plain.Has("--rcfile --init-file", a):
			i++
		case strings.HasPrefix(a, "--"):
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
