package main

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// The flags of a session have a page of the help, by its name and by --help.
func TestHelpOfTheSession(t *testing.T) {
	code, out := output(t, helpCommand, "session")
	if code != 0 || !strings.HasPrefix(out, "bawn [flags]\n    open a session in this folder\n") || !strings.Contains(out, "\nExit codes: ") {
		t.Errorf("exit %d: %s", code, out)
	}
	for _, f := range new(runFlags).sessionSpecs() {
		if !strings.Contains(out, "\n  "+f.name+" ") {
			t.Errorf("%s is missing", f.name)
		}
	}
	if _, all := output(t, helpCommand); !strings.Contains(all, "'bawn help session'") {
		t.Error("the overview does not name it")
	}
}

// Every page of the help has one form: texts of flags in lower case and without a
// full stop, lines that fit, and the exit codes.
func TestHelpStyle(t *testing.T) {
	for _, name := range wordsOf("help") {
		_, out := output(t, helpCommand, name)
		if !strings.Contains(out, "\nExit codes: ") {
			t.Errorf("%s: no exit codes", name)
		}
		for line := range strings.Lines(out) {
			if utf8.RuneCountInString(line) > 86 {
				t.Errorf("%s: the line is long: %q", name, line)
			}
		}
		for _, f := range flagsOf(name) {
			if first, _ := utf8.DecodeRuneInString(f.help); strings.HasSuffix(f.help, ".") || unicode.IsUpper(first) {
				t.Errorf("%s %s: %q", name, f.name, f.help)
			}
		}
	}
}

// A flag that would change nothing is none of a command.
func TestFlagsThatChangeNothing(t *testing.T) {
	for command, names := range map[string]string{
		"session": "-c --no-egress --session --no-terminal --report --profile --allow-weaker",
		"wrap":    "--no-terminal --no-egress",
		"mcp":     "--no-terminal --no-egress",
		"watch":   "--allow-domain --deny-domain --allow-private --allow-local-port --publish --no-egress --stage",
		"config":  "--sandbox --profile",
	} {
		specs := flagsOf(command)
		for _, name := range strings.Fields(names) {
			if findFlag(name, specs) != nil {
				t.Errorf("bawn %s has %s", command, name)
			}
		}
		if findFlag("-C", specs) == nil || findFlag("--tier", specs) == nil {
			t.Errorf("bawn %s lacks flags: the check above proves nothing", command)
		}
	}
}

// A word that is none of a few is refused with all of them.
func TestUnknownWord(t *testing.T) {
	for word, want := range map[string]string{
		"xyz":  `unknown action "xyz": it is read, write, connect or run`,
		"rrun": `unknown action "rrun": it is read, write, connect or run; did you mean "run"?`,
	} {
		if got := unknown("action", word, wordsOf("check")).Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// F11, A75: what a session keeps has no place in the current folder, nor in a home
// that would have to be made.
func TestStateIn(t *testing.T) {
	here := t.TempDir()
	for _, c := range []struct{ home, state, want string }{
		{"", "", ""}, {"relative", "relative", ""}, {here + "/none", "", ""},
		{here, "", here + "/.local/state/bawn/sessions"}, {here + "/none", here, here + "/bawn/sessions"}, {"", here, here + "/bawn/sessions"},
	} {
		t.Setenv("HOME", c.home)
		t.Setenv("XDG_STATE_HOME", c.state)
		if got := stateIn("sessions"); got != filepath.FromSlash(c.want) {
			t.Errorf("HOME=%q XDG_STATE_HOME=%q: %q, want %q", c.home, c.state, got, c.want)
		}
	}
}
