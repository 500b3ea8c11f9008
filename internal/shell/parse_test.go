package shell

import (
	"bytes"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bawn/internal/policy"
)

// brief writes commands down for comparison: unknown ends as …, assignments
// and redirections before the words.
func brief(list []Command) string {
	word := func(w Word) string {
		if !w.Known {
			return w.Text + "…"
		}
		return w.Text
	}
	var out []string
	for _, c := range list {
		var parts []string
		for _, a := range c.Assigns {
			parts = append(parts, a.Name+"="+word(a.Value))
		}
		for _, r := range c.Redirects {
			parts = append(parts, r.Op+word(r.Target))
		}
		for _, w := range c.Words {
			parts = append(parts, word(w))
		}
		s := strings.Join(parts, " ")
		if c.Opaque {
			s += " ??"
		}
		out = append(out, s)
	}
	return strings.Join(out, " | ")
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"# nothing", ""}, {"git status", "git status"}, {"a; b", "a | b"}, {"a && b || c", "a | b | c"}, {"a | b |& c", "a | b | c"}, {"a & b", "a | b"}, {"a\nb", "a | b"},
		{"! a", "a"}, {"(a; b)", "a | b"}, {"{ a; }", "a"}, {"time a", "a"}, {"coproc a", "a"}, {"if a; then b; elif c; then d; else e; fi", "a | b | c | d | e"}, {"while a; do b; done", "a | b"},
		{"for i in x $(a); do b $i; done", "i=… | a | b …"}, {"select i in x; do b; done", "i=… | b"}, {"for ((i=$(a); i<1; i++)); do b; done", " ?? | a | b"}, {"for ((;;)); do b; done", "b"}, {"case $(a) in x$(b)) c;; esac", "a | b | c"}, {"f() { a; }; f", "a | f"}, {"function f { a; }", "a"},
		{"a $(b $(c))", "a … | b … | c"}, {"a `b`", "a … | b"}, {`a "$(b)"`, "a … | b"}, {"a <(b) >(c)", "a … … | b | c"}, {"a ${x:-$(b)}", "a … | b"}, {"a $(( $(b) ))", "a … |  ?? | b"}, {"a $((1+$#))", "a …"}, {"a=$(b)", "a=… | b"}, {"a[$(b)]=c", "a=… |  ?? | b"}, {"a[1]=c", "a=…"}, {"a=(x $(b))", "a=… | b"}, {"${x@P}", "… |  ??"}, {"a ${x:=$(b)} ${y=1}", "a … … | x=… | b | y=…"},
		{"a <<E\n$(b)\nE", "a | b"}, {"a <<'E'\n$(b)\nE", "a"}, {"a <<< $(b)", "a | b"}, {"a > f 2>&1 < g", ">f >&1 <g a"}, {"> f", ">f"}, {"{ a; } > f", ">f | a"}, {"a > $(b)", ">… a | b"}, {"a &> f", "&>f a"},
		{"A=1 B=$x a", "A=1 B=… a"}, {"A=1", "A=1"}, {"export A=1 B", "A=1 export B"}, {"typeset -x P=$(b)", "P=… typeset -x | b"}, {"declare $x", "declare … ??"}, {"declare x", "declare x"}, {"let x=$(b)", "let … ?? | b"}, {"(( x ))", "(( … ??"}, {"(( 1 ))", "(( …"}, {"[[ -f $(a) ]]", "[[ … | a"},
		{"'g'it s\"x\"", "git sx"}, {`\git a\ b "a\$b\"c" "a\b"`, `git a b a$b"c a\b`}, {`$'git'`, "git"}, {`$'\147it'`, "…"}, {`$"git"`, "…"}, {"a ~ ~/x x~ a=~/x", "a ~… ~/x… x~ a=…"}, {"a {b,c} {} x{1..2} {\"b\",c}", "a … {} x… …"}, {"a *.c b?c d[e] 'f*'", "a … b… d… f*"}, {`a \*`, "a *"}, {"a x$y/z", "a x…"}, {"g\\\nit", "git"},
		// what arguments name
		{"env A=1 -u B git x", "env A=1 -u B git x"}, {"env -u B A=1 git x", "env -u B A=1 git x | A=1 git x"}, {"env -S 'a b'", "env -S a b ?? | …"}, {"sudo -u r -E git x", "sudo -u r -E git x | git x"}, {"sudo -nu r git", "sudo -nu r git | git"}, {"timeout -k 3 5 git x", "timeout -k 3 5 git x | git x"}, {"timeout $t git", "timeout … git ?? | …"}, {"nice -n 5 git", "nice -n 5 git | git"}, {"nice -n5 git", "nice -n5 git | git"}, {"nohup git", "nohup git | git"}, {"command git", "command git | git"}, {"command -v git", "command -v git"}, {"exec -a x git", "exec -a x git | git"}, {"exec 3>f", ">f exec"}, {"/usr/bin/env git", "/usr/bin/env git | git"}, {"xargs -n 1 git", "xargs -n 1 git | git …"}, {"xargs", "xargs"}, {"env $x git", "env … git | … git"}, {"sudo $x git", "sudo … git | … git"}, {"sudo -$x git", "sudo -… git ?? | …"},
		{"sh -c 'a; b'", "sh -c a; b | a | b"}, {"bash -lc 'a $(b)' x", "bash -lc a $(b) x | a … | b"}, {"bash -eo pipefail -c a", "bash -eo pipefail -c a | a"}, {"sh -c $x", "sh -c … ??"}, {"sh -c \"a $x\"", "sh -c a … ??"}, {"sh x.sh", "sh x.sh"}, {"a | sh", "a | sh ??"}, {"sh -s x", "sh -s x ??"}, {"sh -c 'a ('", "sh -c a ( ??"}, {"sh -c -e a", "sh -c -e a | a"}, {"sh -c -- a", "sh -c -- a | a"},
		{"eval a b", "eval a b | a b"}, {"eval $x", "eval … ??"}, {"eval 'a;' b", "eval a; b | a | b"}, {"trap 'a' EXIT", "trap a EXIT | a"}, {"trap - EXIT", "trap - EXIT"}, {"alias a=b", "alias a=b ??"}, {"hash -p x y", "hash -p x y ??"}, {"su -c a", "su -c a ??"}, {"watch a", "watch a ?? | …"},
		{"find . -exec a {} ';' -execdir b +", "find . -exec a {} ; -execdir b + | a … | b"}, {"find . -name x", "find . -name x"}, {"find $x", "find … ??"}, {"find . -exec sh -c 'a' \\;", "find . -exec sh -c a ; | sh -c a | a"},
	} {
		list, err := Parse(c.text)
		if c.text == "env A=1 -u B git x" { // the first assignment ends the options
			c.want = "env A=1 -u B git x | A=1 -u B git x"
		}
		if got := brief(list); got != c.want || err != nil {
			t.Errorf("%q:\n got %s\nwant %s (%v)", c.text, got, c.want, err)
		}
	}
}

