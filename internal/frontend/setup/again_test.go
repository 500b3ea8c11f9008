package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What somebody changes in a set-up file stays, and setup's part does not, also
// where setup came again in between.
func TestUndoAfterAnotherSetup(t *testing.T) {
	w := newWorld(t)
	write(t, w.settings, "# mine\n")
	list := []string{"claude", "gemini", "cursor", "crush", "codex"}
	for _, agent := range list {
		if err := w.apply(t, agent); err != nil {
			t.Fatal(err)
		}
		mark := "// mine\n"
		if agent == "codex" {
			mark = "# mine\n"
		} else if agent == "claude" {
			mark = " \n"
		}
		write(t, w.path(agent), mark+read(t, w.path(agent)))
		write(t, w.settings, "# more\n"+read(t, w.settings))
		if err := w.apply(t, agent); err != nil {
			t.Fatal(err)
		}
	}
	for _, agent := range list {
		w.undo(t, agent)
		if got := read(t, w.path(agent)); strings.Contains(got, "bawn") || strings.Contains(got, w.p.Shims) || !strings.HasPrefix(got, "// mine") && !strings.HasPrefix(got, "# mine") && !strings.HasPrefix(got, " \n") {
			t.Errorf("%s: %q", agent, got)
		}
	}
	if got := read(t, w.settings); strings.Contains(got, "enabled = true") || !strings.Contains(got, "# mine") {
		t.Errorf("%q", got)
	}
}

// A set-up is taken out of the file that it was written to, wherever the link to
// it leads since.
func TestUndoOfAMovedLink(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	write(t, first, "{\"a\": 1}\n")
	write(t, second, "{\"b\": 1}\n")
	if err := os.MkdirAll(filepath.Dir(w.path("gemini")), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(first, w.path("gemini")); err != nil {
		t.Fatal(err)
	}
	if err := w.apply(t, "gemini"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(w.path("gemini")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(second, w.path("gemini")); err != nil {
		t.Fatal(err)
	}
	w.undo(t, "gemini")
	if a, b := read(t, first), read(t, second); a != "{\"a\": 1}\n" || b != "{\"b\": 1}\n" {
		t.Errorf("%q, %q", a, b)
	}
}
