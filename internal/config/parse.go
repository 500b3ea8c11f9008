package config

import (
	"bytes"
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"bawn/internal/policy"
)

// values is what one layer sets, by key. A list that is set and empty is not
// the same as one that is not set.
type values struct {
	layer Layer
	file  string
	set   [numKeys]bool
	items [numKeys][]Item
	at    [numKeys]policy.Origin
}

// parser reads one TOML file. The syntax is go-toml's; which tables and keys
// there are, and that none stands twice, is decided here, because every error
// and every entry of a list needs its place in the text.
type parser struct {
	scope
	src    *source
	toml   unstable.Parser
	tables map[string]bool
	key    unstable.Range // of the key whose value is read
	out    values
}

// parseFile reads the text of a file. Errors are *Error.
func parseFile(sc scope, file string, data []byte) (values, error) {
	p := parser{scope: sc, src: newSource(file, data), tables: map[string]bool{}}
	p.out.layer, p.out.file = sc.layer, file
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return values{}, p.src.fail(0, 3, "the file begins with a byte order mark; save it as UTF-8 without one")
	}
	p.toml.Reset(data)
	table := ""
	for p.toml.NextExpression() {
		n := p.toml.Expression()
		var err error
		switch n.Kind {
		case unstable.Table:
			table, err = p.header(n)
		case unstable.KeyValue:
			err = p.keyValue(table, n)
		case unstable.ArrayTable:
			_, err = p.name("", n.Key())
			if err == nil {
				it := n.Key()
				it.Next()
				err = p.fail(it.Node(), "no setting is a list of tables; a table's name stands in single brackets")
			}
		}
		if err != nil {
			return values{}, err
		}
	}
	if err := p.toml.Error(); err != nil {
		return values{}, p.syntax(err)
	}
	return p.out, nil
}

// syntax gives a parser's error its place.
func (p *parser) syntax(err error) error {
	var pe *unstable.ParserError
	if !errors.As(err, &pe) {
		return p.src.fail(len(p.src.data), 0, "not TOML: %v", err)
	}
	offset, length := p.place(pe.Highlight)
	return p.src.fail(offset, length, "not TOML: %s", pe.Message)
}

// place finds the bytes of a highlight. The library panics for bytes that are
// not of its input; the end of the text stands in for those.
func (p *parser) place(b []byte) (offset, length int) {
	defer func() {
		if recover() != nil {
			offset, length = len(p.src.data), 0
		}
	}()
	r := p.toml.Range(b)
	return int(r.Offset), int(r.Length)
}

func (p *parser) fail(n *unstable.Node, format string, a ...any) *Error {
	at := n.Raw
	if at.Length == 0 { // the parser gives lists no place
		at = p.key
	}
	return p.src.fail(int(at.Offset), int(at.Length), format, a...)
}

// name joins a dotted key. Of a part that no known name has, nothing is
// joined: "sandbox.proxy" in quotes is not sandbox.proxy.
func (p *parser) name(prefix string, it unstable.Iterator) (string, error) {
	for it.Next() {
		part := string(it.Node().Data)
		if strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || part == "" {
			return "", p.fail(it.Node(), "unknown key %q", shown(part))
		}
		if prefix != "" {
			prefix += "."
		}
		if prefix += part; len(prefix) > maxValue { // joining would take time without end
			return "", p.fail(it.Node(), "unknown key: its name is too long")
		}
	}
	return prefix, nil
}

func (p *parser) header(n *unstable.Node) (string, error) {
	it := n.Key()
	it.Next()
	first := it.Node()
	name, err := p.name("", n.Key())
	if err != nil {
		return "", err
	}
	if !isTable(name) {
		return "", p.fail(first, "unknown table [%s]%s", name, tableHint(name))
	}
	return name, p.open(first, name)
}

func (p *parser) open(n *unstable.Node, table string) error {
	if p.tables[table] {
		return p.fail(n, "the table [%s] stands here a second time", table)
	}
	p.tables[table] = true
	return nil
}

