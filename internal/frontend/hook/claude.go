package hook

import "strings"

// ClaudeState returns the file of the host's temp by which Claude Code learns
// in which folder its shell ended; "" if the text names none. The form is
// exact: nothing else of the host's temp is ever shown to a command.
func ClaudeState(text string) string {
	const redirect, head, tail = " && pwd -P >| ", "/tmp/claude-", "-cwd"
	i := strings.LastIndex(text, redirect)
	if i < 0 {
		return ""
	}
	file := text[i+len(redirect):]
	id, ok := strings.CutPrefix(file, head)
	id, ok2 := strings.CutSuffix(id, tail)
	if !ok || !ok2 || id == "" || len(id) > 32 {
		return ""
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return ""
		}
	}
	return file
}
