//go:build linux

package linux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// A file that does not serve for turns is named, with what it is, what it must
// be and the way out; it is left as it is.
func TestTurn_FaultIsNamed(t *testing.T) {
	root := os.Getuid() == 0
	for _, c := range []struct {
		name string
		make func(path string) error
		want string
		root bool // only root can make it
	}{
		{"ours", func(p string) error { return os.WriteFile(p, nil, 0o600) }, "", false},
		{"absent", func(string) error { return nil }, "", false},
		{"link", func(p string) error { return os.Symlink("elsewhere", p) }, "is a symbolic link", false},
		{"folder", func(p string) error { return os.Mkdir(p, 0o700) }, "is a folder", false},
		{"pipe", func(p string) error { return unix.Mkfifo(p, 0o600) }, "is no regular file", false},
		{"open to others", func(p string) error { return os.WriteFile(p, nil, 0o644) }, "has mode 0644", false},
		{"another's", func(p string) error { return os.WriteFile(p, nil, 0o600) }, "belongs to the user with id 12345", true},
	} {
		if c.root && !root {
			continue
		}
		path := filepath.Join(t.TempDir(), "guard.lock")
		if err := c.make(path); err != nil {
			t.Fatal(err)
		}
		if c.root {
			if err := os.Chown(path, 12345, -1); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := os.Lstat(path)
		fd, notice := openTurn(sandbox.Guard{On: true, Locks: []string{path}})
		if fd >= 0 {
			unix.Close(fd)
		}
		if c.want == "" {
			if fd < 0 || notice != "" {
				t.Errorf("%s: %d, %q", c.name, fd, notice)
			}
			continue
		}
		if fd >= 0 || !strings.Contains(notice, path) || !strings.Contains(notice, c.want+", and must be a file of your own with mode 0600: remove it") {
			t.Errorf("%s: %d, %q", c.name, fd, notice)
		}
		if after, err := os.Lstat(path); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s: changed to %v, %v", c.name, after, err)
		}
	}
}