func TestParseContext(t *testing.T) {
	for text, want := range map[string]Context{
		"x": 0, "x;": 0, "x > f": 0, "A=1 x": 0, "x &": Background, "x; y": Compound, "! x": Compound, "x | y": Compound | Pipeline, "(x)": Compound, "coproc x": Compound | Background, "f() { x; }": Compound | Function, "time x": Compound,
	} {
		list, err := Parse(text)
		if err != nil || list[0].In != want {
			t.Errorf("%q: %b, %v; want %b", text, list[0].In, err, want)
		}
	}
	for text, want := range map[string]Context{"a $(x)": Compound | Substitution, "a <(x)": Compound | Substitution, "env x": Nested, "sh -c x": Nested, "sh -c 'x; y' &": Nested | Compound | Background} {
		list, err := Parse(text)
		if err != nil || list[1].In != want {
			t.Errorf("%q: %b, %v; want %b", text, list[1].In, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"a (", "a '", "$(", "if a", "a; ;", "a\x00", "a\rb", "a\x1b[0m", "a \xff", "<<E", "}", "a & ;"} {
		if list, err := Parse(text); !errors.Is(err, ErrCannotTell) || list != nil {
			t.Errorf("%q: %v, %v", text, list, err)
		}
	}
	if _, err := Parse(strings.Repeat("a", maxText)); err != nil {
		t.Errorf("just short enough: %v", err)
	}
	if _, err := Parse(strings.Repeat("a", maxText+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
	// Whatever nests is bounded before the parser sees it.
	for _, open := range []string{"(", "{ ", "$(", "\"$(", "`", "if ", "while ", "$((", "((", "(( -", "${a:-", "f() ", "time ", "coproc ", "x[", "$[", "<(", "((a?", "((a=", "case a in a) ", "[[ ( ", "[[ ! ", "function f { ", "select x; do ", "(( ~", "${a[", "a=(", "$((a+", "((a**", "for ((", "until ", "a|", "a||"} {
		if _, err := Parse(strings.Repeat(open, maxText/len(open))); !errors.Is(err, ErrCannotTell) {
			t.Errorf("%q many times: %v", open, err)
		}
	}
	for _, flat := range []string{"a;", "a&&", "a\n", "a,", "a ", "env "} {
		if _, err := Parse(strings.Repeat(flat, maxText/len(flat)-1) + "a"); err != nil {
			t.Errorf("%q many times: %v", flat, err)
		}
	}
	// Shells in shells end too.
	text := strings.Repeat("eval ", 12) + "x"
	list, err := Parse(text)
	if err != nil || !list[len(list)-1].Opaque {
		t.Errorf("12 shells deep: %d commands, %v", len(list), err)
	}
}

// Words that are called known are those that bash makes.
func TestWordsAreThoseOfBash(t *testing.T) {
	dir := t.TempDir()
	read := func(text string) []string {
		cmd := exec.Command("bash", "--noprofile", "--norc", "-c", "printf '%s\\0' "+text)
		cmd.Dir, cmd.Env = dir, []string{"PATH=/nowhere", "HOME=/home/x", "x=a b", "LC_ALL=C.UTF-8"}
		out, err := cmd.Output()
		if err != nil {
			return nil
		}
		var words []string
		for w := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
			words = append(words, string(w))
		}
		return words
	}
	// Nothing here can start a program or write a file.
	piece := rapid.SampledFrom([]string{"a", "b", " ", " ", "'", "'", `"`, `"`, `\`, "=", "-", "/", ":", "$x", "${x}", "$'", "~", "{", ",", "}", "..", "*", "?", "[", "]", "!", "#", "é", "\t", "%", "^", "@", "+", "1"})
	compared := 0
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 9).Draw(rt, "pieces"), "")
		list, err := Parse("printf " + text)
		if err != nil || len(list) != 1 || list[0].In != 0 {
			return
		}
		var want []string
		for _, w := range list[0].Words[1:] {
			if !w.Known {
				return
			}
			want = append(want, w.Text)
		}
		if len(want) == 0 {
			return
		}
		compared++
		if got := read(text); !slices.Equal(got, want) {
			rt.Fatalf("%q: bash has %q, here %q", text, got, want)
		}
	})
	if compared == 0 {
		t.Fatal("nothing was compared")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"git status", "a; b | c && $(d)", "env A=1 sh -c 'a $(b)'", "find . -exec a {} \\;", "a <<E\n$(b)\nE", "f() { a; }", "${x@P}", "case a in b) c;; esac", "x=(1 2)", "[[ a =~ b ]]", "(( a[$(b)] ))", "a {b,c}", "read 'a[$(b)]'", "read -p x RANDOM", "test -v 'a[$(b)]' -o -v c", "[[ -v a[$x] && $y -eq 1 ]]", "printf '-va[$(b)]' x", "unset 'a[$(b)]'", "let 'a[$(b)]'", "declare -n n='a[$(b)]'", "${!x} ${!x*} ${!a[@]} ${a[$x]} ${a:$x:1}", "RANDOM='a[$(b)]'", "x {a[$(b)]}>f", "a[x]=1 b=([x]=2)", ". <(b)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse(text)
		if err != nil {
			if list != nil || !errors.Is(err, ErrCannotTell) && !errors.Is(err, ErrTooLong) {
				t.Fatalf("%q: %v, %v", text, list, err)
			}
			return
		}
		// A command added behind is seen, unless a comment or here-document takes it.
		if more, err := Parse(text + "\nMARK"); err == nil && !strings.Contains(text, "<<") && !strings.HasSuffix(text, `\`) {
			if len(more) == 0 || brief(more[len(more)-1:]) != "MARK" {
				t.Fatalf("%q: MARK is not the last of %s", text, brief(more))
			}
		}
		for _, m := range []policy.PermissionMode{policy.AskMode, policy.AutoMode, policy.BypassMode} {
			p := Permissions{Mode: m, Rules: testRules(t, "allow ls", "allow git *", "deny curl *")}
			if d := p.Decide(OfText(text)); d.Rule.ID == "" {
				t.Fatalf("%q: no reason: %+v", text, d)
			}
			if d := p.Decide(OfText("curl x; " + text)); d.Verdict != 0 && err == nil {
				if _, err := Parse("curl x; " + text); err == nil {
					t.Fatalf("%q after a denied command: %+v", text, d)
				}
			}
		}
	})
}
