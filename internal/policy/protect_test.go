package policy

import (
	"path"
	"strings"
	"testing"
)

// Names are compared in lower case, so an upper-case one would never match.
func TestNamesAsData(t *testing.T) {
	seen := map[string]bool{}
	check := func(name string) {
		if name == "" || name != strings.ToLower(name) || path.Clean("/"+name) != "/"+name || seen[name] {
			t.Errorf("name %q", name)
		}
		seen[name] = true
	}
	for _, n := range ProtectedNames() {
		check(n.Path)
		if n.What == "" || n.Lift == "" {
			t.Errorf("%+v", n)
		}
		if r := NameRule(n.Lift, n.What); r.ID != "name:"+n.Lift || r.Lift == "" {
			t.Errorf("%+v", r)
		}
	}
	for _, n := range WatchedNames() {
		check(n.Path)
		if n.What == "" || n.Lift != "" {
			t.Errorf("%+v", n)
		}
	}
}
