package told

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

func TestSeenOnce(t *testing.T) {
	s := Notices(filepath.Join(t.TempDir(), "state", "bawn"))
	a, b := Key("/p", "a"), Key("/p", "b")
	check := func(want ...bool) {
		t.Helper()
		if got := has(t, s, a, b); !slices.Equal(got, want) {
			t.Errorf("seen %v, want %v", got, want)
		}
	}
	check(false, false)
	if _, err := os.Stat(s.dir); err == nil {
		t.Error("looking makes a folder")
	}
	must(t, s.Note(a, a))
	check(true, false)
	must(t, s.Note(b))
	check(true, true)
	if Key("a", "b") == Key("ab") || Key("a", "b") == Key("b", "a") {
		t.Error("keys do not tell parts apart")
	}
}

func TestZeroStore(t *testing.T) {
	var s Store
	if err := s.Note("x"); err == nil {
		t.Error("kept without a folder")
	}
	if seen, err := s.Seen("x"); err == nil || seen[0] {
		t.Errorf("seen without a folder: %v, %v", seen, err)
	}
}

// The oldest is forgotten, and the file never grows past what is read.
func TestBounded(t *testing.T) {
	s := Notices(t.TempDir())
	for round := range 3 {
		var keys []string
		for i := range s.max {
			keys = append(keys, Key(fmt.Sprint(round, i)))
		}
		must(t, s.Note(keys...))
		if seen := has(t, s, keys...); slices.Contains(seen, false) {
			t.Fatal("a new one is forgotten")
		}
	}
	if has(t, s, Key("0 0"))[0] {
		t.Error("the oldest is kept")
	}
	st, err := os.Stat(s.dir + "/" + s.name)
	if err != nil || st.Size() > int64(len(head)+s.max*(entrySize+1)) {
		t.Errorf("%d bytes, %v", st.Size(), err)
	}
}

// What others could have written silences nothing; what is of another form
// is begun anew.
func TestUnusableFiles(t *testing.T) {
	k := Key("x")
	for name, c := range map[string]struct {
		text string
		perm os.FileMode
		kept bool // Note works
	}{
		"writable by others": {head + k + "\n", 0o666, false},
		"no head":            {k + "\n", 0o600, true},
		"a cut line":         {head + k, 0o600, true},
		"another form":       {head + k + " x\n", 0o600, true},
		"right":              {head + k + "\n", 0o600, true},
	} {
		s := Notices(t.TempDir())
		file := s.dir + "/" + s.name
		must(t, os.WriteFile(file, []byte(c.text), c.perm))
		must(t, os.Chmod(file, c.perm))
		if seen, err := s.Seen(k); seen[0] != (name == "right") || (err == nil) != c.kept {
			t.Errorf("%s: seen %v, %v", name, seen, err)
		}
		if err := s.Note(k); (err == nil) != c.kept {
			t.Errorf("%s: Note: %v", name, err)
		}
		if seen, _ := s.Seen(k); seen[0] != c.kept {
			t.Errorf("%s: kept %v", name, seen)
		}
	}
	s := Notices(t.TempDir())
	must(t, os.Symlink("/etc/passwd", s.dir+"/"+s.name))
	if err := s.Note(k); err == nil {
		t.Error("a link is followed or replaced")
	}
}

func TestAtOnce(t *testing.T) {
	s := Notices(t.TempDir())
	var wg sync.WaitGroup
	var keys []string
	for i := range 20 {
		k := Key(fmt.Sprint(i))
		keys = append(keys, k)
		wg.Go(func() { must(t, s.Note(k)) })
	}
	wg.Wait()
	if slices.Contains(has(t, s, keys...), false) {
		t.Error("one is lost")
	}
}

func has(t *testing.T, s Store, keys ...string) []bool {
	t.Helper()
	seen, err := s.Seen(keys...)
	must(t, err)
	return seen
}

// Two stores of one folder know nothing of each other.
func TestStoresAreApart(t *testing.T) {
	dir := t.TempDir()
	must(t, Notices(dir).Note("a"+Key("x")[1:]))
	must(t, Suggestions(dir).Note(Key("y")))
	if has(t, Suggestions(dir), "a"+Key("x")[1:])[0] || has(t, Notices(dir), Key("y"))[0] || !has(t, Suggestions(dir), Key("y"))[0] {
		t.Error("they are one")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
