package shell

import (
	"strings"

	"bawn/internal/shell/plain"
)

// readProgram is one that only reads, but for some options (A125). printf and
// test are not among them: in a shell they set variables (-v), and evaluate
// text as arithmetic, which can run a command.
type readProgram struct {
	names string // separated by spaces
	// never: options with which it writes or runs something. A short one counts
	// inside a group of letters too, a long one also when shortened.
	never string
	// verbs: only these first words are sure to read.
	verbs string
	// one: a second operand would be written.
	one bool
}

var readPrograms = [...]readProgram{
	{names: "ls dir pwd cat head tail wc stat du df basename dirname realpath readlink id whoami groups uname nproc arch true false cut tr nl od cmp comm md5sum sha1sum sha256sum sha512sum cksum tac rev fold paste expand column which seq echo"},
	{names: "file", never: "-C --compile"},
	{names: "date", never: "-s --set"},
	{names: "grep egrep fgrep"},
	{names: "diff", never: "--output"},
	{names: "jq", never: ""},
	{names: "rg", never: "--pre --hostname-bin -z --search-zip"},
	{names: "sort", never: "-o --output --compress-program -T --temporary-directory -S"},
	{names: "uniq", one: true},
	{names: "tree", never: "-o --output -R"},
	{names: "find", never: "-exec -execdir -ok -okdir -delete -fprintf -fprint -fprint0 -fls -files0-from"},
	{names: "git", verbs: "status log show diff rev-parse ls-files ls-tree blame describe shortlog cat-file rev-list merge-base name-rev", never: "--output -O --open-files-in-pager --ext-diff --textconv --paginate --filters"},
}

func (r *readProgram) has(name string) bool { return plain.Has(r.names, name) }

// reader reports whether a command is of a program that is meant to read, sed
// and tar among them, of which no argument is known to be safe.
func reader(c Command) bool {
	name, ok := c.Program()
	if !ok {
		return false
	}
	if plain.Has("sed awk gawk mawk tar less more man xxd env tee", name) {
		return true
	}
	for i := range readPrograms {
		if readPrograms[i].has(name) {
			return true
		}
	}
	return false
}

// readsOnly reports whether a command surely does nothing but read, wherever
// it runs. Every word must be known.
func readsOnly(c Command) bool {
	name, ok := c.Program()
	if !ok || c.Opaque || len(c.Assigns) > 0 || writes(c) || c.In&Function != 0 {
		return false
	}
	for _, w := range c.Words {
		if !w.Known {
			return false
		}
	}
	for i := range readPrograms {
		if r := &readPrograms[i]; r.has(name) {
			return r.reads(c.Words[1:])
		}
	}
	return false
}

func (r *readProgram) reads(args []Word) bool {
	if r.verbs != "" && (len(args) == 0 || !plain.Has(r.verbs, args[0].Text)) {
		return false
	}
	operands := 0
	for _, w := range args {
		a := w.Text
		if len(a) < 2 || a[0] != '-' {
			operands++
			continue
		}
		name, _, _ := strings.Cut(a, "=")
		for n := range strings.FieldsSeq(r.never) {
			long := strings.HasPrefix(n, "--")
			switch {
			case name == n,
				// getopt_long takes any unique beginning of a long option
				long && len(name) > 2 && strings.HasPrefix(n, name),
				!long && len(n) == 2 && !strings.HasPrefix(a, "--") && strings.Contains(a, n[1:]):
				return false
			}
		}
	}
	return !r.one || operands < 2
}
