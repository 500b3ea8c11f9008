package importer

import (
	"strings"
	"testing"

	"bawn/internal/tools/page"
)

// docs/import.md has every tool, with the first place of its settings.
func TestImportPage(t *testing.T) {
	rows, tools := page.Table(t, "docs/import.md", "| tool | read from | what |"), Tools()
	if len(rows) != len(tools) {
		t.Fatalf("%d rows for %d tools", len(rows), len(tools))
	}
	for i, tool := range tools {
		if rows[i][0] != "`"+tool.Name+"`" || !strings.HasPrefix(rows[i][1], "`~/"+tool.Places[0]+"`") {
			t.Errorf("%q for %s at %s", rows[i], tool.Name, tool.Places[0])
		}
	}
}
