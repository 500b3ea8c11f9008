//go:build linux

package mcptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bawn/internal/sandbox/sandboxtest"
)

// Where a rule asks about read_file, a person is asked in every revision.
func TestC5_AskedAboutReading(t *testing.T) {
	for _, v := range sdk.SupportedProtocolVersions() {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			for word, reads := range map[string]bool{"once": true, "deny": false} {
				p := &person{answers: []sdk.ElicitResult{says(word)}}
				d := open(t, options{version: v, client: &sdk.ClientOptions{ElicitationHandler: p.elicit}, prepare: func(b *sandboxtest.Box) {
					sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[permissions]\nask = [\"read_file *\", \"read_file\"]\n")
				}})
				r := d.call("read_file", args{"path": "a.txt"})
				if got := strings.HasPrefix(r.text, "one\ntwo\n"); got != reads || len(p.asked) != 1 {
					t.Errorf("%s: %q, asked %q", word, r.text, p.asked)
				}
			}
		})
	}
}

// About an edit of a file with other names a person is asked once, as about any.
func TestC5_AskedOnceAboutALinkedFile(t *testing.T) {
	for word, edits := range map[string]bool{"once": true, "deny": false} {
		p := &person{answers: []sdk.ElicitResult{says(word)}}
		d := open(t, options{version: "2025-11-25", client: &sdk.ClientOptions{ElicitationHandler: p.elicit}, prepare: func(b *sandboxtest.Box) {
			sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[permissions]\nask = [\"edit_file *\"]\n")
			if err := os.Link(filepath.Join(b.Workspace, "a.txt"), filepath.Join(b.Workspace, "b.txt")); err != nil {
				t.Fatal(err)
			}
		}})
		r := d.call("edit_file", args{"path": "a.txt", "old_string": "one", "new_string": "1"})
		if len(p.asked) != 1 || r.IsError == edits || strings.HasPrefix(content(t, filepath.Join(d.Workspace, "a.txt")), "1\n") != edits {
			t.Errorf("%s: %q, asked %q", word, r.text, p.asked)
		}
	}
}
