package policy

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
)

// randomPath makes clean paths of few names, so that they nest and meet;
// the names sort around the separator on purpose.
func randomPath(r *rand.Rand) string {
	names := []string{"a", "b", "a.b", "a-b", "a b", "ab", "é"}
	n := r.IntN(5)
	p := ""
	for range n {
		p += "/" + names[r.IntN(len(names))]
	}
	if p == "" {
		return "/"
	}
	return p
}

func randomRules(r *rand.Rand) []PathRule {
	rules := make([]PathRule, r.IntN(20))
	for i := range rules {
		a := Access(r.IntN(4))
		rules[i] = FixedRule(randomPath(r), a, "rule:"+a.String(), "made for a test")
	}
	return rules
}

// covers is Inside by another way: element by element.
func covers(dir, p string) bool {
	d, e := strings.Split(strings.Trim(dir, "/"), "/"), strings.Split(strings.Trim(p, "/"), "/")
	if dir == "/" {
		return true
	}
	return p != "/" && len(e) >= len(d) && slices.Equal(d, e[:len(d)])
}

// slowLookup is what Lookup must give: the longest path that covers, and of
// equal ones the strictest.
func slowLookup(rules []PathRule, p string) (best PathRule, ok bool) {
	for _, r := range rules {
		if !covers(r.Path, p) {
			continue
		}
		if !ok || len(r.Path) > len(best.Path) || (r.Path == best.Path && r.Access < best.Access) {
			best, ok = r, true
		}
	}
	return best, ok
}

func TestLookupIsLongestThenStrictest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		rules := randomRules(r)
		before := slices.Clone(rules)
		sorted := newTable(rules)
		if !slices.Equal(rules, before) {
			t.Fatal("newTable changed its argument")
		}
		for range 20 {
			p := randomPath(r)
			want, ok := slowLookup(rules, p)
			if !ok {
				want = PathRule{Path: p}
			}
			var below []PathRule
			for _, x := range sorted.Rules() {
				if x.Path != p && covers(p, x.Path) {
					below = append(below, x)
				}
			}
			for _, table := range []Table{sorted, {rules: rules, loose: true, about: []string{p}}} {
				if got := table.Lookup(p); got != want {
					t.Fatalf("Lookup(%q) = %v %v, want %v %v, in %v", p, got.Path, got.Access, want.Path, want.Access, rules)
				}
				at, found := table.At(p)
				if found != (ok && want.Path == p) || (found && at != want) {
					t.Fatalf("At(%q) = %v, %v", p, at, found)
				}
				for _, c := range []struct {
					a    Action
					want bool
				}{{Read{p}, want.Access != Hidden}, {Write{p}, want.Access >= Private}} {
					d := table.Decide(c.a)
					if (d.Verdict == Allow) != c.want || d.Rule.ID != want.Rule().ID {
						t.Fatalf("Decide(%#v) = %+v, want allow %v", c.a, d, c.want)
					}
				}
				if got := table.Below(p); !slices.Equal(got, below) {
					t.Fatalf("Below(%q) = %v, want %v", p, got, below)
				}
				if !slices.Equal(table.Rules(), sorted.Rules()) {
					t.Fatalf("rules %v, want %v", table.Rules(), sorted.Rules())
				}
			}
		}
	}
}

func TestTableIsImmutable(t *testing.T) {
	rules := []PathRule{FixedRule("/a", Hidden, "a", ""), FixedRule("/b", ReadOnly, "b", "")}
	table := newTable(rules)
	rules[0].Access = ReadWrite
	table.Rules()[0].Access = ReadWrite
	_ = append(table.Below("/a"), FixedRule("/z", ReadWrite, "z", ""))
	if r := table.Lookup("/a"); r.Access != Hidden {
		t.Errorf("/a became %v", r.Access)
	}
	if r := table.Lookup("/b"); r.Path != "/b" {
		t.Errorf("/b became %v", r.Path)
	}
}

func TestDecideForm(t *testing.T) {
	table := newTable([]PathRule{FixedRule("/", ReadWrite, "root", "all")})
	if d := table.Decide(Write{"/a/b"}); d.Verdict != Allow {
		t.Fatalf("a clean path: %+v", d)
	}
	for _, p := range []string{"", "a", "./a", "/a/", "/a//b", "/a/.", "/a/../b", "/..", "//a", "/a\x00b"} {
		for _, a := range []Action{Read{p}, Write{p}} {
			if d := table.Decide(a); d.Verdict != Deny || d.Rule.ID != "path:form" {
				t.Errorf("%#v: %+v", a, d)
			}
		}
	}
}

func TestIsClean(t *testing.T) {
	elems := []string{"a", "", ".", "..", "...", " ", "a.b", "\n", "\x00"}
	for _, a := range elems {
		for _, b := range elems {
			for _, c := range elems {
				for _, p := range []string{"/" + a, "/" + a + "/" + b, "/" + a + "/" + b + "/" + c, a + "/" + b, a} {
					want := strings.HasPrefix(p, "/") && path.Clean(p) == p && !strings.Contains(p, "\x00")
					if got := IsClean(p); got != want {
						t.Errorf("IsClean(%q) = %v", p, got)
					}
				}
			}
		}
	}
}

func TestInsideAndParent(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		p, dir := randomPath(r), randomPath(r)
		if got := Inside(p, dir); got != covers(dir, p) {
			t.Fatalf("Inside(%q, %q) = %v", p, dir, got)
		}
		if got := Parent(p); got != path.Dir(p) {
			t.Fatalf("Parent(%q) = %q", p, got)
		}
	}
	// A65: a prefix is not a folder.
	for _, c := range []struct {
		p, dir string
		want   bool
	}{{"/ws", "/ws", true}, {"/ws/x", "/ws", true}, {"/ws-evil/x", "/ws", false}, {"/w", "/ws", false}, {"/", "/ws", false}, {"/ws", "/", true}} {
		if Inside(c.p, c.dir) != c.want {
			t.Errorf("Inside(%q, %q) = %v", c.p, c.dir, !c.want)
		}
	}
}

// A set of paths holds what Inside says of one of them.
func TestPathSetIsInside(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	held := 0
	for range 20_000 {
		set := pathSet{}
		for range r.IntN(4) {
			set[randomPath(r)] = struct{}{}
		}
		p, want := randomPath(r), false
		for d := range set {
			want = want || Inside(p, d)
		}
		if got := set.holds(p); got != want {
			t.Fatalf("%v holds %q: %v, want %v", set, p, got, want)
		}
		if want {
			held++
		}
	}
	if held < 1000 || held > 19_000 {
		t.Errorf("%d of 20000 were held: the paths show nothing", held)
	}
}
