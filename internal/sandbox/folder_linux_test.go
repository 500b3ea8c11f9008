package sandbox

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// What is listed is what package os lists, for more names than one call reads.
func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	for i := range 700 {
		if err := os.WriteFile(dir+"/a-file-with-a-name-of-some-length-"+strconv.Itoa(i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.Mkdir(dir+"/folder", 0o700), os.Symlink("folder", dir+"/link"), os.Symlink("nowhere", dir+"/\xff"),
		unix.Mkfifo(dir+"/..pipe", 0o600), os.WriteFile(dir+"/.x", nil, 0), os.Chmod(dir, 0o750),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got, mode, err := readFolder(dir, false)
	if err != nil || mode != 0o750 {
		t.Fatalf("mode %o, error %v", mode, err)
	}
	want, err := os.ReadDir(dir)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d entries, want %d (%v)", len(got), len(want), err)
	}
	for i, e := range got {
		if e.Name != want[i].Name() || e.Kind != lstatKind(dir+"/"+e.Name) {
			t.Errorf("entry %d is %q of kind %d, want %q of %d", i, e.Name, e.Kind, want[i].Name(), lstatKind(dir+"/"+want[i].Name()))
		}
	}
	if _, _, err := readFolder(dir+"/.x", false); err == nil {
		t.Error("a file was listed")
	}
	if _, _, err := readFolder(dir+"/none", false); err == nil {
		t.Error("nothing was listed")
	}
}
