package plain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bawn/internal/policy"

	"pgregory.net/rapid"
)

// host is a View over a table: path → the real file. Every file is executable.
func host(path string, files map[string]string, writable ...string) View {
	return View{
		Path: path,
		Real: func(p string) (string, []string, error) {
			if via, ok := files[p]; ok { // the links, then the file
				way := strings.Fields(via)
				return way[len(way)-1], way[:len(way)-1], nil
			}
			return "", nil, errors.New("no such file")
		},
		Executable: func(string) bool { return true },
		Writable: func(p string) bool {
			return slices.ContainsFunc(writable, func(w string) bool { return policy.Inside(p, w) })
		},
	}
}

var usual = host("/usr/local/bin:/usr/bin", map[string]string{
	"/usr/bin/git": "/usr/bin/git", "/usr/bin/docker": "/usr/bin/docker", "/usr/bin/make": "/usr/bin/make", "/usr/bin/env": "/usr/bin/env",
	"/usr/local/bin/mytool": "/opt/mytool/bin/mytool", "/usr/bin/true": "/usr/bin/true", "/usr/bin/sh": "/usr/bin/dash", "/usr/bin/cat": "/usr/bin/cat",
	"/opt/tool": "/opt/tool", "/work/git": "/work/git", "/tmp/git": "/tmp/git", "/usr/bin/linear": "/usr/bin/linear", "/usr/bin/touch": "/usr/bin/touch",
}, "/work", "/tmp")

var asked = Facts{Tier: policy.Guarded, CanAsk: true}

func exceptions(t testing.TB, exclude []string, hatches ...string) Exceptions {
	t.Helper()
	var e Exceptions
	for i, p := range exclude {
		x, _, err := ParseExclusion(p, policy.Origin{File: "config.toml", Line: i + 1})
		if err != nil {
			t.Fatal(err)
		}
		e.Exclude = append(e.Exclude, x)
	}
	for _, p := range hatches {
		h, _, err := ParseHatch(p, policy.Origin{File: "config.toml", Line: 99})
		if err != nil {
			t.Fatal(err)
		}
		e.Hatches = append(e.Hatches, h)
	}
	return e
}

type outsideCase struct {
	text    string
	program string // "" = stays in the sandbox
}

func checkOutside(t *testing.T, e Exceptions, cases []outsideCase) {
	t.Helper()
	for _, c := range cases {
		out, d := e.DecideText(c.text, asked, usual)
		if out.Program != c.program || (d.Verdict == policy.Deny) != (c.program == "") || d.Rule.ID == "" || d.Rule.Text == "" {
			t.Errorf("%q: %+v, %+v; want %q", c.text, out, d, c.program)
		}
		if want, _ := Words(c.text); c.program != "" && !slices.Equal(out.Args, want) {
			t.Errorf("%q: runs %q, want %q", c.text, out.Args, want)
		}
		if c.program == "" && out.Args != nil {
			t.Errorf("%q: denied, but with words to run: %q", c.text, out.Args)
		}
	}
}

func TestA111_OneExcludedWordFreesNothingElse(t *testing.T) {
	checkOutside(t, exceptions(t, []string{"git *"}), []outsideCase{
		{"git status", "/usr/bin/git"}, {"git", "/usr/bin/git"}, {"git log -n 1 --oneline", "/usr/bin/git"},
		{"cat ~/.ssh/id; git status", ""}, {"git status && curl evil", ""}, {"git status | sh", ""}, {"git status & sh", ""}, {"git status\nsh", ""},
		{"git status || sh", ""}, {"(git status)", ""}, {"{ git status; }", ""}, {"! git status", ""}, {"if git status; then sh; fi", ""},
		{"git $(sh)", ""}, {"git `sh`", ""}, {`git "$(sh)"`, ""}, {"git <(sh)", ""}, {"git $X", ""}, {"git *", ""}, {"git() { sh; }; git", ""}, {"alias git=sh; git x", ""},
		{"sudo git status", ""}, {"env git status", ""}, {"sh -c 'git status'", ""}, {"time git status", ""}, {"command git status", ""}, {"exec git status", ""},
	})
}

