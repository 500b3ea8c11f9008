package config

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"bawn/internal/policy"
)

// Entry is one more entry of a list of [sandbox]: Key is its full name, as
// sandbox.allowed_domains.
type Entry struct{ Key, Value string }

// AddEntries returns the text of the user's file with further entries in its
// lists and every other byte kept: comments, order and spacing are the
// author's. One that is there already is left out. The result is read again,
// and says nothing else than before but those entries; file names it in errors.
func AddEntries(data []byte, entries []Entry, file string) ([]byte, error) {
	// Places of a file are absolute or begin with ~; the folders stand for any.
	sc := scope{layer: User, home: "/home", workspace: "/workspace"}
	before, err := parseFile(sc, file, data)
	if err != nil {
		return nil, err
	}
	next, added := data, map[int][]string{}
	for _, e := range entries {
		k := findKey(e.Key)
		if k < 0 || keys[k].Table != "sandbox" || keys[k].Kind.single() {
			return nil, fmt.Errorf("%q is no list of [sandbox]", e.Key)
		}
		it, err := sc.item(&keys[k], e.Value, policy.Origin{File: file})
		if err != nil {
			return nil, fmt.Errorf("adding %s to %s: %w", policy.Quote(e.Value), keys[k].Name, err)
		}
		is := func(o Item) bool { return o.Text == it.Text }
		if slices.ContainsFunc(before.items[k], is) || slices.Contains(added[k], it.Text) {
			continue
		}
		added[k] = append(added[k], it.Text)
		value := strconv.Quote(e.Value) // of visible characters alone, which TOML writes alike
		if keys[k].Kind == Ports {
			value = it.Text
		}
		next = addValue(next, keys[k].Name, value)
	}
	after, err := parseFile(sc, file, next)
	if err != nil {
		return nil, fmt.Errorf("adding to %s: %w", shown(file), err)
	}
	for k := range keys {
		want := append(textsOf(before.items[k]), added[k]...)
		if !slices.Equal(textsOf(after.items[k]), want) || before.set[k] != after.set[k] && added[k] == nil {
			return nil, fmt.Errorf("adding to %s: it would change %s", shown(file), keys[k].Path())
		}
	}
	return next, nil
}

func textsOf(items []Item) []string {
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = it.Text
	}
	return out
}

// addValue adds a value to a list of [sandbox], which it makes if need be.
func addValue(data []byte, key, value string) []byte {
	at := listOf(data, key)
	if at < 0 {
		return setValue(data, key, "["+value+"]")
	}
	end, last, comma := scanList(data, at)
	between := data[max(last, at+1):end]
	line := bytes.LastIndexByte(between, '\n')
	switch {
	case last < 0 && line < 0: // [ ]
		return splice(data, at+1, 0, value)
	case line < 0: // on one line, from the last value on
		return splice(data, last, 0, ", "+value)
	}
	// The bracket has a line of its own: so has the new value.
	start := max(last, at+1) + line + 1
	eol := "\n"
	if start >= 2 && data[start-2] == '\r' {
		eol = "\r\n"
	}
	data = splice(data, start, 0, indentOf(data, last, end)+value+","+eol)
	if last >= 0 && !comma {
		data = splice(data, last, 0, ",")
	}
	return data
}

// indentOf is the white space before the last value of a list, or the usual.
func indentOf(data []byte, last, end int) string {
	if last < 0 {
		last = end
	}
	start := bytes.LastIndexByte(data[:last], '\n') + 1
	n := start
	for n < len(data) && (data[n] == ' ' || data[n] == '\t') {
		n++
	}
	if n == start || n >= end {
		return "  "
	}
	return string(data[start:n])
}

// listOf finds the bracket that opens a list of [sandbox]; -1 if there is none.
func listOf(data []byte, key string) int {
	open := func(n *unstable.Node) int {
		end := 0
		for it := n.Key(); it.Next(); {
			end = int(it.Node().Raw.Offset + it.Node().Raw.Length)
		}
		if i := bytes.IndexByte(data[end:], '['); i >= 0 { // white space and = lie between
			return end + i
		}
		return -1
	}
	for name, n := range expressions(data) {
		if n.Kind != unstable.KeyValue {
			continue
		}
		v := n.Value()
		switch {
		case name == "sandbox."+key && v.Kind == unstable.Array:
			return open(n)
		case name == "sandbox" && v.Kind == unstable.InlineTable:
			for it := v.Children(); it.Next(); {
				if join(it.Node().Key()) == key {
					return open(it.Node())
				}
			}
		}
	}
	return -1
}

// scanList walks a list of plain values from its bracket, in a text that was
// read once: end is the closing bracket, last where the last value ends (-1
// for none), and comma whether one follows it.
func scanList(data []byte, at int) (end, last int, comma bool) {
	last = -1
	for i := at + 1; i < len(data); {
		switch c := data[i]; c {
		case ']':
			return i, last, comma
		case ',':
			comma = true
			i++
		case ' ', '\t', '\r', '\n':
			i++
		case '#':
			n := bytes.IndexByte(data[i:], '\n')
			if n < 0 {
				return len(data), last, comma
			}
			i += n
		case '"', '\'':
			i = stringEnd(data, i)
			last, comma = i, false
		default:
			for i < len(data) && !strings.ContainsRune(", \t\r\n#]", rune(data[i])) {
				i++
			}
			last, comma = i, false
		}
	}
	return len(data), last, comma
}

// stringEnd is where the string that begins at i ends.
func stringEnd(data []byte, i int) int {
	q := data[i : i+1]
	if bytes.HasPrefix(data[i:], bytes.Repeat(q, 3)) {
		q = data[i : i+3]
	}
	for j := i + len(q); j < len(data); j++ {
		switch {
		case data[j] == '\\' && q[0] == '"':
			j++
		case bytes.HasPrefix(data[j:], q):
			j += len(q)
			for extra := 0; len(q) == 3 && extra < 2 && j < len(data) && data[j] == q[0]; extra++ {
				j++ // up to two more quotes belong to the text
			}
			return j
		}
	}
	return len(data)
}
