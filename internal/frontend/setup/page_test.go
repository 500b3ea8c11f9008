package setup

import (
	"testing"

	"bawn/internal/tools/page"
)

// docs/agents.md has every agent that can be set up.
func TestAgentsPage(t *testing.T) {
	rows, all := page.Table(t, "docs/agents.md", "| agent | way | what holds | tried with |"), agents()
	if len(rows) != len(all) {
		t.Fatalf("%d rows for %d agents", len(rows), len(all))
	}
	for i, a := range all {
		if rows[i][0] != a.Title {
			t.Errorf("%s in the row of %s", rows[i][0], a.Title)
		}
	}
}
