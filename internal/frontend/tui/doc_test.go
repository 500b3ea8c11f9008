package tui

import (
	"slices"
	"strings"
	"testing"

	"bawn/internal/tools/page"
)

// docs/session.md tells every slash command, and its table every page.
func TestSessionPage(t *testing.T) {
	told := page.Code(page.Text(t, "docs/session.md"))
	for _, s := range slashes {
		if !slices.ContainsFunc(told, func(text string) bool { return text == "/"+s.name || strings.HasPrefix(text, "/"+s.name+" ") }) {
			t.Errorf("/%s is not told", s.name)
		}
	}
	var rows []string
	for _, row := range page.Table(t, "docs/session.md", "| page | shows |") {
		rows = append(rows, page.Code(row[0])[0])
	}
	for _, s := range slashes {
		name := "/" + s.name
		if s.page == ConfigPage {
			name += " general"
		}
		if s.page != NoPage && !slices.Contains(rows, name) {
			t.Errorf("the table of pages lacks %s", name)
		}
	}
}
