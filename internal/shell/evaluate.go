package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"bawn/internal/shell/plain"
)

// Bash evaluates some texts when they run: a name with a subscript, a number
// that is a name, whose value is evaluated in its turn. a[$(x)] runs x then,
// also if a variable or a file has brought it, so nobody sees it here. Whatever
// evaluates a text that is not known to be harmless is opaque.

// evaluated are the variables whose values bash evaluates when they are set
// (numbers), or later (prompts).
const evaluated = "RANDOM SRANDOM SECONDS OPTIND HISTCMD LINENO BASHPID EPOCHSECONDS PS4 PS0 PS1 PS2 PROMPT_COMMAND"

// evaluates reports whether a command makes bash evaluate a text.
func evaluates(c Command) bool {
	for _, a := range c.Assigns {
		if plain.Has(evaluated, a.Name) && !(a.Value.Known && harmless(a.Name, a.Value.Text)) {
			return true
		}
	}
	name, ok := c.Program()
	if !ok {
		return false
	}
	args := c.Words[1:]
	switch name {
	case "let":
		return true
	case "read", "unset", "mapfile", "readarray", "getopts":
		return !allNames(args)
	case "wait": // -p NAME
		return len(args) > 0 && strings.HasPrefix(args[0].Text, "-") && !allNames(args)
	case "printf":
		if len(args) == 0 || args[0].Known && !strings.HasPrefix(args[0].Text, "-v") {
			return false
		}
		return !allNames(args[:min(2, len(args))])
	case "test", "[":
		return testEvaluates(args)
	case "declare", "typeset", "local", "nameref", "integer":
		return declareEvaluates(name, args)
	case ".", "source":
		return len(args) > 0 && !isFile(args[0])
	}
	return false
}

// harmless is a value for one of the evaluated variables.
func harmless(name, value string) bool {
	if strings.HasPrefix(name, "P") {
		return !strings.ContainsAny(value, "$`") && name != "PROMPT_COMMAND"
	}
	return strings.Trim(value, "0123456789") == ""
}

// allNames reports whether no word can be a name with a subscript, or that of
// a variable whose value is evaluated.
func allNames(words []Word) bool {
	for _, w := range words {
		if !w.Known || strings.Contains(w.Text, "[") || plain.Has(evaluated, strings.TrimPrefix(w.Text, "-v")) {
			return false
		}
	}
	return true
}

// testEvaluates looks for -v in what test is given. A word that is not known
// could be it where test takes an operator before one operand.
func testEvaluates(args []Word) bool {
	for i, w := range args {
		if w.Known && (w.Text == "-v" || w.Text == "-R") && i+1 < len(args) && !allNames(args[i+1:i+2]) {
			return true
		}
	}
	for len(args) > 0 && args[0].Known && args[0].Text == "!" {
		args = args[1:]
	}
	if n := len(args); n > 0 && args[n-1].Known && args[n-1].Text == "]" {
		args = args[:n-1]
	}
	return len(args) == 2 && !args[0].Known && args[0].Text == ""
}

// declareEvaluates: a name for another (-n) is evaluated when it is used, the
// value of an integer (-i) when it is set.
func declareEvaluates(name string, args []Word) bool {
	if name == "nameref" || name == "integer" {
		return true
	}
	for _, w := range args {
		target, _, _ := strings.Cut(w.Text, "=")
		switch {
		case !w.Known || strings.Contains(target, "["):
			return true
		case strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "in"):
			return true
		}
	}
	return false
}

// isFile reports whether a word surely names a file that lies on the disk, and
// not what comes from a pipe or descriptor.
func isFile(w Word) bool {
	return w.Known && !strings.HasPrefix(w.Text, "/dev/") && !strings.HasPrefix(w.Text, "/proc/")
}

// names reports whether a redirection is to a variable with a subscript:
// {a[x]}>file. If something in it expands the parser takes it for an argument.
func names(r *syntax.Redirect, args []*syntax.Word) bool {
	if r.N != nil {
		return strings.Contains(r.N.Value, "[")
	}
	for _, w := range args {
		lit, ok := w.Parts[0].(*syntax.Lit)
		if ok && w.End() == r.Pos() && strings.HasPrefix(lit.Value, "{") && strings.Contains(lit.Value, "[") {
			return true
		}
	}
	return false
}

// constant reports whether an arithmetic expression evaluates no text: there
// are numbers in it alone.
func constant(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case nil:
		return true
	case *syntax.ParenArithm:
		return constant(x.X)
	case *syntax.UnaryArithm:
		return constant(x.X)
	case *syntax.BinaryArithm:
		return constant(x.X) && constant(x.Y)
	case *syntax.Word:
		return number(x)
	}
	return false
}

// number reports whether a word is a number, whatever the shell's state.
func number(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value != "" && strings.Trim(strings.TrimPrefix(p.Value, "-"), "0123456789") == ""
	case *syntax.DblQuoted:
		return number(&syntax.Word{Parts: p.Parts})
	case *syntax.ParamExp:
		if p.Param == nil || p.Index != nil || p.Excl || p.Exp != nil || p.Slice != nil || p.Repl != nil {
			return false
		}
		return p.Length || plain.Has("# ? $ !", p.Param.Value)
	case *syntax.ArithmExp:
		return constant(p.X)
	}
	return false
}

// subscript reports whether an index evaluates no text.
func subscript(x syntax.ArithmExpr) bool {
	if w, ok := x.(*syntax.Word); ok && (w.Lit() == "@" || w.Lit() == "*") {
		return true
	}
	return constant(x)
}

// expands reports whether an expansion evaluates a text.
func expands(p *syntax.ParamExp) bool {
	if p.Index != nil && !subscript(p.Index) {
		return true
	}
	if p.Slice != nil && !(constant(p.Slice.Offset) && constant(p.Slice.Length)) {
		return true
	}
	// ${!x*} lists names, and ${!a[@]} subscripts; ${!x} is what x names.
	return p.Excl && p.Names == 0 && p.Index == nil || p.Exp != nil && p.Exp.Op == syntax.OtherParamOps
}

// tests reports whether [[ evaluates a text.
func tests(x syntax.TestExpr) bool {
	switch x := x.(type) {
	case *syntax.ParenTest:
		return tests(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			w, ok := x.X.(*syntax.Word)
			return !ok || !allNames([]Word{word(w)})
		}
		return tests(x.X)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			a, isWord := x.X.(*syntax.Word)
			b, are := x.Y.(*syntax.Word)
			return !isWord || !are || !number(a) || !number(b)
		}
		return tests(x.X) || tests(x.Y)
	}
	return false
}
