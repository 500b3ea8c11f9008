package main

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// parsed is what the flags of one command line did.
type parsed struct {
	got  []string // "name" or "name=value", in order
	rest []string
	err  string
}

func parse(args []string) parsed {
	var p parsed
	note := func(name string) func(string) error {
		return func(v string) error {
			if v == "bad" {
				return errors.New("bad value")
			}
			p.got = append(p.got, name+"="+v)
			return nil
		}
	}
	mark := func(name string) func() { return func() { p.got = append(p.got, name) } }
	rest, err := parseFlags(args, []flagSpec{
		{name: "-q", on: mark("q")},
		{name: "-C", arg: "DIR", set: note("C")},
		{name: "--tier", arg: "TIER", set: note("tier")},
		{name: "--mode", arg: "[MODE]", on: mark("mode"), set: note("mode"),
			optional: func(v string) bool { return v == "strict" || v == "loose" }},
	})
	p.rest = rest
	if err != nil {
		p.err = err.Error()
	}
	return p
}

func TestA78_ParseFlags(t *testing.T) {
	for _, c := range []struct {
		args string // words apart by a blank; ~ stands for the empty word
		want parsed
	}{
		{"", parsed{}},
		{"cmd", parsed{rest: []string{"cmd"}}},
		{"--", parsed{rest: []string{}}},
		{"-- cmd -q", parsed{rest: []string{"cmd", "-q"}}},
		{"-- --", parsed{rest: []string{"--"}}},
		{"-- -q", parsed{rest: []string{"-q"}}},
		{"cmd -- -q --tier=x", parsed{rest: []string{"cmd", "--", "-q", "--tier=x"}}},
		{"-q cmd -q", parsed{got: []string{"q"}, rest: []string{"cmd", "-q"}}},
		{"-q -q -- cmd", parsed{got: []string{"q", "q"}, rest: []string{"cmd"}}},
		{"- -q", parsed{rest: []string{"-", "-q"}}},
		{"~ -q", parsed{rest: []string{"", "-q"}}},
		{"-C a -C b cmd", parsed{got: []string{"C=a", "C=b"}, rest: []string{"cmd"}}},
		{"-C=a=b cmd", parsed{got: []string{"C=a=b"}, rest: []string{"cmd"}}},
		{"-C= cmd", parsed{got: []string{"C="}, rest: []string{"cmd"}}},
		{"-C ~ cmd", parsed{got: []string{"C="}, rest: []string{"cmd"}}},
		{"-C -q cmd", parsed{got: []string{"C=-q"}, rest: []string{"cmd"}}},
		{"--tier open --tier=guarded", parsed{got: []string{"tier=open", "tier=guarded"}}},
		{"--mode strict cmd", parsed{got: []string{"mode=strict"}, rest: []string{"cmd"}}},
		{"--mode cmd strict", parsed{got: []string{"mode"}, rest: []string{"cmd", "strict"}}},
		{"--mode -- strict", parsed{got: []string{"mode"}, rest: []string{"strict"}}},
		{"--mode", parsed{got: []string{"mode"}}},
		{"--mode=cmd x", parsed{got: []string{"mode=cmd"}, rest: []string{"x"}}},
		{"--mode -q cmd", parsed{got: []string{"mode", "q"}, rest: []string{"cmd"}}},
		{"-C", parsed{err: "-C needs a value: -C DIR"}},
		{"-C -- cmd", parsed{err: "-C needs a value: -C DIR"}},
		{"--tier bad cmd", parsed{err: "--tier: bad value"}},
		{"-q=1 cmd", parsed{err: "-q takes no value"}},
		{"--tir open cmd", parsed{err: `unknown flag "--tir"; did you mean "--tier"?`}},
		{"--tie=open cmd", parsed{err: `unknown flag "--tie"; did you mean "--tier"?`}},
		{"-x cmd", parsed{err: `unknown flag "-x"`}},
		{"--TIER open", parsed{err: `unknown flag "--TIER"`}},
		{"-qC a cmd", parsed{err: `unknown flag "-qC"; did you mean "-q"?`}},
		{"--=x", parsed{err: `unknown flag "--"`}},
		{"-q --help cmd", parsed{got: []string{"q"}, err: errHelp.Error()}},
		{"-- --help", parsed{rest: []string{"--help"}}},
	} {
		args := strings.Fields(c.args)
		for i := range args {
			if args[i] == "~" {
				args[i] = ""
			}
		}
		got := parse(args)
		if !reflect.DeepEqual(got.got, c.want.got) || strings.Join(got.rest, "\x00") != strings.Join(c.want.rest, "\x00") ||
			len(got.rest) != len(c.want.rest) || got.err != c.want.err {
			t.Errorf("%q\ngot  %q\nwant %q", c.args, got, c.want)
		}
	}
}

