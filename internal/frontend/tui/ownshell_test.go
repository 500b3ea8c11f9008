package tui

import (
	"strings"
	"testing"
)

func TestOwnShell(t *testing.T) {
	for line, want := range map[string]string{
		"exit": "/quit ends the session", "exit 3": "/quit ends the session", " logout ": "/quit ends the session",
		"cd sub": "in one line: cd sub && COMMAND", "export  A=1": "in one line: export A=1 && COMMAND",
		". ./env": "in one line: . ./env && COMMAND", "source env": "in one line: source env && COMMAND",
		"": "", "cd": "", "cd sub && make": "", "cd sub; make": "", "export A=1 | cat": "", "cdx sub": "", "./exit": "", "echo exit": "", "make exit": "",
	} {
		if got := ownShell(line); want == "" && got != "" || !strings.HasSuffix(got, want) {
			t.Errorf("%q: %q", line, got)
		}
	}
}