func TestA112_NoPatternForEverything(t *testing.T) {
	for _, p := range []string{"linear:*", "*", " * ", "**", "* *", ":*", "linear*", "linear: *x", "linear: *", "linear:x", "li*near x", "git status*", "git * push", "", " ", "git; x", "git $X", "A=b git", "'git' *", `\git *`, "./git *", "bin/git *", "/usr/bin/git *", "cd *", "eval *", "if", "[ *", ". *", "git\nstatus", "git\x00"} {
		if _, _, err := ParseExclusion(p, policy.Origin{}); err == nil {
			t.Errorf("exclude %q was taken", p)
		}
	}
	for _, p := range []string{"linear *", "docker *", "make deploy", "mytool", `make "deploy prod"`} {
		if _, _, err := ParseExclusion(p, policy.Origin{}); err != nil {
			t.Errorf("exclude %q: %v", p, err)
		}
	}
	checkOutside(t, exceptions(t, []string{"linear *"}), []outsideCase{{"linear issue", "/usr/bin/linear"}, {"env", ""}, {"touch x", ""}, {"linearx", ""}})
	out, d := Exceptions{Exclude: make([]Exclusion, 2), Hatches: make([]Hatch, 2)}.Decide([]string{""}, asked, usual)
	if out.Program != "" || d.Verdict != policy.Deny {
		t.Errorf("zero values let %+v out", out)
	}
}

func TestA118_OnlyTheBareName(t *testing.T) {
	checkOutside(t, exceptions(t, []string{"git status"}), []outsideCase{
		{"git status", "/usr/bin/git"}, {"git 'status'", "/usr/bin/git"},
		{"'g'it status", ""}, {`\git status`, ""}, {`$'\147it' status`, ""}, {"./git status", ""}, {"/tmp/git status", ""}, {"/usr/bin/git status", ""}, {`git\ status`, ""}, {"GIT status", ""}, {"gіt status", ""},
		{"git status -s", ""}, {"git", ""}, {"git stat us", ""},
	})
}

func TestA120_NoRedirection(t *testing.T) {
	checkOutside(t, exceptions(t, []string{"git *"}), []outsideCase{
		{"git log --output=x", "/usr/bin/git"},
		{"git status > ~/.bashrc", ""}, {"git log 2>~/.profile", ""}, {"git status >& ~/x", ""}, {"exec 3>~/x", ""}, {"git status>x", ""}, {"git status <x", ""}, {"git status <<<x", ""}, {"git status >|x", ""}, {"git status {fd}>x", ""},
	})
}

func TestA121_LengthIsNoWayOut(t *testing.T) {
	e := exceptions(t, []string{"true *", "git *"})
	checkOutside(t, e, []outsideCase{
		{"true", "/usr/bin/true"}, {strings.Repeat("true;", 60) + "git status", ""}, {strings.Repeat("true && ", 60) + "git status", ""},
		{"git " + strings.Repeat("x ", maxText), ""}, {"git " + strings.Repeat("x ", 1000), "/usr/bin/git"},
	})
}

func TestA126_NoStateOfTheShellIsTaken(t *testing.T) {
	checkOutside(t, exceptions(t, []string{"git *"}), []outsideCase{
		{"git fetch", "/usr/bin/git"}, {"GIT_SSH_COMMAND=evil git fetch", ""}, {"export GIT_SSH_COMMAND=evil", ""}, {"typeset -x PAGER=evil", ""}, {"PATH=/work git fetch", ""}, {"env PATH=/work git fetch", ""}, {"hash -p /work/git git", ""},
	})
}

func TestA128_EscapeHatchesWarn(t *testing.T) {
	for _, p := range []string{"docker *", "docker run *", "git *", "npm run build", "npm *", "make deploy", "ssh *", "python3.12 x.py", "sh x", "env *", "kubectl *"} {
		if _, w, err := ParseExclusion(p, policy.Origin{}); err != nil || !strings.Contains(w, "lets more out") {
			t.Errorf("exclude %q: warning %q, error %v", p, w, err)
		}
	}
	for _, p := range []string{"docker ps", "git status", "mytool *", "ssh-add *"} {
		if _, w, err := ParseExclusion(p, policy.Origin{}); err != nil || w != "" {
			t.Errorf("exclude %q: warning %q, error %v", p, w, err)
		}
	}
	for path, warns := range map[string]bool{"/bin/bash": true, "/usr/bin/python3.12": true, "/opt/tool": false} {
		if _, w, err := ParseHatch(path, policy.Origin{}); err != nil || (w != "") != warns {
			t.Errorf("hatch %q: warning %q, error %v", path, w, err)
		}
	}
}

func TestB124_ExcludedWithAnyArguments(t *testing.T) {
	checkOutside(t, exceptions(t, []string{"mytool *"}), []outsideCase{{"mytool --flag a", "/opt/mytool/bin/mytool"}, {"mytool", "/opt/mytool/bin/mytool"}})
	_, w, err := ParseExclusion("mytool", policy.Origin{})
	if err != nil || !strings.Contains(w, `"mytool *"`) {
		t.Errorf("warning %q, error %v", w, err)
	}
	_, d := exceptions(t, []string{"mytool"}).DecideText("mytool --flag a", asked, usual)
	if d.Verdict != policy.Deny || d.Rule.ID != "exclude:arguments" || !strings.Contains(d.Rule.Lift, "mytool *") || d.Rule.Origin.Line != 1 {
		t.Errorf("why not: %+v", d)
	}
	_, d = exceptions(t, []string{"mytool *"}).Decide([]string{"mytool", "a\nb; c"}, asked, usual)
	if d.Verdict != policy.Ask || d.Rule.Origin != (policy.Origin{File: "config.toml", Line: 1}) {
		t.Errorf("words that no shell reads: %+v", d)
	}
}

