//go:build linux

package sandboxtest

import (
	"strings"
	"testing"
)

// C7: what a project's file asks for in vain is said once for each content,
// by `bawn config` always; a run without settings keeps nothing at all.
func TestC7_NoticesAreSaidOnce(t *testing.T) {
	b := New(t, "native")
	state := b.State
	b.Sh(t, "true").OK(t)
	if exists(state + "/bawn/told") {
		t.Error("a run without settings said something")
	}
	const waits, never, opens = "waits for trust", "is not taken", "lets commands change bawn's own settings"
	says := func(want ...string) {
		t.Helper()
		r := b.Sh(t, "true").OK(t)
		for _, w := range []string{waits, never, opens} {
			expect := false
			for _, x := range want {
				expect = expect || x == w
			}
			if strings.Contains(r.Stderr, w) != expect {
				t.Errorf("%q said is not %v: %q", w, expect, r.Stderr)
			}
		}
	}
	text := "[sandbox]\nallowed_domains = ['a.example']\nguard = 'off'\n"
	b.project(t, text)
	b.Flags = []string{"-q"}
	says()
	b.Flags = nil
	says(waits, never)
	says()
	// Another value is another content; so is one of the two alone.
	b.project(t, strings.Replace(text, "a.example", "b.example", 1))
	says(waits)
	b.project(t, text)
	says()
	b.settings(t, "[sandbox]\nunprotect = ['.bawn']\n")
	says(opens)
	says()
	if r := b.Bawn(t, "config").OK(t); !strings.Contains(r.Stdout, "waits until the file is trusted") || !strings.Contains(r.Stdout, "never taken") || !strings.Contains(r.Stdout, opens) {
		t.Errorf("bawn config: %s", r.Stdout)
	}
	// Elsewhere nobody was told. Inside, nothing of it can be seen.
	other := New(t, "native")
	other.Home, other.State = b.Home, b.State
	other.project(t, text)
	if r := other.Sh(t, "cat "+state+"/bawn/told"); r.Code == 0 || !strings.Contains(r.Stderr, waits) || !strings.Contains(r.Stderr, "Permission denied") {
		t.Errorf("%+v", r)
	}
}
