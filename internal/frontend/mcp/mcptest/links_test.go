//go:build linux

package mcptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/sandbox/sandboxtest"
)

// A file that has another name in a hidden place is not edited either: the text
// that is replaced tells what is in it, and the new file would have the rest.
func TestF8_EditOfALinkedSecret(t *testing.T) {
	d := open(t, options{prepare: func(b *sandboxtest.Box) {
		sandboxtest.Write(t, filepath.Join(b.Workspace, "mine"), "SECRET of mine\n")
		for old, name := range map[string]string{filepath.Join(b.Home, ".ssh/id_rsa"): "key", filepath.Join(b.Workspace, "mine"): "mine2"} {
			if err := os.Link(old, filepath.Join(b.Workspace, name)); err != nil {
				t.Fatal(err)
			}
		}
	}})
	before, err := os.Stat(filepath.Join(d.Workspace, "key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"SECRET", "not in there", ""} {
		r := d.refused("read", "edit_file", args{"path": "key", "old_string": old, "new_string": "x"})
		if !strings.Contains(r.Denied[0].Rule, "SSH keys are hidden") {
			t.Errorf("%+v", r)
		}
	}
	if after, err := os.Stat(filepath.Join(d.Workspace, "key")); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was replaced: %v", err)
	}
	// Its twin: other names in places that are not hidden.
	d.works("edit_file", args{"path": "mine", "old_string": "SECRET", "new_string": "text"})
	if got := content(t, filepath.Join(d.Workspace, "mine")) + content(t, filepath.Join(d.Workspace, "mine2")); got != "text of mine\nSECRET of mine\n" {
		t.Errorf("%q", got)
	}
}
