package tui

import (
	"slices"
	"strings"
)

// leaving and lasting are words that do nothing where each line has a shell of
// its own: they end that one, or change it for the commands to come.
var (
	leaving = []string{"exit", "logout"}
	lasting = []string{"cd", "pushd", "popd", "export", "unset", "alias", "source", "."}
)

// ownShell says what to type in the place of a line that is such a word alone,
// with its arguments; "" for every other line.
func ownShell(text string) string {
	words := strings.Fields(text)
	if len(words) == 0 || strings.ContainsAny(text, ";&|\n") {
		return ""
	}
	switch {
	case slices.Contains(leaving, words[0]):
		return "each line has a shell of its own; Ctrl+D or /quit ends the session"
	case slices.Contains(lasting, words[0]) && len(words) > 1:
		return "each line has a shell of its own; in one line: " + strings.Join(words, " ") + " && COMMAND"
	}
	return ""
}
