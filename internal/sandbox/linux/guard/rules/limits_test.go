//go:build linux

package rules_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// While a question is asked all guards of the user wait, so it ends after so
// many looks, with a refusal.
func TestLooksAreBounded(t *testing.T) {
	w := newWorld(t, false)
	w.start()
	dir := w.ws
	made := 0
	for ; made < 300; made += 2 {
		if w.mkdir(dir+"/hooks") != nil || w.mkdir(dir+"/hooks/refs") != nil {
			break
		}
		dir += "/hooks/refs"
	}
	if made < 40 || made >= 300 || len(w.denied) != 1 || w.denied[0] != "name:git.layout" {
		t.Errorf("%d levels, denied %v", made, w.denied)
	}
}

// The same for the paths that a config names: many as they come, each once.
func TestLooksForRemotesAreBounded(t *testing.T) {
	w := newWorld(t, false)
	w.repo(w.ws)
	must(t, os.Mkdir(w.ws+"/r", 0o755))
	w.start()
	put := func(more string) error {
		old, err := os.ReadFile(w.ws + "/.git/config")
		must(t, err)
		_ = os.Remove(w.ws + "/.git/config.lock")
		if err := w.write(w.ws+"/.git/config.lock", string(old)+more); err != nil {
			t.Fatal(err)
		}
		return w.rename(w.ws+"/.git/config.lock", w.ws+"/.git/config")
	}
	var same, some, many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&same, "[branch \"b%d\"]\n\tremote = ./r\n", i)
		fmt.Fprintf(&many, "[remote \"m%d\"]\n\turl = ./m%d\n", i, i)
		if i < 200 {
			fmt.Fprintf(&some, "[remote \"r%d\"]\n\turl = ./r%d\n", i, i)
		}
	}
	for _, c := range []struct {
		text string
		ok   bool
	}{{same.String(), true}, {some.String(), true}, {many.String(), false}, {"[remote \"x\"]\n\turl = ./" + strings.Repeat("x/", 600) + "\n", false}} {
		if err := put(c.text); (err == nil) != c.ok {
			t.Errorf("%.60q: %v", c.text, err)
		}
	}
}
