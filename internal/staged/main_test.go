//go:build linux

package staged_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	sandboxtest.Main(m, func(dir string) error {
		for name, args := range map[string][]string{
			"ops":    {"bawn/internal/staged/testdata/ops"},
			"killed": {"-tags", "bawn_failpoint", "bawn/cmd/bawn"},
		} {
			cmd := exec.Command("go", append([]string{"build", "-o", filepath.Join(dir, name)}, args...)...)
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("build %s: %w\n%s", name, err, out)
			}
		}
		return nil
	})
}

// program is one that TestMain built.
func program(name string) string { return filepath.Join(filepath.Dir(sandboxtest.Binary()), name) }

// op is one for testdata/ops.
type op struct {
	Do       string
	Path, To []byte
	Data     []byte
	At       int64
	Mode     uint32
}

// GoString is what a failed case shows: not a line for each byte.
func (o op) GoString() string {
	return fmt.Sprintf("%s %q to %q, %d bytes, at %d, mode %o\n", o.Do, o.Path, o.To, len(o.Data), o.At, o.Mode)
}

func input(t testing.TB, ops []op) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, o := range ops {
		if err := enc.Encode(o); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// box is a workspace whose runs are staged, unless Flags says otherwise.
func box(t *testing.T) *sandboxtest.Box {
	t.Helper()
	b := sandboxtest.New(t, "native")
	b.Flags = []string{"--stage", "-q"}
	writable(t, filepath.Dir(b.Workspace))
	return b
}

// writable lets the test remove what has a mode by which nobody may.
func writable(t *testing.T, dir string) {
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if e != nil && e.IsDir() {
				_ = os.Chmod(p, 0o700)
			}
			return nil
		})
	})
}

// keep runs bawn keep in the box's workspace.
func keep(t *testing.T, b *sandboxtest.Box, args ...string) sandboxtest.Result {
	t.Helper()
	return b.Bawn(t, append([]string{"keep"}, args...)...)
}

// tree lists all below dir: names, kinds, modes, contents, texts of links, and
// which files are one.
func tree(t testing.TB, dir string) []string { return list(t, dir, true) }

// glance is tree, without what one's own modes forbid to read: to read that
// would change it.
func glance(t testing.TB, dir string) []string { return list(t, dir, false) }

func list(t testing.TB, dir string, all bool) []string {
	t.Helper()
	var out []string
	first := map[uint64]string{}
	var walk func(rel string)
	walk = func(rel string) {
		path := filepath.Join(dir, rel)
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%q %06o", rel, st.Mode)
		open := func(need uint32, f func()) { // what its own mode would not let us read
			if st.Mode&need != need && os.Geteuid() != 0 {
				if !all {
					return
				}
				if err := os.Chmod(path, fs.FileMode(st.Mode&0o777|need)); err != nil {
					t.Fatal(err)
				}
				defer unix.Chmod(path, st.Mode&0o7777)
			}
			f()
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			out = append(out, line)
			open(0o700, func() {
				entries, err := os.ReadDir(path)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					walk(filepath.Join(rel, e.Name()))
				}
			})
			return
		case unix.S_IFLNK:
			text, err := os.Readlink(path)
			if err != nil {
				t.Fatal(err)
			}
			line += fmt.Sprintf(" -> %q", text)
		case unix.S_IFREG:
			open(0o400, func() {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				value := make([]byte, 1000)
				n, _ := unix.Lgetxattr(path, "user.test", value)
				if len(data) > 1000 {
					data = fmt.Appendf(nil, "%d bytes of %x", len(data), sha256.Sum256(data))
				}
				line += fmt.Sprintf(" %q %q", data, value[:max(n, 0)])
			})
			if st.Nlink > 1 {
				if first[st.Ino] == "" {
					first[st.Ino] = rel
				}
				line += fmt.Sprintf(" one with %q", first[st.Ino])
			}
		}
		out = append(out, line)
	}
	walk(".")
	return out
}

// same compares two listings.
func same(t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	var b strings.Builder
	for _, l := range got {
		if !slices.Contains(want, l) {
			fmt.Fprintf(&b, "  is     %s\n", l)
		}
	}
	for _, l := range want {
		if !slices.Contains(got, l) {
			fmt.Fprintf(&b, "  wanted %s\n", l)
		}
	}
	t.Fatalf("%s:\n%s", what, b.String())
}

// staged lists the ids of the box's staged runs.
func stagedIDs(t *testing.T, b *sandboxtest.Box) []string {
	t.Helper()
	entries, _ := os.ReadDir(b.State + "/bawn/staged")
	var out []string
	for _, e := range entries {
		if e.Name() != ".spare" { // the empty layer for the next run
			out = append(out, e.Name())
		}
	}
	return out
}

func write(t *testing.T, path, text string) { t.Helper(); sandboxtest.Write(t, path, text) }

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
