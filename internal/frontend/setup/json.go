package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// document is a JSON file that people write in: comments, order and spacing of
// what is not changed are kept.
type document struct {
	root   hujson.Value
	indent string
	eol    string
}

// parseJSON reads a file; an empty one is an empty object.
func parseJSON(data []byte) (*document, error) {
	d := &document{indent: "  ", eol: "\n"}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}\n")
	}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return nil, errors.New("it begins with a byte order mark")
	}
	var err error
	if d.root, err = hujson.Parse(data); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if _, ok := d.root.Value.(*hujson.Object); !ok {
		return nil, errors.New("it is no JSON object")
	}
	if bytes.Contains(data, []byte("\r\n")) {
		d.eol = "\r\n"
	}
	for line := range bytes.Lines(data) {
		if in := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]; len(in) > 0 && len(in) < len(bytes.TrimRight(line, "\r\n")) {
			d.indent = string(in)
			break
		}
	}
	return d, nil
}

func (d *document) bytes() []byte { return d.root.Pack() }

// member returns the value of a name in an object; nil if there is none. A
// name that stands twice means one thing to one reader and another to the
// next.
func member(v *hujson.Value, name string) (*hujson.Value, error) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("what should hold %q is no object", name)
	}
	var found *hujson.Value
	for i := range o.Members {
		if l, ok := o.Members[i].Name.Value.(hujson.Literal); ok && l.String() == name {
			if found != nil {
				return nil, fmt.Errorf("%q stands there twice", name)
			}
			found = &o.Members[i].Value
		}
	}
	return found, nil
}

// at walks down names; nil if one is not there.
func (d *document) at(names ...string) (*hujson.Value, error) {
	v := &d.root
	for _, n := range names {
		next, err := member(v, n)
		if next == nil || err != nil {
			return nil, err
		}
		v = next
	}
	return v, nil
}

// text is the string at a place; "" if there is none.
func (d *document) text(names ...string) (string, error) {
	v, err := d.at(names...)
	if v == nil || err != nil {
		return "", err
	}
	l, ok := v.Value.(hujson.Literal)
	if !ok || l.Kind() != '"' {
		return "", fmt.Errorf("%s is no text", strings.Join(names, "."))
	}
	return l.String(), nil
}

// isTrue reports whether a place holds true.
func (d *document) isTrue(names ...string) bool {
	v, err := d.at(names...)
	if v == nil || err != nil {
		return false
	}
	l, ok := v.Value.(hujson.Literal)
	return ok && l.Kind() == 't'
}

// set puts a value at a place and makes the objects on the way.
func (d *document) set(value any, names ...string) error {
	parent := &d.root
	for depth, n := range names {
		last := depth == len(names)-1
		v, err := member(parent, n)
		if err != nil {
			return err
		}
		if v == nil {
			o := parent.Value.(*hujson.Object)
			nv := hujson.Value{Value: &hujson.Object{}}
			if last {
				if nv, err = d.value(value, depth+1); err != nil {
					return err
				}
			}
			nv.BeforeExtra = hujson.Extra(" ")
			before := d.room(&o.AfterExtra, depth+1)
			if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil {
				nv.AfterExtra = hujson.Extra{} // it ends with a comma, and goes on to
			}
			o.Members = append(o.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: before, Value: hujson.String(n)}, Value: nv})
			v = &o.Members[len(o.Members)-1].Value
		} else if last {
			nv, err := d.value(value, depth+1)
			if err != nil {
				return err
			}
			v.Value = nv.Value
		}
		parent = v
	}
	return nil
}

// add puts a value at the end of the list at a place, which is made.
func (d *document) add(value any, names ...string) error {
	v, err := d.at(names...)
	if err != nil {
		return err
	}
	if v == nil {
		if err := d.set([]any{}, names...); err != nil {
			return err
		}
		if v, err = d.at(names...); err != nil {
			return err
		}
	}
	a, ok := v.Value.(*hujson.Array)
	if !ok {
		return fmt.Errorf("%s is no list", strings.Join(names, "."))
	}
	nv, err := d.value(value, len(names)+1)
	if err != nil {
		return err
	}
	nv.BeforeExtra = d.room(&a.AfterExtra, len(names)+1)
	if n := len(a.Elements); n > 0 && a.Elements[n-1].AfterExtra != nil {
		nv.AfterExtra = hujson.Extra{}
	}
	a.Elements = append(a.Elements, nv)
	return nil
}

// room is the space before a new last entry. What stood behind the last one, a
// comment for one, stays behind it.
func (d *document) room(after *hujson.Extra, depth int) hujson.Extra {
	kept := strings.TrimRight(string(*after), " \t\r\n")
	*after = hujson.Extra(d.eol + strings.Repeat(d.indent, depth-1))
	return hujson.Extra(kept + d.eol + strings.Repeat(d.indent, depth))
}

// value is a new value, indented for its place.
func (d *document) value(v any, depth int) (hujson.Value, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(strings.Repeat(d.indent, depth), d.indent)
	if err := enc.Encode(v); err != nil {
		return hujson.Value{}, err
	}
	return hujson.Parse([]byte(strings.ReplaceAll(strings.TrimSpace(b.String()), "\n", d.eol)))
}

// drop takes out the entries of a list that ours accepts; it reports whether
// there were any. Containers that are empty then go too.
func (d *document) drop(ours func(text string) bool, names ...string) (bool, error) {
	v, err := d.at(names...)
	if v == nil || err != nil {
		return false, err
	}
	a, ok := v.Value.(*hujson.Array)
	if !ok {
		return false, fmt.Errorf("%s is no list", strings.Join(names, "."))
	}
	var left []hujson.ArrayElement
	for _, e := range a.Elements {
		c := e.Clone()
		c.Minimize()
		if !ours(c.String()) {
			left = append(left, e)
		}
	}
	if len(left) == len(a.Elements) {
		return false, nil
	}
	a.Elements = left
	if len(left) == 0 {
		return true, d.remove(names...)
	}
	return true, nil
}

// remove takes a member out, and those above it that are empty then.
func (d *document) remove(names ...string) error {
	for n := len(names); n > 0; n-- {
		parent, err := d.at(names[:n-1]...)
		if parent == nil || err != nil {
			return err
		}
		o, ok := parent.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		for i := range o.Members {
			if l, ok := o.Members[i].Name.Value.(hujson.Literal); ok && l.String() == names[n-1] {
				o.Members = append(o.Members[:i:i], o.Members[i+1:]...)
				break
			}
		}
		if len(o.Members) > 0 {
			return nil
		}
	}
	return nil
}
