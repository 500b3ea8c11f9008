package shell

import (
	"mvdan.cc/sh/v3/syntax"
)

// walker collects the commands of a syntax tree.
type walker struct {
	out   []Command
	layer int  // how many shells deep the text stands
	lost  bool // something was met that is not known
}

func (w *walker) stmts(list []*syntax.Stmt, in Context) {
	if len(list) > 1 {
		in |= Compound
	}
	for _, s := range list {
		w.stmt(s, in)
	}
}

func (w *walker) stmt(s *syntax.Stmt, in Context) {
	if s.Background || s.Coprocess || s.Disown {
		in |= Background
	}
	if s.Negated {
		in |= Compound
	}
	var c Command
	call, simple := s.Cmd.(*syntax.CallExpr)
	if simple || s.Cmd == nil {
		if simple {
			c = Command{Words: words(call.Args), Assigns: assigns(call.Assigns)}
		}
		c.In, c.Redirects = in, redirects(s.Redirs)
		w.add(c)
		if simple && !plainWords(c) {
			w.parts(call, in)
		}
	} else {
		if r := redirects(s.Redirs); len(r) > 0 {
			w.add(Command{In: in | Compound, Redirects: r})
		}
		w.command(s.Cmd, in)
	}
	for _, r := range s.Redirs {
		var args []*syntax.Word
		if simple {
			args = call.Args
		}
		w.evaluated(in, names(r, args))
		w.parts(r, in)
	}
}

// plainWords reports whether nothing in a command is left to expand.
func plainWords(c Command) bool {
	for _, w := range c.Words {
		if !w.Known {
			return false
		}
	}
	return len(c.Assigns) == 0
}

// command walks everything but a simple command.
func (w *walker) command(c syntax.Command, in Context) {
	inner := in | Compound
	switch c := c.(type) {
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			inner |= Pipeline
		}
		// A long list leans to one side: by a list of its own, not by recursion.
		for todo := []*syntax.Stmt{c.Y, c.X}; len(todo) > 0; {
			s := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			b, ok := s.Cmd.(*syntax.BinaryCmd)
			if !ok || s.Background || s.Negated || len(s.Redirs) > 0 {
				w.stmt(s, inner)
				continue
			}
			if b.Op == syntax.Pipe || b.Op == syntax.PipeAll {
				inner |= Pipeline
			}
			todo = append(todo, b.Y, b.X)
		}
	case *syntax.Subshell:
		w.stmts(c.Stmts, inner)
	case *syntax.Block:
		w.stmts(c.Stmts, inner)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			w.stmts(c.Cond, inner)
			w.stmts(c.Then, inner)
		}
	case *syntax.WhileClause:
		w.stmts(c.Cond, inner)
		w.stmts(c.Do, inner)
	case *syntax.ForClause:
		// The loop sets a variable, which later commands may heed.
		switch loop := c.Loop.(type) {
		case *syntax.WordIter:
			w.add(Command{In: inner, Assigns: []Assign{{Name: loop.Name.Value}}})
		case *syntax.CStyleLoop:
			if !constant(loop.Init) || !constant(loop.Cond) || !constant(loop.Post) {
				w.add(Command{In: inner, Opaque: true})
			}
		}
		w.parts(c.Loop, inner)
		w.stmts(c.Do, inner)
	case *syntax.CaseClause:
		w.parts(c.Word, inner)
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				w.parts(p, inner)
			}
			w.stmts(item.Stmts, inner)
		}
	case *syntax.FuncDecl:
		w.stmt(c.Body, inner|Function)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			w.stmt(c.Stmt, inner)
		}
	case *syntax.CoprocClause:
		w.stmt(c.Stmt, inner|Background)
	case *syntax.DeclClause:
		w.declare(c, in)
		w.parts(c, in)
	case *syntax.LetClause:
		w.add(Command{Words: []Word{known("let"), {}}, In: in})
		w.parts(c, in)
	case *syntax.ArithmCmd:
		w.add(Command{Words: []Word{known("(("), {}}, In: in, Opaque: !constant(c.X)})
		w.parts(c, in)
	case *syntax.TestClause:
		w.add(Command{Words: []Word{known("[["), {}}, In: in, Opaque: tests(c.X)})
		w.parts(c, in)
	default:
		w.lost = true
	}
}

// declare lists export, declare and their like as commands that assign.
func (w *walker) declare(d *syntax.DeclClause, in Context) {
	c := Command{Words: []Word{known(d.Variant.Value)}, In: in}
	for _, a := range d.Args {
		switch {
		case a.Naked && a.Name == nil:
			c.Words = append(c.Words, word(a.Value))
		case a.Naked && a.Index == nil:
			c.Words = append(c.Words, known(a.Name.Value))
		default:
			c.Assigns = append(c.Assigns, assigns([]*syntax.Assign{a})...)
		}
	}
	w.add(c)
}

// parts finds the substitutions inside a node, and what is evaluated; it does
// not enter commands.
func (w *walker) parts(n syntax.Node, in Context) {
	syntax.Walk(n, func(n syntax.Node) bool {
		var list []*syntax.Stmt
		switch n := n.(type) {
		case *syntax.CmdSubst:
			list = n.Stmts
		case *syntax.ProcSubst:
			list = n.Stmts
		case *syntax.Stmt:
			return false
		case *syntax.ArithmExp:
			w.evaluated(in, !constant(n.X))
			return true
		case *syntax.Assign:
			w.evaluated(in, n.Index != nil && !subscript(n.Index))
			return true
		case *syntax.ArrayElem:
			w.evaluated(in, n.Index != nil && !subscript(n.Index))
			return true
		case *syntax.ParamExp:
			w.evaluated(in, expands(n))
			if n.Exp == nil {
				return true
			}
			switch n.Exp.Op {
			case syntax.AssignUnset, syntax.AssignUnsetOrNull:
				name := ""
				if n.Param != nil {
					name = n.Param.Value
				}
				w.add(Command{In: in | Compound, Assigns: []Assign{{Name: name}}})
			}
			return true
		default:
			return true
		}
		w.stmts(list, in|Compound|Substitution)
		return false
	})
}

// evaluated takes what runs if a text that is evaluated says so.
func (w *walker) evaluated(in Context, is bool) {
	if is {
		w.add(Command{In: in | Compound, Opaque: true})
	}
}

// add takes a command, and those that its arguments name.
func (w *walker) add(c Command) {
	at := len(w.out)
	c.Opaque = c.Opaque || evaluates(c)
	w.out = append(w.out, c)
	if len(c.Words) == 0 {
		return
	}
	inner, opaque := nested(c.Words)
	if opaque {
		w.out[at].Opaque = true
	}
	for _, n := range inner {
		if w.layer >= maxLayers {
			w.out[at].Opaque = true
			return
		}
		in := c.In | Nested
		if n.words != nil {
			w.layer++
			w.add(Command{Words: n.words, Assigns: n.assigns, In: in, Redirects: c.Redirects})
			w.layer--
			continue
		}
		list, err := parse(n.text, in, w.layer+1)
		if err != nil {
			w.out[at].Opaque = true
			continue
		}
		w.out = append(w.out, list...)
	}
}
