package plain

import (
	"slices"
	"testing"

	"bawn/internal/tools/page"
)

// F9: docs/installs.md has every tool, and each name that an install may write.
func TestF9_InstallPage(t *testing.T) {
	rows := page.Table(t, "docs/installs.md", "| tool | folders | files | and, when packages are added or removed |")
	if len(rows) != len(installers) {
		t.Fatalf("%d rows for %d tools", len(rows), len(installers))
	}
	for n, i := range installers {
		for at, want := range [][]string{{}, i.folders, i.locks, i.manifests} {
			if got := page.Code(rows[n][at]); rows[n][0] != i.tool || !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", rows[n][0], got, want)
			}
		}
	}
}
