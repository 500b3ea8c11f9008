package gitdir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var configTable = []string{
	"", "\n", " \t\r\n", "# c", "; c\n", "# c \\\n[a]b=1", "\xef\xbb\xbf[a]\nb=1\n", "\xef\xbb[a]\nb=1\n", "\xef\xbb\xbf", "[a]\n\xef\xbb\xbfb=1\n",
	"[a]b=1", "[a] b = 1 [c]\nd=2", "[a]\nb", "[a]\nb\n", "[a]\nb=\n", "[a]\nb = \n", "[a]\nb # c\n", "[a]\nb=#c\n", "[a]\nb=x#c\n", "[a]\nb=x ; c\n", "[a]\nb=\"x ; c\"\n",
	"[A]\nBcD=EfG\n", "[A \"BcD\"]\nE=F\n", "[A.BcD]\nE=F\n", "[a.b \"C\"]\nd=1\n", "[a \"b.c\"]\nd=1\n", "[a \"\"]\nb=1\n", "[a.]\nb=1\n", "[.a]\nb=1\n", "[.]\nb=1\n", "[ \"a\"]\nb=1\n", "[]\nb=1\n", "[ ]\nb=1\n",
	"[a \"b\" ]\nc=1\n", "[a  \t\"b\"]\nc=1\n", "[a\n\"b\"]\nc=1\n", "[a\r\n\"b\"]\nc=1\n", "[a \"b\nc\"]\nd=1\n", "[a \"b\\\nc\"]\nd=1\n", "[a \"b\\\"c\\\\d\\xe\"]\nf=1\n", "[a \"b", "[a", "[a \"b\"", "[a \"b\"x]\nc=1\n", "[a b]\nc=1\n", "[a\"b\"]\nc=1\n", "[a_b]\nc=1\n", "[a-b]\nc-d=1\n", "[1]\na=1\n", "[a ]\nb=1\n", "[a]]\n", "[[a]]\n",
	"[a]\n1b=1\n", "[a]\n-b=1\n", "[a]\nb1-=1\n", "[a]\nb_c=1\n", "[a]\nb.c=1\n", "[a]\n=1\n", "[a]\nb c\n", "[a]\nb\t=\t1\n", "[a]\nb\r=1\n", "[a]\nb\r\n", "[a]\nb\r", "[a]\nb\x0b=1\n", "[a]\n\x0cb=1\n", "[a]\nä=1\n",
	"b=1\n", "b\n[a]\nc=1\n",
	"[a]\nb=x  y\n", "[a]\nb=x\ty\n", "[a]\nb=x\ry\n", "[a]\nb= x \n", "[a]\nb= x \r\n", "[a]\nb=x\r", "[a]\nb=\"  x  \"\n", "[a]\nb=\"x\"y\"z\"\n", "[a]\nb=\"\" x\n", "[a]\nb=x \"\" \n", "[a]\nb=\" \" \n", "[a]\nb=\"x\n", "[a]\nb=\"x\\\ny\"\n", "[a]\nb=\"x\\\ny\n",
	"[a]\nb=x\\\ny\nc=2\n", "[a]\nb=x\\\r\ny\r\nc=2\r\n", "[a]\nb=x \\\n  y\n", "[a]\nb=\\\n\\\nx\n", "[a]\nb=x\\", "[a]\nb=\\", "[a]\nb=\"\\", "[a]\nb=x#c\\\ny=1\n", "[a]\nb=x \\\n# y\nc=1\n",
	"[a]\nb=\\n\\t\\b\\\\\\\"\n", "[a]\nb=\\x\n", "[a]\nb=\\r\n", "[a]\nb=\\'\n", "[a]\nb=\\ \n", "[a]\nb=\\\r", "[a]\nb='x;y'\n", "[a]\nb=x=y\n", "[a]\nb==\n", "[a]\nb=x\\ny\n",
	"[a]\nb=1\nb=2\n[a]\nb\n", "[a]\nb=\xff\xfe\n", "[a \"\xff\"]\nb=1\n", "[a]\nb=\x0bx\x0c\n", "[a]\n\x00", "[a]\nb=x\x00y\n", "[a \"x\x00y\"]\nb=1\n", "[a\x00]\nb=1\n", "# \x00\n[a]\nb=1\n", "[a]\nb=1 # \x00\nc=2\n",
}

