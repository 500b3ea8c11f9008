//go:build linux

package stage

import (
	"os"
	"testing"
)

// A folder that is removed while it is looked at has nothing to allow, as one that
// was gone before.
func TestListNamesOfARemovedFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("d", 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := os.Open("d")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.Remove("d"); err != nil {
		t.Fatal(err)
	}
	if names, err := namesIn(int(d.Fd()), "d"); err != nil || names != nil {
		t.Errorf("%q, %v", names, err)
	}
	if names, err := listNames("d"); err != nil || names != nil {
		t.Errorf("%q, %v", names, err)
	}
}
