//go:build linux

package rules_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/sandbox/linux/guard/rules"
)

// settings makes the rules with what settings add and lift, by path.
func (w *world) settings(protected, unprotected []string, lifted ...string) {
	abs := func(list []string) (out []string) {
		for _, p := range list {
			out = append(out, w.ws+"/"+p)
		}
		return out
	}
	w.rules = rules.New(rules.Config{
		Roots: []string{w.ws}, Exempt: []string{filepath.Dir(w.ws) + "/cache"}, Home: w.home,
		Lifted: lifted, Protected: abs(protected), Unprotected: abs(unprotected),
	})
}

// What the settings protect holds before it exists, with all below it, by
// every way into its place; its neighbours are free.
func TestProtectedBySettings(t *testing.T) {
	w := newWorld(t, false)
	must(t, os.MkdirAll(w.ws+"/a", 0o755))
	must(t, os.MkdirAll(w.ws+"/full/inner", 0o755))
	must(t, os.WriteFile(w.ws+"/x", nil, 0o644))
	must(t, os.WriteFile(w.ws+"/held", nil, 0o644))
	w.settings([]string{"a/b", "c/inner", "held"}, []string{"a"}, "bawn", "shell", rules.LiftTarget)
	for _, c := range []struct {
		what string
		err  error
		deny bool
	}{
		{"make it", w.write(w.ws+"/a/b", "x"), true},
		{"make it a folder", w.mkdir(w.ws + "/a/b"), true},
		{"move to it", w.rename(w.ws+"/x", w.ws+"/a/b"), true},
		{"link to it", w.link(w.ws+"/x", w.ws+"/a/b"), true},
		{"a neighbour", w.write(w.ws+"/a/bb", "x"), false},
		{"the folder above, with it inside", w.rename(w.ws+"/full", w.ws+"/c"), true},
		{"the folder above, without it", w.mkdir(w.ws + "/c"), false},
		{"below the folder above", w.write(w.ws+"/c/other", "x"), false},
		{"then it", w.write(w.ws+"/c/inner", "x"), true},
		{"a second name for it", w.link(w.ws+"/held", w.ws+"/second"), true},
		{"write it", w.write(w.ws+"/held", "x"), true},
		{"move it away", w.rename(w.ws+"/held", w.ws+"/gone"), true},
	} {
		if (c.err != nil) != c.deny {
			t.Errorf("%s: %v", c.what, c.err)
		}
	}
	if got := strings.Join(w.denied, " "); strings.Count(got, "protect:") != 9 {
		t.Errorf("denied by %q", got)
	}
}

// B18: what the settings lift by its path is free there, and nowhere else.
func TestB18_UnprotectedPlaces(t *testing.T) {
	for _, lift := range []bool{false, true} {
		w := newWorld(t, false)
		w.repo(w.ws)
		must(t, os.MkdirAll(w.ws+"/.claude", 0o755))
		var places []string
		if lift {
			places = []string{".bashrc", ".git/hooks", ".claude/settings.json", ".git/config"}
		}
		w.settings(nil, places)
		for path, lifted := range map[string]bool{
			".bashrc": true, ".zshrc": false, ".git/hooks/pre-commit": true, ".git/commondir": false, ".claude/settings.json": true,
			".claude/settings.local.json": false, ".mcp.json": false, ".git/config": true, ".git/config.worktree": false, "plain": true,
		} {
			want := lifted && (lift || path == "plain")
			if err := w.write(w.ws+"/"+path, "x"); (err == nil) != want {
				t.Errorf("lifted %v: %s: %v", lift, path, err)
			}
		}
	}
}

// What came into an unguarded place is not moved out of it, with the place or
// a folder above it either; nor by an exchange.
func TestUnguardedPlacesStayWhereTheyAre(t *testing.T) {
	w := newWorld(t, false)
	for _, d := range []string{"c/mod/n/.git", "u/n/.git", "above/u/n", "plain/n", "other"} {
		must(t, os.MkdirAll(w.ws+"/"+d, 0o755))
	}
	w.rules = rules.New(rules.Config{Roots: []string{w.ws}, Exempt: []string{w.ws + "/c/mod"}, Unprotected: []string{w.ws + "/u", w.ws + "/above/u"}})
	for _, c := range []struct {
		what string
		err  error
		deny bool
	}{
		{"a setting in a cache", w.write(w.ws+"/c/mod/n/.git/config", w.evil()), false},
		{"a setting in a lifted place", w.write(w.ws+"/u/n/.git/config", w.evil()), false},
		{"the folder above a cache", w.rename(w.ws+"/c", w.ws+"/d"), true},
		{"a cache", w.rename(w.ws+"/c/mod", w.ws+"/d"), true},
		{"what is in a cache", w.rename(w.ws+"/c/mod/n", w.ws+"/d"), true},
		{"a cache by exchange", w.exchange(w.ws+"/other", w.ws+"/c"), true},
		{"a lifted place", w.rename(w.ws+"/u", w.ws+"/d"), true},
		{"what is in a lifted place", w.rename(w.ws+"/u/n", w.ws+"/d"), true},
		{"the folder above a lifted place", w.rename(w.ws+"/above", w.ws+"/d"), true},
		{"within a lifted place", w.rename(w.ws+"/u/n", w.ws+"/u/m"), false},
		{"within a cache", w.rename(w.ws+"/c/mod/n", w.ws+"/c/mod/m"), false},
		{"another folder", w.rename(w.ws+"/plain", w.ws+"/d"), false},
	} {
		if (c.err != nil) != c.deny {
			t.Errorf("%s: %v", c.what, c.err)
		}
	}
}
