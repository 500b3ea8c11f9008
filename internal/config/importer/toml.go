package importer

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlReader builds the tree of a TOML file. The syntax is go-toml's.
type tomlReader struct {
	p    unstable.Parser
	data []byte
	root *node
	// Counting lines goes on from where the last value stood.
	at, line int
}

func parseTOML(data []byte) (*node, error) {
	if err := checkText(data); err != nil {
		return nil, err
	}
	if err := checkNesting(data); err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	t := &tomlReader{data: data, root: &node{kind: object, line: 1}, line: 1}
	t.p.Reset(data)
	table := t.root
	for t.p.NextExpression() {
		var err error
		switch e := t.p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table, err = t.table(e)
		case unstable.KeyValue:
			err = t.keyValue(table, e, 0)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := t.p.Error(); err != nil {
		var pe *unstable.ParserError
		if errors.As(err, &pe) {
			return nil, &placed{t.highlight(pe.Highlight), fmt.Errorf("not TOML: %s", pe.Message)}
		}
		return nil, &placed{t.line, fmt.Errorf("not TOML: %w", err)}
	}
	return t.root, nil
}

// checkNesting refuses what would make the library recurse too deep. It counts
// brackets in strings and comments too, and so is generous.
func checkNesting(data []byte) error {
	depth, line := 0, 1
	for _, c := range data {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		case '\n':
			line++
		}
		if depth > 1000 {
			return &placed{line, errors.New("nested too deep")}
		}
	}
	return nil
}

// highlight finds the line of an error. The library panics for bytes that are
// not of its input.
func (t *tomlReader) highlight(b []byte) (line int) {
	line = t.line
	defer func() { _ = recover() }()
	return t.lineOf(int(t.p.Range(b).Offset))
}

func (t *tomlReader) lineOf(offset int) int {
	offset = min(offset, len(t.data))
	if offset < t.at {
		return t.line // the library gives some values no place
	}
	t.line += bytes.Count(t.data[t.at:offset], []byte("\n"))
	t.at = offset
	return t.line
}

// enter goes to a table below n, making it where there is none. Of a list of
// tables the last one is meant.
func (t *tomlReader) enter(n *node, name string, line int) (*node, error) {
	v := n.get(name)
	if v == nil {
		v = &node{kind: object, line: line}
		return v, n.put(name, v)
	}
	if v.kind == list && len(v.list) > 0 {
		v = v.list[len(v.list)-1]
	}
	if v.kind != object {
		return nil, &placed{line, fmt.Errorf("%q is a value, not a table", clip(name))}
	}
	return v, nil
}

// keys returns the parts of a dotted key and its line.
func (t *tomlReader) keys(it unstable.Iterator) ([]string, int, error) {
	var out []string
	line := t.line
	for it.Next() {
		if len(out) == 0 {
			line = t.lineOf(int(it.Node().Raw.Offset))
		}
		out = append(out, string(it.Node().Data))
		if len(out) > maxDepth {
			return nil, 0, &placed{line, fmt.Errorf("nested deeper than %d", maxDepth)}
		}
	}
	return out, line, nil
}

func (t *tomlReader) table(e *unstable.Node) (*node, error) {
	parts, line, err := t.keys(e.Key())
	if err != nil {
		return nil, err
	}
	n := t.root
	last := len(parts) - 1
	for _, name := range parts[:last] {
		if n, err = t.enter(n, name, line); err != nil {
			return nil, err
		}
	}
	if e.Kind == unstable.Table {
		return t.enter(n, parts[last], line)
	}
	l := n.get(parts[last])
	if l == nil {
		l = &node{kind: list, line: line}
		if err := n.put(parts[last], l); err != nil {
			return nil, err
		}
	}
	if l.kind != list {
		return nil, &placed{line, fmt.Errorf("%q is not a list of tables", clip(parts[last]))}
	}
	n = &node{kind: object, line: line}
	l.list = append(l.list, n)
	return n, nil
}

func (t *tomlReader) keyValue(table *node, e *unstable.Node, depth int) error {
	parts, line, err := t.keys(e.Key())
	if err != nil {
		return err
	}
	last := len(parts) - 1
	for _, name := range parts[:last] {
		if table, err = t.enter(table, name, line); err != nil {
			return err
		}
	}
	v, err := t.value(e.Value(), line, depth)
	if err != nil {
		return err
	}
	return table.put(parts[last], v)
}

func (t *tomlReader) value(v *unstable.Node, line, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, &placed{line, fmt.Errorf("nested deeper than %d", maxDepth)}
	}
	if v.Raw.Length > 0 {
		line = t.lineOf(int(v.Raw.Offset))
	}
	n := &node{line: line, text: string(v.Data)}
	switch v.Kind {
	case unstable.String:
		n.kind = text
	case unstable.Bool:
		n.kind = boolean
	case unstable.Array:
		n.kind, n.text = list, ""
		for it := v.Children(); it.Next(); {
			c, err := t.value(it.Node(), line, depth+1)
			if err != nil {
				return nil, err
			}
			n.list = append(n.list, c)
		}
	case unstable.InlineTable:
		n.kind, n.text = object, ""
		for it := v.Children(); it.Next(); {
			if err := t.keyValue(n, it.Node(), depth+1); err != nil {
				return nil, err
			}
		}
	default: // numbers and dates: no setting that is read is one
		n.kind = number
	}
	return n, nil
}