// gitList is what git makes of a config file: the items of --list -z.
func gitList(t fataler, dir string, data []byte) (string, error) {
	path := filepath.Join(dir, "config")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "config", "--file", path, "--list", "-z")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && !strings.Contains(stderr.String(), "bad config line") {
		t.Fatalf("git config: %v\n%s", err, stderr.String())
	}
	return string(out), err
}

type fataler interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

func list(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Name())
		if !e.NoValue {
			b.WriteString("\n" + e.Value)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// compare holds parseConfig against git. Two differences are meant: NUL, and
// white space inside a value before git 2.45.
func compare(t fataler, dir string, data []byte) {
	entries, err := parseConfig(data)
	if len(data) > 0 && bytes.IndexByte(data, 0) >= 0 {
		return // parseConfig is stricter; see TestConfigNUL
	}
	theirs, gitErr := gitList(t, dir, data)
	if (err == nil) != (gitErr == nil) {
		t.Fatalf("%q: parseConfig %v, git %v", data, err, gitErr)
	}
	if err != nil {
		return
	}
	blank := strings.NewReplacer("\t", " ", "\r", " ")
	if ours := list(entries); blank.Replace(ours) != blank.Replace(theirs) {
		t.Fatalf("%q:\n ours %q\n git  %q", data, ours, theirs)
	}
}

func TestConfigLikeGit(t *testing.T) {
	dir := t.TempDir()
	for _, data := range configTable {
		compare(t, dir, []byte(data))
	}
}

// Files made of the pieces that matter, in an order that mostly makes sense.
func TestConfigLikeGitProperty(t *testing.T) {
	dir := t.TempDir()
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"[a]", "[A \"b\"]", "[a.B]", "\n", "\n", "\r\n", "key", "K-1", " = ", "=", "x", " ", "\t", "\"", "\\", "\\\n", "\\n", "#", ";", "\r", "\xef\xbb\xbf", "]", "[", ".", "_", "\xff", "\x0b"}),
		rapid.StringOf(rapid.RuneFrom([]rune("ab1-. \t\n\r=[]\"\\#;é"))),
	)
	line := rapid.Custom(func(t *rapid.T) string {
		return rapid.StringMatching(`[ \t]{0,2}[a-zA-Z][a-zA-Z0-9-]{0,4}[ \t]{0,2}`).Draw(t, "key") +
			rapid.SampledFrom([]string{"=", "=", "=", ""}).Draw(t, "eq") +
			strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"v", "w x", " ", "  ", "\"q r\"", "\" \"", "\"#\"", "\"\"", "\\\\", "\\\"", "\\t", "\\b", "\\\n", "\\\r\n", "; c", "#c", "\t", "é"}), 0, 6).Draw(t, "value"), "") +
			rapid.SampledFrom([]string{"\n", "\n", "\r\n", ""}).Draw(t, "end")
	})
	rapid.Check(t, func(t *rapid.T) {
		var text string
		if rapid.Bool().Draw(t, "wild") {
			text = strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(t, "pieces"), "")
		} else {
			text = "[s]\n" + strings.Join(rapid.SliceOfN(line, 0, 5).Draw(t, "lines"), "")
		}
		compare(t, dir, []byte(text))
	})
}

// What git writes, parseConfig reads back, whatever the value.
func TestConfigWrittenByGit(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		clean := func(s string, drop string) string {
			return strings.Map(func(r rune) rune {
				if r == 0 || strings.ContainsRune(drop, r) {
					return -1
				}
				return r
			}, s)
		}
		value := clean(rapid.String().Draw(t, "value"), "\r") // git < 2.48 does not quote a trailing CR
		sub := clean(rapid.String().Draw(t, "sub"), "\n\r")
		n++
		path := fmt.Sprintf("%s/%d", dir, n)
		cmd := exec.Command("git", "config", "--file", path, "s."+sub+".key", value)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseConfig(data)
		want := []Entry{{Section: "s", Subsection: sub, Sub: true, Key: "key", Value: value, Line: 2}}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q: %+v, %v, want %+v", data, got, err, want)
		}
	})
}

