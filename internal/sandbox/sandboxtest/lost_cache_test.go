//go:build linux

package sandboxtest

import (
	"os"
	"strings"
	"testing"
)

// F1, F11: a cache that does not exist is writable and leaves nothing behind.
// Who wrote to one is told once how to keep it; made once, it is kept.
func TestF1_CacheThatDoesNotExist(t *testing.T) {
	t.Parallel()
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for _, d := range []string{".npm", ".pnpm-store"} {
			if err := os.RemoveAll(b.Home + "/" + d); err != nil {
				t.Fatal(err)
			}
		}
		const notice = "does not exist outside"
		quiet := func(text string) {
			t.Helper()
			if r := b.Sh(t, text).OK(t); strings.Contains(r.Stderr, notice) {
				t.Errorf("%s: %s", text, r.Stderr)
			}
		}
		quiet("ls ~/.npm; true")
		quiet("echo x >~/.npm/x; rm ~/.npm/x")
		b.Flags = []string{"-q"}
		quiet("echo x >~/.npm/x")
		b.Flags = nil
		if exists(b.Home + "/.local/state") {
			t.Error("something is kept though nothing was said")
		}
		// Failed or not, and whatever the name inside.
		r := b.Sh(t, "echo x >~/.npm/x; mkdir ~/.pnpm-store/v3; exit 3")
		if want := notice + " is kept for this run alone; to keep it from now on: mkdir -p " + b.Home + "/.npm " + b.Home + "/.pnpm-store\n"; !strings.Contains(r.Stderr, want) {
			t.Errorf("%q, want %q", r.Stderr, want)
		}
		quiet("echo x >~/.npm/x; mkdir ~/.pnpm-store/v3")
		for _, d := range []string{".npm", ".pnpm-store"} {
			if exists(b.Home + "/" + d) {
				t.Errorf("%s is left behind", d)
			}
		}
		// As it was told.
		mkdir(t, b.Home+"/.npm")
		quiet("echo x >~/.npm/x")
		if !exists(b.Home + "/.npm/x") {
			t.Error("a folder that was made is not the cache")
		}
	})
}