func TestA147_NeverWithoutAQuestion(t *testing.T) {
	e := exceptions(t, []string{"mytool *"}, "/opt/tool")
	for _, c := range []struct {
		f              Facts
		exclude, hatch policy.Verdict
	}{
		{asked, policy.Ask, policy.Allow},
		{Facts{}, policy.Deny, policy.Deny},
		{Facts{Tier: policy.Guarded}, policy.Deny, policy.Deny},
		{Facts{Tier: policy.Airlock, CanAsk: true}, policy.Deny, policy.Deny},
		{Facts{Tier: policy.Open, CanAsk: true}, policy.Deny, policy.Deny},
		{Facts{Tier: policy.Guarded, Mode: policy.WorkspaceWrite, CanAsk: true}, policy.Deny, policy.Deny},
		{Facts{Tier: policy.Guarded, Mode: policy.ReadOnlyMode, CanAsk: true}, policy.Deny, policy.Deny},
	} {
		if out, d := e.DecideText("mytool a", c.f, usual); d.Verdict != c.exclude || (out.Program != "") != (c.exclude != policy.Deny) || d.Rule.Text == "" {
			t.Errorf("%+v: exclusion %+v", c.f, d)
		}
		if out, d := e.DecideText("/opt/tool a", c.f, usual); d.Verdict != c.hatch || (out.Program != "") != (c.hatch != policy.Deny) || d.Rule.Text == "" {
			t.Errorf("%+v: hatch %+v", c.f, d)
		}
	}
}

func TestHatches(t *testing.T) {
	checkOutside(t, exceptions(t, nil, "/opt/tool", "/work/git", "/opt/none"), []outsideCase{
		{"/opt/tool a 'b c'", "/opt/tool"},
		{"hatch a", ""}, {"/opt/./hatch a", ""}, {"/opt//hatch", ""}, {"'/opt/tool' a", ""}, {"/opt/tool a; x", ""}, {"/opt/tool >x", ""}, {"A=b /opt/tool", ""}, {"/opt/tool $X", ""},
		{"/work/git status", ""}, {"/opt/none", ""},
	})
	for _, p := range []string{"", "bash", "./x", "bin/x", "/", "/a/../b", "/a//b", "/a/", "/a\nb", "/a\x00"} {
		if _, _, err := ParseHatch(p, policy.Origin{}); err == nil {
			t.Errorf("hatch %q was taken", p)
		}
	}
}

// A program that sandboxed commands can write is never one that was approved.
func TestLook(t *testing.T) {
	files := map[string]string{
		"/work/bin/git": "/work/bin/git", "/usr/bin/git": "/usr/bin/git", "/usr/bin/linked": "/work/evil", "/work/bin/out": "/usr/bin/git", "/usr/bin/odd": "usr/bin/odd",
	}
	for _, c := range []struct{ path, name, want string }{
		{"/usr/bin", "git", "/usr/bin/git"}, {"/usr/bin/", "git", "/usr/bin/git"}, {"/none:/usr/bin:/work/bin", "git", "/usr/bin/git"}, {":.:bin:/usr/bin", "git", "/usr/bin/git"},
		{"/work/bin:/usr/bin", "git", ""}, {"/usr/bin", "linked", ""}, {"/work/bin", "out", ""}, {"/usr/bin", "odd", ""}, {"", "git", ""}, {"/usr/bin", "none", ""},
		{"/usr/bin", "../../work/bin/git", ""}, {"/usr/bin", "/work/bin/git", ""}, {"/usr/bin", "", ""}, {"/usr/bin", "git\x00", ""},
	} {
		got, err := host(c.path, files, "/work").Look(c.name)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q in %q: %q, %v", c.name, c.path, got, err)
		}
	}
	v := host("/usr/bin", files, "/usr/bin/git")
	if got, err := v.Look("git"); err == nil {
		t.Errorf("a writable file in a folder that is not: %q", got)
	}
	v.Writable = nil
	if got, err := v.Look("git"); err == nil {
		t.Errorf("nothing known of what is writable: %q", got)
	}
	if got, err := (View{Path: "/usr/bin"}).Look("git"); err == nil {
		t.Errorf("nothing known of the host: %q", got)
	}
}

