package shell

import (
	"errors"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxText is the longest text read, in bytes: the kernel takes no longer
	// argument (MAX_ARG_STRLEN), so a shell could not be given more.
	maxText = 128 << 10
	// maxOpen bounds what can nest: parser and walk use stack for each level.
	maxOpen = 10 << 10
	// maxLayers bounds shells in shells, as sh -c "sh -c …".
	maxLayers = 8
)

// ErrTooLong marks a text that no shell could be given.
var ErrTooLong = errors.New("the command text is longer than 128 KiB")

// ErrCannotTell marks a text that is not understood.
var ErrCannotTell = errors.New("cannot tell what the command text runs")

// Word is one word as the shell would read it. The zero value is unknown.
type Word struct {
	// Text is the word, or as much of its beginning as is known.
	Text string
	// Known: the word is Text. Otherwise it goes on in some way, may be several
	// words, or none.
	Known bool
	// Home: the word began with an unquoted ~, which Text still holds.
	Home bool

	rest bool // with Home: all after it is known
}

// Assign is an assignment before a command, or instead of one.
type Assign struct {
	Name  string
	Value Word
}

// Redirect is one redirection to or from a file, or a copy of a descriptor.
type Redirect struct {
	Op     string // as written: >, >>, <, >&, &>, …; here-documents are not listed
	Target Word
}

// Context says in what company a command stands; a plain command has none.
type Context uint8

const (
	Compound     Context = 1 << iota // part of a list, a loop, a condition, a group, several lines
	Pipeline                         // a part of one
	Background                       // followed by &, or a coprocess
	Substitution                     // in $(…), `…` or <(…)
	Function                         // in the body of a function
	Nested                           // named in the arguments of another command: env x, sh -c "x"
)

// Command is one simple command. Words is empty where there are only
// assignments or redirections. Its first word names the program.
type Command struct {
	Words     []Word
	Assigns   []Assign
	Redirects []Redirect
	In        Context
	// Opaque: it runs a command that its words do not tell, or may: it evaluates
	// a text as the shell does.
	Opaque bool
}

// Program returns the first word, if it is known.
func (c Command) Program() (string, bool) {
	if len(c.Words) == 0 || !c.Words[0].Known {
		return "", false
	}
	return c.Words[0].Text, true
}

// Parse lists the commands that bash would run for text, outer ones before
// those they contain. Its errors are ErrTooLong or ErrCannotTell; then there
// is no list, not even of what came before.
func Parse(text string) ([]Command, error) {
	return parse(text, 0, 0)
}

func parse(text string, in Context, layer int) ([]Command, error) {
	if len(text) > maxText {
		return nil, ErrTooLong
	}
	if !utf8.ValidString(text) || odd(text) || len(text) > maxOpen && opens(text) > maxOpen {
		return nil, ErrCannotTell
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, ErrCannotTell
	}
	w := walker{layer: layer}
	w.stmts(file.Stmts, in)
	if w.lost {
		return nil, ErrCannotTell
	}
	return w.out, nil
}

// Commands lists what a command would run, as Parse does. Whoever decides calls
// it if it matters; it is read once.
type Commands func() ([]Command, error)

// OfText is the list for shell text.
func OfText(text string) Commands {
	return sync.OnceValues(func() ([]Command, error) { return Parse(text) })
}

// OfArgs is the list for a command that no shell reads: its words are known.
func OfArgs(args []string) Commands {
	return sync.OnceValues(func() ([]Command, error) { return fromArgs(args), nil })
}

func fromArgs(args []string) []Command {
	c := Command{Words: make([]Word, len(args))}
	for i, a := range args {
		c.Words[i] = Word{Text: a, Known: true}
	}
	var w walker
	w.add(c)
	return w.out
}

// odd reports characters that shells and this parser may take for different
// things, or that a person would not see.
func odd(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' && c != '\n' || c == 0x7f {
			return true
		}
	}
	return false
}

// opens counts whatever could open a level of the parser's recursion, wherever
// it stands: an upper bound that no quoting lowers.
func opens(text string) int {
	n := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[', '`', '!', '?', '~', '=', '-', '+', '|':
			n++
		}
	}
	for _, k := range [...]string{"if", "while", "until", "for", "function", "case", "coproc", "select", "time"} {
		n += strings.Count(text, k)
	}
	return n
}
