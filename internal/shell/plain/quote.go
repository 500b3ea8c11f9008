package plain

import (
	"strings"
	"unicode/utf8"

	"bawn/internal/policy"
)

// Quote writes args as one line of shell text that bash reads back as the same
// words. Control characters, and others that would not show or would turn the
// line around, are escaped, so that it is safe on a terminal.
func Quote(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		quoteWord(&b, a, i == 0)
	}
	return b.String()
}

func quoteWord(b *strings.Builder, s string, first bool) {
	bare, print := s != "", true
	for i, r := range s {
		if r >= utf8.RuneSelf || !literal(byte(r)) || first && r == '=' {
			bare = false
		}
		if !policy.Visible(r) || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			print = false
		}
	}
	switch {
	case bare && !(first && keyword(s)):
		b.WriteString(s)
	case print:
		b.WriteString("'" + strings.ReplaceAll(s, "'", `'\''`) + "'")
	default:
		b.WriteString("$'")
		for i := 0; i < len(s); {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == '\'' || r == '\\':
				b.WriteByte('\\')
				b.WriteRune(r)
			case r == '\n':
				b.WriteString(`\n`)
			case r == '\t':
				b.WriteString(`\t`)
			case n > 1 && policy.Visible(r), n == 1 && ' ' <= r && r < 0x7f:
				b.WriteString(s[i : i+n])
			default: // three octal digits each: nothing after them is taken along
				for _, c := range []byte(s[i : i+n]) {
					b.WriteByte('\\')
					b.WriteByte('0' + c>>6)
					b.WriteByte('0' + c>>3&7)
					b.WriteByte('0' + c&7)
				}
			}
			i += n
		}
		b.WriteByte('\'')
	}
}

// shellWords are the names that bash takes for itself although no program of
// that name need exist: keywords, and built-ins that act on the shell.
var shellWords = [...]string{
	".", ":", "[", "[[", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command", "compgen", "complete",
	"compopt", "continue", "coproc", "declare", "dirs", "disown", "do", "done", "elif", "else", "enable", "esac", "eval",
	"exec", "exit", "export", "fc", "fg", "fi", "for", "function", "getopts", "hash", "help", "history", "if", "in", "jobs",
	"let", "local", "logout", "mapfile", "popd", "pushd", "read", "readarray", "readonly", "return", "select", "set",
	"shift", "shopt", "source", "suspend", "then", "time", "times", "trap", "type", "typeset", "ulimit", "umask", "unalias",
	"unset", "until", "wait", "while",
}

func keyword(s string) bool {
	for _, w := range shellWords {
		if w == s {
			return true
		}
	}
	return false
}