// FuzzParseFlags holds for every command line: what is left is the end of it,
// untouched, and no word from there on was read as a flag.
func FuzzParseFlags(f *testing.F) {
	for _, s := range []string{
		"", "cmd", "-q\ncmd", "--\n--tier\nopen", "--mode\nstrict\ncmd", "-C\n--\ncmd", "--mode=\n--=", "-C=\x00\n-", "--tier\nbad",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\n")
		p := parse(args)
		if p.err != "" {
			if p.rest != nil {
				t.Errorf("%q: an error and a command %q", args, p.rest)
			}
			return
		}
		n := len(args) - len(p.rest)
		if n < 0 || strings.Join(args[n:], "\n") != strings.Join(p.rest, "\n") {
			t.Fatalf("%q: %q is not its end", args, p.rest)
		}
		if len(p.rest) > 0 && n > 0 && args[n-1] != "--" && len(p.rest[0]) > 1 && p.rest[0][0] == '-' {
			t.Errorf("%q: the flag %q is taken for the command", args, p.rest[0])
		}
		// The same flags before other commands mean the same.
		if len(p.rest) > 0 {
			again := parse(append(append([]string{}, args[:n]...), "other", "--tier=open"))
			if !reflect.DeepEqual(again.got, p.got) || !reflect.DeepEqual(again.rest, []string{"other", "--tier=open"}) {
				t.Errorf("%q: %q, before another command %q", args, p, again)
			}
		}
	})
}

// A mode is only the next word if it is one (T7).
func TestSandboxFlagTakesOnlyModes(t *testing.T) {
	for _, c := range []struct {
		args []string
		mode string
		rest string
	}{
		{[]string{"--sandbox", "read-only", "cmd"}, "read-only", "cmd"},
		{[]string{"--sandbox=workspace-write", "cmd"}, "workspace-write", "cmd"},
		{[]string{"--sandbox", "danger-full-access", "--", "cmd"}, "danger-full-access", "cmd"},
		{[]string{"--sandbox", "cmd", "read-only"}, "", "cmd read-only"},
		{[]string{"--sandbox", "--", "read-only"}, "", "read-only"},
		{[]string{"--sandbox", "Read-Only"}, "", "Read-Only"},
		{[]string{"--sandbox", "guarded"}, "", "guarded"},
	} {
		f := new(runFlags)
		rest, err := parseFlags(c.args, f.specs())
		if err != nil || strings.Join(rest, " ") != c.rest {
			t.Errorf("%q: rest %q, %v", c.args, rest, err)
		}
		if c.mode == "" && f.mode != 0 || c.mode != "" && f.mode.String() != c.mode {
			t.Errorf("%q: mode %v", c.args, f.mode)
		}
	}
	if _, err := parseFlags([]string{"--sandbox=guarded", "cmd"}, new(runFlags).specs()); err == nil {
		t.Error("--sandbox=guarded is no mode")
	}
}

func TestNotFoundHint(t *testing.T) {
	for _, c := range []struct {
		bare bool
		name string
		code int
		want string
	}{
		{true, "readonly", 127, "; did you mean --sandbox read-only?"},
		{true, "Read-Only", 127, "; did you mean --sandbox read-only?"},
		{false, "readonly", 127, ""},
		{true, "readonly", 126, ""},
		{true, "npm", 127, ""},
		{false, "npm test", 127, "; shell text is run with -c TEXT"},
		{false, "/opt/my tool", 127, ""},
		{false, "npm", 127, ""},
	} {
		if got := notFoundHint(&runFlags{bareMode: c.bare}, c.name, c.code); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestWayOut(t *testing.T) {
	names := []string{"run", "check"}
	for word, want := range map[string]string{
		"":   "",
		"rn": `; did you mean "run"?`,
		"ls": "; to run a program: bawn run -- ls",
	} {
		if got := wayOut(word, names); got != want {
			t.Errorf("%q: %q", word, got)
		}
	}
}

// Flags of check stand anywhere around its two words.
func TestCheckFlagsAnywhere(t *testing.T) {
	ownHome(t)
	dir := t.TempDir()
	for _, args := range [][]string{
		{"-C", dir, "--tier", "open", "read", "a"},
		{"-C", dir, "read", "--tier=open", "a"},
		{"-C", dir, "read", "a", "--tier", "open"},
		{"read", "-C", dir, "--tier", "open", "--", "-a"},
	} {
		if code := checkCommand(args); code != checkAllow {
			t.Errorf("%q: exit %d", args, code)
		}
	}
	for _, args := range [][]string{
		{"-C", dir, "read"}, {"-C", dir, "rea", "a"}, {"-C", dir, "read", "a", "b"}, {"-C", dir, "read", "a", "--tire", "open"},
	} {
		if code := checkCommand(args); code != exitUsage {
			t.Errorf("%q: exit %d", args, code)
		}
	}
}

// ownHome keeps the settings of whoever runs the tests out of them.
func ownHome(t *testing.T) string {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, "")
	}
	return home
}

// The summaries of the overview stand below each other.
func TestHelpColumns(t *testing.T) {
	for _, c := range commands() {
		if n := utf8.RuneCountInString(c.name + " " + c.args); n > 29 {
			t.Errorf("bawn %s: its arguments take %d columns of 29", c.name, n)
		}
	}
	var names []string
	for _, s := range append(new(runFlags).policySpecs(), policyFlags(new(bool), new(bool), new(bool))...) {
		if slices.Contains(names, s.name) {
			t.Errorf("bawn policy has two flags %s", s.name)
		}
		names = append(names, s.name)
	}
}

func TestWithoutFlag(t *testing.T) {
	specs := new(runFlags).specs()
	for in, want := range map[string]string{
		"": "", "-q --report fd:7": "-q", "--report=fd:7 -q": "-q", "-C --report --report x -q": "-C --report -q",
		"--sandbox --report x --sandbox read-only": "--sandbox --sandbox read-only", "--report a --tier open --report=b": "--tier open",
	} {
		if got := strings.Join(withoutFlag(strings.Fields(in), specs, "--report"), " "); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
