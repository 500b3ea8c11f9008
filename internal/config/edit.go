package config

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"bawn/internal/policy"
)

// SetTier returns a file's text with default_tier set and every other byte
// kept: comments, order and spacing are the author's. The result is read
// again, and says nothing else than before but the tier. file
// names it in errors.
func SetTier(data []byte, t policy.Tier, file string) ([]byte, error) {
	return setSingle(data, ProjectFile, keyTier, t.String(), file)
}

// SetEnabled does the same with enabled, in the user's own file (SPEC T2).
func SetEnabled(data []byte, on bool, file string) ([]byte, error) {
	return setSingle(data, User, keyEnabled, strconv.FormatBool(on), file)
}

// setSingle sets a key of [sandbox] that has one value.
func setSingle(data []byte, layer Layer, key int, text, file string) ([]byte, error) {
	// The workspace is only needed to make relative paths absolute.
	sc := scope{layer: layer, home: "/home", workspace: "/workspace"}
	before, err := parseFile(sc, file, data)
	if err != nil {
		return nil, err
	}
	name, value := keys[key].Name, text
	if keys[key].Kind != Bool {
		value = `"` + text + `"`
	}
	next := setValue(data, name, value)
	after, err := parseFile(sc, file, next)
	if err != nil {
		return nil, fmt.Errorf("setting %s in %s: %w", name, shown(file), err)
	}
	for k := range keys {
		same := before.set[k] == after.set[k] && slices.EqualFunc(before.items[k], after.items[k], func(a, b Item) bool { return a.Text == b.Text })
		if k == key {
			same = len(after.items[k]) == 1 && after.items[k][0].Text == text
		}
		if !same {
			return nil, fmt.Errorf("setting %s in %s: it would change %s", name, shown(file), keys[k].Path())
		}
	}
	return next, nil
}

// setValue finds the value, or a place for the line, by the parser's own
// offsets.
func setValue(data []byte, key, value string) []byte {
	line := key + " = " + value
	eol := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		eol = "\r\n"
	}
	header := -1             // where the text after [sandbox] begins
	inline, dotted := -1, -1 // of sandbox = { and the first sandbox.x
	inlineEmpty := false
	for name, n := range expressions(data) {
		if n.Kind == unstable.Table {
			if name == "sandbox" {
				header = firstOf(n)
			}
			continue
		}
		v := n.Value()
		switch {
		case name == "sandbox."+key:
			return splice(data, int(v.Raw.Offset), int(v.Raw.Length), value)
		case name == "sandbox" && v.Kind == unstable.InlineTable:
			inline, inlineEmpty = int(v.Raw.Offset), true
			for it := v.Children(); it.Next(); {
				inlineEmpty = false
				if join(it.Node().Key()) == key {
					old := it.Node().Value()
					return splice(data, int(old.Raw.Offset), int(old.Raw.Length), value)
				}
			}
		case dotted < 0 && name == join(n.Key()) && strings.HasPrefix(name, "sandbox."): // in no table
			dotted = firstOf(n)
		}
	}
	switch {
	case header >= 0:
		end := bytes.IndexByte(data[header:], '\n')
		if end < 0 {
			return append(slices.Clip(data), eol+line+eol...)
		}
		return splice(data, header+end+1, 0, line+eol)
	case inline >= 0:
		text := " " + line
		if !inlineEmpty {
			text += ","
		}
		return splice(data, inline+1, 0, text)
	case dotted >= 0:
		return splice(data, dotted, 0, "sandbox."+line+eol)
	}
	text := "[sandbox]" + eol + line + eol
	if len(data) > 0 {
		if data[len(data)-1] != '\n' {
			text = eol + text
		}
		text = eol + text
	}
	return append(slices.Clip(data), text...)
}

// expressions are the tables of a text that was read once, and its keys with
// those of the tables that they lie in.
func expressions(data []byte) iter.Seq2[string, *unstable.Node] {
	return func(yield func(string, *unstable.Node) bool) {
		var p unstable.Parser
		p.Reset(data)
		table := ""
		for p.NextExpression() {
			n := p.Expression()
			name := join(n.Key())
			switch {
			case n.Kind == unstable.Table:
				table = name
			case n.Kind != unstable.KeyValue:
				continue
			case table != "":
				name = table + "." + name
			}
			if !yield(name, n) {
				return
			}
		}
	}
}

// firstOf is where the key of an expression begins.
func firstOf(n *unstable.Node) int {
	it := n.Key()
	it.Next()
	return int(it.Node().Raw.Offset)
}

func join(it unstable.Iterator) string {
	var b []byte
	for it.Next() {
		if len(b) > 0 {
			b = append(b, '.')
		}
		b = append(b, it.Node().Data...)
	}
	return string(b)
}

func splice(data []byte, offset, length int, text string) []byte {
	out := make([]byte, 0, len(data)+len(text))
	out = append(out, data[:offset]...)
	out = append(out, text...)
	return append(out, data[offset+length:]...)
}
