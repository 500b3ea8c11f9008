//go:build linux

package sandboxtest

import (
	"strings"
	"testing"
)

// F2: under the guard no command makes a folder find names in other spellings
// (chattr +F): it would be another folder than the one that was looked at. Its
// flags can be read, and set without the guard.
func TestF2_FlagsOfFolders(t *testing.T) {
	t.Parallel()
	const set = "chattr +A d && lsattr -d d"
	EachGuarded(t, func(t *testing.T, l string) {
		b := New(t, l)
		Host(t, b, "mkdir d && lsattr -d d").OK(t)
		if r := b.Sh(t, set); r.Code == 0 || !strings.Contains(r.Stderr, "Operation not supported") {
			t.Errorf("set: %d %s%s", r.Code, r.Stdout, r.Stderr)
		}
		b.Sh(t, "lsattr -d d").OK(t)
		b.Flags = append(b.Flags, "--guard", "off")
		if r := b.Sh(t, set).OK(t); !strings.Contains(r.Stdout, "A") {
			t.Errorf("without the guard: %s", r.Stdout)
		}
	})
}