func TestConfigEntries(t *testing.T) {
	const text = "\xef\xbb\xbf[Core]\r\n\tBare\r\n  x = a \\\r\n b ; c\r\n[A \"B \\\"c\"] y = \"1\n"
	got, err := parseConfig([]byte(text))
	want := []Entry{
		{Section: "core", Key: "bare", NoValue: true, Line: 2},
		{Section: "core", Key: "x", Value: "a  b", Line: 3},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != 5 || !strings.Contains(syntax.What, "open quote") {
		t.Errorf("error %v, want an open quote in line 5", err)
	}
	got, err = parseConfig([]byte("[a]\nb = x\ty \n"))
	if err != nil || len(got) != 1 || got[0].Value != "x\ty" {
		t.Errorf("white space inside a value: %+v, %v", got, err)
	}
}

func TestConfigErrorLines(t *testing.T) {
	for text, want := range map[string]string{
		"x y":                       `line 1: 'y' after key "x" where = was expected`,
		"[a]\n\n?":                  `line 3: unexpected '?'`,
		"[a]\nb=1\n[c":              "line 3: section header without ]",
		"[a \"x\ny\"]":              "line 1: newline in a subsection name",
		"[a]\nb=x\\\ny\\q":          `line 3: unknown escape \q`,
		"[a]\r\nb=1\r\nc=2\\\n\"\n": "line 4: value with an open quote",
	} {
		if _, err := parseConfig([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// git cuts a value at a NUL; who judges the value must not see more than git.
func TestConfigNUL(t *testing.T) {
	for text, ok := range map[string]bool{
		"[a]\nb=x\x00y\n": false, "[a]\nb=\"\x00\"\n": false, "[a \"x\x00\"]\nb=1\n": false, "[a]\n\x00": false, "[a]\nb\x00=1\n": false,
		"[a]\nb=x # \x00\n": true, "# \x00\n": true,
	} {
		if _, err := parseConfig([]byte(text)); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzParseConfig: no panic, and entries survive being written out again.
func FuzzParseConfig(f *testing.F) {
	for _, s := range configTable {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseConfig(data)
		lines := bytes.Count(data, []byte("\n")) + 1
		var text strings.Builder
		escape := strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n")
		for _, e := range entries {
			if e.Line < 1 || e.Line > lines || e.Key == "" || strings.ToLower(e.Key) != e.Key || strings.ContainsRune(e.Name()+e.Value, 0) {
				t.Fatalf("%q: entry %+v", data, e)
			}
			if e.Section == "" && !e.Sub {
				return // before any header; cannot be written after one
			}
			fmt.Fprintf(&text, "[%s", e.Section)
			if e.Sub {
				fmt.Fprintf(&text, " \"%s\"", escape.Replace(e.Subsection))
			}
			fmt.Fprintf(&text, "]\n%s", e.Key)
			if !e.NoValue {
				fmt.Fprintf(&text, " = \"%s\"", escape.Replace(e.Value))
			}
			text.WriteByte('\n')
		}
		var syntax *SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Line < 1 || syntax.Line > lines) {
			t.Fatalf("%q: error %v", data, err)
		}
		again, err := parseConfig([]byte(text.String()))
		if err != nil || list(again) != list(entries) {
			t.Fatalf("%q → %q: %v\n %q\n %q", data, text.String(), err, list(entries), list(again))
		}
	})
}

// FuzzConfigLikeGit compares with the installed git; slow, run by hand.
func FuzzConfigLikeGit(f *testing.F) {
	for _, s := range configTable {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		at, err := os.MkdirTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(at)
		compare(t, at, data)
	})
}
