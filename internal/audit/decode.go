package audit

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

var errSyntax = errors.New("it is not a record")

// Parse reads one line, without its end. Fields that are not known are left
// out: a later bawn may have written them.
func Parse(line []byte) (r Record, err error) {
	d := decoder{b: line}
	version := int64(0)
	d.object(func(key string) {
		if key == "v" {
			version = d.number()
			return
		}
		d.field(&r, key)
	})
	switch {
	case d.bad || d.i != len(d.b):
		return Record{}, errSyntax
	case version != Version:
		return Record{}, fmt.Errorf("it is of version %d, which this bawn does not know", version)
	}
	return r, nil
}

func (d *decoder) field(r *Record, key string) {
	switch key {
	case "seq":
		r.Seq = uint64(d.number())
	case "time":
		var err error
		if r.Time, err = time.Parse(time.RFC3339, d.text()); err != nil {
			d.bad = true
		}
	case "kind":
		r.Kind = Kind(d.text())
	case "run":
		r.Run = d.text()
	case "verdict":
		r.Verdict = d.text()
	case "action":
		r.Action = d.text()
	case "target":
		r.Target = d.text()
	case "command":
		r.Command = d.text()
	case "dir":
		r.Dir = d.text()
	case "tier":
		r.Tier = d.text()
	case "place":
		r.Place = d.text()
	case "via":
		r.Via = d.text()
	case "addr":
		r.Addr = d.text()
	case "up":
		r.Up = d.number()
	case "down":
		r.Down = d.number()
	case "pid":
		r.PID = int(d.number())
	case "inside":
		r.Inside = int(d.number())
	case "parent":
		r.Parent = int(d.number())
	case "count":
		r.Count = int(d.number())
	case "rule":
		d.object(func(key string) {
			switch key {
			case "id":
				r.Rule.ID = d.text()
			case "text":
				r.Rule.Text = d.text()
			case "file":
				r.Rule.Origin.File = d.text()
			case "line":
				r.Rule.Origin.Line = int(d.number())
			case "lift":
				r.Rule.Lift = d.text()
			default:
				d.skip(0)
			}
		})
	case "code":
		r.Code = int(d.number())
	case "denied":
		r.Denied = int(d.number())
	case "us":
		r.Duration = time.Duration(d.number()) * time.Microsecond
	case "error":
		r.Error = d.text()
	case "trace":
		r.Trace = d.text()
	case "file":
		r.File = int(d.number())
	case "first":
		r.FirstFile = int(d.number())
	case "prev":
		r.Prev = d.text()
	default:
		d.skip(0)
	}
}

// decoder reads JSON as appendRecord writes it, and any that a later version
// may add. After an error bad is set and nothing more is read.
type decoder struct {
	b   []byte
	i   int
	bad bool
}

func (d *decoder) take(c byte) bool {
	if d.bad || d.i >= len(d.b) || d.b[d.i] != c {
		return false
	}
	d.i++
	return true
}

func (d *decoder) need(c byte) {
	if !d.take(c) {
		d.bad = true
	}
}

// object reads an object; value is called where each value stands.
func (d *decoder) object(value func(key string)) {
	d.need('{')
	if d.take('}') {
		return
	}
	for !d.bad {
		key := d.text()
		d.need(':')
		if d.bad {
			return
		}
		value(key)
		if !d.take(',') {
			break
		}
	}
	d.need('}')
}

// number reads a whole number.
func (d *decoder) number() int64 {
	start := d.i
	d.take('-')
	for d.i < len(d.b) && d.b[d.i] >= '0' && d.b[d.i] <= '9' {
		d.i++
	}
	digits := d.b[start:d.i]
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != string(digits) {
		d.bad = true
	}
	return n
}

// text reads a string.
func (d *decoder) text() string {
	d.need('"')
	start := d.i
	for ; !d.bad && d.i < len(d.b); d.i++ {
		switch c := d.b[d.i]; {
		case c == '"':
			s := d.b[start:d.i]
			d.i++
			if !utf8.Valid(s) {
				d.bad = true
			}
			return string(s)
		case c == '\\':
			return d.escaped(start)
		case c < ' ':
			d.bad = true
		}
	}
	d.bad = true
	return ""
}

// escaped reads the rest of a string from its first escape on.
func (d *decoder) escaped(start int) string {
	out := append([]byte(nil), d.b[start:d.i]...)
	for !d.bad && d.i < len(d.b) {
		c := d.b[d.i]
		d.i++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				d.bad = true
			}
			return string(out)
		case c < ' ':
			d.bad = true
		case c != '\\':
			out = append(out, c)
		default:
			out = d.escape(out)
		}
	}
	d.bad = true
	return ""
}

func (d *decoder) escape(out []byte) []byte {
	if d.i >= len(d.b) {
		d.bad = true
		return out
	}
	c := d.b[d.i]
	d.i++
	switch c {
	case '"', '\\', '/':
		return append(out, c)
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'u':
		r := d.hex4()
		if utf16.IsSurrogate(r) {
			if !d.take('\\') || !d.take('u') {
				d.bad = true
			}
			if r = utf16.DecodeRune(r, d.hex4()); r == utf8.RuneError {
				d.bad = true
			}
		}
		return utf8.AppendRune(out, r)
	}
	d.bad = true
	return out
}

func (d *decoder) hex4() rune {
	if d.bad || d.i+4 > len(d.b) {
		d.bad = true
		return 0
	}
	n, err := strconv.ParseUint(string(d.b[d.i:d.i+4]), 16, 16)
	if err != nil {
		d.bad = true
	}
	d.i += 4
	return rune(n)
}

// maxDepth bounds values that are not known.
const maxDepth = 8

// skip reads over a value.
func (d *decoder) skip(depth int) {
	if depth > maxDepth || d.i >= len(d.b) {
		d.bad = true
		return
	}
	switch c := d.b[d.i]; {
	case c == '"':
		d.text()
	case c == '{':
		d.object(func(string) { d.skip(depth + 1) })
	case c == '[':
		d.i++
		if d.take(']') {
			return
		}
		for !d.bad {
			d.skip(depth + 1)
			if !d.take(',') {
				break
			}
		}
		d.need(']')
	case c == '-' || c >= '0' && c <= '9':
		d.number()
	default:
		for _, word := range [...]string{"true", "false", "null"} {
			if rest := d.b[d.i:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
				d.i += len(word)
				return
			}
		}
		d.bad = true
	}
}
