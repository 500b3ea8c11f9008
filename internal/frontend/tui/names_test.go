package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"bawn/internal/session"
)

// The end of a name says whose it is: it shows on every page, however long the
// beginning is that stands before it.
func TestEndsOfLongNames(t *testing.T) {
	host := "packages.example.org." + strings.Repeat("a.", 100) + "evil.example"
	path := "/home/me/work/shop/" + strings.Repeat("src/", 900) + ".git/hooks/pre-commit"
	s := exampleSession(t)
	s.conns[0].Host = host
	s.denials = []session.Denial{{Host: host, Port: 443, Count: 1, Rule: s.denials[0].Rule}, {Path: path, Count: 1, Rule: s.denials[1].Rule}}
	for _, w := range widths {
		for page, want := range map[Page][]string{NetworkPage: {"evil.example:443"}, DeniedPage: {"evil.example:443", `hooks/pre-commit"`}} {
			f := pageOf(t, page, s, &clock{noon}, Look{}, w, 24)
			text := ansi.Strip(strings.Join(f.screen(), "\n"))
			for _, end := range want {
				if !strings.Contains(text, end) {
					t.Errorf("%d: no %q on\n%s", w, end, text)
				}
			}
		}
		f := pageOf(t, DeniedPage, s, &clock{noon}, Look{}, w, 24)
		f.keysOf("down") // the whole of it, or both ends, with why and how to lift it
		text := ansi.Strip(strings.Join(f.screen(), "\n"))
		for _, part := range []string{` name  "/home/me/work`, "\n       ⋮", " why   keys and", " lift  "} {
			if !strings.Contains(text, part) {
				t.Errorf("%d: no %q on\n%s", w, part, text)
			}
		}
	}
}
