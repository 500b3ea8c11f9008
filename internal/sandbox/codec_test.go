package sandbox

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"bawn/internal/policy"
)

func randomSpec(r *rand.Rand) Spec {
	text := func() string {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = byte(1 + r.IntN(255))
		}
		return string(b)
	}
	list := func() (l []string) {
		for range r.IntN(4) {
			l = append(l, text())
		}
		return l
	}
	s := Spec{Args: list(), Env: list(), Path: text(), Dir: text(), TTY: r.IntN(2) == 0, Mounts: []Mount{}}
	s.Net.Proxy, s.Net.Transparent = r.IntN(2) == 0, r.IntN(2) == 0
	for range r.IntN(3) {
		s.Net.Local = append(s.Net.Local, uint16(r.IntN(1<<16)))
	}
	if r.IntN(2) == 0 {
		s.Guard = Guard{On: true, Roots: list(), Exempt: list(), Paths: list(), Lifted: list(), Protected: list(), Unprotected: list(), Linked: list(), Home: text()}
		if r.IntN(2) == 0 {
			s.Guard.Only = policy.WriteNames{On: true, Folders: list(), Files: list(), Rule: policy.Rule{ID: text(), Text: text(), Lift: text()}}
		}
	}
	for range r.IntN(5) {
		data := text()
		if r.IntN(2) == 0 {
			data += "\x00" + text() + "\x00"
		}
		s.Mounts = append(s.Mounts, Mount{
			Op: Op(1 + r.IntN(int(OpStaged))), Target: text(), Source: text(), Data: data, Mode: uint32(r.IntN(0o10000)),
			Write: r.IntN(2) == 0, Dir: r.IntN(2) == 0, Try: r.IntN(2) == 0, Lost: r.IntN(2) == 0, Kept: r.IntN(2) == 0,
		})
	}
	return s
}

func TestSpecRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		want := randomSpec(r)
		b, err := MarshalSpec(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := UnmarshalSpec(b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%#v became %#v, %v", want, got, err)
		}
		// A text that is cut off or has more is no Spec.
		if _, err := UnmarshalSpec(b[:r.IntN(len(b))]); err == nil {
			t.Fatalf("a part of %q was read", b)
		}
		if _, err := UnmarshalSpec(append(b, 0)); err == nil {
			t.Fatalf("more than %q was read", b)
		}
	}
}

// A NUL in a field would become another step.
func TestA79_MarshalRefusesNUL(t *testing.T) {
	ok := Spec{Args: []string{"a"}, Env: []string{"A=1"}, Path: "/bin", Dir: "/ws", Mounts: []Mount{{Op: OpBind, Target: "/a", Source: "/a"}}}
	if _, err := MarshalSpec(ok); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Spec){
		"argument": func(s *Spec) { s.Args = []string{"a\x00b"} },
		"variable": func(s *Spec) { s.Env = []string{"A=\x00"} },
		"path":     func(s *Spec) { s.Path = "\x00" },
		"dir":      func(s *Spec) { s.Dir = "/\x00" },
		"target":   func(s *Spec) { s.Mounts = []Mount{{Op: OpBind, Target: "/a\x00"}} },
		"source":   func(s *Spec) { s.Mounts = []Mount{{Op: OpBind, Source: "/a\x00"}} },
	} {
		s := ok
		change(&s)
		if _, err := MarshalSpec(s); err == nil {
			t.Errorf("a NUL in the %s passed", name)
		}
	}
	s := ok
	s.Mounts = []Mount{{Op: OpFile, Target: "/f", Data: "a\x00b"}}
	if _, err := MarshalSpec(s); err != nil {
		t.Errorf("a NUL in data: %v", err)
	}
}

func TestUnmarshalIsStrict(t *testing.T) {
	good := "1|true|0||/ws|0|0|1|3|1|0|/a|/a|0|||" // args, env, path, dir, flags, local ports, mounts
	good = strings.TrimSuffix(good, "|")
	read := func(s string) error {
		_, err := UnmarshalSpec([]byte(strings.ReplaceAll(s, "|", "\x00")))
		return err
	}
	if err := read(good); err != nil {
		t.Fatalf("%q: %v", good, err)
	}
	for _, s := range []string{
		"", "|", "1", strings.Replace(good, "1|true", "01|true", 1), strings.Replace(good, "1|true", "+1|true", 1), strings.Replace(good, "1|true", "-1|true", 1),
		strings.Replace(good, "1|true", "9999999999999999999|true", 1), strings.Replace(good, "/ws|0", "/ws|16", 1), strings.Replace(good, "|3|1|0|", "|15|1|0|", 1),
		strings.Replace(good, "|3|1|0|", "|3|32|0|", 1), strings.Replace(good, "|3|1|0|", "|3|1|4096|", 1), strings.Replace(good, "/a|/a|0", "/a|/a|1", 1),
		strings.Replace(good, "/a|/a|0", "/a|/a|00", 1), good + "x|", good + "|",
	} {
		if read(s) == nil {
			t.Errorf("%q was read", s)
		}
	}
}

func FuzzUnmarshalSpec(f *testing.F) {
	r := rand.New(rand.NewPCG(8, 9))
	for range 20 {
		b, _ := MarshalSpec(randomSpec(r))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := UnmarshalSpec(b)
		if err != nil {
			return
		}
		again, err := MarshalSpec(s)
		if err != nil || string(again) != string(b) {
			t.Errorf("%q was read as %#v, which is written as %q, %v", b, s, again, err)
		}
	})
}
