//go:build linux

package staged

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A layer goes whatever a command has left in it: folders nested deeper than
// files may be open, and what its owner may not enter. What links lead to stays.
func TestRemoveAll(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few := limit
	few.Cur = min(limit.Cur, 256)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) }()
	base := t.TempDir()
	gone, outside := filepath.Join(base, "gone"), filepath.Join(base, "outside")
	for _, d := range []string{gone, outside, gone + "/many", gone + "/.deep-0"} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{outside + "/precious", gone + "/.deep-0/x"} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 3000 { // several reads of the folder
		f, err := os.CreateTemp(gone+"/many", "a-rather-long-name-of-a-file-")
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	dir, err := unix.Open(gone, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		if err := unix.Mkdirat(dir, "d", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Symlinkat(outside, dir, "link"); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(dir, "d", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			t.Fatal(err)
		}
		if i%7 == 0 {
			if err := unix.Fchmod(dir, 0); err != nil {
				t.Fatal(err)
			}
		}
		unix.Close(dir)
		dir = next
	}
	unix.Close(dir)
	if err := removeAll(gone); err != nil {
		t.Fatalf("%.300v", err)
	}
	if _, err := os.Lstat(gone); !os.IsNotExist(err) {
		t.Error("something is left")
	}
	if _, err := os.Lstat(outside + "/precious"); err != nil {
		t.Error(err)
	}
	if err := removeAll(gone); err != nil {
		t.Errorf("what is gone already: %v", err)
	}
}
