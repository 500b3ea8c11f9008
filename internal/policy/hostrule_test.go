package policy

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func mustRule(t testing.TB, s string) HostRule {
	t.Helper()
	r, err := ParseHostRule(s, Origin{"f.toml", 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustRules(t testing.TB, list ...string) []HostRule {
	t.Helper()
	var out []HostRule
	for _, s := range list {
		out = append(out, mustRule(t, s))
	}
	return out
}

var ruleSpellings = []struct{ in, want string }{
	{"example.com", "example.com"},
	{"EXAMPLE.com.", "example.com"},
	{"*.Example.com", "*.example.com"},
	{"*", "*"},
	{"*:443", "*:443"},
	{"example.com:443", "example.com:443"},
	{"*.example.com:443", "*.example.com:443"},
	{"localhost:18080", "localhost:18080"},
	{"io", "io"},
	{"*.github.io!", "*.github.io!"},
	{"io:443!", "io:443!"},
	{"127.0.0.1:18080", "127.0.0.1:18080"},
	{"127.1", "127.0.0.1"},
	{"::1", "[::1]"},
	{"[::1]", "[::1]"},
	{"[::1]:80", "[::1]:80"},
	{"fd00::12", "[fd00::12]"},
	{"1:2:3:4:5:6:7:8", "[1:2:3:4:5:6:7:8]"},
	{"[2001:db8::1:443]", "[2001:db8::1:443]"},
	{"::ffff:1.2.3.4", "1.2.3.4"},
	{"::", "[::]"},

	{"", ""}, {"!", ""}, {"!evil.test", ""}, {".", ""}, {"*.", ""}, {"**", ""}, {"*.*", ""}, {"*.*.com", ""}, {"a.*.com", ""}, {"exa*mple.com", ""},
	{"*example.com", ""}, {"*.127.0.0.1", ""}, {"*.[::1]", ""}, {"*.0x7f.1", ""}, {".example.com", ""}, {"*..example.com", ""},
	{"2001:db8::1:443", ""}, {"::1:80", ""}, {"[::1", ""}, {"[::1]:", ""}, {"[::1]:0", ""},
	{"example.com:", ""}, {"example.com:0", ""}, {"example.com:65536", ""}, {"example.com:0443", ""}, {"example.com:http", ""}, {":443", ""},
	{"example.com:1:2", ""}, {"https://example.com", ""}, {"example.com/x", ""}, {"10.0.0.0/8", ""}, {"*/", ""}, {"user@example.com", ""},
	{"example.com ", ""}, {"a, b", ""}, {"bücher.example", ""}, {"example.com\x00", ""}, {"example.com!!", ""}, {"*:*", ""}, {"example.com:*", ""},
}

func TestParseHostRule(t *testing.T) {
	for _, c := range ruleSpellings {
		o := Origin{"f.toml", 7}
		r, err := ParseHostRule(c.in, o)
		if c.want == "" {
			if !errors.Is(err, ErrHost) || r != (HostRule{}) {
				t.Errorf("ParseHostRule(%q) = %q, %v; want a refusal", c.in, r, err)
			}
			continue
		}
		if err != nil || r.String() != c.want || r.Origin() != o {
			t.Errorf("ParseHostRule(%q) = %q, %v; want %q", c.in, r, err, c.want)
		}
	}
	if (HostRule{}).String() != "" || (HostRule{}).Covers(Connect{mustHost(t, "a"), 1}) {
		t.Error("the zero rule covers something")
	}
	r := mustRule(t, "*.github.io:443!")
	if r.Host() != mustHost(t, "github.io") || r.Port() != 443 || !r.Insists() || r.Any() || !mustRule(t, "*:80").Any() {
		t.Errorf("%+v", r)
	}
}

// SPEC N5, in pairs.
func TestHostRuleCovers(t *testing.T) {
	for _, c := range []struct {
		rule     string
		yes, not []string
	}{
		{"example.com", []string{"example.com:1", "a.example.com:2", "a.b.EXAMPLE.com.:3"}, []string{"xexample.com:1", "example.com.evil.test:1", "com:1", "ample.com:1"}},
		{"*.example.com", []string{"a.example.com:1", "a.b.example.com:1"}, []string{"example.com:1", "xexample.com:1"}},
		{"*", []string{"example.com:1", "8.8.8.8:1"}, nil},
		{"*:443", []string{"example.com:443"}, []string{"example.com:80"}},
		{"example.com:443", []string{"example.com:443", "a.example.com:443"}, []string{"example.com:8443", "b.com:443"}},
		{"1.2.3.4", []string{"1.2.3.4:1", "[::ffff:1.2.3.4]:2", "0x1020304:3"}, []string{"1.2.3.5:1", "4.1.2.3.4.com:1"}},
		{"[::1]:80", []string{"[::1]:80"}, []string{"[::1]:81", "127.0.0.1:80"}},
	} {
		r := mustRule(t, c.rule)
		for want, list := range map[bool][]string{true: c.yes, false: c.not} {
			for _, s := range list {
				h, port, err := SplitHostPort(s)
				if err != nil {
					t.Fatal(err)
				}
				if r.Covers(Connect{h, port}) != want {
					t.Errorf("%s covers %s: %v", c.rule, s, !want)
				}
			}
		}
		if r.Covers(Connect{Port: 443}) {
			t.Errorf("%s covers no host", c.rule)
		}
	}
}

func genRule() *rapid.Generator[HostRule] {
	return rapid.Custom(func(t *rapid.T) HostRule {
		r := HostRule{port: rapid.SampledFrom([]uint16{0, 0, 80, 443}).Draw(t, "port"), origin: Origin{"f", rapid.IntRange(1, 99).Draw(t, "line")}}
		r.scope = rapid.SampledFrom([]hostScope{scopeHost, scopeHost, scopeBelow, scopeAny}).Draw(t, "scope")
		if r.scope != scopeAny {
			r.host = genHost().Draw(t, "host")
			if _, ok := r.host.Addr(); ok {
				r.scope = scopeHost
			}
		}
		return r
	})
}

func TestHostRuleReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := genRule().Draw(t, "rule")
		r.insists = rapid.Bool().Draw(t, "insists")
		if got, err := ParseHostRule(r.String(), r.origin); err != nil || got != r {
			t.Fatalf("%q reads as %q, %v", r, got, err)
		}
	})
}

