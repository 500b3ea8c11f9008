package main

import (
	"strings"
	"testing"
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
