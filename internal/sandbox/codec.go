package sandbox

import (
	"errors"
	"strconv"
	"strings"

	"bawn/internal/policy"
)

// errSpec is returned for any text that MarshalSpec did not write.
var errSpec = errors.New("malformed sandbox description")

// MarshalSpec writes a Spec as NUL-terminated fields. Paths, arguments and
// variables cannot hold a NUL; a Spec that does is an error, since a field
// that splits in two would become another step. Data is written with its
// length and may hold any byte.
func MarshalSpec(s Spec) ([]byte, error) {
	b := make([]byte, 0, 16<<10)
	bad := false
	str := func(v string) {
		bad = bad || strings.IndexByte(v, 0) >= 0
		b = append(append(b, v...), 0)
	}
	num := func(n int) { b = append(strconv.AppendInt(b, int64(n), 10), 0) }
	list := func(v []string) {
		num(len(v))
		for _, e := range v {
			str(e)
		}
	}
	list(s.Args)
	list(s.Env)
	str(s.Path)
	str(s.Dir)
	num(flag(s.TTY, 1) | flag(s.Net.Proxy, 2) | flag(s.Net.Transparent, 4) | flag(s.Guard.On, 8) | flag(s.Guard.Only.On, 16))
	num(len(s.Net.Local))
	for _, p := range s.Net.Local {
		num(int(p))
	}
	if s.Guard.On {
		for _, l := range [][]string{s.Guard.Roots, s.Guard.Exempt, s.Guard.Paths, s.Guard.Lifted, s.Guard.Protected, s.Guard.Unprotected, s.Guard.Linked} {
			list(l)
		}
		str(s.Guard.Home)
		if o := s.Guard.Only; o.On {
			list(o.Folders)
			list(o.Files)
			str(o.Rule.ID)
			str(o.Rule.Text)
			str(o.Rule.Lift)
		}
	}
	num(len(s.Mounts))
	for _, m := range s.Mounts {
		num(int(m.Op))
		num(flag(m.Write, 1) | flag(m.Dir, 2) | flag(m.Try, 4) | flag(m.Lost, 8) | flag(m.Kept, 16))
		num(int(m.Mode))
		str(m.Target)
		str(m.Source)
		num(len(m.Data))
		b = append(append(b, m.Data...), 0)
	}
	if s.Guard.Only.On && !s.Guard.On {
		return nil, errors.New("writes limited to names, and no name guard to hold them")
	}
	if bad {
		return nil, errors.New("a path, argument or variable holds a NUL byte")
	}
	return b, nil
}

func flag(on bool, bit int) int {
	if on {
		return bit
	}
	return 0
}

// UnmarshalSpec reads what MarshalSpec wrote; anything else is an error.
func UnmarshalSpec(b []byte) (Spec, error) {
	d := decoder{rest: string(b)}
	var s Spec
	s.Args = d.list()
	s.Env = d.list()
	s.Path = d.str()
	s.Dir = d.str()
	f := d.num(31)
	s.TTY, s.Net.Proxy, s.Net.Transparent = f&1 != 0, f&2 != 0, f&4 != 0
	n := d.num(len(d.rest))
	for i := 0; i < n && !d.bad; i++ {
		s.Net.Local = append(s.Net.Local, uint16(d.num(1<<16-1)))
	}
	if s.Guard.On = f&8 != 0; s.Guard.On {
		for _, l := range []*[]string{&s.Guard.Roots, &s.Guard.Exempt, &s.Guard.Paths, &s.Guard.Lifted, &s.Guard.Protected, &s.Guard.Unprotected, &s.Guard.Linked} {
			*l = d.list()
		}
		s.Guard.Home = d.str()
		if o := &s.Guard.Only; f&16 != 0 {
			o.On = true
			o.Folders, o.Files = d.list(), d.list()
			o.Rule = policy.Rule{ID: d.str(), Text: d.str(), Lift: d.str()}
		}
	} else if f&16 != 0 {
		d.bad = true
	}
	n = d.num(len(d.rest))
	s.Mounts = make([]Mount, 0, min(n, 4096))
	for i := 0; i < n && !d.bad; i++ {
		m := Mount{Op: Op(d.num(int(OpStaged)))}
		f := d.num(31)
		m.Write, m.Dir, m.Try, m.Lost, m.Kept = f&1 != 0, f&2 != 0, f&4 != 0, f&8 != 0, f&16 != 0
		m.Mode = uint32(d.num(0o7777))
		m.Target = d.str()
		m.Source = d.str()
		m.Data = d.bytes(d.num(len(d.rest)))
		s.Mounts = append(s.Mounts, m)
	}
	if d.bad || d.rest != "" {
		return Spec{}, errSpec
	}
	return s, nil
}

type decoder struct {
	rest string
	bad  bool
}

func (d *decoder) str() string {
	v, rest, ok := strings.Cut(d.rest, "\x00")
	if !ok {
		d.bad, d.rest = true, ""
		return ""
	}
	d.rest = rest
	return v
}

func (d *decoder) bytes(n int) string {
	if d.bad || n >= len(d.rest) || d.rest[n] != 0 {
		d.bad = true
		return ""
	}
	v := d.rest[:n]
	d.rest = d.rest[n+1:]
	return v
}

// num reads one number in its only form, from 0 to limit.
func (d *decoder) num(limit int) int {
	v := d.str()
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > limit || strconv.Itoa(n) != v {
		d.bad = true
		return 0
	}
	return n
}

func (d *decoder) list() []string {
	n := d.num(len(d.rest))
	var v []string
	for i := 0; i < n && !d.bad; i++ {
		v = append(v, d.str())
	}
	return v
}