func FuzzParseHostRule(f *testing.F) {
	for _, c := range ruleSpellings {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseHostRule(s, Origin{})
		if err != nil {
			if r != (HostRule{}) || !errors.Is(err, ErrHost) || HasControl(err.Error()) {
				t.Fatalf("ParseHostRule(%q) = %q, %q", s, r, err)
			}
			return
		}
		if again, err := ParseHostRule(r.String(), Origin{}); err != nil || again != r {
			t.Fatalf("ParseHostRule(%q) = %q, which reads as %q, %v", s, r, again, err)
		}
		if r.scope == scopeNone || r.Any() != (r.host == Host{}) {
			t.Fatalf("ParseHostRule(%q) = %+v", s, r)
		}
		if r.scope == scopeHost && !r.Covers(Connect{r.host, max(r.port, 1)}) {
			t.Fatalf("%q does not cover its own host", r)
		}
	})
}

// The built-in rules are what their text says, and cover SPEC N1.
func TestDefaultHosts(t *testing.T) {
	rules := DefaultHosts()
	for i, r := range rules {
		if parsed, err := ParseHostRule(defaultHosts[i][len(allowID):], Origin{}); err != nil || parsed != r || r.Origin().String() != "built in" {
			t.Errorf("%q: %+v, %v", defaultHosts[i], r, err)
		}
	}
	rules[0] = HostRule{}
	if DefaultHosts()[0] == (HostRule{}) {
		t.Error("a caller can change the built-in rules")
	}
}
