package plain

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bawn/internal/policy"
)

var wordsCases = []struct {
	text string
	want []string // nil: not plain
}{
	{"git status", []string{"git", "status"}},
	{"  git\tstatus  ", []string{"git", "status"}},
	{"git commit -m 'a; b'", []string{"git", "commit", "-m", "a; b"}},
	{`git commit -m "it's"`, []string{"git", "commit", "-m", "it's"}},
	{`git commit -m 'say "$HOME" \n'`, []string{"git", "commit", "-m", `say "$HOME" \n`}},
	{"git log --format='%h'x", []string{"git", "log", "--format=%hx"}},
	{"git commit -m ''", []string{"git", "commit", "-m", ""}},
	{"git commit -m 'größer ☃'", []string{"git", "commit", "-m", "größer ☃"}},
	{"npm install react@^18", []string{"npm", "install", "react@^18"}},
	{"/opt/x/tool --a=b", []string{"/opt/x/tool", "--a=b"}},

	{"", nil}, {"  ", nil}, {"''", nil},
	{"'g'it status", nil}, {`\git status`, nil}, {`$'\147it' status`, nil}, {`git\ status`, nil}, {`"git" status`, nil}, {"g''it status", nil},
	{"git status; x", nil}, {"git status;", nil}, {"git status && x", nil}, {"git status &&", nil}, {"&& git status", nil}, {"git status || x", nil},
	{"git status | x", nil}, {"git status & x", nil}, {"git status &", nil}, {"git status&x", nil}, {"git status\nx", nil}, {"git status\n", nil}, {"git status\r", nil},
	{"git $X", nil}, {"git $(x)", nil}, {"git `x`", nil}, {"git ${X}", nil}, {"git $((1))", nil}, {`git "$X"`, nil}, {`git "$(x)"`, nil}, {"git \"`x`\"", nil}, {`git "a\"b"`, nil}, {"git !x", nil}, {`git "!x"`, nil},
	{"git <(x)", nil}, {"git >x", nil}, {"git 2>x", nil}, {"git <x", nil}, {"git <<x", nil}, {"git >&2", nil}, {"git &>x", nil},
	{"A=b git", nil}, {"A=b", nil}, {"a[1]=b git", nil}, {"A+=b git", nil},
	{"git *", nil}, {"git a?", nil}, {"git [ab]", nil}, {"git {a,b}", nil}, {"git ~", nil}, {"git ~/x", nil}, {"git #x", nil}, {"git x#", nil},
	{"(git)", nil}, {"{ git; }", nil}, {"! git", nil}, {"git 'a", nil}, {`git "a`, nil}, {"git 'a\nb'", nil}, {"git 'a\x1bb'", nil}, {"git '\u202e'", nil}, {"git '\u3164'", nil}, {"git 'a\u2800'", nil}, {"git '\xff'", nil},
	{"git \u00a0", nil}, {"gіt status", nil}, {"git\x00", nil},
	{"git '" + strings.Repeat("x", maxText) + "'", nil},
}

func TestWords(t *testing.T) {
	for _, c := range wordsCases {
		got, ok := Words(c.text)
		if ok != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("%.60q: %q, %v; want %q", c.text, got, ok, c.want)
		}
	}
}

// bashWords is what bash itself makes of the words of a plain command.
func bashWords(t testing.TB, text string) []string {
	t.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc", "-c", `printf '%s\0' `+text)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=/nowhere"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bash on %q: %v", text, err)
	}
	var words []string
	for w := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		words = append(words, string(w))
	}
	return words
}

// Whatever is called plain must mean the same to bash: printf stands before
// it, and prints each word.
func TestWordsAreThoseOfBash(t *testing.T) {
	for _, c := range wordsCases {
		if c.want == nil || len(c.text) > 1000 {
			continue
		}
		if got := bashWords(t, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q: bash has %q, want %q", c.text, got, c.want)
		}
	}
	piece := rapid.SampledFrom([]string{"a", "git", " ", " ", "\t", "'", "'", `"`, `"`, "=", "-", "/", ":", "^", "%", "x y", "$", "\\", ";", "&&", "é", "!", "#", "*", "~", "{", ",", "}", "\n", "|", ">", "("})
	plain, all := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(rt, "pieces"), "")
		all++
		words, ok := Words(text)
		if !ok {
			return
		}
		plain++
		if got := bashWords(t, text); !slices.Equal(got, words) {
			rt.Fatalf("%q: bash has %q, here %q", text, got, words)
		}
	})
	if plain == 0 {
		t.Fatalf("none of %d texts was plain", all)
	}
}

func TestQuoteIsReadBack(t *testing.T) {
	for _, args := range [][]string{{"git", "status"}, {"a b", "it's", "", "\n", "\x1b[31m", "é\u202ex", "\u3164", "\u2800x\u115f\u1160", "\uffa0\ufe0f", "\xff7", "\uFFFD", "A=b", "~", "{a,b}", "\\", "\x01" + "2"}, {"if"}} {
		checkQuote(t, args)
	}
	if got := Quote([]string{"echo", "\x1b]0;x\x07\u202e"}); got != `echo $'\033]0;x\007\342\200\256'` {
		t.Errorf("control characters: %s", got)
	}
	if got := Quote([]string{"if", "if", "x"}); got != "'if' if x" {
		t.Errorf("keyword: %s", got)
	}
	rapid.Check(t, func(rt *rapid.T) {
		args := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(rapid.ByteRange(1, 255), 0, 6), func(b []byte) string { return string(b) }), 1, 3).Draw(rt, "args")
		checkQuote(t, args)
	})
}

func checkQuote(t testing.TB, args []string) {
	t.Helper()
	q := Quote(args)
	if !policy.AllVisible(q) {
		t.Fatalf("%q holds what a person would not see", q)
	}
	if got := bashWords(t, q); !slices.Equal(got, args) {
		t.Fatalf("%q is read back as %q from %q", args, got, q)
	}
}