func tableHint(name string) string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.name
	}
	return didYouMean(name, names)
}

func (p *parser) keyValue(table string, n *unstable.Node) error {
	it := n.Key()
	it.Next()
	first := it.Node()
	path, err := p.name(table, n.Key())
	if err != nil {
		return err
	}
	v := n.Value()
	if isTable(path) {
		if v.Kind != unstable.InlineTable {
			return p.fail(first, "%s is a table, not a value", path)
		}
		if err := p.open(first, path); err != nil {
			return err
		}
		for it := v.Children(); it.Next(); {
			if err := p.keyValue(path, it.Node()); err != nil {
				return err
			}
		}
		return nil
	}
	k := findKey(path)
	if k < 0 {
		return p.fail(first, "unknown key %s%s", path, keyHint(path))
	}
	if p.out.set[k] {
		return p.fail(first, "%s stands here a second time; the first is in line %d", path, p.out.at[k].Line)
	}
	if p.layer == Saved && k != keyAllowed && k != keyDenied {
		return p.fail(first, "%s is not an answer that is saved here: it belongs in config.toml", path)
	}
	p.key = first.Raw
	p.out.set[k], p.out.at[k] = true, p.src.origin(int(first.Raw.Offset))
	return p.value(k, v)
}

// keyHint finds what an unknown key was probably meant to be: a near name in
// its table, or the same or a near name in another one.
func keyHint(path string) string {
	table, name := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		table, name = path[:i], path[i+1:]
	}
	var here, all []string
	for i := range keys {
		if keys[i].Table == table {
			here = append(here, keys[i].Name)
		}
		if keys[i].Name == name {
			return "; it belongs in the table [" + keys[i].Table + "]"
		}
		all = append(all, keys[i].Path())
	}
	if n := Nearest(name, here); n != "" {
		return "; did you mean " + n + "?"
	}
	if n := Nearest(path, all); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

func (p *parser) value(k int, v *unstable.Node) error {
	key := &keys[k]
	if key.Kind.single() {
		return p.one(k, v)
	}
	if v.Kind != unstable.Array {
		return p.fail(v, "%s is a list: %s = %s", key.Path(), key.Name, key.Example)
	}
	n := 0
	for it := v.Children(); it.Next(); {
		n++
	}
	if limit := key.limit(); n > limit {
		return p.fail(v, "%s has %d entries; %d are the most", key.Path(), n, limit)
	}
	p.out.items[k] = make([]Item, 0, n)
	for it := v.Children(); it.Next(); {
		if err := p.one(k, it.Node()); err != nil {
			return err
		}
	}
	return nil
}

// one reads a value or an entry of a list.
func (p *parser) one(k int, v *unstable.Node) error {
	key := &keys[k]
	want, what := unstable.String, "text in quotes"
	switch key.Kind {
	case Bool:
		want, what = unstable.Bool, "true or false"
	case Ports:
		want, what = unstable.Integer, "a number"
	}
	if v.Kind != want {
		return p.fail(v, "%s takes %s, not %s", key.Path(), what, kindName(v.Kind))
	}
	o := p.src.origin(int(v.Raw.Offset))
	it, err := p.item(key, string(v.Data), o)
	if err != nil {
		e := p.fail(v, "%s: %s", key.Path(), shown(err.Error()))
		if key.Kind == Proxy || key.Kind == Names && strings.Contains(string(v.Data), "=") {
			e.Excerpt = "" // it may show a password
		}
		return e
	}
	p.out.items[k] = append(p.out.items[k], it)
	return nil
}

func kindName(k unstable.Kind) string {
	switch k {
	case unstable.String:
		return "text"
	case unstable.Bool:
		return "true or false"
	case unstable.Integer, unstable.Float:
		return "a number"
	case unstable.Array:
		return "a list"
	case unstable.InlineTable:
		return "a table"
	}
	return "a date"
}
