package seatbelt

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// nasty are names that end strings, lists, patterns or comments elsewhere.
var nasty = []string{
	`a")(allow default)("`, `$(id)`, `--bind`, "x\ny", "x\n(allow default)", `back\slash`, `\`, `\"`, `;c`, `#"x"`, `(x)`, `[a-z]*`, `.*`, `^$`, `a|b`, `{2}`, "é", "\u200d", "\t", "'", `%s`, ` `, `(param "X")`, "\x01",
}

// A79: a path of any characters adds no rule, and no verdict about another
// path changes with it.
func TestA79_NamesAddNoRule(t *testing.T) {
	name := rapid.OneOf(rapid.SampledFrom(nasty), rapid.StringN(1, 12, 40)).Filter(func(s string) bool {
		return !strings.ContainsAny(s, "/\x00") && s != "." && s != ".." && utf8.ValidString(s)
	})
	rapid.Check(t, func(t *rapid.T) {
		dir, added, secret := "/Users/dev/w"+name.Draw(t, "workspace"), "/Users/dev/x"+name.Draw(t, "added"), name.Draw(t, "hidden")
		build := func(ws, add, hide string) profile {
			c := policy.Config{
				Tier: policy.Guarded, Workspace: ws, AddDirs: []string{add}, Homes: []string{home}, Guard: true, MacOS: &policy.MacOS{Temp: temp, Cache: temp + "/../C"},
				Hidden:    []policy.PathRule{policy.SettingRule(ws+"/d/"+hide, policy.Hidden, policy.Origin{})},
				Protected: policy.Protected(ws),
			}
			p, err := policy.New(c)
			if err != nil {
				t.Fatal(err)
			}
			text, err := Profile(p, sandbox.Host{Control: []string{ws + "/.git/config"}, Pins: []string{ws + "/.git"}, Names: []string{ws + "/" + hide}}, Run{Temp: []string{own}})
			if err != nil {
				t.Fatal(err)
			}
			out, err := parseProfile(text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			return out
		}
		plain, odd := build("/Users/dev/wplain", "/Users/dev/xplain", "secret"), build(dir, added, secret)
		if len(odd) != len(plain) {
			t.Fatalf("%d rules became %d", len(plain), len(odd))
		}
		for i := range odd {
			if odd[i].allow != plain[i].allow || fmt.Sprint(odd[i].operations) != fmt.Sprint(plain[i].operations) || len(odd[i].filters) != len(plain[i].filters) {
				t.Fatalf("rule %d is another: %v", i, odd[i].operations)
			}
		}
		verdict := func(p profile, op, path string) bool {
			ok, err := p.allows(subject{operation: op, path: path, kind: file})
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		for _, op := range []string{"file-read-data", "file-write-create", "file-write-data", "file-write-unlink", "file-link"} {
			for _, path := range []string{"/", "/Users/dev", "/Users/dev/.zshrc", "/Users/dev/elsewhere/x", "/private/etc/hosts", "/private/tmp/x", own + "/x", temp + "/x"} {
				if verdict(odd, op, path) != verdict(plain, op, path) {
					t.Fatalf("%s %s changed", op, path)
				}
			}
			for _, rel := range []string{"/f", "/sub/f", "/.git/config", "/.git/index", "/.bashrc", "/d"} {
				if verdict(odd, op, dir+rel) != verdict(plain, op, "/Users/dev/wplain"+rel) {
					t.Fatalf("%s %s differs", op, rel)
				}
			}
			if verdict(odd, op, dir+"/d/"+secret) || verdict(odd, op, dir+"/d/"+secret+"/x") {
				t.Fatalf("%s of the hidden %q", op, secret)
			}
		}
	})
}

// A name that cannot be written in a rule is refused, never left out.
func TestA79_NotUTF8(t *testing.T) {
	p, err := policy.New(policy.Config{Tier: policy.Guarded, Workspace: "/Users/dev/\xff", Homes: []string{home}, MacOS: &policy.MacOS{}})
	if err != nil {
		t.Fatal(err)
	}
	var refused *policy.RefusedError
	if _, err := Profile(p, sandbox.Host{}, Run{}); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
	if _, err := Profile(policy.Policy{}, sandbox.Host{}, Run{Temp: []string{"/a/../b"}}); !errors.As(err, &refused) {
		t.Errorf("a path that is not clean: %v", err)
	}
}

// What is quoted reads as itself, and as one string.
func FuzzQuote(f *testing.F) {
	for _, s := range nasty {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		nodes, err := readAll("(x " + quote(s) + ")")
		if err != nil || len(nodes) != 1 || len(nodes[0].list) != 2 || !nodes[0].list[1].string || nodes[0].list[1].text != s {
			t.Fatalf("%q reads as %v, %v", s, nodes, err)
		}
	})
}

// A pattern for a text matches it alone, and a folded one its spellings.
func FuzzPattern(f *testing.F) {
	for _, s := range append(nasty, ".git", "hooks", "config", "Straße", "ffi", "stst") {
		f.Add(s, s+"x")
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		if !utf8.ValidString(s) || !utf8.ValidString(other) || s == "" || strings.Contains(s, "/") || strings.Contains(other, "/") {
			return
		}
		match := func(pattern, name string) bool {
			nodes, err := readAll(regex("/" + pattern))
			if err != nil || len(nodes) != 1 {
				t.Fatalf("%q: %v", pattern, err)
			}
			filter, err := parseFilter(nodes[0])
			if err != nil {
				t.Fatalf("%q: %v", pattern, err)
			}
			return filter(subject{path: "/" + name})
		}
		if !match(exact(s), s) || match(exact(s), other) != (s == other) {
			t.Errorf("%q is not exact, with %q", s, other)
		}
		for _, spelling := range []string{s, strings.ToUpper(s), strings.ToLower(s)} {
			if strings.EqualFold(spelling, s) && !match(folded(s), spelling) {
				t.Errorf("%q does not match %q", s, spelling)
			}
		}
		if strings.EqualFold(other, s) != match(folded(s), other) && !strings.ContainsAny(other, "ﬀﬁﬂﬃﬄﬅﬆßẞ") {
			t.Errorf("%q and %q", s, other)
		}
	})
}

