package mcp

import (
	"fmt"
	"testing"
)

// Denials of one rule share a line, which does not grow; others keep theirs.
func TestDeniedText(t *testing.T) {
	var list []Denied
	for i := range 50 {
		list = append(list, Denied{"write", fmt.Sprintf("/home/me/f%d", i), "home", "--add-dir DIR"})
	}
	list = append(list, Denied{"run", "x", "rule", ""}, Denied{"connect", "a.example:443", "host:unlisted", ""}, Denied{"read", "/home/me/f0", "home", "--add-dir DIR"})
	const want = "[denied: write /home/me/f0, /home/me/f1, /home/me/f2 and 47 more, by home; to allow it: --add-dir DIR]\n" +
		"[denied: connect a.example:443, by host:unlisted]\n[denied: read /home/me/f0, by home; to allow it: --add-dir DIR]\n"
	if got := deniedText(list); got != want {
		t.Errorf("%s", got)
	}
	if got := deniedText(list[:1]); got != "[denied: write /home/me/f0, by home; to allow it: --add-dir DIR]\n" {
		t.Errorf("%s", got)
	}
}
