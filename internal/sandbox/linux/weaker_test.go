//go:build linux

package linux

import (
	"os"
	"path/filepath"
	"testing"
)

// Where Yama lets nobody read another process, there can be no guard.
func TestWeakerGuard(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ptrace_scope")
	if err := weakerGuard(file); err != nil {
		t.Errorf("without Yama: %v", err)
	}
	for text, want := range map[string]bool{"0\n": true, "1\n": true, "2\n": false, "3\n": false} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := weakerGuard(file); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