// The reader refuses what profiles do not use, so that a slip of the pen shows.
func TestEvaluatorIsStrict(t *testing.T) {
	for _, text := range []string{
		"", "(version 2)", "(version 1)(allow fil-read*)", `(version 1)(deny default)(allow file-read* (subpth "/"))`, `(version 1)(deny default)(allow file-read* (subpath "x"))`,
		`(version 1)(deny default)(allow file-read* (regex "^a{2}$"))`, `(version 1)(deny default)(allow file-read* (regex "a"))`, `(version 1)(deny default`, `(version 1)(deny default))`,
		`(version 1)(deny default)(allow file-read* (literal "/a" "/b"))`, `(version 1)(deny default)(allow file-read* (literal "/a\n"))`, `(version 1)(deny default)(allow network-outbound (remote ip "10.0.0.1:1"))`,
		`(version 1)(deny default)(allow (literal "/a"))`,
	} {
		if p, err := parseProfile(text); err == nil {
			t.Errorf("%q is %v", text, p)
		}
	}
	// Where the readings differ the verdict is an error.
	for _, text := range []string{
		`(version 1)(deny default)(allow file-read-data (literal "/a"))(deny file-read* (literal "/a"))`,
		`(version 1)(deny default)(deny file-read* (literal "/a"))(allow file-read*)`,
		`(version 1)(deny default)(allow file-read* (require-all (literal "/a") (subpath "/")))(deny file-read* (literal "/a"))`,
	} {
		p, err := parseProfile(text)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := p.allows(subject{operation: "file-read-data", path: "/a"}); err == nil {
			t.Errorf("%s: %v", text, ok)
		}
	}
	p, err := parseProfile(`(version 1)(deny default)(allow file-read* (subpath "/a"))(deny file-read* (literal "/a/b"))(allow file-read* (literal "/a/b"))`)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/a/b": true, "/a": true, "/a/c": true, "/ab": false} {
		if ok, err := p.allows(subject{operation: "file-read-data", path: path}); ok != want || err != nil {
			t.Errorf("%s: %v %v", path, ok, err)
		}
	}
}
