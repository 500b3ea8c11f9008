package mcp

import (
	"fmt"
	"testing"

	"bawn/internal/policy"
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

// What a person refused is for that person to allow; a setting would.
func TestHints(t *testing.T) {
	for rule, want := range map[policy.Rule]string{
		{ID: "answer:no", Text: "a.example was denied when bawn asked"}: saidNo,
		{ID: "host:unlisted", Lift: "--allow-domain a.example"}:         "--allow-domain a.example",
		{ID: "nothing:lifts"}: noWay,
	} {
		if got := (&server{}).deniedBy("connect", "a.example:443", rule).Hint; got != want {
			t.Errorf("%s: %q, want %q", rule.ID, got, want)
		}
	}
}
