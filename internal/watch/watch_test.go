package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func start(t *testing.T, root string) *Watcher {
	t.Helper()
	w, err := New(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// next is the next change; it waits as long as the test may.
func next(t *testing.T, w *Watcher) string {
	t.Helper()
	select {
	case path, ok := <-w.Changes():
		if !ok {
			t.Fatalf("the watching has ended: %v", w.Err())
		}
		return path
	case <-t.Context().Done():
		t.Fatal("no change was told")
	}
	return ""
}

// A burst is one change; what tools write in their own folders is none.
func TestChanges(t *testing.T) {
	root := t.TempDir()
	for _, f := range []string{"a", "sub/b", "node_modules/m/x", ".git/index"} {
		write(t, filepath.Join(root, f))
	}
	w := start(t, root)
	write(t, filepath.Join(root, "node_modules/m/x"))
	write(t, filepath.Join(root, ".git/index"))
	for i := range 50 {
		write(t, filepath.Join(root, "sub", fmt.Sprint("c", i)))
	}
	if got := next(t, w); got != "sub/c0" {
		t.Errorf("got %q first", got)
	}
	if err := os.Rename(filepath.Join(root, "a"), filepath.Join(root, "z")); err != nil {
		t.Fatal(err)
	}
	got, more := next(t, w), 0
	for strings.HasPrefix(got, "sub/c") { // a slow machine makes pauses
		got, more = next(t, w), more+1
	}
	if got != "a" || more > 5 {
		t.Errorf("%d more of the burst, then %q, not the rename", more, got)
	}
	write(t, filepath.Join(root, "new/deep/x")) // the folder is new
	if got := next(t, w); got != "new" {
		t.Errorf("got %q", got)
	}
	write(t, filepath.Join(root, "new/deep/x"))
	if got := next(t, w); got != "new/deep/x" {
		t.Errorf("in a new folder: got %q", got)
	}
	if err := os.Chmod(filepath.Join(root, "z"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "sub/b"))
	if got := next(t, w); got != "sub/b" {
		t.Errorf("a changed mode was told: %q", got)
	}
}

// Editors write beside a file and rename: what is told is the file.
func TestFilesOfEditors(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "main.go"))
	w := start(t, root)
	for _, save := range []func() error{
		func() error { // sed -i, many others
			write(t, filepath.Join(root, "sedX"))
			return os.Rename(filepath.Join(root, "sedX"), filepath.Join(root, "main.go"))
		},
		func() error { // vim
			write(t, filepath.Join(root, "4913"))
			if err := os.Remove(filepath.Join(root, "4913")); err != nil {
				return err
			}
			if err := os.Rename(filepath.Join(root, "main.go"), filepath.Join(root, "main.go~")); err != nil {
				return err
			}
			write(t, filepath.Join(root, "main.go"))
			return os.Remove(filepath.Join(root, "main.go~"))
		},
	} {
		got := ""
		for range 5 { // a slow machine makes two bursts of one
			if err := save(); err != nil {
				t.Fatal(err)
			}
			if got = next(t, w); got == "main.go" {
				break
			}
		}
		if got != "main.go" {
			t.Errorf("got %q", got)
		}
	}
}

func TestEnds(t *testing.T) {
	root := filepath.Join(t.TempDir(), "ws")
	write(t, filepath.Join(root, "a"))
	w := start(t, root)
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	for range w.Changes() {
	}
	if err := w.Err(); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("a folder that went away: %v", err)
	}
	w = start(t, t.TempDir())
	w.Close()
	if _, ok := <-w.Changes(); ok || w.Err() != nil {
		t.Errorf("closed: %v, %v", ok, w.Err())
	}
	if _, err := New(filepath.Join(root, "none")); err == nil {
		t.Error("a folder that is not there is watched")
	}
}

func TestTooManyFolders(t *testing.T) {
	root := t.TempDir()
	w := start(t, root)
	for range 3 { // folders that are gone do not count
		w.folders = maxFolders
		if err := w.add(root); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxFolders + 1 {
		if err := os.Mkdir(filepath.Join(root, fmt.Sprint(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := New(root); err == nil || !strings.Contains(err.Error(), "more than 8192 folders") {
		t.Errorf("%v", err)
	}
}
