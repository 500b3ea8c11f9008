//go:build linux

package mcptest

import (
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/frontend/mcp"
	"bawn/internal/sandbox/sandboxtest"
)

// SPEC N8, C5: web_fetch reaches no internal address, in whatever form it is
// written, and each is told as a denial.
func TestN8_WebFetchInternal(t *testing.T) {
	for _, tier := range []string{"guarded", "open"} {
		t.Run(tier, func(t *testing.T) {
			d := open(t, options{flags: []string{"--tier", tier}, prepare: func(b *sandboxtest.Box) {
				sandboxtest.Write(t, filepath.Join(b.Home, ".config/bawn/config.toml"), "[permissions]\nallow = [\"web_fetch *\"]\n")
			}})
			for _, host := range []string{"localhost", "a.localhost", "127.0.0.1:1", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "169.254.169.254"} {
				r := d.call("web_fetch", args{"url": "http://" + host + "/"})
				out := into[mcp.FetchResult](t, r)
				if !r.IsError || len(out.Denied) != 1 || out.Denied[0].Kind != "connect" || !strings.HasPrefix(out.Denied[0].Rule, "address:") || !strings.Contains(out.Denied[0].Hint, "nothing does for web_fetch") || strings.Contains(r.text, "allow-domain") {
					t.Errorf("%s: %+v: %s", host, out.Denied, r.text)
				}
			}
			if r := d.call("web_fetch", args{"url": "http://127.1/"}); !r.IsError || !strings.Contains(r.text, "in no form that is taken") {
				t.Errorf("127.1: %s", r.text)
			}
		})
	}
}