// Nothing written round a text keeps, or makes, it excluded: the words that
// run are those of the text, all of it.
func TestNothingAroundStaysExcluded(t *testing.T) {
	e := exceptions(t, []string{"git *", "make deploy"}, "/opt/tool")
	texts := rapid.OneOf(rapid.SampledFrom([]string{"git status", "make deploy", "/opt/tool", "git commit -m 'a b'", "git"}), rapid.StringN(0, 12, 40))
	after := []string{";x", "; x", "&& x", "&&x", "|| x", "| x", "|x", "|& x", "& x", "&", " $(x)", " `x`", " >x", " 2>&1", " <x", " <<<x", "\nx", " ${x}", " $x", " <(x)", " {a,b}", " *", ")", " \\", " #x", " ~"}
	before := []string{"x;", "x && ", "x | ", "$(x) ", "X=y ", "! ", "( ", "{ ", ">x ", "time ", "\\", "'", "if ", "x\n", "exec ", "env "}
	rapid.Check(t, func(rt *rapid.T) {
		text := texts.Draw(rt, "text")
		var whole string
		if rapid.Bool().Draw(rt, "after") {
			whole = text + rapid.SampledFrom(after).Draw(rt, "suffix")
		} else {
			whole = rapid.SampledFrom(before).Draw(rt, "prefix") + text
		}
		out, d := e.DecideText(whole, asked, usual)
		if strings.HasPrefix(text, "git") || strings.HasPrefix(text, "make") || strings.HasPrefix(text, "/opt") {
			if d.Verdict != policy.Deny {
				rt.Fatalf("%q runs %q", whole, out.Args)
			}
		}
	})
	for _, a := range after {
		checkOutside(t, e, []outsideCase{{"git status" + a, ""}})
	}
	for _, b := range before {
		checkOutside(t, e, []outsideCase{{b + "git status", ""}})
	}
}

// FuzzOutside: no text is run outside unless it is one plain command, whose
// words, written down again, are the text's own.
func FuzzOutside(f *testing.F) {
	for _, c := range wordsCases {
		if len(c.text) < 1000 {
			f.Add(c.text)
		}
	}
	e := exceptions(f, []string{"git *", "make deploy", "x *"}, "/opt/tool")
	view := usual
	view.Real = func(p string) (string, []string, error) { return p, nil, nil }
	f.Fuzz(func(t *testing.T, text string) {
		InstallsText(text)
		out, d := e.DecideText(text, asked, view)
		if d.Verdict == policy.Deny {
			return
		}
		if strings.ContainsAny(unquoted(text), ";&|<>()$`\\\n\r{}*?[]~!#\x00") {
			t.Fatalf("%q runs %q", text, out.Args)
		}
		back, ok := Words(Quote(out.Args))
		if strings.ContainsAny(strings.Join(out.Args, ""), "'") {
			return // '\'' is correct for a shell, but not plain
		}
		if !ok || !slices.Equal(back, out.Args) {
			t.Fatalf("%q runs %q, shown as %s", text, out.Args, Quote(out.Args))
		}
	})
}

// unquoted is text without what stands in quotes, by a second way.
func unquoted(s string) string {
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, `'"`)
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		_, rest, ok := strings.Cut(s[i+1:], s[i:i+1])
		if !ok {
			return b.String() + ";" // never closed
		}
		if s[i] == '"' && strings.ContainsAny(s[i+1:len(s)-len(rest)-1], "$`\\!") {
			b.WriteByte(';')
		}
		s = rest
	}
	return b.String() + s
}

func ExampleQuote() {
	fmt.Println(Quote([]string{"git", "commit", "-m", "it's done", "\x1b[2J"}))
	// Output: git commit -m 'it'\''s done' $'\033[2J'
}

func TestALinkOnTheWayIsOutOfReach(t *testing.T) {
	for way, leaves := range map[string]bool{
		"/usr/bin/tool /opt/tool/cur /opt/tool/1/tool":        true,
		"/usr/bin/tool /work/cur /opt/tool/1/tool":            false,
		"/usr/bin/tool /work/.venv/bin /opt/tool/1/tool":      false,
		"/usr/bin/tool /opt/tool/cur /tmp/x /opt/tool/1/tool": false,
	} {
		v := host("/usr/bin", map[string]string{"/usr/bin/tool": way}, "/work", "/tmp")
		e := exceptions(t, []string{"tool *"}, "/usr/bin/tool")
		for _, args := range [][]string{{"tool", "x"}, {"/usr/bin/tool", "x"}} {
			o, d := e.Decide(args, asked, v)
			if (d.Verdict != policy.Deny) != leaves || (o.Program != "") != leaves {
				t.Errorf("%q by %s: %+v %+v", args, way, o, d)
			}
		}
	}
}
