//go:build linux

package rules

import (
	"testing"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox/linux/guard"
)

func TestMounted(t *testing.T) {
	ps := newPlaces([]Mount{
		{"/w", false}, {"/w/.git", false}, {"/w/.git/hooks", true}, {"/w/.claude", true}, {"/w/a/b", true}, {"/w/a/b/open", false},
		{"/tmp/p", false}, {"/w2", true},
	})
	file := unix.Stat_t{Mode: unix.S_IFREG}
	at := func(dir, name string, exists bool) guard.Target {
		return guard.Target{Dir: 0, DirPath: dir, Name: name, Exists: exists, Stat: file}
	}
	nameless := &guard.Target{Dir: -1}
	pair := func(dir, name string) *guard.Target { f := at(dir, name, true); return &f }
	for _, c := range []struct {
		what string
		call guard.Call
		want unix.Errno
	}{
		{"open", guard.Call{Op: guard.Open, Target: at("/w", "f", true)}, 0},
		{"open, read-only", guard.Call{Op: guard.Open, Target: at("/w/.git/hooks", "h", true)}, unix.EROFS},
		{"open a place", guard.Call{Op: guard.Truncate, Target: at("/w/a", "b", true)}, unix.EROFS},
		{"open in a place in it", guard.Call{Op: guard.Open, Target: at("/w/a/b/open", "f", true)}, 0},
		{"open, spelt", guard.Call{Op: guard.Open, Target: at("/w/.git", "HOOKS", true)}, unix.EROFS},
		{"open below a spelt one", guard.Call{Op: guard.Open, Target: at("/w/.Claude", "f", true)}, unix.EROFS},
		{"open beside", guard.Call{Op: guard.Open, Target: at("/w/.claude2", "f", true)}, 0},
		{"another place's spelling", guard.Call{Op: guard.Create, Target: at("/W2", "f", false)}, unix.EROFS}, // no place around it
		{"no name", guard.Call{Op: guard.Open, Target: *nameless}, 0},
		{"make", guard.Call{Op: guard.Mkdir, Target: at("/w/a", "c", false)}, 0},
		{"make, read-only", guard.Call{Op: guard.Symlink, Target: at("/w/a/b", "c", false)}, unix.EROFS},
		{"link", guard.Call{Op: guard.Link, Target: at("/w", "l", false), Other: pair("/w/d", "f")}, 0},
		{"link, nameless", guard.Call{Op: guard.Link, Target: at("/w", "l", false), Other: nameless}, 0},
		{"link between", guard.Call{Op: guard.Link, Target: at("/w", "l", false), Other: pair("/w/.git", "f")}, unix.EXDEV},
		{"rename", guard.Call{Op: guard.RenameTo, Target: at("/w/d", "f", false), Other: pair("/w", "f")}, 0},
		{"rename between", guard.Call{Op: guard.Rename, Target: at("/tmp/p", "f", true), Other: pair("/w", "f")}, unix.EXDEV},
		{"rename a place", guard.Call{Op: guard.Rename, Target: at("/w", ".git", true), Other: pair("/w", "g")}, unix.EBUSY},
		{"rename over a place", guard.Call{Op: guard.RenameTo, Target: at("/w", ".git", true), Other: pair("/w", "g")}, unix.EBUSY},
		{"rename above a place", guard.Call{Op: guard.Rename, Target: at("/w", "a", true), Other: pair("/w", "g")}, unix.EBUSY},
		{"rename above a place, spelt", guard.Call{Op: guard.Rename, Target: at("/w", "A", true), Other: pair("/w", "g")}, unix.EBUSY},
		{"rename beside", guard.Call{Op: guard.Rename, Target: at("/w", "ab", true), Other: pair("/w", "g")}, 0},
		{"remove", guard.Call{Op: guard.Remove, Target: at("/w", "f", true)}, 0},
		{"remove a place", guard.Call{Op: guard.Remove, Target: at("/w", ".claude", true)}, unix.EBUSY},
		{"remove in a read-only one", guard.Call{Op: guard.Remove, Target: at("/w/.claude", "f", true)}, unix.EROFS},
	} {
		if got := ps.refuses(&c.call); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

type fixedRules guard.Verdict

func (f fixedRules) Check(*guard.Call) guard.Verdict { return guard.Verdict(f) }

// What the rules refuse stays refused by them, with their reason; a removal is
// no concern of theirs.
func TestMountedAsksBoth(t *testing.T) {
	denies, allows := fixedRules(deny("x", "y")), fixedRules(allow)
	places := []Mount{{"/w", false}, {"/w/r", true}}
	open := &guard.Call{Op: guard.Open, Target: guard.Target{DirPath: "/w/r", Name: "f", Exists: true}}
	if v := Mounted(denies, places).Check(open); v.Decision != guard.Deny || v.Rule.ID == "" {
		t.Errorf("%+v", v)
	}
	if v := Mounted(allows, places).Check(open); v.Decision != guard.Refuse || v.Errno != unix.EROFS {
		t.Errorf("%+v", v)
	}
	open.Target.DirPath = "/w"
	if v := Mounted(allows, places).Check(open); v.Decision != guard.Allow {
		t.Errorf("%+v", v)
	}
	open.Op = guard.Remove
	if v := Mounted(denies, places).Check(open); v.Decision != guard.Allow {
		t.Errorf("%+v", v)
	}
}
