//go:build linux

package egresstest

import (
	"strings"
	"testing"
)

// The fixture itself: what tests deny must be reachable without a sandbox.
func TestWorld(t *testing.T) {
	w := NewWorld(t)
	for _, url := range []string{
		"http://allowed.test:18080/x", "http://evil.test:18080/", "http://intra.test:18080/", "http://meta.test/", "http://127.0.0.1:18081/",
		"http://hostfile.test/",
	} {
		if out := w.Outside(t, "curl", "-sS", url); !strings.HasPrefix(out, "hello ") {
			t.Errorf("%s: %q", url, out)
		}
	}
	if out := w.Outside(t, "curl", "-sS", "--cacert", w.Dir+"/ca.pem", "https://allowed.test:18443/"); !strings.HasPrefix(out, "hello ") {
		t.Errorf("TLS: %q", out)
	}
	if q := w.Queries(t); !strings.Contains(q, "allowed.test") || strings.Contains(q, "hostfile.test") {
		t.Errorf("queries: %q", q)
	}
	if n := w.Hits(t, "11.0.0.10:18080"); n != 2 {
		t.Errorf("%d hits, want 2", n)
	}
}
