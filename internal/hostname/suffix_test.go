package hostname

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/publicsuffix"
	"pgregory.net/rapid"

	"bawn/internal/policy"
)

var update = flag.Bool("update", false, "write suffixes.txt anew from golang.org/x/net")

// netRules reads the rules that the module's own test has.
func netRules(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "golang.org/x/net/publicsuffix").Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(out)), "table_test.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || v.Names[0].Name != "rules" {
			return true
		}
		for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
			s, err := strconv.Unquote(e.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, s)
		}
		return false
	})
	if len(rules) < 9000 {
		t.Fatalf("only %d rules", len(rules))
	}
	return rules
}

// topLevels are the top-level domains that the rules are about. Some have no
// rule of their own (za, ck), which makes them no less public.
func topLevels(rules []string) []string {
	var out []string
	for _, r := range rules {
		out = append(out, r[strings.LastIndexByte(r, '.')+1:])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// The list is the one of the required version of golang.org/x/net.
func TestSuffixesAreCurrent(t *testing.T) {
	rules := netRules(t)
	rules = append(rules, topLevels(rules)...)
	slices.Sort(rules)
	want := strings.Join(slices.Compact(rules), "\n") + "\n"
	if *update {
		if err := os.WriteFile("suffixes.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("suffixes.txt"); err != nil || string(got) != want {
		t.Fatalf("suffixes.txt is not the list of golang.org/x/net (%v): go test ./internal/hostname -update", err)
	}
}

// For every rule, and for names at, above and below it, the suffix is the one
// that golang.org/x/net finds.
func TestSuffixOf(t *testing.T) {
	rules := netRules(t)
	tops := topLevels(rules)
	same := func(name string) {
		want, _ := publicsuffix.PublicSuffix(name)
		_, known := slices.BinarySearch(tops, name[strings.LastIndexByte(name, '.')+1:])
		if got, listed := suffixOf(name); got != want || listed != known {
			t.Errorf("the suffix of %q is %q, %v; golang.org/x/net has %q, %v", name, got, listed, want, known)
		}
	}
	for _, r := range rules {
		r = strings.TrimPrefix(strings.TrimPrefix(r, "!"), "*.")
		for _, name := range []string{r, "a." + r, "b.a." + r, "c.b.a." + r} {
			same(name)
		}
		if _, parent, ok := strings.Cut(r, "."); ok {
			same(parent)
			same("a." + parent)
		}
	}
	for _, name := range []string{"", "localhost", "a.localhost", "zzzz", "a.zzzz", "0", "-", "~", "a"} {
		if name != "" {
			same(name)
		}
		if inList(name + "\n") {
			t.Errorf("%q is in the list", name)
		}
	}
	if inList("") {
		t.Error("nothing is in the list")
	}
}

func TestRegistrableAgrees(t *testing.T) {
	rules := netRules(t)
	rapid.Check(t, func(t *rapid.T) {
		r := strings.TrimPrefix(strings.TrimPrefix(rapid.SampledFrom(rules).Draw(t, "rule"), "!"), "*.")
		name := rapid.SampledFrom([]string{"", "a.", "a.b.", "a.b.c."}).Draw(t, "below") + r
		want, err := publicsuffix.EffectiveTLDPlusOne(name)
		if err != nil {
			want = name
		}
		if got := Registrable(mustHost(t, name)); got != want {
			t.Fatalf("Registrable(%q) = %q, want %q", name, got, want)
		}
	})
}

func BenchmarkCheckRule(b *testing.B) {
	r, err := ParseRule("*.files.example.co.uk", policy.Origin{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := CheckRule(r); err != nil {
			b.Fatal(err)
		}
	}
}
