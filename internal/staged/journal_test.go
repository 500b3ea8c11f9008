//go:build linux

package staged

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// A line that a full disk tore says nothing, and what is written behind it says
// what it says.
func TestTornJournalLine(t *testing.T) {
	dir := t.TempDir()
	torn := "at 0 \"a\"\nmode 0 \"secret\" 4" // of 448
	if err := os.WriteFile(filepath.Join(dir, journalName), []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := j.enter(place{0, "b"}); err != nil {
			t.Fatal(err)
		}
		j.close()
		if j, err = openJournal(dir); err != nil {
			t.Fatal(err)
		}
		if want := map[place]bool{{0, "a"}: true, {0, "b"}: true}; len(j.modes) != 0 || !reflect.DeepEqual(j.at, want) {
			t.Errorf("%v %v", j.modes, j.at)
		}
	}
}
