package hostname

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/idna"
	"pgregory.net/rapid"

	"bawn/internal/policy"
)

func mustHost(t interface {
	Helper()
	Fatal(...any)
}, s string,
) policy.Host {
	t.Helper()
	a, err := ToASCII(s)
	if err != nil {
		t.Fatal(err)
	}
	h, err := policy.ParseHost(a)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// international are names as people write them; "" is refused.
var international = []struct{ in, want string }{
	{"example.com", "example.com"},
	{"EXAMPLE.com.", "example.com"},
	{"BÜCHER.example.", "xn--bcher-kva.example"},
	{"bu\u0308cher.example", "xn--bcher-kva.example"}, // the same letter in two pieces
	{"xn--bcher-kva.example", "xn--bcher-kva.example"},
	{"XN--BCHER-KVA.EXAMPLE", "xn--bcher-kva.example"},
	{"straße.example", "xn--strae-oqa.example"},
	{"例え。テスト", "xn--r8jz45g.xn--zckzah"},
	{"пример.рф", "xn--e1afmkfd.xn--p1ai"},
	{"_x.bücher.example", "_x.xn--bcher-kva.example"},
	{"ｅｘａｍｐｌｅ．com", "example.com"},       // full-width letters
	{"exa\u00admple.com", "example.com"}, // soft hyphen
	{"１２７.0.0.1", "127.0.0.1"},
	{"①②⑦.1", "127.0.0.1"},
	{"\u212a.example", "k.example"}, // the sign for kelvin
	{"[::1]", "::1"},
	{"127.1", "127.0.0.1"},

	{"", ""}, {".", ""}, {"。", ""}, {"bücher..example", ""}, {"a℀b.example", ""}, {"bücher.example/x", ""}, {"bü cher.example", ""}, {"bücher%2eexample", ""},
	{"ex\u2024ample\uff20evil.test", ""}, {"xn--.example", ""}, {"xn--a.example", ""}, {"xn--80ak6aa92e0-.com", ""}, {"bücher\x00.example", ""},
	{"\u200dx.example", ""}, {"א1a.example", ""}, {strings.Repeat("ü", 60) + ".example", ""}, {strings.Repeat("ü", 5000), ""}, {"\xff.example", ""},
	{"xn--bcher-kva.example\xff", ""}, {"１.2.3.999", ""},
}

func TestToASCII(t *testing.T) {
	for _, c := range international {
		got, err := ToASCII(c.in)
		if c.want == "" {
			if !errors.Is(err, policy.ErrHost) || got != "" || policy.HasControl(err.Error()) || len(err.Error()) > 500 {
				t.Errorf("ToASCII(%.80q) = %q, %.200v; want a refusal", c.in, got, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("ToASCII(%q) = %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}

func TestParseHostPort(t *testing.T) {
	for s, want := range map[string]string{
		"example.com": "example.com 0", "Example.COM.:80": "example.com 80", "BÜCHER.example": "xn--bcher-kva.example 0",
		"bücher.example:443": "xn--bcher-kva.example 443", "127.1": "127.0.0.1 0", "::1": "::1 0", "[::1]:22": "::1 22", "[::1]": "::1 0",
		"": "", ":80": "", "x:": "", "x:0": "", "bücher.example:x": "", "1:2:3": "", "https://example.com": "", "example.com/x": "", "*.example.com": "", "a b": "",
	} {
		h, port, err := ParseHostPort(s)
		if got := fmt.Sprint(h, " ", port); err == nil && got != want || err != nil && (want != "" || !errors.Is(err, policy.ErrHost)) {
			t.Errorf("%q: %s, %v; want %q", s, got, err, want)
		}
	}
}

func FuzzToASCII(f *testing.F) {
	for _, c := range international {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ToASCII(s)
		if err != nil {
			if a != "" || !errors.Is(err, policy.ErrHost) {
				t.Fatalf("ToASCII(%q) = %q, %v", s, a, err)
			}
			return
		}
		h, err := policy.ParseHost(a)
		if err != nil || h.String() != a {
			t.Fatalf("ToASCII(%q) = %q, which reads as %q, %v", s, a, h, err)
		}
		if again, err := ToASCII(a); err != nil || again != a {
			t.Fatalf("ToASCII(%q) = %q, and again %q, %v", s, a, again, err)
		}
		// What the wire form alone would decide is the same host.
		if direct, err := policy.ParseHost(s); err == nil && direct != h {
			t.Fatalf("%q is %q and %q", s, direct, h)
		}
		text, warning := Display(h)
		if text != a || policy.HasControl(warning) || strings.ContainsAny(warning, "\u202e\u2066\u200f\n") {
			t.Fatalf("Display(%q) = %q, %q", a, text, warning)
		}
		if r := Registrable(h); !strings.HasSuffix(a, r) || r == "" {
			t.Fatalf("Registrable(%q) = %q", a, r)
		}
	})
}

func TestParseRule(t *testing.T) {
	o := policy.Origin{File: "f.toml", Line: 3}
	for in, want := range map[string]string{
		"*.bücher.example:443!": "*.xn--bcher-kva.example:443!", "bücher.example": "xn--bcher-kva.example", "*": "*", "*:443": "*:443",
		"*.XN--BCHER-KVA.example": "*.xn--bcher-kva.example", "[::1]:80": "[::1]:80", "１２７.1:80": "127.0.0.1:80",
		"bücher.example:0": "", "bücher.example:": "", "bücher.example:1:2": "", "*.*.bücher.example": "", "*bücher.example": "", "!bücher.example": "",
		"https://bücher.example": "", "bücher.example/x": "", "": "", "*.１２７.1": "", "bücher.example!!": "",
	} {
		r, err := ParseRule(in, o)
		if want == "" {
			if !errors.Is(err, policy.ErrHost) || r != (policy.HostRule{}) {
				t.Errorf("ParseRule(%q) = %q, %v", in, r, err)
			}
			continue
		}
		if err != nil || r.String() != want || r.Origin() != o {
			t.Errorf("ParseRule(%q) = %q, %v; want %q", in, r, err, want)
		}
	}
}

// A rule for a suffix that many owners share opens the world; each refused one
// has an allowed neighbour.
func TestA09_PublicSuffixes(t *testing.T) {
	for refused, allowed := range map[string]string{
		"com": "example.com", "*.com": "*.example.com", "*.io": "*.a.io", "co.uk": "example.co.uk", "*.github.io": "*.me.github.io", "github.io:443": "me.github.io:443",
		"*.ck": "www.ck", "za": "example.co.za", "*.compute.amazonaws.com": "a.b.compute.amazonaws.com", "foo.ck": "a.foo.ck", "рф": "пример.рф", "*.xn--p1ai": "*.xn--e1afmkfd.xn--p1ai", "IO.": "a.IO.",
		"s3.amazonaws.com": "bucket.s3.amazonaws.com", "test": "", "dev": "localhost", "*.app": "*.localhost", "arpa": "intranet", "org": "*", "net": "*:443", "uk": "127.0.0.1",
	} {
		check := func(s string) error {
			r, err := ParseRule(s, policy.Origin{File: "f.toml", Line: 9})
			if err != nil {
				t.Fatal(err)
			}
			return CheckRule(r)
		}
		if allowed != "" {
			if err := check(allowed); err != nil {
				t.Errorf("%q: %v", allowed, err)
			}
		}
		if refused == "test" {
			continue
		}
		err := check(refused)
		var r *policy.RefusedError
		if !errors.As(err, &r) || !strings.Contains(r.Lift, `!" to insist`) || !strings.Contains(r.What, "f.toml:9") {
			t.Errorf("%q: %v", refused, err)
		}
		if err := check(refused + "!"); err != nil {
			t.Errorf("%q insists: %v", refused, err)
		}
	}
	for _, r := range policy.DefaultHosts() {
		// This one is on the list, for the files of many owners; SPEC N1 has it.
		if err := CheckRule(r); (err != nil) != (r.String() == "githubusercontent.com") {
			t.Error(err)
		}
		if got := Registrable(r.Host()); got != r.String() {
			t.Errorf("%q is not the registrable domain %q", r, got)
		}
	}
}

func TestRegistrable(t *testing.T) {
	for in, want := range map[string]string{
		"a.b.example.co.uk": "example.co.uk", "example.com": "example.com", "allowed.test.evil.test": "evil.test", "me.github.io": "me.github.io",
		"x.me.github.io": "me.github.io", "com": "com", "github.io": "github.io", "localhost": "localhost", "127.0.0.1": "127.0.0.1", "[::1]": "::1",
	} {
		if got := Registrable(mustHost(t, in)); got != want {
			t.Errorf("Registrable(%q) = %q, want %q", in, got, want)
		}
	}
	if Registrable(policy.Host{}) != "" {
		t.Error("no host has a registrable domain")
	}
}

func TestA136_LookAlikes(t *testing.T) {
	for in, want := range map[string][]string{
		"allowed.test":           nil,
		"allowed.test.evil.test": nil,
		"127.0.0.1":              nil,
		"\u0430llowed.test":      {`reads "аllowed.test"`, "looks like allowed.test"},
		"аррӏе.com":              {`reads "аррӏе.com"`, "looks like apple.com"},
		"gıthub.com":             {"looks like github.com"},
		"ɡithub.com":             {"looks like github.com"},
		"x.gοοgle.com":           {"looks like x.google.com"},
		"жllowed.test":           {`reads "жllowed.test"`, "mixes Latin and Cyrillic"},
		"аλ.test":                {"mixes Cyrillic and Greek"},
		"bücher.example":         {`reads "bücher.example"`, "outside ASCII"},
		"пример.рф":              {`reads "пример.рф"`, "outside ASCII"},
		"hello世界.example":        {"outside ASCII"},
		"東京タワーの.example":         {"outside ASCII"},
		"한국hanja漢.example":       {"outside ASCII"},
		"אבג.example":            {`reads "\u05d0\u05d1\u05d2.example"`},
	} {
		h := mustHost(t, in)
		text, warning := Display(h)
		if text != h.String() || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-_.:") != "" {
			t.Errorf("Display(%q) shows %q", in, text)
		}
		if (warning == "") != (want == nil) {
			t.Errorf("Display(%q) warns %q", in, warning)
		}
		for _, w := range want {
			if !strings.Contains(warning, w) {
				t.Errorf("Display(%q) warns %q, without %q", in, warning, w)
			}
		}
		for what, word := range map[string]string{"mixes": "mixes", "twin": "looks like"} {
			if strings.Contains(warning, word) && !strings.Contains(strings.Join(want, " "), word) {
				t.Errorf("Display(%q): %s: %q", in, what, warning)
			}
		}
	}
	// On the wire a label may be no name at all.
	for _, s := range []string{"xn--.test", "xn--a.test", "xn--llowed-.test", "a.xn--999999999.test", "xn--allowed-.test"} {
		h, err := policy.ParseHost(s)
		if err != nil {
			t.Fatal(err)
		}
		if text, warning := Display(h); text != s || !strings.Contains(warning, "no valid international name") {
			t.Errorf("Display(%q) = %q, %q", s, text, warning)
		}
	}
}

// ParseHost agrees with the URL parser and the IDNA tables of the Go world on
// what a host is, wherever it takes one.
func TestParseHostAgainstURL(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		"a", "B", "example", "com", ".", "..", "-", "_", "0", "1", "127", "0x7f", "0177", "256", "xn--", "xn--bcher-kva", ":", "::", "[", "]", "%", "%2e", "%00",
		"@", "/", "?", "#", "\\", " ", "\x00", "\n", "ü", "。", "*", "1.2.3.4", "::1", "[::1]", "443", "fe80::1%25lo", "'", "\"", "<", "~", "!", "$", "&", "(", ";", "=", "+", ",", "|",
	})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(pieces, 1, 6).Draw(t, "pieces"), "")
		h, err := policy.ParseHost(s)
		if err != nil {
			return
		}
		if !strings.HasPrefix(s, "[") && strings.Contains(s, ":") {
			s = "[" + s + "]" // a URL has no other IPv6
		}
		for _, authority := range []string{s, s + ":443"} {
			u, err := url.Parse("http://" + authority + "/")
			if err != nil {
				t.Fatalf("%q is a host, but no URL has it: %v", s, err)
			}
			if got, err := policy.ParseHost(u.Hostname()); err != nil || got != h || u.User != nil || u.Path != "/" || u.RawQuery != "" {
				t.Fatalf("%q is %q, in a URL %q, %v", s, h, u.Hostname(), err)
			}
		}
		if got, port, err := policy.SplitHostPort(s + ":443"); err != nil || got != h || port != 443 {
			t.Fatalf("SplitHostPort(%q) = %q, %d, %v", s+":443", got, port, err)
		}
		if _, isAddr := h.Addr(); isAddr {
			return
		}
		if a, err := netip.ParseAddr(strings.TrimSuffix(s, ".")); err == nil {
			t.Fatalf("%q is the name %q and the address %v", s, h, a)
		}
		if a, err := idna.Lookup.ToASCII(s); err == nil && strings.TrimSuffix(a, ".") != h.String() && !strings.Contains(h.String()+".", "xn--.") { // idna drops that label
			t.Fatalf("%q is %q, and by IDNA %q", s, h, a)
		}
	})
}
