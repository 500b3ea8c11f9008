//go:build linux

package mcptest

import (
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
